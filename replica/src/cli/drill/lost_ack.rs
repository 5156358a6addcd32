//! The server commits and its answer is lost: first for a while, then for so long that the server has forgotten which
//! writes it had seen. Every edit must have its effect once.

use std::time::Duration;

use hearth_contract::schema::Kind;
use reqwest::Method;
use serde_json::json;

use super::device::{Device, fields};
use super::judge::{Effect, Made, account, all_had_their_effect};
use super::scene::Scene;
use super::{Outcome, Stop, failed};

const LIMIT: Duration = Duration::from_secs(90);

pub(super) fn run(scene: &mut Scene) -> Outcome {
    let mut device = scene.device(&scene.path("device"))?;
    device.start()?;
    device.settle(scene, LIMIT)?;
    device.stop()?;
    scene.say("the replica is in step; its daemon is stopped");

    scene.stop_server();
    scene.serve(Some("lost-answer=first:4 route=writes,bulk"))?;
    let mut made = edits(&device, "first", 0)?;
    scene.say(format!("offline, {} edits are made; the answers to the next 4 writes will be lost", made.len()));
    device.start()?;
    let took = device.settle(scene, LIMIT)?;
    scene.say(format!("all are settled after {:.1} s", took.as_secs_f64()));
    account(scene, &device, &made)?;

    made.push(overtaken(scene, &mut device)?);
    device.stop()?;
    scene.stop_server();
    scene.serve(Some("lost-answer=always route=writes,bulk"))?;
    let before = scene.head()?;
    let later = edits(&device, "second", 3)?;
    device.start()?;
    scene.wait("a write whose answer is lost is committed", LIMIT, || Ok(scene.head()? > before))?;
    device.kill();
    scene.kill_server();
    let forgotten = scene.lab(&["forget-keys"])?["forgotten"].as_i64().unwrap_or_default();
    if forgotten == 0 {
        return Err(failed("the server had nothing to forget, so nothing was drilled"));
    }
    scene.say(format!(
        "{} more edits; answers are lost, both programs are killed, and the server forgets {forgotten} keys",
        later.len()
    ));
    made.extend(later);
    scene.serve(None)?;
    device.start()?;
    let took = device.settle(scene, LIMIT)?;
    scene.say(format!("all are settled after {:.1} s", took.as_secs_f64()));

    all_had_their_effect(scene, &mut device, &made)
}

/// An edit is committed, its answer is lost, and before it is sent again somebody else changes the same field: it has had
/// its effect and must neither have it again nor become a conflict.
fn overtaken(scene: &mut Scene, device: &mut Device) -> Result<Made, Stop> {
    device.stop()?;
    scene.stop_server();
    scene.serve(Some("lost-answer=always route=writes,bulk"))?;
    let id = device.row(Kind::Vehicle, 0)?.id;
    device.replica.update(Kind::Vehicle, &id, &fields(json!({ "color": "mine" })))?;
    let before = scene.head()?;
    device.start()?;
    scene.wait("a write whose answer is lost is committed", LIMIT, || Ok(scene.head()? > before))?;
    device.kill();
    scene.stop_server();
    scene.serve(None)?;
    scene.ask(Method::PATCH, &format!("/v1/vehicles/{id}"), Some(&json!({ "color": "theirs" })))?;
    device.start()?;
    device.settle(scene, LIMIT)?;
    if let Some(edit) = device.edits()?.into_iter().find(|edit| edit.record_id == id) {
        let why = edit.reason.unwrap_or_default();
        return Err(failed(format!(
            "an edit that had its effect before somebody else's waits as {}: {why}",
            edit.state
        )));
    }
    scene.say("one more is committed without an answer, then overtaken by somebody else's change: it is not sent as a new one");
    Ok(Made { id, what: Effect::Set("color", json!("mine")) })
}

/// Creates, updates and a delete, of records that the other rounds leave alone.
fn edits(device: &Device, round: &str, skip: usize) -> Result<Vec<Made>, Stop> {
    let mut made = Vec::new();
    for nth in 0..3 {
        let title = format!("{round} {nth}");
        let id = device.replica.create(Kind::Task, &fields(json!({ "title": title })))?;
        made.push(Made { id, what: Effect::Created });
        let id = device.row(Kind::Inventory, skip + nth)?.id;
        device.replica.update(Kind::Inventory, &id, &fields(json!({ "description": title })))?;
        made.push(Made { id, what: Effect::Set("description", json!(title)) });
    }
    let id = device.row(Kind::Document, skip)?.id;
    device.replica.delete(Kind::Document, &id)?;
    made.push(Made { id, what: Effect::Deleted });
    Ok(made)
}
