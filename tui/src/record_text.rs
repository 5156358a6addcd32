//! Texts of a record for the clipboard and for exports: value, title, id, JSON, SQL, curl. Must not know how a text
//! reaches the clipboard or a file.

use hearth_contract::schema::Kind;
use hearth_replica::{Row, Status};
use serde_json::{Map, Value};

use crate::keys::CopyTarget;
use crate::state::detail::DetailLine;

/// The text to copy, and the name of the text for the notice. None: no line is selected, or no server is known for
/// `curl`.
pub fn copied_text(
    what: CopyTarget,
    row: &Row,
    line: Option<&DetailLine>,
    status: Option<&Status>,
) -> Option<(String, &'static str)> {
    Some(match what {
        CopyTarget::Value => (line?.value.clone(), "the value"),
        CopyTarget::Title => (row.title.clone(), "the title"),
        CopyTarget::Id => (row.id.clone(), "the id"),
        CopyTarget::Json => (json_text(row), "the record as JSON"),
        CopyTarget::Sql => (row.as_sql(), "the record as SQL"),
        CopyTarget::Curl => (curl(row, status?.server.as_deref()?), "the record as curl"),
    })
}

fn json_text(row: &Row) -> String {
    serde_json::to_string_pretty(&json_object(row)).unwrap_or_default()
}

/// The record as a JSON object, with the members and the order of the API.
pub fn json_object(row: &Row) -> Value {
    Value::Object(members(row))
}

/// The members of [`json_object`].
pub fn members(row: &Row) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("id".into(), row.id.clone().into());
    all.extend(row.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
    all.insert("created_at".into(), row.created_at.clone().into());
    all.insert("updated_at".into(), row.updated_at.clone().into());
    all.insert("updated_by".into(), row.updated_by.clone().into());
    all.insert("rev".into(), row.rev.into());
    all
}

/// A curl command for bash or zsh that reads the record. The command takes the API key from the environment, never from the
/// replica, and not as an argument: every user can see the arguments of a program.
fn curl(row: &Row, server: &str) -> String {
    let path = match row.kind {
        Kind::Property => "property".to_owned(),
        kind => format!("{}/{}", kind.collection(), row.id),
    };
    let server = server.replace('\'', "'\\''");
    let header = "printf 'Authorization: Bearer %s' \"$HEARTH_API_KEY\"";
    format!("curl -H @<({header}) '{server}/v1/{path}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{live, task};

    #[test]
    fn copied_forms_are_valid() {
        let row = task("0190", "Bob's boiler", Some("2026-12-01"));
        let copied = |what| copied_text(what, &row, None, Some(&live())).map(|(text, _)| text);
        assert_eq!(
            copied(CopyTarget::Sql).unwrap(),
            "INSERT INTO tasks (id, title, priority, status, due_on, recurrence_every) \
             VALUES ('0190', 'Bob''s boiler', 'medium', 'open', '2026-12-01', 1);"
        );
        assert_eq!(
            copied(CopyTarget::Curl).unwrap(),
            "curl -H @<(printf 'Authorization: Bearer %s' \"$HEARTH_API_KEY\") 'http://127.0.0.1:8750/v1/tasks/0190'"
        );
        let value: Value = serde_json::from_str(&copied(CopyTarget::Json).unwrap()).unwrap();
        assert_eq!((&value["title"], &value["rev"]), (&"Bob's boiler".into(), &7.into()));
        assert_eq!(copied(CopyTarget::Value), None);
    }
}
