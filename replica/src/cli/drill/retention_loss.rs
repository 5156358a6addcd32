//! The replica is away while the home changes, and the history of these changes is thinned out. It must come to the
//! server's present, deletes included, without losing what was edited offline.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::device::{fields, in_step_again};
use super::judge::{Effect, Made, account, equal, never_claimed_early};
use super::scene::Scene;
use super::{Outcome, failed};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(scene: &mut Scene) -> Outcome {
    let mut device = scene.device(&scene.path("device"))?;
    device.start()?;
    device.settle(scene, LIMIT)?;
    device.stop()?;
    let position = device.replica.status()?.position;
    scene.say(format!("the replica is in step at {position}; its daemon is stopped"));

    let (room, task, doomed) =
        (device.row(Kind::Room, 0)?.id, device.row(Kind::Task, 0)?.id, device.row(Kind::Task, 1)?.id);
    let new = device.replica.create(Kind::Task, &fields(json!({ "title": "Made while away" })))?;
    device.replica.update(Kind::Room, &room, &fields(json!({ "paint_color": "Drill red" })))?;
    device.replica.update(Kind::Task, &doomed, &fields(json!({ "notes": "Edited while away" })))?;
    let made = [
        Made { id: new, what: Effect::Created },
        Made { id: room, what: Effect::Set("paint_color", json!("Drill red")) },
        Made { id: doomed.clone(), what: Effect::Set("notes", json!("Edited while away")) },
    ];
    scene.say("offline, a task is made, a room is painted, and a task is edited");

    let seed = scene.options.seed.to_string();
    scene.lab(&["churn", "--count", "200", "--rate", "10000", "--seed", &seed])?;
    scene.delete("tasks", &doomed)?;
    scene.delete("tasks", &task)?;
    let thinned = scene.lab(&["trim"])?["thinned"].as_i64().unwrap_or_default();
    let head = scene.head()?;
    if thinned <= position {
        return Err(failed(format!("nothing after {position} was thinned out, so nothing was drilled")));
    }
    scene.say(format!(
        "200 changes and two deletes later, the log is thinned out up to {thinned}; the server is at {head}"
    ));

    let watch = device.watch();
    device.start()?;
    let said = in_step_again(scene, &device, watch, LIMIT)?;
    never_claimed_early(&said, head)?;
    let account = account(scene, &device, &made)?;
    // The new task is nobody else's, and the edit of what was deleted is for a person to decide.
    if account.effective == 0 || account.waiting == 0 || account.settled > 0 {
        return Err(failed(format!("no edit may end unasked, and not all may wait, yet {}", account.told())));
    }
    let records = equal(scene, &device)?;
    device.stop()?;
    Ok(format!("{}; {records} records are equal on both sides", account.told()))
}
