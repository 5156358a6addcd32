//! The test bench for developers: `lab` of the built server program, and injected faults.

use std::path::Path;
use std::time::{Duration, Instant};

use hearth_server::bench::faults::{FaultInjector, FaultPlan, grammar};
use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};

/// Runs a `lab` command. Returns the JSON that the command writes.
fn lab(home: &Home, arguments: &[&str]) -> Value {
    serde_json::from_str(&home.stdout(&[&["--json", "lab"], arguments].concat())).unwrap()
}

/// Runs a command that the program must refuse. Returns stderr.
fn refused(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The cursor after the last event.
async fn end(client: &Client) -> String {
    client.get("/v1/events?limit=1000").await.next_cursor().unwrap()
}

#[tokio::test]
async fn seeded_home_is_sound_and_repeatable() {
    let (one, other) = (Home::with_sandbox_key(), Home::with_sandbox_key());
    for home in [&one, &other] {
        let made = lab(home, &["seed", "--records", "3000", "--seed", "5", "--env", "live", "--live"]);
        assert_eq!((&made["records"], &made["head"]), (&json!(3000), &json!(3000)));
        assert!(home.stdout(&["check"]).starts_with("sound"));
    }
    let mut homes = Vec::new();
    for home in [&one, &other] {
        let key = home.stdout(&["key", "create", "--team", "Hill house", "--env", "live", "--quiet"]);
        let (_server, client) = home.serve(&UNLIMITED);
        let client = Client::new(client.url(), &key);
        let mut records = client.list_all("/v1/inventory?limit=100").await;
        records.extend(client.list_all("/v1/tasks?limit=100").await);
        for record in &mut records {
            for member in ["created_at", "updated_at", "completed_at"] {
                record[member].take();
            }
        }
        homes.push(records);
    }
    assert!(homes[0].len() > 2000);
    assert_eq!(homes[0], homes[1]);
    assert!(
        refused(&one, &["lab", "seed", "--records", "5", "--seed", "5", "--env", "live", "--live"]).contains("--seed")
    );
}

#[test]
fn live_home_needs_explicit_option() {
    let home = Home::with_sandbox_key();
    for tool in [
        &["churn", "--count", "1"][..],
        &["trim"],
        &["forget-keys"],
        &["rewind", "--to", "0"],
        &["seed", "--records", "1"],
    ] {
        let text = refused(&home, &[&["lab"], tool, &["--env", "live"]].concat());
        assert!(text.contains("--live"), "{text}");
    }
    assert!(home.stdout(&["lab", "trim", "--env", "live", "--live"]).contains("nothing to trim"));
    assert_eq!(lab(&home, &["churn", "--count", "3", "--rate", "1000", "--env", "live", "--live"])["changes"], 3);
}

#[test]
fn team_is_required_when_several_exist() {
    let home = Home::with_sandbox_key();
    home.stdout(&["team", "create", "Other house"]);
    assert!(refused(&home, &["lab", "trim"]).contains("--team"));
    assert!(refused(&home, &["lab", "trim", "--team", "No house"]).contains("no team"));
    lab(&home, &["trim", "--team", "Other house"]);
}

#[tokio::test]
async fn churn_events_reach_open_streams() {
    let home = Home::with_sandbox_key();
    let (_server, client) = home.serve(&UNLIMITED);
    let mut frames = client.stream("", None).await;
    while !frames.next().await.unwrap().contains("event: ready") {}
    let report = lab(&home, &["churn", "--count", "25", "--rate", "1000"]);
    assert_eq!((&report["changes"], &report["refused"]), (&json!(25), &json!(0)));
    let mut last = 0;
    while last < report["head"].as_i64().unwrap() {
        last = frames.next_event().await.expect("the stream goes on").1["id"].as_i64().unwrap();
    }
    assert!(home.stdout(&["check"]).starts_with("sound"));
}

#[test]
fn churn_keeps_rate_and_duration() {
    let home = Home::with_sandbox_key();
    let began = Instant::now();
    let report = lab(&home, &["churn", "--for", "1s", "--rate", "20"]);
    // At 20 changes a second, one second holds 20 at the most; a slow machine makes fewer.
    let changes = report["changes"].as_u64().unwrap();
    assert!((1..=20).contains(&changes), "{report}");
    assert!(began.elapsed() >= Duration::from_secs(1));
    let lines = home.stdout(&["lab", "churn", "--count", "3", "--rate", "100"]);
    assert_eq!(lines.lines().count(), 4, "a line for each change and one in the end: {lines}");
}

#[test]
fn churn_marks_changes_without_effect() {
    let home = Home::with_sandbox_key();
    let head = |report: &str| report.trim_start().split(' ').next().unwrap().parse::<i64>().unwrap();
    let text = home.stdout(&["lab", "churn", "--count", "600", "--rate", "10000"]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains(" changes in ")).collect();
    let mut same = 0;
    for pair in lines.windows(2) {
        let is_same = pair[1].ends_with(" (as it was)");
        assert_eq!(is_same, head(pair[0]) == head(pair[1]), "{pair:?}");
        same += usize::from(is_same);
    }
    assert!(same > 0, "a family does things that change nothing");
}

#[tokio::test]
async fn trimmed_home_refuses_old_cursors() {
    let home = Home::with_sandbox_key();
    let (_server, client) = home.serve(&UNLIMITED);
    let old = end(&client).await;
    lab(&home, &["churn", "--count", "60", "--rate", "5000"]);
    let recent = end(&client).await;
    let trimmed = lab(&home, &["trim"]);
    assert!(trimmed["thinned"].as_i64().unwrap() <= trimmed["head"].as_i64().unwrap());
    let gone = client.get(&format!("/v1/events?cursor={old}")).await;
    assert_eq!((gone.status, &gone.json["error"]["details"]["reason"]), (410, &json!("retention")));
    assert_eq!(client.get(&format!("/v1/events?cursor={recent}")).await.status, 200);
    assert!(home.stdout(&["check"]).starts_with("sound"));

    let kept = end(&client).await;
    lab(&home, &["churn", "--count", "30", "--rate", "5000"]);
    lab(&home, &["trim", "--keep", "1h"]);
    assert_eq!(client.get(&format!("/v1/events?cursor={kept}")).await.status, 200, "what is an hour old stays");
}

#[tokio::test]
async fn forgotten_key_writes_again() {
    let home = Home::with_sandbox_key();
    let (_server, client) = home.serve(&UNLIMITED);
    let create = || async {
        let request = client.request(Method::POST, "/v1/tasks").json(&json!({ "title": "Once" }));
        client.send(request.header("idempotency-key", "k1")).await
    };
    let first = create().await;
    assert_eq!(create().await.header("idempotency-replayed"), "true");
    assert_eq!(lab(&home, &["forget-keys"])["forgotten"], 1);
    let again = create().await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, ""));
    assert_ne!(again.id(), first.id());
}

