//! The checks at the end of every drill: both sides are equal, every edit has one effect or one visible reason, and the
//! status never claimed too much. Must not know the fault.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;
use hearth_replica::{EditOutcome, EditState};
use serde_json::Value;

use super::device::{Device, StatusSample};
use super::home::{DrillHome, Event};
use super::outcome::{DrillError, Outcome, failed};

/// The states of an edit that waits for a person.
const FOR_A_PERSON: [EditState; 3] = [EditState::Blocked, EditState::Rejected, EditState::Conflict];
/// The number of differences in the message; the rest is counted.
const DIFFERENCES_SHOWN: usize = 3;

/// An edit of the drill, and its effect on the server.
#[derive(Debug, Clone)]
pub(super) struct ExpectedEdit {
    pub(super) id: String,
    pub(super) effect: Effect,
}

/// The effect of an edit.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    /// The record exists.
    Created,
    /// The field has this value, which no other client sets.
    Set(&'static str, Value),
    /// The record is deleted.
    Deleted,
}

/// The number of edits per result.
#[derive(Debug, Default)]
pub(super) struct EffectCount {
    /// Edits with exactly one effect.
    pub(super) effective: usize,
    /// Edits that wait for a person, with a reason.
    pub(super) waiting: usize,
    /// Edits with another outcome in the history.
    pub(super) settled: usize,
}

impl EffectCount {
    /// The numbers as a sentence.
    pub(super) fn summary(&self) -> String {
        let mut text = match self.effective {
            1 => "1 edit had one effect".to_owned(),
            many => format!("{many} edits had one effect each"),
        };
        if self.waiting > 0 {
            let wait = if self.waiting == 1 { "waits" } else { "wait" };
            text.push_str(&format!(", {} {wait} for a person with a reason", self.waiting));
        }
        if self.settled > 0 {
            text.push_str(&format!(", {} ended as the history says", self.settled));
        }
        text
    }
}

/// Checks that both sides hold the same records with equal values, and returns their number. Records with open edits
/// are left out, because they show the local values.
pub(super) fn check_equal(home: &DrillHome, device: &Device) -> Result<usize, DrillError> {
    let edits = device.edits()?;
    let has_edits = |id: &str| edits.iter().any(|edit| edit.record_id == id);
    let mut theirs: BTreeMap<String, (&str, Value)> = BTreeMap::new();
    for (kind, record) in home.records()? {
        theirs.insert(record["id"].as_str().unwrap_or_default().to_owned(), (kind, record));
    }
    let mut differences = Vec::new();
    for kind in Kind::ALL {
        for row in device.rows(kind)? {
            let there = theirs.remove(&row.id);
            if has_edits(&row.id) {
                continue;
            }
            let Some((_, record)) = there else {
                differences.push(format!("{kind} {} ({}) is on this side alone", row.id, row.title));
                continue;
            };
            if row.rev != record["rev"].as_i64() {
                differences.push(format!(
                    "{kind} {} is at {:?} on this device and at {} on the server",
                    row.id, row.rev, record["rev"]
                ));
            } else if let Some((name, value)) = row.fields.iter().find(|(name, value)| record[*name] != **value) {
                let here = &record[name];
                differences.push(format!("{name} of {kind} {} is {value} here and {here} there", row.id));
            }
        }
    }
    theirs.retain(|id, _| !has_edits(id));
    differences.extend(theirs.iter().map(|(id, (kind, _))| format!("{kind} {id} is on the server alone")));
    if differences.is_empty() {
        return Ok(home.records()?.len());
    }
    let shown = differences[..differences.len().min(DIFFERENCES_SHOWN)].join("; ");
    let more = differences.len().saturating_sub(DIFFERENCES_SHOWN);
    Err(failed(format!(
        "the two sides differ: {shown}{}",
        if more > 0 { format!("; {more} more") } else { String::new() }
    )))
}

/// The final check when no other client changed the edited records: every edit had one effect, both sides are equal.
/// Stops the device.
pub(super) fn finish_all_applied(home: &DrillHome, device: &mut Device, expected: &[ExpectedEdit]) -> Outcome {
    let effects = count_effects(home, device, expected)?;
    if effects.waiting + effects.settled > 0 {
        return Err(failed(format!("nobody else changed these records, yet {}", effects.summary())));
    }
    let records = check_equal(home, device)?;
    device.stop()?;
    Ok(format!("{}; {records} records are equal on both sides", effects.summary()))
}

/// Checks that every edit had exactly one effect, or waits with a reason, or has another outcome in the history.
pub(super) fn count_effects(
    home: &DrillHome,
    device: &Device,
    expected: &[ExpectedEdit],
) -> Result<EffectCount, DrillError> {
    let (events, edits) = (home.events()?, device.edits()?);
    let mut effects = EffectCount::default();
    for edit in expected {
        let times = times_applied(&events, edit);
        let waits = edits.iter().find(|open| open.record_id == edit.id && FOR_A_PERSON.contains(&open.state));
        match (times, waits) {
            (1, _) => effects.effective += 1,
            (0, Some(open)) if open.reason.as_ref().is_some_and(|reason| !reason.trim().is_empty()) => {
                effects.waiting += 1
            }
            (0, Some(open)) => return Err(failed(format!("edit {} is {} without a reason", open.id, open.state))),
            (0, None) => {
                let endings = device.outcomes(&edit.id)?;
                if !endings.iter().any(|ending| *ending != EditOutcome::Confirmed.as_str()) {
                    let result = if endings.is_empty() {
                        "and is nowhere to be seen".to_owned()
                    } else {
                        format!("though it is called {}", endings.join(", "))
                    };
                    return Err(failed(format!("{} had no effect {result}", describe(edit))));
                }
                effects.settled += 1;
            }
            (times, _) => return Err(failed(format!("{} had its effect {times} times", describe(edit)))),
        }
    }
    Ok(effects)
}

/// How often an edit took effect, by the events of the feed.
fn times_applied(events: &[Event], edit: &ExpectedEdit) -> usize {
    let of_record = || events.iter().filter(|event| event.record == edit.id);
    let count = |event_type: &str| of_record().filter(|event| event.event_type == event_type).count();
    match &edit.effect {
        Effect::Created => count("created"),
        Effect::Deleted => count("deleted"),
        Effect::Set(field, value) => {
            // Counts each change to the value, not each event that still has the value.
            let mut had = false;
            let is_change = |event: &Event| {
                let has = event.payload[field] == *value;
                let changed = has && !had;
                had = has;
                changed
            };
            of_record().map(is_change).filter(|changed| *changed).count()
        }
    }
}

fn describe(edit: &ExpectedEdit) -> String {
    match &edit.effect {
        Effect::Created => format!("the create of {}", edit.id),
        Effect::Deleted => format!("the delete of {}", edit.id),
        Effect::Set(field, value) => format!("the edit of {} that sets {field} to {value}", edit.id),
    }
}

/// Checks that the status never claimed to be current before the replica reached `position`.
pub(super) fn check_no_early_claim(samples: &[StatusSample], position: i64) -> Result<(), DrillError> {
    match samples.iter().find(|sample| sample.current && sample.position < position) {
        None => Ok(()),
        Some(sample) => Err(failed(format!(
            "the status claimed to be in step at {} while the server was at {position}",
            sample.position
        ))),
    }
}
