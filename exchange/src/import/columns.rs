//! Which column of a table is which field: by our own names, by those of other programs, or by a mapping. Must not know cells.

use hearth_contract::problem::nearest;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Format, Kind};

use super::error::{Cause, ImportError};
use super::options::Options;
use super::table::Table;
use super::target::{IMPORT_REF, NOTES, Target, folded};
use super::{grocy, homebox, snipe_it};

/// Headings of the name of an item's room.
const ROOM_NAMES: [&str; 2] = ["room", "room_name"];
/// Headings of names that stand beside ids. The id counts.
const NAMES_BESIDE_IDS: [&str; 2] = ["subject_name", "subject_title"];
/// The most columns that a refusal lists.
const LISTED_MAX: usize = 12;

/// The program whose columns a table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The names of our own fields, or their labels.
    Hearth,
    /// The export of Homebox.
    Homebox,
    /// The tables of Grocy: products and stock.
    Grocy,
    /// The assets of Snipe-IT.
    SnipeIt,
}

impl Product {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Product::Hearth => "hearth",
            Product::Homebox => "homebox",
            Product::Grocy => "grocy",
            Product::SnipeIt => "snipe_it",
        }
    }
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// The heading.
    pub(super) name: String,
    /// What it becomes.
    pub(super) target: Target,
}

/// The recognised columns of a table.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) kind: Kind,
    pub(super) product: Product,
    pub(super) columns: Vec<Column>,
}

/// Recognises the columns of a table. Error: a mapping names an unknown column or field, two columns are one field, or no column
/// tells which record a row is.
pub(super) fn recognise(table: &Table, options: &Options) -> Result<Columns, ImportError> {
    let kind = table.kind.unwrap_or(Kind::Inventory);
    let product = if kind == Kind::Inventory && !table.is_export { product(&table.columns) } else { Product::Hearth };
    let target = |name: &str| match product {
        Product::Hearth => own(kind, name),
        Product::Homebox => homebox::target(name),
        Product::Grocy => grocy::target(name),
        Product::SnipeIt => snipe_it::target(name),
    };
    let column = |name: &String| Column { name: name.clone(), target: target(name) };
    let mut columns: Vec<Column> = table.columns.iter().map(column).collect();
    if product == Product::Hearth {
        keep_out_labels_beside_names(&mut columns);
    }
    for (name, field) in &options.mapping {
        // A mapping belongs to the whole file, and only one of its tables may have the column.
        if let Some(at) = find(&table.columns, name, "mapping")? {
            columns[at].target = mapped(kind, name, field)?;
        }
    }
    let columns = Columns { kind, product, columns };
    columns.check(table)?;
    Ok(columns)
}

fn product(headings: &[String]) -> Product {
    let folded: Vec<String> = headings.iter().map(|heading| folded(heading)).collect();
    let has = |name: &str| folded.iter().any(|heading| heading == name);
    if headings.iter().any(|heading| heading.starts_with(homebox::PREFIX)) {
        Product::Homebox
    } else if snipe_it::is(&has) {
        Product::SnipeIt
    } else if grocy::is(&has) {
        Product::Grocy
    } else {
        Product::Hearth
    }
}

/// Refuses a mapping of a column that no table of the file has.
pub(super) fn check_mapping(tables: &[Table], options: &Options) -> Result<(), ImportError> {
    for (name, _) in &options.mapping {
        // A heading that two columns of a table have is refused with that table.
        if tables.iter().all(|table| matches!(find(&table.columns, name, "mapping"), Ok(None))) {
            return Err(unknown_column(tables.iter().flat_map(|table| &table.columns), name, "mapping"));
        }
    }
    Ok(())
}

/// The column with this heading; upper and lower case and marks do not count if no heading is equal.
pub(super) fn position(headings: &[String], name: &str, parameter: &'static str) -> Result<usize, ImportError> {
    find(headings, name, parameter)?.ok_or_else(|| unknown_column(headings.iter(), name, parameter))
}

/// The same. None: no column has this heading. Error: two columns have it.
fn find(headings: &[String], name: &str, parameter: &'static str) -> Result<Option<usize>, ImportError> {
    let places = |is: &dyn Fn(&String) -> bool| -> Vec<usize> {
        headings.iter().enumerate().filter(|(_, heading)| is(heading)).map(|(at, _)| at).collect()
    };
    let exact = places(&|heading| heading == name.trim());
    let found = if exact.is_empty() { places(&|heading| folded(heading) == folded(name)) } else { exact };
    match found.as_slice() {
        [first, second, ..] => {
            let (first, second) = (&headings[*first], &headings[*second]);
            let message =
                format!("{parameter} names the column {name}, but the columns {first} and {second} are both meant.");
            Err(ImportError::new(Cause::Parameter(parameter), format!("{message} Rename one of them in the file.")))
        }
        found => Ok(found.first().copied()),
    }
}

fn unknown_column<'a>(headings: impl Iterator<Item = &'a String>, name: &str, parameter: &'static str) -> ImportError {
    let listed: Vec<&str> = headings.take(LISTED_MAX).map(String::as_str).collect();
    let message = format!("{parameter} names the column {name}, but the columns are {}.", listed.join(", "));
    ImportError::new(Cause::Parameter(parameter), message)
}

