//! What is copied: a value, an id, a record in one of its forms. Text only; must not know how it reaches a clipboard.

use hearth_contract::schema::Kind;
use hearth_replica::{Row, Status};
use serde_json::{Map, Value};

use crate::keys::CopyTarget;
use crate::state::detail::DetailLine;

/// The text and what it is called, or None where there is nothing of the sort.
pub fn text(
    what: CopyTarget,
    row: &Row,
    line: Option<&DetailLine>,
    status: Option<&Status>,
) -> Option<(String, &'static str)> {
    Some(match what {
        CopyTarget::Value => (line?.value.clone(), "the value"),
        CopyTarget::Title => (row.title.clone(), "the title"),
        CopyTarget::Id => (row.id.clone(), "the id"),
        CopyTarget::Json => (json(row), "the record as JSON"),
        CopyTarget::Sql => (row.as_sql(), "the record as SQL"),
        CopyTarget::Curl => (curl(row, status?.server.as_deref()?), "the record as curl"),
    })
}

/// The record as the API gives it.
pub fn json(row: &Row) -> String {
    serde_json::to_string_pretty(&object(row)).unwrap_or_default()
}

/// The record as a JSON object, in the API's order.
pub fn object(row: &Row) -> Value {
    let mut all = Map::new();
    all.insert("id".into(), row.id.clone().into());
    all.extend(row.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
    all.insert("created_at".into(), row.created_at.clone().into());
    all.insert("updated_at".into(), row.updated_at.clone().into());
    all.insert("rev".into(), row.rev.into());
    Value::Object(all)
}

/// A call that reads the record. The key stays where it is: in the environment of whoever runs it.
fn curl(row: &Row, server: &str) -> String {
    let path = match row.kind {
        Kind::Property => "property".to_owned(),
        kind => format!("{}/{}", kind.collection(), row.id),
    };
    let server = server.replace('\'', "'\\''");
    format!("curl -H \"Authorization: Bearer $HEARTH_API_KEY\" '{server}/v1/{path}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{live, task};

    #[test]
    fn each_form_can_be_used_as_it_is() {
        let row = task("0190", "Bob's boiler", Some("2026-12-01"));
        let copied = |what| text(what, &row, None, Some(&live())).map(|(text, _)| text);
        assert_eq!(
            copied(CopyTarget::Sql).unwrap(),
            "INSERT INTO tasks (id, title, priority, status, due_on) \
             VALUES ('0190', 'Bob''s boiler', 'medium', 'open', '2026-12-01');"
        );
        assert_eq!(
            copied(CopyTarget::Curl).unwrap(),
            "curl -H \"Authorization: Bearer $HEARTH_API_KEY\" 'http://127.0.0.1:8750/v1/tasks/0190'"
        );
        let value: Value = serde_json::from_str(&copied(CopyTarget::Json).unwrap()).unwrap();
        assert_eq!((&value["title"], &value["rev"]), (&"Bob's boiler".into(), &7.into()));
        assert_eq!(copied(CopyTarget::Value), None);
    }
}
