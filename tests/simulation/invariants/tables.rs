//! The tables against the server's records: with the edits laid over, at the position or on the way there. Must not know
//! how an edit ends.

use std::collections::{BTreeMap, HashSet};

use hearth_contract::resources::resource;
use serde_json::Value;

use super::super::eye::{Open, Rows, Standing};
use super::super::model::{Fields, History, Model, Name};

/// The tables are the server's records at the position, with the edits laid over in their order.
pub(super) fn strictly(model: &Model, standing: &Standing, edits: &[Open], rows: &Rows) -> Result<(), String> {
    let (mut first, restored) = (None, model.histories.len() > 1);
    for history in model.histories.iter().rev().filter(|history| standing.position <= history.head) {
        match compare(history, restored, &model.decided, standing.position, edits, rows) {
            Ok(()) => return Ok(()),
            Err(why) => drop(first.get_or_insert(why)),
        }
    }
    let why = first.unwrap_or_else(|| "no history reaches so far".to_owned());
    Err(format!("the tables are not the server's at {} ({}): {why}", standing.position, standing.phase))
}

/// The same for one history; `restored`: there were others.
pub fn compare(
    history: &History,
    restored: bool,
    decided: &HashSet<Name>,
    position: i64,
    edits: &[Open],
    rows: &Rows,
) -> Result<(), String> {
    let records = history.records_at(position);
    let mut edited: BTreeMap<&Name, Vec<&Open>> = BTreeMap::new();
    for edit in edits {
        edited.entry(&edit.name).or_default().push(edit);
    }
    for (name, fields) in rows {
        if !edited.contains_key(name) {
            let Some((_, record)) = records.get(name) else {
                return Err(format!("{} {} is no record", name.0, name.1));
            };
            same(name, record, fields, true)?;
        }
    }
    for name in records.keys() {
        if !edited.contains_key(*name) && !rows.contains_key(*name) {
            // A person who was told that it is deleted there has let go of it, before the feed says so.
            let deleted = history.versions[*name].last().is_some_and(|(_, fields)| fields.is_none());
            if deleted && decided.contains(*name) {
                continue;
            }
            return Err(format!("{} {} is missing", name.0, name.1));
        }
    }
    for (name, edits) in edited {
        let laid_over = |form: Option<Fields>| lay_over(name, form, &edits);
        let expected = match records.get(name) {
            Some((_, fields)) => laid_over(Some(Fields::clone(fields))),
            // Gone there: the row stays as it was last seen, whenever that was, until a person has decided.
            None => {
                let versions = history.versions.get(name).into_iter().flatten();
                let seen = versions.filter(|(rev, _)| *rev <= position).filter_map(|(_, fields)| fields.as_deref());
                let mut forms = seen.rev().map(|fields| laid_over(Some(fields.clone())));
                let is_shown = |form: &Option<Fields>| match (form, rows.get(name)) {
                    (Some(form), Some(row)) => same(name, form, row, false).is_ok(),
                    (form, row) => form.is_some() == row.is_some(),
                };
                // Or it was last seen in a history that is put back. A create begins with nothing, and so does the profile,
                // unless its record was seen there.
                let begins = name.0.is_singleton() || edits.iter().any(|edit| edit.method == "create");
                let made = begins.then(|| laid_over(None));
                match (forms.find(is_shown), made) {
                    (Some(form), _) => form,
                    (None, Some(form)) if !restored || is_shown(&form) => form,
                    _ if restored => laid_over(rows.get(name).cloned()),
                    _ => return Err(format!("{} {} is shown as nobody ever had it", name.0, name.1)),
                }
            }
        };
        match (expected, rows.get(name)) {
            (None, None) => {}
            (Some(expected), Some(row)) => same(name, &expected, row, false)?,
            // Given back, because a server that was put back lost them; but their record is gone on both sides.
            (Some(_), None)
                if restored && !records.contains_key(name) && edits.iter().all(|edit| edit.needs_a_person()) => {}
            (Some(_), None) => {
                let edits: Vec<String> = edits.iter().map(|edit| format!("{} {}", edit.state, edit.method)).collect();
                return Err(format!("{} {} is missing with its edits ({})", name.0, name.1, edits.join(", ")));
            }
            (None, Some(_)) => return Err(format!("{} {} is still there", name.0, name.1)),
        }
    }
    Ok(())
}

/// A record with edits laid over, in their order; None: there is none then.
fn lay_over(name: &Name, mut form: Option<Fields>, edits: &[&Open]) -> Option<Fields> {
    for edit in edits {
        match (edit.method.as_str(), &mut form) {
            ("delete", form) => *form = None,
            (_, Some(form)) => form.extend(edit.patch.clone()),
            ("create", form) => *form = Some(edit.patch.clone()),
            (_, form) if name.0.is_singleton() => *form = Some(edit.patch.clone()),
            _ => {}
        }
    }
    form
}

/// Whether a row shows a record; `wholly`: with what only the server sets.
fn same(name: &Name, record: &Fields, row: &Fields, wholly: bool) -> Result<(), String> {
    let fields = resource(name.0).fields.iter().filter(|field| wholly || field.is_writable()).map(|field| field.name);
    let common = ["rev", "created_at", "updated_at"].into_iter().filter(|_| wholly);
    for column in fields.chain(common) {
        let wanted = record.get(column).unwrap_or(&Value::Null);
        if row.get(column) != Some(wanted) {
            let shown = row.get(column).unwrap_or(&Value::Null);
            return Err(format!("{} {}: {column} is {shown}, not {wanted}", name.0, name.1));
        }
    }
    Ok(())
}

/// On the way there, every row without edits is at least something that the server said once.
pub(super) fn loosely(model: &Model, edits: &[Open], rows: &Rows, unaware: bool) -> Result<(), String> {
    for (name, row) in rows {
        // Positions of the other history make an edit look settled before the feed has shown its record.
        let too_early = unaware && row.get("rev") == Some(&Value::Null);
        if too_early || edits.iter().any(|edit| edit.name == *name) {
            continue;
        }
        let said = |history: &&History| {
            let versions = history.versions.get(name).into_iter().flatten();
            versions.filter_map(|(_, fields)| fields.as_deref()).any(|fields| {
                let mut fields = fields.clone();
                // Of a history that is put back it counts as unknown.
                let is_unknown = matches!(row.get("rev").and_then(Value::as_i64), None | Some(0));
                if is_unknown && model.histories.len() > 1 {
                    fields.insert("rev".to_owned(), row.get("rev").cloned().unwrap_or_default());
                }
                same(name, &fields, row, true).is_ok()
            })
        };
        if model.any(said).is_none() {
            return Err(format!(
                "{} {} shows what the server never said: {}",
                name.0,
                name.1,
                Value::Object(row.clone())
            ));
        }
    }
    Ok(())
}