#[tokio::test]
async fn rewound_home_refuses_lost_cursors() {
    let home = Home::with_sandbox_key();
    lab(&home, &["seed", "--records", "50", "--env", "live", "--live"]);
    let (server, client) = home.serve(&UNLIMITED);
    let shared = end(&client).await;
    let before = client.list_all("/v1/tasks?limit=100").await;
    let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].as_i64().unwrap();
    lab(&home, &["churn", "--count", "80", "--rate", "5000"]);
    let room = client.list_all("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/v1/rooms/{room}")).await;
    let lost = end(&client).await;
    assert!(refused(&home, &["lab", "rewind", "--to", &head.to_string()]).contains("served by another process"));
    assert_eq!(server.terminate().code(), Some(0));

    let rewound = lab(&home, &["rewind", "--to", &head.to_string()]);
    assert_eq!(rewound["to"], head);
    assert!(home.stdout(&["check"]).starts_with("sound"), "records, feed, links and search agree");
    lab(&home, &["churn", "--count", "150", "--rate", "5000", "--seed", "2"]);
    let (server, client) = home.serve(&UNLIMITED);
    let gone = client.get(&format!("/v1/events?cursor={lost}")).await;
    let details = &gone.json["error"]["details"];
    // The old copy knows neither of the two later epochs, so the fork is unknown.
    assert_eq!((gone.status, &details["reason"], &details["fork"]), (410, &json!("restored"), &Value::Null));
    assert_eq!(client.get(&format!("/v1/events?cursor={shared}")).await.status, 200);
    let lost = end(&client).await;
    assert_eq!(server.terminate().code(), Some(0));

    lab(&home, &["rewind", "--to", &head.to_string(), "--marked"]);
    let (server, client) = home.serve(&UNLIMITED);
    assert_eq!(client.list_all("/v1/tasks?limit=100").await, before, "the records are as they were");
    let gone = client.get(&format!("/v1/events?cursor={lost}")).await;
    assert_eq!((gone.status, &gone.json["error"]["details"]["fork"]), (410, &json!(head)), "the one before is known");
    let created = client.post("/v1/rooms", &json!({ "name": "New" })).await;
    assert!(created.data()["rev"].as_i64().unwrap() > head + 1_000_000, "a marked break leaves a gap");
    assert_eq!(server.terminate().code(), Some(0));
    assert!(refused(&home, &["lab", "rewind", "--to", "99999999"]).contains("none of its past"));
    let live = lab(&home, &["trim", "--env", "live", "--live"]);
    assert_eq!(live["head"], 50, "the other home stays where it was");
    assert!(home.stdout(&["check"]).starts_with("sound"));
}

