//! Sets the clock years ahead and years behind, while edits are refused and retried. The daemon must not depend on the
//! clock. The program `faketime` shifts the clock of one daemon only.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_contract::schema::Kind;
use serde_json::json;

use super::checks::{Effect, ExpectedEdit, finish_all_applied};
use super::device::{Device, fields};
use super::home::DrillHome;
use super::outcome::{DrillError, Outcome, failed};
use super::processes;

const LIMIT: Duration = Duration::from_secs(60);
/// The steps of the clock: the shift, its words, and whether the daemon restarts at this step.
const STEPS: [(&str, &str, bool); 4] = [
    ("+4000d", "eleven years ahead", false),
    ("-4000d", "eleven years behind", false),
    ("+4001d", "ahead again", false),
    ("+0d", "right again", true),
];

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let library = faketime()?;
    let shift = home.file("clock");
    fs::write(&shift, "+0d\n")?;
    let mut device = Device::create(home, &home.file("device"))?;
    device.with_environment(
        [
            ("LD_PRELOAD", library),
            ("FAKETIME_TIMESTAMP_FILE", shift.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec(),
    );
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    home.log("the replica is in step, by a clock of its own");

    let mut expected = Vec::new();
    for (nth, (step, position_text, restarts)) in STEPS.into_iter().enumerate() {
        // A refused edit stores the time of its next attempt; the clock has changed by then.
        restart_server(home, &device, Some("503=always route=writes,bulk"))?;
        in_step(home, &device, position_text)?;
        let title = format!("title=Edit before the clock was {position_text}");
        let id = device.run_json(&["add", "task", &title])?;
        let id = id["id"].as_str().ok_or_else(|| failed("add does not say the id of the new task"))?.to_owned();
        expected.push(ExpectedEdit { id, effect: Effect::Created });
        let room = device.row(Kind::Room, nth)?.id;
        device.replica.update(Kind::Room, &room, &fields(json!({ "paint_color": step })))?;
        expected.push(ExpectedEdit { id: room, effect: Effect::Set("paint_color", json!(step)) });
        home.wait_until("both edits are refused", LIMIT, || Ok(device.edits()?.iter().all(|edit| edit.attempts > 0)))?;
        if restarts {
            // A new daemon, which knows only the new clock, must take up the delayed edits.
            kill_while_delayed(home, &mut device)?;
        }
        fs::write(&shift, format!("{step}\n"))?;
        if restarts {
            device.start()?;
        }
        restart_server(home, &device, None)?;
        let seed = (home.options.seed + nth as u64).to_string();
        home.run_lab(&["churn", "--count", "20", "--rate", "10000", "--seed", &seed])?;
        let took = home.wait_until("the edits are through", LIMIT, || Ok(device.edits()?.is_empty()));
        let took = took.map_err(|stop| about(stop, position_text))?;
        in_step(home, &device, position_text)?;
        check_clock_moved(&device, step)?;
        home.log(format!(
            "the clock is {position_text}: 2 edits and 20 changes are sent and confirmed after {:.1} s",
            took.as_secs_f64()
        ));
    }
    device.wait_until_settled(home, LIMIT)?;
    finish_all_applied(home, &mut device, &expected)
}

/// Checks that the daemon's clock was shifted as planned.
fn check_clock_moved(device: &Device, step: &str) -> Result<(), DrillError> {
    const YEAR_SECONDS: u64 = 31_556_952;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / YEAR_SECONDS + 1970;
    let last_contact = device.replica.status()?.last_contact_at.unwrap_or_default();
    let year: u64 = last_contact.get(..4).and_then(|year| year.parse().ok()).unwrap_or_default();
    if (year.abs_diff(now) > 5) == (step != "+0d") {
        return Ok(());
    }
    Err(failed(format!("the daemon's clock was set to {step}, but it says {last_contact:?}: the drill tested nothing")))
}

/// Kills the daemon while both edits are delayed and none is being sent.
fn kill_while_delayed(home: &DrillHome, device: &mut Device) -> Result<(), DrillError> {
    let are = |device: &Device| Ok(device.edits()?.iter().all(|edit| edit.next_attempt_at.is_some()));
    loop {
        home.wait_until("both edits are put off", LIMIT, || are(device))?;
        device.kill();
        if are(device)? {
            return Ok(());
        }
        device.start()?;
    }
}

/// Restarts the server, with faults if given, and asks the daemon to retry at once, as an impatient person does.
fn restart_server(home: &mut DrillHome, device: &Device, faults: Option<&str>) -> Result<(), DrillError> {
    home.stop_server();
    home.serve(faults)?;
    Ok(device.replica.retry_sync_now()?)
}

/// Waits until the replica claims to be current, by its own clock: the person who reads the status uses the same
/// machine.
fn in_step(home: &DrillHome, device: &Device, position_text: &str) -> Result<(), DrillError> {
    let head = home.head()?;
    let in_step = home.wait_until("the replica says that it is in step", LIMIT, || {
        let status = device.run_json(&["status"])?;
        let current = status["phase"] == "live" && status["behind_events"] == 0;
        Ok(current && status["position"].as_i64().is_some_and(|position| position >= head))
    });
    in_step.map(drop).map_err(|stop| about(stop, position_text))
}

fn about(stop: DrillError, position_text: &str) -> DrillError {
    match stop {
        DrillError::Failed(why) => failed(format!("as the clock was {position_text}: {why}")),
        skipped => skipped,
    }
}

/// The library that shifts the clock, as set by the program `faketime`.
fn faketime() -> Result<String, DrillError> {
    let missing =
        || DrillError::Skipped("another clock needs the program faketime (Debian: apt install faketime)".to_owned());
    let environment =
        processes::run_to_end(Command::new("faketime").args(["-m", "-f", "+0d", "env"])).map_err(|_| missing())?;
    let environment = String::from_utf8_lossy(&environment.stdout).into_owned();
    environment.lines().find_map(|line| line.strip_prefix("LD_PRELOAD=")).map(str::to_owned).ok_or_else(missing)
}
