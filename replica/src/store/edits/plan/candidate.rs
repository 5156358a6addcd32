//! Reads the edits that a pass examines, with what decides about them. Must not decide.

use hearth_contract::check::Fields;
use hearth_contract::recurrence::TIME_ZONE;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::Row;

use crate::model::Precondition;
use crate::store::edits::readiness::{Facts, RequestState};
use crate::store::file_store::upload::WAITS_FOR_FILE;
use crate::store::{StoreError, rows};

/// Bytes of an operation in a bulk request without the values, approximately.
const OPERATION_BYTES: usize = 128;

/// Stands for the home's time zone among the ids of records. The server decides by the zone on which day a task was completed,
/// so completions of series and changes of the zone reach the server in their order.
pub(super) const ZONE_ORDER: &str = "the time zone";

/// The SQL that reads the candidates, in their order. An accepted edit with a known position is left out, because no
/// edit waits for it, unless the feed must still bring the edit's record.
pub(super) fn candidates_text() -> String {
    let due = match hearth_simulated::planted(hearth_simulated::PlantedFault::RetryUsesWallClock) {
        true => "AND coalesce(e.next_attempt_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+2 minutes'), 1)",
        false => "",
    };
    format!(
        "SELECT e.id, e.kind, e.record_id, e.patch, e.base, e.state, e.idempotency_key, e.method, f.if_match,
                coalesce(f.if_absent, 0), coalesce(f.given_up, 0), f.blocked_by,
                CASE e.method WHEN 'create' THEN (
                    SELECT d.record_id FROM _outbox u JOIN edits d ON d.id = coalesce(u.part_of, u.edit_id)
                    WHERE u.undone_by = e.id AND d.method = 'delete') END,
                (SELECT n.completes FROM _outbox n WHERE n.next_edit = e.id), f.completes IS NOT NULL, {WAITS_FOR_FILE}
         FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
         WHERE (e.state <> 'sent' OR f.acked_rev IS NULL OR f.awaits_record)
             {due}
         ORDER BY e.id"
    )
}

/// An edit that the pass examines.
pub(super) struct Candidate {
    pub(super) id: i64,
    pub(super) kind: Kind,
    pub(super) record: String,
    pub(super) facts: Facts,
    pub(super) key: Option<String>,
    /// The blocking edit as stored.
    pub(super) blocked_by: Option<i64>,
    /// The records that the edit refers to. For a create that replaces a deleted record, also that record: it exists until the
    /// delete is sent.
    pub(super) targets: Vec<String>,
    /// For the create of a next task: the completed task. The create is never sent.
    pub(super) follows: Option<String>,
    /// True when the edit completes a task of a series.
    pub(super) completes: bool,
    /// True when the edit changes the home's time zone.
    pub(super) sets_zone: bool,
    pub(super) bytes: usize,
}

impl Candidate {
    pub(super) fn read(row: &Row<'_>) -> Result<Candidate, StoreError> {
        let kind = rows::kind(row, 1)?;
        let texts = [row.get_ref(3)?.as_str().unwrap_or("{}"), row.get_ref(4)?.as_str().unwrap_or("{}")];
        let key: Option<String> = row.get(6)?;
        let request = match (&key, row.get(10)?) {
            (None, _) => RequestState::None,
            (Some(_), false) => RequestState::Frozen,
            (Some(_), true) => RequestState::GivenUp,
        };
        let follows: Option<String> = row
            .get::<_, Option<String>>(13)?
            .filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::NextTaskSent));
        let precondition = Precondition::from_columns(row.get(8)?, row.get(9)?);
        let completes: bool = row.get(14)?;
        // Nothing waits for a request that is never sent.
        let mut targets = if follows.is_some() { Vec::new() } else { references(kind, texts)? };
        targets.extend(completes.then(|| ZONE_ORDER.to_owned()));
        if follows.is_none() {
            targets.extend(row.get::<_, Option<String>>(12)?);
        }
        Ok(Candidate {
            id: row.get(0)?,
            kind,
            record: row.get(2)?,
            facts: Facts {
                method: row.get(7)?,
                state: row.get(5)?,
                request,
                precondition,
                is_held_back: follows.is_some() || row.get(15)?,
            },
            key,
            blocked_by: row.get(11)?,
            targets,
            follows,
            completes,
            sets_zone: kind == Kind::Property && rows::parse_object(texts[0])?.contains_key(TIME_ZONE),
            bytes: texts[0].len() + OPERATION_BYTES,
        })
    }
}

/// The ids of the records that an edit refers to, from its patch and its base as JSON.
fn references(kind: Kind, texts: [&str; 2]) -> Result<Vec<String>, StoreError> {
    let fields = resource(kind).fields.iter();
    let fields: Vec<_> =
        fields.filter(|field| matches!(field.format, Format::Reference(_) | Format::Subject)).collect();
    // Most edits refer to no record, and parsing JSON is the main cost of a pass over many edits.
    if fields.is_empty() || !texts.iter().any(|text| fields.iter().any(|field| text.contains(field.name))) {
        return Ok(Vec::new());
    }
    let sides: Vec<Fields> = texts.into_iter().map(rows::parse_object).collect::<Result<_, _>>()?;
    let mut ids: Vec<String> = fields
        .into_iter()
        .flat_map(|field| sides.iter().filter_map(|side| side.get(field.name)?.as_str().map(str::to_owned)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
