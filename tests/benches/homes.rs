//! The workload `homes`: what one household costs beside ever more households. Must not know the other workloads.

use std::path::Path;
use std::time::Instant;

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::home::sandbox;
use hearth_server::operate::{self, NewKey};
use hearth_server::random::fresh_id;
use hearth_server::store::homes::Plan;
use hearth_server::store::notifier::Notifier;
use hearth_server::store::{Db, homes};
use hearth_tests::process::Process;
use rusqlite::Connection;

use crate::figures::Target;
use crate::load;
use crate::testbed::{Testbed, processor_time, serve};

/// Concurrent connections.
const CONNECTIONS: usize = 4;
/// How much more a request may cost than beside no other household.
const GROWTH_MAX: f64 = 1.2;
/// Questions to the measured household, which match a few of its records.
const QUESTIONS: [&str; 5] = ["filter", "kitchen+fil", "warranty", "bosch", "ma"];

/// Measures requests of one household, by processor time: beside other households they cost the same as alone. Each household
/// has the example data.
pub(crate) fn homes(testbed: &mut Testbed) -> anyhow::Result<()> {
    let data = testbed.file("households");
    let mut alone: Vec<f64> = Vec::new();
    let (mut built, mut measured_key) = (0, None);
    for count in testbed.scale.households {
        let newest = build(&data, built, *count)?;
        built = *count;
        let household = measured_key.get_or_insert_with(|| newest.sandbox.clone());
        let (server, address) = serve(&data);
        let mut figures: Vec<(&str, &str, Vec<f64>)> = Vec::new();
        for (what, requests, status) in requests(household, &newest.live) {
            let mut each = Vec::new();
            for _ in 0..testbed.scale.runs {
                let before = processor_time(server.id())?;
                let load = load::run(&address, CONNECTIONS, testbed.scale.time, &requests, status)?;
                each.push((processor_time(server.id())? - before) / load.responses as f64);
            }
            figures.push((what, "µs", each));
        }
        server.terminate();
        figures.push(("start", "ms", (0..testbed.scale.runs.max(3)).map(|_| start(&data)).collect::<Result<_, _>>()?));
        for (at, (what, unit, runs)) in figures.into_iter().enumerate() {
            testbed.record(format!("{what}, {count} households"), unit, &runs, None);
            let median = crate::figures::Spread::of(&runs).median;
            match alone.get(at) {
                None => alone.push(median),
                Some(first) => {
                    let ratios: Vec<f64> = runs.iter().map(|run| run / first).collect();
                    let name = format!("{what}, {count} households / {}", testbed.scale.households[0]);
                    testbed.record(name, "", &ratios, Some(Target::AtMost(GROWTH_MAX)));
                }
            }
        }
    }
    Ok(())
}

/// The keys of a household.
struct Keys {
    sandbox: String,
    live: String,
}

/// Adds households until there are `count`. Returns the keys of the newest.
fn build(data: &Path, built: usize, count: usize) -> anyhow::Result<Keys> {
    load::block_on(async {
        let (db, clock) = (Db::open(data, Notifier::default(), 1)?, Clock::system());
        let mut newest = None;
        for number in built..count {
            let team = operate::create_team(&db, &clock, format!("Household {number}"), Plan::Paid).await?.id;
            let now = clock.now();
            let owner = team.clone();
            db.write(move |tx| {
                let home = homes::home_of_team(tx, &owner, Environment::Test)?;
                sandbox::fill_once(tx, home.number, 1, now, &mut || fresh_id(now))
            })
            .await?;
            newest = Some(team);
        }
        let newest = newest.ok_or_else(|| anyhow::anyhow!("the numbers of households do not rise"))?;
        let sandbox = key(&db, &clock, &newest, Environment::Test).await?;
        let live = key(&db, &clock, &newest, Environment::Live).await?;
        db.close().await;
        merge_search_index(data)?;
        Ok(Keys { sandbox, live })
    })
}

/// Merges the search index, as the service does in the background while it runs for longer than this workload.
fn merge_search_index(data: &Path) -> anyhow::Result<()> {
    /// Pages of one step.
    const PAGES: i64 = 10_000;
    let db = Connection::open(data.join("hearth.db"))?;
    loop {
        let before = db.total_changes();
        db.execute("INSERT INTO search (search, rank) VALUES ('merge', ?1)", [PAGES])?;
        if db.total_changes() - before < 2 {
            return Ok(());
        }
    }
}

async fn key(db: &Db, clock: &Clock, team: &str, environment: Environment) -> anyhow::Result<String> {
    let key = NewKey {
        team: team.to_owned(),
        environment,
        scopes: Vec::new(),
        name: None,
        allowlist: Vec::new(),
        pinned: None,
        expires_at: None,
    };
    Ok(operate::create_key(db, clock, key).await?.secret)
}

/// The measured requests with the status of their responses. `household` is a key to the measured household. `newest` is a key
/// to an empty home, for writes: the measured household does not grow.
fn requests(household: &str, newest: &str) -> Vec<(&'static str, Vec<Vec<u8>>, u16)> {
    let head = |method: &str, target: &str, key: &str| {
        format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n")
    };
    let get = |target: &str| format!("{}\r\n", head("GET", target, household)).into_bytes();
    let body = r#"{"title":"Check the gutter","priority":"low"}"#;
    let create = format!(
        "{}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        head("POST", "/v1/tasks", newest),
        body.len()
    );
    vec![
        ("searches", QUESTIONS.iter().map(|question| get(&format!("/v1/search?q={question}"))).collect(), 200),
        ("pages", vec![get("/v1/inventory?limit=50")], 200),
        ("feed pages", vec![get("/v1/events?limit=100")], 200),
        ("creates", vec![create.into_bytes()], 201),
        ("readiness", vec![get("/readyz")], 200),
    ]
}

/// The time from the start of the service to its address, in milliseconds.
fn start(data: &Path) -> anyhow::Result<f64> {
    let began = Instant::now();
    let (server, _): (Process, String) = serve(data);
    let took = began.elapsed().as_secs_f64() * 1000.0;
    server.terminate();
    Ok(took)
}