/// Keeps a column out whose heading is the label of a field, if another column has the name of the field: `subject` beside
/// `subject_id` is the name of the record that the id means.
fn keep_out_labels_beside_names(columns: &mut [Column]) {
    let is_name = |column: &Column| match column.target {
        Target::Field(field) => (folded(&column.name) == field.name).then_some(field.name),
        _ => None,
    };
    let named: Vec<&str> = columns.iter().filter_map(is_name).collect();
    for column in columns {
        if let Target::Field(field) = column.target
            && folded(&column.name) != field.name
            && named.contains(&field.name)
        {
            column.target = Target::Computed;
        }
    }
}

/// A column by our own names.
fn own(kind: Kind, heading: &str) -> Target {
    let name = folded(heading);
    if name == "id" {
        return Target::Id;
    }
    if kind == Kind::Inventory && ROOM_NAMES.contains(&name.as_str()) {
        return Target::Room;
    }
    let computed = || COMMON.contains(&name.as_str()) || NAMES_BESIDE_IDS.contains(&name.as_str());
    let field = resource(kind).fields.iter().find(|field| field.name == name || folded(&field.label()) == name);
    match field {
        Some(field) if field.is_writable() => Target::Field(field),
        Some(_) => Target::Computed,
        None if computed() => Target::Computed,
        None => Target::Out,
    }
}

/// A column by a stated field.
fn mapped(kind: Kind, column: &str, field: &str) -> Result<Target, ImportError> {
    match folded(field).as_str() {
        "" => return Ok(Target::Out),
        NOTES => return Ok(Target::Note(column.to_owned())),
        _ => (),
    }
    match own(kind, field) {
        Target::Out | Target::Computed => {
            let known = resource(kind).fields.iter().filter(|field| field.is_writable()).map(|field| field.name);
            let hint = nearest(field, known.chain(["id", "room"]));
            let hint = hint.map(|near| format!("; did you mean {near}?")).unwrap_or(".".to_owned());
            let message =
                format!("mapping gives the column {column} the field {field}, which the kind {kind} cannot take{hint}");
            Err(ImportError::new(Cause::Parameter("mapping"), message))
        }
        target => Ok(target),
    }
}

impl Columns {
    /// The field of a target.
    fn field_name(target: &Target) -> Option<&'static str> {
        match target {
            Target::Id => Some("id"),
            Target::Field(field) | Target::ChoiceOrNote(field, _) => Some(field.name),
            Target::Reference(_) => Some(IMPORT_REF),
            Target::Room | Target::RoomPath => Some("room"),
            Target::Amount(_) => Some("quantity"),
            Target::Note(_) => Some(NOTES),
            Target::Computed | Target::Out => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| Columns::field_name(&column.target) == Some(name))
    }

    fn check(&self, table: &Table) -> Result<(), ImportError> {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        for column in &self.columns {
            let Some(field) = Columns::field_name(&column.target).filter(|field| *field != NOTES) else { continue };
            if let Some((first, _)) = seen.iter().find(|(_, known)| *known == field) {
                let name = &column.name;
                let message = if first == name {
                    format!("The heading has the column {name} twice. Rename or remove one of them.")
                } else {
                    format!(
                        "The columns {first} and {name} are both {field}. Keep one out, with an empty field in the mapping."
                    )
                };
                return Err(ImportError::new(Cause::Columns, message));
            }
            seen.push((&column.name, field));
        }
        let title = resource(self.kind).title;
        let is_known = self.has(title) || self.has("id") || self.has(IMPORT_REF);
        if is_known || self.kind.is_singleton() || table.rows.is_empty() {
            return Ok(());
        }
        let listed: Vec<&str> = self.columns.iter().take(LISTED_MAX).map(|column| column.name.as_str()).collect();
        let first = listed.first().copied().unwrap_or_default();
        Err(ImportError::new(
            Cause::Columns,
            format!(
                "No column is the {title} of the kind {}. The columns are {}. Say which one is, such as mapping {}.",
                self.kind,
                listed.join(", "),
                serde_json::json!({ first: title })
            ),
        ))
    }

    /// The columns that become something, each with the field.
    pub(super) fn used(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.columns.iter().filter_map(|column| Some((column.name.as_str(), Columns::field_name(&column.target)?)))
    }

    /// The columns that are kept out although a person may expect them.
    pub(super) fn kept_out(&self) -> impl Iterator<Item = &str> {
        let is_out = |column: &&Column| matches!(column.target, Target::Out) && !column.name.is_empty();
        self.columns.iter().filter(is_out).map(|column| column.name.as_str())
    }

    /// The fields that rows set directly, without references: by them an equal record is recognised.
    pub(super) fn plain_fields(&self) -> Vec<&'static str> {
        let name = |column: &Column| match &column.target {
            Target::Field(field) if !matches!(field.format, Format::Reference(_) | Format::Subject) => Some(field.name),
            Target::ChoiceOrNote(field, _) => Some(field.name),
            Target::Amount(_) => Some("quantity"),
            _ => None,
        };
        self.columns.iter().filter_map(name).collect()
    }
}
