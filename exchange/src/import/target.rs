//! What a column can become. Must not know a particular column.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind};

/// The field that holds the reference of a record in another program.
pub(super) const IMPORT_REF: &str = "import_ref";
/// The field for everything that has no field of its own.
pub(super) const NOTES: &str = "notes";
/// The field of an item's room.
pub(super) const ROOM_ID: &str = "room_id";
/// The field for the place within a room.
pub(super) const LOCATION: &str = "location";

/// What a column becomes.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// The id of the record.
    Id,
    /// A field.
    Field(&'static Field),
    /// `import_ref`, with a word in front that names the other program.
    Reference(&'static str),
    /// The name of the room.
    Room,
    /// A path such as `Garage / Shelf 2`: the room, and the place in it.
    RoomPath,
    /// A line of the notes.
    Note(String),
    /// A choice if the cell is one of its words, else a line of the notes.
    ChoiceOrNote(&'static Field, String),
    /// A number with a unit. A whole number is the quantity; the cell is also a line of the notes if it has a unit.
    Amount(String),
    /// Kept out, because the server sets it or an id counts instead.
    Computed,
    /// Kept out, because no field is known for it, or because a person said so.
    Out,
}

/// A heading, label or word in its simplest form: `Purchase price` and `purchase-price` are `purchase_price`.
pub(super) fn folded(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

/// A target for a field of inventory. Kept out if the kind has no such field.
pub(super) fn item_field(name: &str) -> Target {
    resource(Kind::Inventory).field(name).map_or(Target::Out, Target::Field)
}
