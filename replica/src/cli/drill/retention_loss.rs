//! The replica is offline while the home changes, and the server trims the history of these changes. The replica must
//! catch up, deletes included, and keep its offline edits.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::checks::{Effect, ExpectedEdit, check_equal, check_no_early_claim, count_effects};
use super::device::{Device, fields, settle_and_report};
use super::home::DrillHome;
use super::outcome::{Outcome, failed};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    device.stop()?;
    let position = device.replica.status()?.position;
    home.log(format!("the replica is in step at {position}; its daemon is stopped"));

    let (room, task, doomed) =
        (device.row(Kind::Room, 0)?.id, device.row(Kind::Task, 0)?.id, device.row(Kind::Task, 1)?.id);
    let new = device.replica.create(Kind::Task, &fields(json!({ "title": "Edit while away" })))?;
    device.replica.update(Kind::Room, &room, &fields(json!({ "paint_color": "Drill red" })))?;
    device.replica.update(Kind::Task, &doomed, &fields(json!({ "notes": "Edited while away" })))?;
    let expected = [
        ExpectedEdit { id: new, effect: Effect::Created },
        ExpectedEdit { id: room, effect: Effect::Set("paint_color", json!("Drill red")) },
        ExpectedEdit { id: doomed.clone(), effect: Effect::Set("notes", json!("Edited while away")) },
    ];
    home.log("offline, a task is made, a room is painted, and a task is edited");

    let seed = home.options.seed.to_string();
    home.run_lab(&["churn", "--count", "200", "--rate", "10000", "--seed", &seed])?;
    home.delete("tasks", &doomed)?;
    home.delete("tasks", &task)?;
    let thinned = home.run_lab(&["trim"])?["thinned"].as_i64().unwrap_or_default();
    let head = home.head()?;
    if thinned <= position {
        return Err(failed(format!("nothing after {position} was trimmed, so the drill tested nothing")));
    }
    home.log(format!("200 changes and two deletes later, the log is trimmed up to {thinned}; the server is at {head}"));

    let watch = device.watch();
    device.start()?;
    let samples = settle_and_report(home, &device, watch, LIMIT)?;
    check_no_early_claim(&samples, head)?;
    let effects = count_effects(home, &device, &expected)?;
    // No other client touches the new task. The edit of the deleted task waits for a person.
    if effects.effective == 0 || effects.waiting == 0 || effects.settled > 0 {
        return Err(failed(format!("no edit may end unasked, and not all may wait, yet {}", effects.summary())));
    }
    let records = check_equal(home, &device)?;
    device.stop()?;
    Ok(format!("{}; {records} records are equal on both sides", effects.summary()))
}
