//! SQL text of triggers: the gate, the guards, and the frame of a trigger on a typed table. Must not know rules or
//! search.

use hearth_contract::schema::{Field, Resource};

use super::protected;

/// SQL condition: the gate is closed, so a person or a script writes.
pub(super) const CLOSED: &str = "coalesce((SELECT open FROM _gate), 0) = 0";
/// SQL that opens the gate inside a trigger or an edit transaction.
pub(crate) const RAISE_GATE: &str = "UPDATE _gate SET open = open + 1, change_count = change_count + 1;";
/// SQL that undoes a [`RAISE_GATE`].
pub(crate) const LOWER_GATE: &str = "UPDATE _gate SET open = open - 1, change_count = change_count + 1;";

/// Guard triggers of a table that only the replica writes: they refuse writes of people and scripts.
pub(crate) fn guards(table: &str) -> Vec<String> {
    ["INSERT", "UPDATE", "DELETE"].into_iter().map(|verb| guard(table, verb, CLOSED)).collect()
}

/// Guard triggers of the gate. An UPDATE that changes `open` must raise `change_count` by 1, because a script that
/// sets only `open` makes a mistake.
pub(crate) fn gate_guards() -> Vec<String> {
    let is_uncounted = "NEW.open IS NOT OLD.open AND NEW.change_count IS NOT OLD.change_count + 1";
    [("INSERT", "1"), ("UPDATE", is_uncounted), ("DELETE", "1")]
        .into_iter()
        .map(|(verb, condition)| guard("_gate", verb, condition))
        .collect()
}

/// A trigger that refuses a verb (INSERT, UPDATE, DELETE) on a table while a condition is true.
pub(crate) fn guard(table: &str, verb: &str, condition: &str) -> String {
    format!(
        "CREATE TRIGGER _guard_{table}_{} BEFORE {verb} ON {table} WHEN {condition}\nBEGIN\n  SELECT RAISE(ABORT, \
         '{table} is kept by the replica itself; {}');\nEND",
        verb.to_lowercase(),
        protected::HINT
    )
}

/// The CREATE TRIGGER statement for a typed table. `when`: the moment and the verb, for example `BEFORE INSERT`.
pub(crate) fn trigger(resource: &Resource, name: &str, when: &str, condition: &str, body: &[String]) -> String {
    let table = resource.kind.collection();
    format!("CREATE TRIGGER _{table}_{name} {when} ON {table} WHEN {condition}\nBEGIN\n  {}\nEND", body.join("\n  "))
}

/// SQL condition: an UPDATE changes the field.
pub(crate) fn changed(field: &Field) -> String {
    format!("NEW.{0} IS NOT OLD.{0}", field.name)
}

/// The refusal of a write to a column that only the server sets.
pub(crate) fn set_by_server(name: &str) -> String {
    format!("{name} is set by the server and cannot be written")
}
