//! The server commits and its responses are lost, first for a while, then until the server has forgotten the
//! idempotency keys. Every edit must have exactly one effect.

use std::time::Duration;

use hearth_contract::schema::Kind;
use hearth_replica::{Edit, EditState};
use reqwest::Method;
use serde_json::json;

use super::checks::{Effect, ExpectedEdit, count_effects, finish_all_applied};
use super::device::{Device, fields};
use super::home::DrillHome;
use super::outcome::{DrillError, Outcome, failed};

const LIMIT: Duration = Duration::from_secs(90);
/// Streams open and stay silent, so the feed confirms nothing.
const SILENT: &str = "mute=always route=streams";

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    device.stop()?;
    home.log("the replica is in step; its daemon is stopped");

    home.stop_server();
    home.serve(Some("lost-answer=first:4 route=writes,bulk"))?;
    let mut expected = edits(&device, "first", 0)?;
    home.log(format!("offline, {} edits are made; the answers to the next 4 writes will be lost", expected.len()));
    device.start()?;
    let took = device.wait_until_settled(home, LIMIT)?;
    home.log(format!("all are settled after {:.1} s", took.as_secs_f64()));
    count_effects(home, &device, &expected)?;

    expected.extend(overwrite_committed(home, &mut device)?);
    expected.extend(forget_committed(home, &mut device)?);
    let took = device.wait_until_settled(home, LIMIT)?;
    home.log(format!("all are settled after {:.1} s", took.as_secs_f64()));

    finish_all_applied(home, &mut device, &expected)
}

/// An update and a create are committed without a response. Before they are sent again, another client changes the same
/// fields. The edits must neither apply again nor become conflicts.
fn overwrite_committed(home: &mut DrillHome, device: &mut Device) -> Result<Vec<ExpectedEdit>, DrillError> {
    device.stop()?;
    let car = device.row(Kind::Vehicle, 0)?.id;
    device.replica.update(Kind::Vehicle, &car, &fields(json!({ "color": "mine" })))?;
    let task = device.replica.create(Kind::Task, &fields(json!({ "title": "Mine" })))?;
    commit_without_answers(home, device, 2)?;
    home.stop_server();
    home.serve(Some(SILENT))?;
    home.request(Method::PATCH, &format!("/v1/vehicles/{car}"), Some(&json!({ "color": "theirs" })))?;
    home.request(Method::PATCH, &format!("/v1/tasks/{task}"), Some(&json!({ "title": "Theirs" })))?;
    resend_without_events(home, device)?;
    device.wait_until_settled(home, LIMIT)?;
    if let Some(edit) = device.edits()?.into_iter().find(|edit| edit.record_id == car || edit.record_id == task) {
        let why = edit.reason.unwrap_or_default();
        let text = format!("edit {} had its effect before somebody else's, yet it is {}: {why}", edit.id, edit.state);
        return Err(failed(text));
    }
    home.log(
        "two more are committed without an answer and overtaken by somebody else's changes: they are not sent as new",
    );
    Ok(vec![
        ExpectedEdit { id: car, effect: Effect::Set("color", json!("mine")) },
        ExpectedEdit { id: task, effect: Effect::Created },
    ])
}

/// The server forgets the idempotency keys of committed writes before they are sent again.
fn forget_committed(home: &mut DrillHome, device: &mut Device) -> Result<Vec<ExpectedEdit>, DrillError> {
    device.stop()?;
    let expected = edits(device, "second", 3)?;
    commit_without_answers(home, device, 1)?;
    home.kill_server();
    let forgotten = home.run_lab(&["forget-keys"])?["forgotten"].as_i64().unwrap_or_default();
    if forgotten == 0 {
        return Err(failed("the server had nothing to forget, so the drill tested nothing"));
    }
    let count = expected.len();
    home.log(format!(
        "{count} more edits; answers are lost, both programs are killed, and the server forgets {forgotten} keys"
    ));
    home.serve(Some(SILENT))?;
    resend_without_events(home, device)?;
    Ok(expected)
}

/// Lets the device send edits without responses and events, until `many` are committed. Then kills the daemon, which
/// knows no result.
fn commit_without_answers(home: &mut DrillHome, device: &mut Device, many: i64) -> Result<(), DrillError> {
    home.stop_server();
    home.serve(Some(&format!("lost-answer=always route=writes,bulk; {SILENT}")))?;
    let before = home.head()?;
    device.start()?;
    home.wait_until("writes whose answers are lost are committed", LIMIT, || Ok(home.head()? >= before + many))?;
    device.kill();
    let edits = device.edits()?;
    if edits.is_empty() || edits.iter().any(|edit| edit.state == EditState::Sent) {
        return Err(failed("the replica has heard of what it wrote, so the drill tested nothing"));
    }
    Ok(())
}

/// Lets the device send every edit again with responses and without events: only key, id and precondition identify an
/// edit. Then restores a normal server.
fn resend_without_events(home: &mut DrillHome, device: &mut Device) -> Result<(), DrillError> {
    let before = device.edits()?;
    device.start()?;
    let again = |edit: &Edit| edit.attempts > attempts(&before, edit.id) && edit.state != EditState::Sending;
    home.wait_until("every edit is sent again", LIMIT, || Ok(device.edits()?.iter().all(again)))?;
    home.stop_server();
    home.serve(None)
}

fn attempts(edits: &[Edit], id: i64) -> i64 {
    edits.iter().find(|edit| edit.id == id).map_or(0, |edit| edit.attempts)
}

/// Creates, updates and a delete, on records that other rounds do not use.
fn edits(device: &Device, round: &str, skip: usize) -> Result<Vec<ExpectedEdit>, DrillError> {
    let mut expected = Vec::new();
    for nth in 0..3 {
        let title = format!("{round} {nth}");
        let id = device.replica.create(Kind::Task, &fields(json!({ "title": title })))?;
        expected.push(ExpectedEdit { id, effect: Effect::Created });
        let id = device.row(Kind::Inventory, skip + nth)?.id;
        device.replica.update(Kind::Inventory, &id, &fields(json!({ "description": title })))?;
        expected.push(ExpectedEdit { id, effect: Effect::Set("description", json!(title)) });
    }
    let id = device.row(Kind::Document, skip)?.id;
    device.replica.delete(Kind::Document, &id)?;
    expected.push(ExpectedEdit { id, effect: Effect::Deleted });
    Ok(expected)
}