#[test]
fn rewind_into_compacted_history_is_refused() {
    let home = Home::with_sandbox_key();
    let began = lab(&home, &["churn", "--count", "30", "--rate", "5000"])["head"].as_i64().unwrap();
    lab(&home, &["trim"]);
    lab(&home, &["churn", "--count", "60", "--rate", "5000"]);
    let text = refused(&home, &["lab", "rewind", "--to", &began.to_string()]);
    assert!(text.contains("compacted"), "{text}");
    assert!(home.stdout(&["check"]).starts_with("sound"), "nothing was changed");
}

#[test]
fn rewind_beyond_first_event_is_refused() {
    let home = Home::with_sandbox_key();
    let back = |by: &str| refused(&home, &["lab", "rewind", "--by", by, "--env", "live", "--live"]);
    assert!(back("1").contains("the home is at position 0: it is empty, and no event can be undone"));
    lab(&home, &["seed", "--records", "5", "--env", "live", "--live"]);
    assert!(back("6").contains("the home is at position 5, which is fewer than 6 events from its beginning"));
}

#[test]
fn script_error_names_its_line() {
    let home = Home::with_sandbox_key();
    let file = Path::new(&home.data()).join("night.txt");
    let script = |text: &str| {
        std::fs::write(&file, text).unwrap();
        home.run(&["--json", "lab", "script", file.to_str().unwrap()])
    };
    let played = script(
        "# a night\nseed --records 20 --seed 9\n+100ms churn --count 5 --rate 500\n\ntrim\nforget-keys\nrewind --to 0\n",
    );
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    let did: Vec<Value> =
        String::from_utf8(played.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let did: Vec<&str> = did.iter().map(|step| step["did"].as_str().unwrap()).collect();
    assert_eq!(did, ["seed", "churn", "trim", "forget-keys", "rewind"]);

    for (text, expected) in [
        ("trim\nseed --recrods 5\n", "line 2: unexpected argument '--recrods' found"),
        ("fly\n", "line 1: unrecognized subcommand 'fly'"),
        ("5s trim\n2s trim\n", "line 2: 2s is before the line above"),
        ("churn\n", "line 1: churn would never end here"),
        ("script other.txt\n", "line 1: unrecognized subcommand 'script'"),
    ] {
        let slip = script(text);
        let refused = String::from_utf8_lossy(&slip.stderr).into_owned();
        assert!(slip.status.code() == Some(1) && refused.contains(expected), "{text}: {refused}");
    }
    let (_server, _) = home.serve(&UNLIMITED);
    let held = script("trim\nrewind --by 1\n");
    assert!(String::from_utf8_lossy(&held.stderr).contains("line 2: rewind needs the server stopped"));
    assert!(held.stdout.is_empty(), "the refusal comes before any change");
}

/// A service with injected faults.
async fn faulty(text: &str, on_live: bool) -> Server {
    let plan = FaultPlan { on_live, ..grammar::parse(text).unwrap() };
    let server = Server::start_with(|config| {
        config.keepalive = Duration::from_millis(50);
    })
    .await;
    FaultInjector::new(plan).install(&server.running.app);
    server
}

async fn task(client: &Client, title: &str) -> Result<u16, reqwest::Error> {
    let create = client.request(Method::POST, "/v1/tasks").json(&json!({ "title": title }));
    create.send().await.map(|response| response.status().as_u16())
}

async fn times(client: &Client, title: &str) -> usize {
    client.list_all("/v1/tasks?limit=100").await.iter().filter(|task| task["title"] == title).count()
}

#[tokio::test]
async fn faults_drop_and_repeat_requests() {
    let faults = "lost-request=once:1 route=createTask; lost-answer=once:2 route=create_task; duplicate=once:3 route=create_task";
    let server = faulty(faults, false).await;
    let client = Client::new(&server.url, &server.test_key);
    assert!(task(&client, "never came").await.is_err());
    assert!(task(&client, "not answered").await.is_err());
    assert_eq!(task(&client, "twice").await.unwrap(), 201);
    assert_eq!(task(&client, "as ever").await.unwrap(), 201);
    let mut counts = Vec::new();
    for title in ["never came", "not answered", "twice", "as ever"] {
        counts.push(times(&client, title).await);
    }
    assert_eq!(counts, [0, 1, 2, 1]);
    server.stop().await;
}

#[tokio::test]
async fn refusal_bursts_have_headers_and_flag_no_key() {
    let faults = "429=first:120 route=list_rooms retry-after=7; 503=burst:2/1h route=writes; 502=always route=get_property; 500=always route=search";
    let server = faulty(faults, false).await;
    let client = Client::new(&server.url, &server.test_key);
    for _ in 0..120 {
        let refused = client.get("/v1/rooms").await;
        assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (429, "rate_limited", "7"));
        assert!(refused.header("x-hearth-faults").starts_with("on; 429=first:120"));
    }
    assert_eq!(client.get("/v1/rooms").await.status, 200);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(task(&client, "t").await.unwrap());
    }
    assert_eq!(statuses, [503, 503, 201]);
    let proxy = client.get("/v1/property").await;
    assert_eq!((proxy.status, proxy.header("content-type")), (502, "text/html"));
    assert_eq!(client.get("/v1/search?q=lamp").await.error(), "internal_error");
    let me = client.get("/v1/me").await;
    assert_eq!(me.data()["key"]["flagged_at"], Value::Null, "refusals on order are not the key's fault");
    server.stop().await;
}

