//! Conditions on rows as SQL: what a filter line has said, once it is understood. Values are always bound, names come from the
//! resource table. Must not know how a filter is typed.

use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Format, Kind, SUBJECT_TYPE, SUBJECTS};
use rusqlite::types::Value as Sql;

/// One condition on a field; a row is listed when all hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// A field of the kind or one that every record has; [`WAITING`] for whether edits of the record wait.
    pub field: &'static str,
    /// What must be so.
    pub test: Test,
}

/// What a condition demands of a value. Dates compare as days, sums and counts as numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// It is this, capitals or not.
    Is(String),
    /// It is not this, or not set.
    IsNot(String),
    /// It is less.
    Below(String),
    /// It is this or less.
    AtMost(String),
    /// It is this or more.
    AtLeast(String),
    /// It is more.
    Above(String),
    /// It has this text in it; what it points at has it in its name.
    Has(String),
    /// It has a value.
    Set,
    /// It has none.
    Unset,
}

/// The field that stands for "edits of this record wait".
pub const WAITING: &str = "waiting";

/// The condition as SQL over the row `t`, its values appended to `values` and named by their numbers.
pub(crate) fn sql(kind: Kind, condition: &Condition, values: &mut Vec<Sql>) -> String {
    if condition.field == WAITING {
        let not = if condition.test == Test::Unset { "NOT " } else { "" };
        return format!("{not}EXISTS (SELECT 1 FROM edits e WHERE e.record_id = t.id AND e.kind = '{kind}')");
    }
    let format = resource(kind).field(condition.field).map(|field| field.format);
    let name = condition.field;
    if format.is_none() && !COMMON.contains(&name) {
        return "0".to_owned();
    }
    let mut bind = |value: String| {
        values.push(Sql::Text(value));
        format!("?{}", values.len())
    };
    let number = name == "rev" || format.is_some_and(|format| format.is_integer() || format == Format::Money);
    let mut compare = |sign: &str, value: &String| {
        let value = bind(value.clone());
        match number {
            true => format!("CAST(t.{name} AS REAL) {sign} CAST({value} AS REAL)"),
            false => format!("t.{name} COLLATE NOCASE {sign} {value}"),
        }
    };
    match &condition.test {
        Test::Is(value) => compare("=", value),
        Test::IsNot(value) => format!("({}) IS NOT 1", compare("=", value)),
        Test::Below(value) => compare("<", value),
        Test::AtMost(value) => compare("<=", value),
        Test::AtLeast(value) => compare(">=", value),
        Test::Above(value) => compare(">", value),
        Test::Set => format!("t.{name} IS NOT NULL"),
        Test::Unset => format!("t.{name} IS NULL"),
        Test::Has(text) => {
            let like = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
            let like = format!("LIKE {} ESCAPE '\\'", bind(like));
            let named = |target: Kind| {
                let title = resource(target).title;
                format!("t.{name} IN (SELECT id FROM {} WHERE {title} {like})", target.collection())
            };
            match format {
                Some(Format::Reference(target)) => named(target),
                Some(Format::Subject) => {
                    let any: Vec<String> =
                        SUBJECTS.map(|k| format!("(t.{SUBJECT_TYPE} = '{k}' AND {})", named(k))).into();
                    format!("({} OR t.{SUBJECT_TYPE} {like})", any.join(" OR "))
                }
                _ => format!("t.{name} {like}"),
            }
        }
    }
}
