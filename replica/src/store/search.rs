//! Triggers that hold `search` in step with one typed table. Must not know what searches it.

use hearth_contract::schema::Resource;

use super::triggers::{LOWER_GATE, RAISE_GATE, changed, trigger};

/// Search follows every row, whoever writes it; no gate is asked.
pub(super) fn triggers(resource: &Resource) -> [String; 3] {
    let kind = resource.kind.word();
    let body = resource
        .searchable()
        .filter(|field| field.name != resource.title)
        .map(|field| format!("coalesce(NEW.{} || char(10), '')", field.name))
        .collect::<Vec<_>>()
        .join(" || ");
    let title = format!("coalesce(NEW.{}, '')", resource.title);
    let changed = resource.searchable().map(changed).collect::<Vec<_>>().join(" OR ");
    let row = |side: &str| format!("(SELECT id FROM _search_rows WHERE kind = '{kind}' AND record_id = {side}.id)");
    // The profile's id is set by another AFTER INSERT trigger, before this one or after it; the table knows.
    let id = if resource.kind.is_singleton() { "(SELECT id FROM property)" } else { "NEW.id" };
    [
        trigger(
            resource,
            "search_insert",
            "AFTER INSERT",
            "1",
            &[
                RAISE_GATE.to_owned(),
                format!("INSERT INTO _search_rows (kind, record_id) VALUES ('{kind}', {id});"),
                format!(
                    "INSERT INTO search (rowid, kind, record_id, title, body) SELECT id, kind, record_id, {title}, {body} \
                     FROM _search_rows WHERE kind = '{kind}' AND record_id = {id};"
                ),
                LOWER_GATE.to_owned(),
            ],
        ),
        trigger(
            resource,
            "search_update",
            "AFTER UPDATE",
            &format!("NEW.id IS NOT OLD.id OR {changed}"),
            &[
                RAISE_GATE.to_owned(),
                format!("UPDATE _search_rows SET record_id = NEW.id WHERE kind = '{kind}' AND record_id = OLD.id;"),
                format!(
                    "UPDATE search SET record_id = NEW.id, title = {title}, body = {body} WHERE rowid = {};",
                    row("NEW")
                ),
                LOWER_GATE.to_owned(),
            ],
        ),
        trigger(
            resource,
            "search_delete",
            "AFTER DELETE",
            "1",
            &[
                RAISE_GATE.to_owned(),
                format!("DELETE FROM search WHERE rowid = {};", row("OLD")),
                format!("DELETE FROM _search_rows WHERE kind = '{kind}' AND record_id = OLD.id;"),
                LOWER_GATE.to_owned(),
            ],
        ),
    ]
}
