//! The server is restored to an earlier position and continues with other changes at the same positions. The replica
//! must notice, catch up, and report its own lost edits.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::checks::{self, Effect, ExpectedEdit, check_equal, count_effects};
use super::device::{Device, fields, settle_and_report};
use super::home::DrillHome;
use super::outcome::{Outcome, failed};

const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    let copied = home.head()?;
    home.log(format!("the replica is in step at {copied}, to which the server will be restored"));

    let mut expected = Vec::new();
    for nth in 0..3 {
        let id = device.replica.create(Kind::Task, &fields(json!({ "title": format!("Will be lost {nth}") })))?;
        expected.push(ExpectedEdit { id, effect: Effect::Created });
    }
    let room = device.row(Kind::Room, 0)?.id;
    device.replica.update(Kind::Room, &room, &fields(json!({ "paint_color": "Drill red" })))?;
    expected.push(ExpectedEdit { id: room, effect: Effect::Set("paint_color", json!("Drill red")) });
    let seed = home.options.seed;
    home.run_lab(&["churn", "--count", "30", "--rate", "10000", "--seed", &seed.to_string()])?;
    device.wait_until_settled(home, LIMIT)?;
    let lost = home.head()?;
    home.log(format!("four edits of this replica and 30 of others are confirmed; the server is at {lost}"));

    home.stop_server();
    home.run_lab(&["rewind", "--to", &copied.to_string()])?;
    let other = (seed + 1).to_string();
    home.run_lab(&["churn", "--count", "60", "--rate", "10000", "--seed", &other])?;
    let watch = device.watch();
    home.serve(None)?;
    let head = home.head()?;
    home.log(format!("the server is restored, and with other changes it is at {head}, past {lost}"));
    if head <= lost {
        return Err(failed(format!("the server did not get past {lost} again, so the drill tested nothing")));
    }

    settle_and_report(home, &device, watch, LIMIT)?;
    let effects = count_effects(home, &device, &expected)?;
    if effects.waiting < expected.len() {
        return Err(failed(format!(
            "{} confirmed edits were lost by the server; {} of them wait for a person to send them again, {}",
            expected.len(),
            effects.waiting,
            effects.summary()
        )));
    }
    check_equal(home, &device)?;
    home.log(format!(
        "the {} confirmed edits that the server lost wait for a person: they are sent again",
        expected.len()
    ));
    for edit in device.edits()? {
        device.run_json(&["edits", "retry", &edit.id.to_string()])?;
    }
    device.wait_until_settled(home, LIMIT)?;
    let effects = checks::count_effects(home, &device, &expected)?;
    if effects.effective < expected.len() {
        return Err(failed(format!("{} edits were sent again, but {}", expected.len(), effects.summary())));
    }
    let records = check_equal(home, &device)?;
    device.stop()?;
    Ok(format!(
        "the lost edits were offered and sent again: {}; {records} records are equal on both sides",
        effects.summary()
    ))
}
