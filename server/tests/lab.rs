//! The commands of `lab`, run as processes: interrupted, with wrong input, and beyond the limits of a home.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hearth_contract::command::{Command as Order, Preconditions};
use hearth_contract::key::Environment;
use hearth_contract::schema::Kind;
use hearth_server::bench::lab::LabHome;
use hearth_server::bench::lab::generator::HomeGenerator;
use hearth_server::bench::lab::home::{HomeChoice, RewindTarget};
use hearth_server::clock::Clock;
use hearth_server::home::apply::HomeWriter;
use hearth_server::operate;
use hearth_server::store::homes::Plan;
use hearth_server::store::notifier::Notifier;
use hearth_server::store::{Db, HomeNumber, records};
use serde_json::Value;
use uuid::Uuid;

mod common;
use common::{command, data_with_team, json, refused, stdout, text};

/// The JSON result of a lab command.
fn lab(data: &Path, arguments: &[&str]) -> Value {
    json(data, &[&["lab"], arguments].concat())
}

/// The live home of a new team.
async fn live_home(data: &Path) -> (Db, LabHome) {
    let db = Db::open(data, Notifier::default(), 1).unwrap();
    operate::create_team(&db, &Clock::system(), "Hill house".to_owned(), Plan::Paid).await.unwrap();
    let choice = HomeChoice { team: None, environment: Environment::Live, allow_live: true };
    let home = LabHome::find(db.clone(), Clock::system(), data.to_owned(), choice).await.unwrap();
    (db, home)
}

/// A running `lab script`. The test reads its first line and then interrupts the script.
struct RunningScript {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: BufReader<std::process::ChildStderr>,
}

impl RunningScript {
    fn start(data: &Path, script: &str) -> RunningScript {
        let file = data.join("night.txt");
        std::fs::write(&file, script).unwrap();
        let mut command = command(data, &["lab", "script", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        RunningScript { child, stdout: BufReader::new(stdout), stderr: BufReader::new(stderr) }
    }

    /// Sends Ctrl-C. Returns the exit code and the rest of stderr.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let (mut rest, mut error) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        self.stderr.read_to_string(&mut error).unwrap();
        (self.child.wait().unwrap().code(), error)
    }
}

#[test]
fn script_interrupted_in_line_ends() {
    let dir = data_with_team();
    let before = lab(dir.path(), &["churn", "--count", "0"])["head"].as_i64().unwrap();
    let mut script = RunningScript::start(dir.path(), "churn --for 1h --rate 50\ntrim\n\nrewind --to 0\n");
    script.stdout.read_line(&mut String::new()).unwrap();
    let (code, error) = script.interrupt();
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("interrupted in line 1") && error.contains("lines 2 to 4 were not done"), "{error}");
    assert!(
        lab(dir.path(), &["churn", "--count", "0"])["head"].as_i64().unwrap() > before,
        "the rewind in line 4 did not run"
    );
}

#[test]
fn script_interrupted_between_lines_ends() {
    let dir = data_with_team();
    let mut script = RunningScript::start(dir.path(), "churn --count 1 --quiet\n+1h trim\n");
    script.stdout.read_line(&mut String::new()).unwrap();
    let (code, error) = script.interrupt();
    assert_eq!(code, Some(1), "{error}");
    // The churn prints its result shortly before its end. A signal in between counts as a signal in line 1.
    assert!(error.contains("interrupted") && error.contains("; line 2 was not done"), "{error}");
}

#[test]
fn seed_interrupted_reports_record_count() {
    let dir = data_with_team();
    let mut script = RunningScript::start(dir.path(), "seed --records 5000000\ntrim\n");
    script.stderr.read_line(&mut String::new()).unwrap();
    let (code, error) = script.interrupt();
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("of 5000000 records") && error.contains("line 2 was not done"), "{error}");
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
}

