//! The server refuses one edit permanently. The edit must wait with the server's words, block only dependent edits, and
//! be settled by a person's decision.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::super::text;
use super::checks::{Effect, ExpectedEdit, check_equal, count_effects};
use super::device::{Device, fields};
use super::home::DrillHome;
use super::outcome::{Outcome, failed};
use hearth_replica::EditState;

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    device.stop()?;
    let (room, task) = (device.row(Kind::Room, 0)?.id, device.row(Kind::Task, 0)?.id);
    let item = device.replica.create(Kind::Inventory, &fields(json!({ "name": "Piano", "room_id": room })))?;
    let receipt = json!({ "title": "Receipt of the piano", "subject_type": "inventory", "subject_id": item });
    let paper = device.replica.create(Kind::Document, &fields(receipt))?;
    let healthy = device.replica.create(Kind::Task, &fields(json!({ "title": "Nothing to do with it" })))?;
    device.replica.update(Kind::Task, &task, &fields(json!({ "notes": "Nothing to do with it" })))?;
    home.log("offline, a thing is put into a room, its receipt is filed, and two edits have nothing to do with either");
    home.delete("rooms", &room)?;
    home.log("meanwhile somebody else has deleted the room: the server will always refuse the thing");

    device.start()?;
    let took = device.wait_until_settled(home, LIMIT)?;
    let expected = [
        ExpectedEdit { id: item.clone(), effect: Effect::Created },
        ExpectedEdit { id: paper, effect: Effect::Created },
        ExpectedEdit { id: healthy, effect: Effect::Created },
        ExpectedEdit { id: task, effect: Effect::Set("notes", json!("Nothing to do with it")) },
    ];
    let effects = count_effects(home, &device, &expected)?;
    home.log(format!("after {:.1} s, {}", took.as_secs_f64(), effects.summary()));
    if (effects.effective, effects.waiting) != (2, 2) {
        return Err(failed(format!(
            "two of four edits should go through and two wait for a person, but {}",
            effects.summary()
        )));
    }
    let edits = device.edits()?;
    let poison = edits.iter().find(|edit| edit.record_id == item);
    let Some(poison) = poison.filter(|edit| edit.state == EditState::Rejected && edit.problem.is_some()) else {
        return Err(failed("the refused edit is not kept as rejected, with the server's own words"));
    };
    let reason = poison.reason.clone().unwrap_or_default();
    home.log(format!("it is parked: {reason}"));
    let attempts = poison.attempts;
    if device.replica.status()?.needs_you < 1 {
        return Err(failed("the status does not say that somebody is needed"));
    }

    for edit in edits.iter().rev() {
        device.run_json(&["edits", "discard", &edit.id.to_string()])?;
    }
    device.wait_until_settled(home, LIMIT)?;
    if !device.edits()?.is_empty() {
        return Err(failed("edits that a person has discarded are still there"));
    }
    let records = check_equal(home, &device)?;
    device.stop()?;
    Ok(format!(
        "one edit was refused after {} and waited with its reason, one waited for it, the others went \
         through; once discarded, {records} records are equal on both sides",
        text::count(attempts, "attempt")
    ))
}
