//! The columns of Homebox: the CSV export of its items, `HB.name`, `HB.location` and so on. Must not know rows.

use super::target::{IMPORT_REF, Target, item_field};

/// The start of every heading.
pub(super) const PREFIX: &str = "HB.";
/// The start of the headings of a person's own fields.
const OWN_FIELD: &str = "field.";

/// What a column becomes. `HB.url` (an address inside of Homebox) and `HB.parent_import_ref` have no place here.
pub(super) fn target(heading: &str) -> Target {
    let name = heading.strip_prefix(PREFIX).unwrap_or(heading);
    if let Some(own) = name.strip_prefix(OWN_FIELD) {
        return Target::Note(own.to_owned());
    }
    let note = |label: &str| Target::Note(label.to_owned());
    match name {
        "import_ref" => item_field(IMPORT_REF),
        "location" => Target::RoomPath,
        // Homebox counts in decimals.
        "quantity" => Target::Amount("Quantity".to_owned()),
        "name" | "description" | "notes" | "purchase_price" | "serial_number" => item_field(name),
        "purchase_from" => item_field("purchased_from"),
        "purchase_date" | "purchase_time" => item_field("purchase_date"),
        "manufacturer" => item_field("make"),
        "model_number" => item_field("model"),
        "warranty_expires" => item_field("warranty_expires_on"),
        "tags" | "labels" => note("Tags"),
        "asset_id" => note("Asset ID"),
        "archived" => note("Archived"),
        "insured" => note("Insured"),
        "lifetime_warranty" => note("Lifetime warranty"),
        "warranty_details" => note("Warranty details"),
        "sold_to" => note("Sold to"),
        "sold_price" => note("Sold price"),
        "sold_date" | "sold_time" => note("Sold on"),
        "sold_notes" => note("Sold notes"),
        _ => Target::Out,
    }
}

/// Whether a cell says that a value is unknown: Homebox writes a zero instead of an empty cell. In a person's own fields, every
/// value is meant.
pub(super) fn is_unset(heading: &str, text: &str) -> bool {
    if heading.strip_prefix(PREFIX).is_some_and(|name| name.starts_with(OWN_FIELD)) {
        return false;
    }
    let is_price = heading.ends_with("_price");
    let is_zero = || text.bytes().all(|byte| byte == b'0' || byte == b'.');
    text.starts_with("0001-01-01")
        || text == "false"
        || (is_price && is_zero())
        || (heading == "HB.asset_id" && text == "000-000")
}