#[tokio::test]
async fn seed_interrupted_is_completed_by_same_seed() {
    let dir = tempfile::tempdir().unwrap();
    let (db, home) = live_home(dir.path()).await;
    let seeded = home.seed(7, 1200, |created| created >= 500).await.unwrap();
    assert_eq!((seeded.created, seeded.existing, seeded.head), (500, 0, 500), "the call stops at 500");
    let seeded = home.seed(7, 1200, |_| false).await.unwrap();
    assert_eq!((seeded.created, seeded.existing, seeded.head), (700, 500, 1200));
    let seeded = home.seed(7, 1200, |_| false).await.unwrap();
    assert_eq!((seeded.created, seeded.existing, seeded.head), (0, 1200, 1200), "all records exist");
    // Another number of records is another home, which shares some ids with this home.
    for records in [600, 2000] {
        let refusal = home.seed(7, records, |_| false).await.unwrap_err().to_string();
        assert!(refusal.contains("--seed"), "{refusal}");
    }
    assert_eq!(home.head().await.unwrap(), 1200);
    db.close().await;
}

#[tokio::test]
async fn seed_completes_after_references_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (db, home) = live_home(dir.path()).await;
    home.seed(7, 1200, |created| created >= 500).await.unwrap();
    let number = HomeNumber(1);
    let gone = db.write(move |tx| {
        let mut writing = HomeWriter::begin(tx, number, 1, Clock::system().now(), "test".to_owned(), None)?;
        for kind in [Kind::Inventory, Kind::Room, Kind::Vehicle] {
            for id in records::ids(tx, number, kind)? {
                writing
                    .apply(Order::Delete { kind, id, preconditions: Preconditions::default() }, &mut Uuid::nil)?
                    .unwrap();
            }
        }
        writing.finish()
    });
    gone.await.unwrap();
    let before = home.head().await.unwrap();
    let seeded = home.seed(7, 1200, |_| false).await.unwrap();
    assert_eq!(
        (seeded.created, seeded.existing, seeded.head),
        (700, 500, before + 700),
        "all records are created, some without a reference"
    );
    db.close().await;
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
    assert!(stdout(dir.path(), &["lab", "--env", "live", "--live", "churn", "--count", "3"]).contains("3 changes"));
}

#[tokio::test]
async fn refused_seed_step_creates_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let (db, home) = live_home(dir.path()).await;
    home.seed(7, 1200, |created| created >= 500).await.unwrap();
    // Another writer created one record of the second step.
    let number = HomeNumber(1);
    let taken = HomeGenerator::new(7, 1200, Clock::system().now().date()).nth(700).unwrap();
    let made = db.write(move |tx| {
        let mut writing = HomeWriter::begin(tx, number, 1, Clock::system().now(), "test".to_owned(), None)?;
        writing.apply(taken, &mut Uuid::nil)?.unwrap();
        writing.finish()
    });
    made.await.unwrap();
    let before = home.head().await.unwrap();
    let refusal = home.seed(7, 1200, |_| false).await.unwrap_err().to_string();
    assert!(refusal.contains("--seed"), "{refusal}");
    let after = home.head().await.unwrap();
    assert_eq!(after, before, "a step creates all its records or none");
    db.close().await;
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
    assert!(stdout(dir.path(), &["lab", "--env", "live", "--live", "churn", "--count", "3"]).contains("3 changes"));
}

#[test]
fn completed_seed_creates_no_more_records() {
    let dir = data_with_team();
    let seed = ["seed", "--records", "40", "--seed", "4"];
    let first = lab(dir.path(), &seed);
    let again = lab(dir.path(), &seed);
    assert_eq!((&again["records"], &again["found"], &again["head"]), (&0.into(), &40.into(), &first["head"]));
    let text = stdout(dir.path(), &[&["lab"], &seed[..]].concat());
    assert!(text.contains("nothing is left to create") && text.contains("--seed"), "{text}");
}

#[test]
fn rewind_stops_at_start_of_home() {
    let dir = data_with_team();
    let head = lab(dir.path(), &["churn", "--count", "20", "--rate", "5000"])["head"].as_i64().unwrap();
    let error = refused(dir.path(), &["lab", "rewind", "--by", "99999"]);
    assert!(error.contains(&format!("position {head}")) && error.contains("99999"), "{error}");
    assert_eq!(lab(dir.path(), &["rewind", "--by", "5"])["to"], head - 5);
    assert_eq!(lab(dir.path(), &["rewind", "--by", &(head - 5).to_string()])["to"], 0);
}

