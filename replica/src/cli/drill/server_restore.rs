//! The server is put back to an earlier position, as by an older copy of its files, and it goes on from there, using the
//! lost positions again for other changes. The replica must see that, come to the server's present, and tell what of its own
//! was lost.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::device::{fields, in_step_again};
use super::judge::{self, Effect, Made, account, equal};
use super::scene::Scene;
use super::{Outcome, failed};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(scene: &mut Scene) -> Outcome {
    let mut device = scene.device(&scene.path("device"))?;
    device.start()?;
    device.settle(scene, LIMIT)?;
    let copied = scene.head()?;
    scene.say(format!("the replica is in step at {copied}, which the server will be put back to"));

    let mut mine = Vec::new();
    for nth in 0..3 {
        let id = device.replica.create(Kind::Task, &fields(json!({ "title": format!("Will be lost {nth}") })))?;
        mine.push(Made { id, what: Effect::Created });
    }
    let room = device.row(Kind::Room, 0)?.id;
    device.replica.update(Kind::Room, &room, &fields(json!({ "paint_color": "Drill red" })))?;
    mine.push(Made { id: room, what: Effect::Set("paint_color", json!("Drill red")) });
    let seed = scene.options.seed;
    scene.lab(&["churn", "--count", "30", "--rate", "10000", "--seed", &seed.to_string()])?;
    device.settle(scene, LIMIT)?;
    let lost = scene.head()?;
    scene.say(format!("four edits of this replica and 30 of others are confirmed; the server is at {lost}"));

    scene.stop_server();
    scene.lab(&["rewind", "--to", &copied.to_string()])?;
    let other = (seed + 1).to_string();
    scene.lab(&["churn", "--count", "60", "--rate", "10000", "--seed", &other])?;
    let watch = device.watch();
    scene.serve(None)?;
    let head = scene.head()?;
    scene.say(format!("the server is put back, and with other changes it is at {head}, past {lost}"));
    if head <= lost {
        return Err(failed(format!("the server did not get past {lost} again, so nothing was drilled")));
    }

    in_step_again(scene, &device, watch, LIMIT)?;
    let account = account(scene, &device, &mine)?;
    if account.waiting < mine.len() {
        return Err(failed(format!(
            "{} confirmed edits were lost by the server; {} of them wait for a person to send them again, {}",
            mine.len(),
            account.waiting,
            account.told()
        )));
    }
    equal(scene, &device)?;
    scene
        .say(format!("the {} confirmed edits that the server lost wait for a person: they are sent again", mine.len()));
    for edit in device.edits()? {
        device.say(&["edits", "retry", &edit.id.to_string()])?;
    }
    device.settle(scene, LIMIT)?;
    let account = judge::account(scene, &device, &mine)?;
    if account.effective < mine.len() {
        return Err(failed(format!("{} edits were sent again, but {}", mine.len(), account.told())));
    }
    let records = equal(scene, &device)?;
    device.stop()?;
    Ok(format!(
        "the lost edits were offered and sent again: {}; {records} records are equal on both sides",
        account.told()
    ))
}
