//! The server commits and its answer is lost: first for a while, then for so long that the server has forgotten which
//! writes it had seen. Every edit must have its effect once.

use std::time::Duration;

use hearth_contract::schema::Kind;
use hearth_replica::{Edit, EditState};
use reqwest::Method;
use serde_json::json;

use super::device::{Device, fields};
use super::judge::{Effect, Made, account, all_had_their_effect};
use super::scene::Scene;
use super::{Outcome, Stop, failed};

const LIMIT: Duration = Duration::from_secs(90);
/// A server whose streams are opened and say nothing: what it has is not heard of by them.
const SILENT: &str = "mute=always route=streams";

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

    made.extend(overtaken(scene, &mut device)?);
    made.extend(forgotten(scene, &mut device)?);
    let took = device.settle(scene, LIMIT)?;
    scene.say(format!("all are settled after {:.1} s", took.as_secs_f64()));

    all_had_their_effect(scene, &mut device, &made)
}

/// An update and a create are committed, their answers are lost, and before they are sent again somebody else changes the
/// same fields: they have had their effect and must neither have it again nor become conflicts.
fn overtaken(scene: &mut Scene, device: &mut Device) -> Result<Vec<Made>, Stop> {
    device.stop()?;
    let car = device.row(Kind::Vehicle, 0)?.id;
    device.replica.update(Kind::Vehicle, &car, &fields(json!({ "color": "mine" })))?;
    let task = device.replica.create(Kind::Task, &fields(json!({ "title": "Mine" })))?;
    commit_unheard(scene, device, 2)?;
    scene.stop_server();
    scene.serve(Some(SILENT))?;
    scene.ask(Method::PATCH, &format!("/v1/vehicles/{car}"), Some(&json!({ "color": "theirs" })))?;
    scene.ask(Method::PATCH, &format!("/v1/tasks/{task}"), Some(&json!({ "title": "Theirs" })))?;
    retry_unheard(scene, device)?;
    device.settle(scene, LIMIT)?;
    if let Some(edit) = device.edits()?.into_iter().find(|edit| edit.record_id == car || edit.record_id == task) {
        let why = edit.reason.unwrap_or_default();
        let what = format!("edit {} had its effect before somebody else's, yet it is {}: {why}", edit.id, edit.state);
        return Err(failed(what));
    }
    scene.say(
        "two more are committed without an answer and overtaken by somebody else's changes: they are not sent as new",
    );
    Ok(vec![Made { id: car, what: Effect::Set("color", json!("mine")) }, Made { id: task, what: Effect::Created }])
}

/// The server has forgotten the keys of what it committed, before it is sent again.
fn forgotten(scene: &mut Scene, device: &mut Device) -> Result<Vec<Made>, Stop> {
    device.stop()?;
    let made = edits(device, "second", 3)?;
    commit_unheard(scene, device, 1)?;
    scene.kill_server();
    let forgotten = scene.lab(&["forget-keys"])?["forgotten"].as_i64().unwrap_or_default();
    if forgotten == 0 {
        return Err(failed("the server had nothing to forget, so nothing was drilled"));
    }
    let count = made.len();
    scene.say(format!(
        "{count} more edits; answers are lost, both programs are killed, and the server forgets {forgotten} keys"
    ));
    scene.serve(Some(SILENT))?;
    retry_unheard(scene, device)?;
    Ok(made)
}

/// Has the device send its edits to a server whose answers are lost and whose streams say nothing, until so many are
/// committed there; then its daemon is killed. It knows of none of them that it had its effect.
fn commit_unheard(scene: &mut Scene, device: &mut Device, many: i64) -> Result<(), Stop> {
    scene.stop_server();
    scene.serve(Some(&format!("lost-answer=always route=writes,bulk; {SILENT}")))?;
    let before = scene.head()?;
    device.start()?;
    scene.wait("writes whose answers are lost are committed", LIMIT, || Ok(scene.head()? >= before + many))?;
    device.kill();
    let edits = device.edits()?;
    if edits.is_empty() || edits.iter().any(|edit| edit.state == EditState::Sent) {
        return Err(failed("the replica has heard of what it wrote, so nothing was drilled"));
    }
    Ok(())
}

/// Has the device send its edits again to a server that answers, but whose streams say nothing, until each was sent once
/// more: only their keys, ids and conditions tell the server what they are. Then the server is in order again.
fn retry_unheard(scene: &mut Scene, device: &mut Device) -> Result<(), Stop> {
    let before = device.edits()?;
    device.start()?;
    let again = |edit: &Edit| edit.attempts > attempts(&before, edit.id) && edit.state != EditState::Sending;
    scene.wait("every edit is sent again", LIMIT, || Ok(device.edits()?.iter().all(again)))?;
    scene.stop_server();
    scene.serve(None)
}

fn attempts(edits: &[Edit], id: i64) -> i64 {
    edits.iter().find(|edit| edit.id == id).map_or(0, |edit| edit.attempts)
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