#[test]
fn rewind_into_gap_of_restore_ends_at_last_event() {
    let dir = data_with_team();
    lab(dir.path(), &["churn", "--count", "20", "--rate", "5000"]);
    let restored = lab(dir.path(), &["rewind", "--by", "5", "--marked"])["to"].as_i64().unwrap();
    let head = lab(dir.path(), &["churn", "--count", "1", "--rate", "5000"])["head"].as_i64().unwrap();
    assert!(head > restored + 100, "the restore leaves a gap");
    assert_eq!(lab(dir.path(), &["rewind", "--to", &(head - 50).to_string()])["to"], restored);
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
    lab(dir.path(), &["churn", "--count", "5", "--rate", "5000"]);
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
}

#[test]
fn rewind_after_trim_reports_lowest_position() {
    let dir = data_with_team();
    let head = lab(dir.path(), &["churn", "--count", "80", "--rate", "5000"])["head"].as_i64().unwrap();
    lab(dir.path(), &["trim"]);
    // The limit counts all events, also the trimmed ones.
    let error = refused(dir.path(), &["lab", "rewind", "--by", &(head + 1).to_string()]);
    assert!(error.contains(&format!("position {head}")), "{error}");
    let error = refused(dir.path(), &["lab", "rewind", "--by", "10"]);
    assert!(error.contains("compacted") && error.contains("rewind before you trim"), "{error}");
    let later = lab(dir.path(), &["churn", "--count", "60", "--rate", "5000"])["head"].as_i64().unwrap();
    let error = refused(dir.path(), &["lab", "rewind", "--to", &(head - 1).to_string()]);
    let lowest: i64 = error.split("from position ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(lowest >= head && lowest <= later, "{error}");
    let lower = (lowest - 1).to_string();
    assert!(refused(dir.path(), &["lab", "rewind", "--to", &lower]).contains(&format!("from position {lowest} ")));
    assert_eq!(lab(dir.path(), &["rewind", "--to", &lowest.to_string()])["to"], lowest, "the reported position works");
    assert_eq!(lab(dir.path(), &["rewind", "--to", "0"])["to"], 0, "position 0 always works");
    assert!(stdout(dir.path(), &["check"]).starts_with("sound"));
}

#[test]
fn closed_stdout_succeeds_full_stdout_fails() {
    let dir = data_with_team();
    for arguments in [&["team", "list"][..], &["lab", "churn", "--count", "5", "--rate", "1000"], &["openapi"]] {
        let mut child = command(dir.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");

        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(dir.path(), arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: cannot write the result to stdout: "), "{arguments:?}");
    }
}

#[test]
fn churn_with_count_ends_after_last_change() {
    let dir = data_with_team();
    let result = lab(dir.path(), &["churn", "--count", "1", "--rate", "0.01"]);
    assert_eq!(result["changes"], 1);
    assert!(result["seconds"].as_f64().unwrap() < 50.0, "{result}");
}

#[test]
fn script_too_large_or_not_text_is_refused() {
    let dir = data_with_team();
    let file = dir.path().join("long.txt");
    std::fs::write(&file, format!("trim\n{}", "# nothing\n".repeat(110_000))).unwrap();
    let error = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(error.contains("long.txt") && error.contains("1 MiB"), "{error}");
    std::fs::write(&file, b"trim\n\xff\n").unwrap();
    let error = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(error.contains("UTF-8"), "{error}");
    std::fs::write(&file, "help\n").unwrap();
    let error = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(error.contains("line 1: unrecognized subcommand 'help'"), "{error}");
}

#[test]
fn misspelt_directory_is_not_created() {
    let dir = data_with_team();
    let missing = dir.path().join("misspelt");
    let error = refused(&missing, &["lab", "trim"]);
    assert!(error.contains("misspelt") && error.contains("--data"), "{error}");
    assert!(!missing.exists());
}

#[tokio::test]
async fn rewind_is_refused_beside_another_command() {
    let dir = tempfile::tempdir().unwrap();
    let (_db, mut home) = live_home(dir.path()).await;
    let other = Db::open(dir.path(), Notifier::default(), 2).unwrap();
    let refused = home.rewind(RewindTarget::Position(0), false).await.unwrap_err().to_string();
    assert!(refused.contains("another command works on"), "{refused}");
    other.close().await;
    drop(other);
    home.rewind(RewindTarget::Position(0), false).await.unwrap();
    // Other commands may open the database again.
    Db::open(dir.path(), Notifier::default(), 3).unwrap();
}