#[tokio::test]
async fn faults_hit_only_chosen_keys_and_routes() {
    let server = faulty("503=always route=list_rooms key=no-such-key; 500=always route=list_tasks", false).await;
    let (test, live) = (Client::new(&server.url, &server.test_key), Client::new(&server.url, &server.live_key));
    assert_eq!([test.get("/v1/rooms").await.status, test.get("/v1/tasks").await.status], [200, 500]);
    assert_eq!(live.get("/v1/tasks").await.status, 200);
    assert_eq!(test.get("/v1").await.status, 200, "what needs no key is not touched");
    let banner = |me: &Value| (me["faults"]["rules"][1].clone(), me["faults"]["reaches_this_key"].clone());
    let rule = json!("500=always route=list_tasks");
    assert_eq!(banner(test.get("/v1/me").await.data()), (rule.clone(), json!(true)));
    assert_eq!(banner(live.get("/v1/me").await.data()), (rule, json!(false)));
    assert_eq!(live.get("/v1/me").await.header("x-hearth-faults"), "on");
    server.stop().await;

    let server = faulty("500=always route=list_tasks", true).await;
    assert_eq!(Client::new(&server.url, &server.live_key).get("/v1/tasks").await.status, 500);
    server.stop().await;

    let server = Server::start().await;
    let plain = Client::new(&server.url, &server.test_key).get("/v1/me").await;
    assert!(plain.data().get("faults").is_none() && plain.header("x-hearth-faults").is_empty());
    server.stop().await;
}

