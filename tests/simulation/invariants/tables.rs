//! The rows of a replica compared with the expected state: the server's records with the open edits applied. Must not
//! know how an edit ends.

use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use hearth_contract::recurrence;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::super::history::History;
use super::super::model::Model;
use super::super::observer::{OpenEdit, Rows, SyncState};
use super::super::record::{Fields, RecordKey};

/// Checks that the rows are the server's records at the replica's position with the open edits applied in order.
pub(super) fn check_at_position(
    model: &Model,
    state: &SyncState,
    edits: &[OpenEdit],
    rows: &Rows,
) -> Result<(), String> {
    let (mut newest_difference, restored) = (None, model.was_restored());
    for history in model.histories.iter().rev().filter(|history| state.position <= history.head) {
        match compare(history, restored, &model.facts.decided_records, state.position, edits, rows) {
            Ok(()) => return Ok(()),
            Err(why) => drop(newest_difference.get_or_insert(why)),
        }
    }
    let why = newest_difference.unwrap_or_else(|| "no history contains the position".to_owned());
    Err(format!("the tables are not the server's at {} ({}): {why}", state.position, state.phase))
}

/// Compares the rows with one history. `restored`: the server was restored, and other histories exist. `decided`:
/// records about whose edits a person has decided.
pub fn compare(
    history: &History,
    restored: bool,
    decided: &HashSet<RecordKey>,
    position: i64,
    edits: &[OpenEdit],
    rows: &Rows,
) -> Result<(), String> {
    let mut edited: BTreeMap<&RecordKey, Vec<&OpenEdit>> = BTreeMap::new();
    for edit in edits {
        edited.entry(&edit.record).or_default().push(edit);
    }
    let expected = Expected { history, restored, position, records: history.records_at(position) };
    expected.compare_unedited(&edited, decided, rows)?;
    for (record, edits) in edited {
        expected.compare_edited(record, &edits, rows)?;
    }
    Ok(())
}

/// The server's records at a position of one history.
struct Expected<'a> {
    history: &'a History,
    restored: bool,
    position: i64,
    records: BTreeMap<&'a RecordKey, (i64, &'a Rc<Fields>)>,
}

impl Expected<'_> {
    fn compare_unedited(
        &self,
        edited: &BTreeMap<&RecordKey, Vec<&OpenEdit>>,
        decided: &HashSet<RecordKey>,
        rows: &Rows,
    ) -> Result<(), String> {
        for (record, row) in rows.iter().filter(|(record, _)| !edited.contains_key(*record)) {
            let Some((_, fields)) = self.records.get(record) else {
                return Err(format!("{record} does not exist on the server"));
            };
            compare_row(record, fields, row, Columns::All)?;
        }
        for record in self.records.keys().filter(|record| !edited.contains_key(**record)) {
            // A person who was told about the delete on the server can give up the edit before the feed reports it.
            let is_deleted = || self.history.last_version(record).is_some_and(|last| last.fields.is_none());
            let was_given_up = || is_deleted() && decided.contains(*record);
            if !rows.contains_key(*record) && !was_given_up() {
                return Err(format!("{record} is missing"));
            }
        }
        Ok(())
    }

    fn compare_edited(&self, record: &RecordKey, edits: &[&OpenEdit], rows: &Rows) -> Result<(), String> {
        let expected = match self.records.get(record) {
            Some((_, fields)) => apply_edits(record, Some(Fields::clone(fields)), edits),
            None => self.expected_of_absent(record, edits, rows)?,
        };
        match (expected, rows.get(record)) {
            (None, None) => Ok(()),
            (Some(expected), Some(row)) => compare_row(record, &expected, row, Columns::Writable),
            // The edits wait for a person because a restore lost them, and the record is absent on both sides.
            (Some(_), None)
                if self.restored
                    && !self.records.contains_key(record)
                    && edits.iter().all(|edit| edit.needs_a_person()) =>
            {
                Ok(())
            }
            (Some(_), None) => {
                let edits: Vec<String> = edits.iter().map(|edit| format!("{} {}", edit.state, edit.method)).collect();
                Err(format!("{record} is missing with its edits ({})", edits.join(", ")))
            }
            (None, Some(_)) => Err(format!("{record} still exists")),
        }
    }

    /// True when the record follows a task of a series and was deleted on the server.
    fn is_deleted_next_task(&self, record: &RecordKey) -> bool {
        let next_of = |task: &RecordKey| Uuid::try_parse(&task.id).map(|id| recurrence::next_id(id).to_string());
        let is_deleted = self.history.last_version(record).is_some_and(|last| last.fields.is_none());
        (record.kind == Kind::Task && is_deleted)
            && self.history.versions.keys().any(|task| next_of(task).is_ok_and(|id| id == record.id))
    }

    /// The expected row of an edited record that the server does not have at the position. The row stays as it was last
    /// seen, at any earlier position, until a person has decided.
    fn expected_of_absent(
        &self,
        record: &RecordKey,
        edits: &[&OpenEdit],
        rows: &Rows,
    ) -> Result<Option<Fields>, String> {
        let versions = self.history.versions.get(record).into_iter().flatten();
        let earlier = versions.filter(|version| version.rev <= self.position);
        let earlier = earlier.filter_map(|version| version.fields.as_deref());
        let mut forms = earlier.rev().map(|fields| apply_edits(record, Some(fields.clone()), edits));
        let is_shown = |form: &Option<Fields>| match (form, rows.get(record)) {
            (Some(form), Some(row)) => compare_row(record, form, row, Columns::Writable).is_ok(),
            (form, row) => form.is_some() == row.is_some(),
        };
        // A create starts from nothing, and the profile can. After a restore, the row may show a record that only a
        // discarded history contains.
        let starts_from_nothing = record.kind.is_singleton() || edits.iter().any(|edit| edit.method == "create");
        let created = starts_from_nothing.then(|| apply_edits(record, None, edits));
        match (forms.find(is_shown), created) {
            (Some(form), _) => Ok(form),
            (None, Some(form)) if !self.restored || is_shown(&form) => Ok(form),
            // A replica makes a next task itself. When others complete the task before and delete their next task, a replica that was
            // away never sees theirs.
            _ if self.restored || self.is_deleted_next_task(record) => {
                Ok(apply_edits(record, rows.get(record).cloned(), edits))
            }
            _ => Err(format!("{record} is shown as no version of the record ever was")),
        }
    }
}

