//! Kills the daemon at random moments while it reads and sends, and the server in every third round. Every edit must
//! have exactly one effect.

use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::json;

use super::checks::{Effect, ExpectedEdit, finish_all_applied};
use super::device::{Device, fields};
use super::home::DrillHome;
use super::outcome::Outcome;

const LIMIT: Duration = Duration::from_secs(60);
const ROUNDS: u64 = 8;
/// Slow and lost responses, so most kills hit a write in progress or an unacknowledged one.
const SLOW: &str = "latency=always by=20ms-80ms; lost-answer=10% route=writes,bulk";

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    home.stop_server();
    home.serve(Some(SLOW))?;
    home.log("the replica is in step; from now on the server takes its time");
    let mut chance = home.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        // A daemon that is still starting sends nothing, and the kill would hit no edit.
        device.wait_until_settled(home, LIMIT)?;
        let seed = (home.options.seed + round).to_string();
        home.run_lab(&["churn", "--count", "15", "--rate", "10000", "--seed", &seed])?;
        let name = format!("round {round}");
        let id = device.replica.create(Kind::Task, &fields(json!({ "title": name })))?;
        expected.push(ExpectedEdit { id: id.clone(), effect: Effect::Created });
        device.replica.update(Kind::Task, &id, &fields(json!({ "notes": name })))?;
        let item = device.row(Kind::Inventory, round as usize)?.id;
        device.replica.update(Kind::Inventory, &item, &fields(json!({ "description": name })))?;
        expected.push(ExpectedEdit { id: item, effect: Effect::Set("description", json!(name)) });
        // xorshift64; the quality of the random numbers does not matter.
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let pause = Duration::from_millis(chance % 60);
        std::thread::sleep(pause);
        device.kill();
        let kills_server = round % 3 == 2;
        if kills_server {
            home.kill_server();
            home.serve(Some(SLOW))?;
        }
        let victims = if kills_server { "daemon and server are" } else { "the daemon is" };
        let at = device.replica.status()?.position;
        home.log(format!("round {round}: after {} ms {victims} killed; the replica is at {at}", pause.as_millis()));
        device.start()?;
    }
    let took = device.wait_until_settled(home, LIMIT)?;
    home.log(format!("left alone, the replica is in step after {:.1} s", took.as_secs_f64()));
    finish_all_applied(home, &mut device, &expected)
}