#[tokio::test]
async fn latency_delays_request() {
    let server = faulty("latency=once:2 by=300ms route=get_me", false).await;
    let client = Client::new(&server.url, &server.test_key);
    client.get("/v1/me").await;
    let began = Instant::now();
    assert_eq!(client.get("/v1/me").await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
    server.stop().await;
}

#[tokio::test]
async fn cut_stream_resumes_from_cursor() {
    let server = faulty("cut=once:8; repeat=once:3", false).await;
    let client = Client::new(&server.url, &server.test_key);
    let response = client.request(Method::GET, "/v1/events/stream?cursor=start").send().await.unwrap();
    let (mut text, mut pieces) = (String::new(), response.bytes_stream());
    let broken = loop {
        match futures_util::StreamExt::next(&mut pieces).await {
            Some(Ok(piece)) => text.push_str(std::str::from_utf8(&piece).unwrap()),
            Some(Err(_)) => break true,
            None => break false,
        }
    };
    assert!(broken, "a cut is no clean end");
    let lines = |name: &str| text.lines().filter_map(|line| line.strip_prefix(name)).collect::<Vec<_>>();
    let ids: Vec<i64> = lines("data: ")
        .iter()
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids, [1, 2, 3, 3, 4, 5, 6, 7]);
    let mut frames = client.stream("", lines("id: ").last().copied()).await;
    assert_eq!(frames.next_event().await.unwrap().1["id"], 8);
    server.stop().await;
}

#[tokio::test]
async fn silent_stream_sends_nothing_until_stop() {
    let server = faulty("mute=once:4 for=400ms; mute=once:9 comments=pass", false).await;
    let client = Client::new(&server.url, &server.test_key);
    let began = Instant::now();
    let mut frames = client.stream("?cursor=start", None).await;
    for expected in 1..=3 {
        assert_eq!(frames.next_event().await.unwrap().1["id"], expected);
    }
    assert_eq!(
        frames.next().await.unwrap().lines().count(),
        2,
        "the fourth, once its time is over, and nothing before"
    );
    assert!(began.elapsed() >= Duration::from_millis(400));
    for expected in 5..=8 {
        assert_eq!(frames.next_event().await.unwrap().1["id"], expected);
    }
    for _ in 0..3 {
        assert_eq!(frames.next_line().await.unwrap(), ":", "comments still come, and nothing else");
    }
    let stopping = Instant::now();
    server.stop().await;
    assert!(stopping.elapsed() < Duration::from_secs(8), "a mute stream does not hold the end up");
}

#[test]
fn misspelt_fault_error_shows_position() {
    let home = Home::with_sandbox_key();
    let refused = |faults: &str| {
        let output = home.run(&["serve", "--listen", "127.0.0.1:0", "--faults", faults]);
        assert_eq!(output.status.code(), Some(2), "{faults}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = refused("cut=1%; lost-anser=5%");
    assert!(text.contains("line 1, column 9: there is no fault `lost-anser`; did you mean lost-answer?"), "{text}");
    let text = refused("no-such-file");
    assert!(text.contains("neither a fault"), "{text}");
    let file = Path::new(&home.data()).join("faults.txt");
    std::fs::write(&file, "# slow\nlatency=1%\n  503=1% rout=reads\n").unwrap();
    let text = refused(file.to_str().unwrap());
    assert!(text.contains("faults.txt: line 3, column 10: there is no attribute `rout`"), "{text}");
}