/// A record with edits applied in order; None when the record does not exist afterwards.
fn apply_edits(record: &RecordKey, mut form: Option<Fields>, edits: &[&OpenEdit]) -> Option<Fields> {
    for edit in edits {
        match (edit.method.as_str(), &mut form) {
            ("delete", form) => *form = None,
            (_, Some(form)) => form.extend(edit.patch.clone()),
            ("create", form) => *form = Some(edit.patch.clone()),
            (_, form) if record.kind.is_singleton() => *form = Some(edit.patch.clone()),
            _ => {}
        }
    }
    form
}

/// Which columns of a row are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// All, with those that only the server sets.
    All,
    /// Only those that a client can write.
    Writable,
}

/// Compares a row with the fields of a record.
fn compare_row(record: &RecordKey, expected: &Fields, row: &Fields, columns: Columns) -> Result<(), String> {
    let all = columns == Columns::All;
    let fields = resource(record.kind).fields.iter().filter(|field| all || field.is_writable());
    let common = ["rev", "created_at", "updated_at", "updated_by"].into_iter().filter(|_| all);
    for column in fields.map(|field| field.name).chain(common) {
        let expected = expected.get(column).unwrap_or(&Value::Null);
        let shown = row.get(column).unwrap_or(&Value::Null);
        if row.get(column) != Some(expected) {
            return Err(format!("{record}: {column} is {shown}, not {expected}"));
        }
    }
    Ok(())
}

/// Checks incomplete tables: every row without open edits shows some version that the server once had.
pub(super) fn check_known_versions(
    model: &Model,
    edits: &[OpenEdit],
    rows: &Rows,
    unaware: bool,
) -> Result<(), String> {
    for (record, row) in rows {
        // With positions of the discarded history, an edit can look settled before the feed has delivered its record.
        let is_too_early = unaware && row.get("rev") == Some(&Value::Null);
        if is_too_early || edits.iter().any(|edit| edit.record == *record) {
            continue;
        }
        let had_version = |history: &&History| {
            let versions = history.versions.get(record).into_iter().flatten();
            versions.filter_map(|version| version.fields.as_deref()).any(|fields| {
                let mut fields = fields.clone();
                // The rev of a discarded history counts as unknown.
                let is_unknown = row.get("rev").is_none_or(Value::is_null);
                if is_unknown && model.was_restored() {
                    fields.insert("rev".to_owned(), row.get("rev").cloned().unwrap_or_default());
                }
                compare_row(record, &fields, row, Columns::All).is_ok()
            })
        };
        if model.find_history(had_version).is_none() {
            return Err(format!("{record} shows a version that the server never had: {}", Value::Object(row.clone())));
        }
    }
    Ok(())
}
