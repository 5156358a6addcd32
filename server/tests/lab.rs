//! The test bench for developers, run as a person runs it: stopped in the midst, given too much, asked for too much.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hearth_contract::command::{Command as Order, Preconditions};
use hearth_contract::key::Environment;
use hearth_contract::schema::Kind;
use hearth_server::clock::Clock;
use hearth_server::home::apply::HomeWriter;
use hearth_server::lab::growth::Growth;
use hearth_server::lab::{Back, Bench, Wish};
use hearth_server::operate;
use hearth_server::store::homes::Plan;
use hearth_server::store::notifier::Notifier;
use hearth_server::store::{Db, HomeNo, records};
use serde_json::Value;
use uuid::Uuid;

mod common;
use common::{command, refused, said, text};

/// What a tool of the bench tells as JSON.
fn lab(data: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&said(data, &[&["--json", "lab"], arguments].concat())).unwrap()
}

/// A data directory with a team.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    said(dir.path(), &["team", "create", "Hill house"]);
    dir
}

/// The bench of a live home in a data directory of its own.
async fn bench(data: &Path) -> (Db, Bench) {
    let db = Db::open(data, Notifier::default(), 1).unwrap();
    operate::create_team(&db, &Clock::system(), "Hill house".to_owned(), Plan::Paid).await.unwrap();
    let wish = Wish { team: None, environment: Environment::Live, live: true };
    let bench = Bench::find(db.clone(), Clock::system(), data.to_owned(), wish).await.unwrap();
    (db, bench)
}

/// A script that was started, and a line that it said once it did what is to be disturbed.
struct Playing {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    stderr: BufReader<std::process::ChildStderr>,
}

impl Playing {
    fn start(data: &Path, script: &str) -> Playing {
        let file = data.join("night.txt");
        std::fs::write(&file, script).unwrap();
        let mut command = command(data, &["lab", "script", file.to_str().unwrap()]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Playing { child, stdout: BufReader::new(stdout), stderr: BufReader::new(stderr) }
    }

    /// Ctrl-C; gives the code it ended with and the rest of what it said to the person.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let (mut rest, mut said) = (String::new(), String::new());
        self.stdout.read_to_string(&mut rest).unwrap();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

#[test]
fn ctrl_c_in_a_line_of_a_script_ends_the_script() {
    let dir = place();
    let before = lab(dir.path(), &["churn", "--count", "0"])["head"].as_i64().unwrap();
    let mut playing = Playing::start(dir.path(), "churn --for 1h --rate 50\ntrim\n\nrewind --to 0\n");
    playing.stdout.read_line(&mut String::new()).unwrap();
    let (code, said) = playing.interrupt();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("interrupted in line 1") && said.contains("lines 2 to 4 were not done"), "{said}");
    assert!(lab(dir.path(), &["churn", "--count", "0"])["head"].as_i64().unwrap() > before, "nothing was taken back");
}

#[test]
fn ctrl_c_between_two_lines_of_a_script_ends_it_too_also_after_a_churn() {
    let dir = place();
    let mut playing = Playing::start(dir.path(), "churn --count 1 --quiet\n+1h trim\n");
    playing.stdout.read_line(&mut String::new()).unwrap();
    let (code, said) = playing.interrupt();
    assert_eq!(code, Some(1), "{said}");
    // What the churn says is its last act but its end: the signal may be heard before that, and counts as in line 1.
    assert!(said.contains("interrupted") && said.contains("; line 2 was not done"), "{said}");
}

#[test]
fn ctrl_c_in_a_seed_tells_how_many_records_were_made() {
    let dir = place();
    let mut playing = Playing::start(dir.path(), "seed --records 5000000\ntrim\n");
    playing.stderr.read_line(&mut String::new()).unwrap();
    let (code, said) = playing.interrupt();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("of 5000000 records") && said.contains("line 2 was not done"), "{said}");
    assert!(self::said(dir.path(), &["check"]).starts_with("sound"));
}

#[tokio::test]
async fn a_seed_that_was_interrupted_is_finished_by_the_same_seed() {
    let dir = tempfile::tempdir().unwrap();
    let (db, bench) = bench(dir.path()).await;
    let grown = bench.grow(7, 1200, |made| made >= 500).await.unwrap();
    assert_eq!((grown.made, grown.found, grown.head), (500, 0, 500), "it stops when told so");
    let grown = bench.grow(7, 1200, |_| false).await.unwrap();
    assert_eq!((grown.made, grown.found, grown.head), (700, 500, 1200));
    let grown = bench.grow(7, 1200, |_| false).await.unwrap();
    assert_eq!((grown.made, grown.found, grown.head), (0, 1200, 1200), "nothing is left to be made");
    // Other numbers of records are other homes, of which some records have ids that are taken.
    for records in [600, 2000] {
        let refusal = bench.grow(7, records, |_| false).await.unwrap_err().to_string();
        assert!(refusal.contains("--seed"), "{refusal}");
    }
    assert_eq!(bench.head().await.unwrap(), 1200);
    db.close().await;
}

#[tokio::test]
async fn a_seed_is_finished_also_when_what_it_refers_to_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (db, bench) = bench(dir.path()).await;
    bench.grow(7, 1200, |made| made >= 500).await.unwrap();
    let number = HomeNo(1);
    let gone = db.write(move |tx| {
        let mut writing = HomeWriter::begin(tx, number, 1, Clock::system().now(), None)?;
        for kind in [Kind::Inventory, Kind::Room, Kind::Vehicle] {
            for id in records::ids(tx, number, kind)? {
                writing.apply(Order::Delete { kind, id, guard: Preconditions::default() }, &mut Uuid::nil)?.unwrap();
            }
        }
        writing.finish()
    });
    gone.await.unwrap();
    let before = bench.head().await.unwrap();
    let grown = bench.grow(7, 1200, |_| false).await.unwrap();
    assert_eq!((grown.made, grown.found, grown.head), (700, 500, before + 700), "each is made, some of them general");
    db.close().await;
    assert!(said(dir.path(), &["check"]).starts_with("sound"));
    assert!(said(dir.path(), &["lab", "--env", "live", "--live", "churn", "--count", "3"]).contains("3 changes"));
}

#[tokio::test]
async fn a_seed_that_the_home_refuses_leaves_nothing_of_its_step() {
    let dir = tempfile::tempdir().unwrap();
    let (db, bench) = bench(dir.path()).await;
    bench.grow(7, 1200, |made| made >= 500).await.unwrap();
    // Somebody has made a record out of the midst of the second step.
    let number = HomeNo(1);
    let taken = Growth::new(7, 1200, Clock::system().now().date()).nth(700).unwrap();
    let made = db.write(move |tx| {
        let mut writing = HomeWriter::begin(tx, number, 1, Clock::system().now(), None)?;
        writing.apply(taken, &mut Uuid::nil)?.unwrap();
        writing.finish()
    });
    made.await.unwrap();
    let before = bench.head().await.unwrap();
    let refusal = bench.grow(7, 1200, |_| false).await.unwrap_err().to_string();
    assert!(refusal.contains("--seed"), "{refusal}");
    let after = bench.head().await.unwrap();
    assert_eq!(after, before, "a step is made whole or not at all");
    db.close().await;
    assert!(said(dir.path(), &["check"]).starts_with("sound"));
    assert!(said(dir.path(), &["lab", "--env", "live", "--live", "churn", "--count", "3"]).contains("3 changes"));
}

#[test]
fn a_seed_that_is_complete_leaves_nothing_to_make() {
    let dir = place();
    let seed = ["seed", "--records", "40", "--seed", "4"];
    let first = lab(dir.path(), &seed);
    let again = lab(dir.path(), &seed);
    assert_eq!((&again["records"], &again["found"], &again["head"]), (&0.into(), &40.into(), &first["head"]));
    let told = said(dir.path(), &[&["lab"], &seed[..]].concat());
    assert!(told.contains("nothing is left to be made") && told.contains("--seed"), "{told}");
}

#[test]
fn a_home_goes_back_by_no_more_than_it_has() {
    let dir = place();
    let head = lab(dir.path(), &["churn", "--count", "20", "--rate", "5000"])["head"].as_i64().unwrap();
    let said = refused(dir.path(), &["lab", "rewind", "--by", "99999"]);
    assert!(said.contains(&format!("position {head}")) && said.contains("99999"), "{said}");
    assert_eq!(lab(dir.path(), &["rewind", "--by", "5"])["to"], head - 5);
    assert_eq!(lab(dir.path(), &["rewind", "--by", &(head - 5).to_string()])["to"], 0);
}

#[test]
fn what_is_thinned_out_is_counted_and_how_far_back_a_home_can_go_is_said() {
    let dir = place();
    let head = lab(dir.path(), &["churn", "--count", "80", "--rate", "5000"])["head"].as_i64().unwrap();
    lab(dir.path(), &["trim"]);
    // Fewer events are left than there were, and all of them are meant.
    let said = refused(dir.path(), &["lab", "rewind", "--by", &(head + 1).to_string()]);
    assert!(said.contains(&format!("position {head}")), "{said}");
    let said = refused(dir.path(), &["lab", "rewind", "--by", "10"]);
    assert!(said.contains("compacted") && said.contains("rewind before you trim"), "{said}");
    let later = lab(dir.path(), &["churn", "--count", "60", "--rate", "5000"])["head"].as_i64().unwrap();
    let said = refused(dir.path(), &["lab", "rewind", "--to", &(head - 1).to_string()]);
    let lowest: i64 = said.split("from position ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(lowest >= head && lowest <= later, "{said}");
    let lower = (lowest - 1).to_string();
    assert!(refused(dir.path(), &["lab", "rewind", "--to", &lower]).contains(&format!("from position {lowest} ")));
    assert_eq!(lab(dir.path(), &["rewind", "--to", &lowest.to_string()])["to"], lowest, "what is said is so");
    assert_eq!(lab(dir.path(), &["rewind", "--to", "0"])["to"], 0, "an empty home is always known");
    assert!(self::said(dir.path(), &["check"]).starts_with("sound"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure_and_a_full_one_is_told_in_a_sentence() {
    let dir = place();
    for arguments in [&["team", "list"][..], &["lab", "churn", "--count", "5", "--rate", "1000"], &["openapi"]] {
        let mut child = command(dir.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{arguments:?}");

        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(dir.path(), arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            text(&output.stderr).starts_with("error: what was done could not be told on stdout: "),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_churn_of_so_many_changes_ends_with_its_last() {
    let dir = place();
    let told = lab(dir.path(), &["churn", "--count", "1", "--rate", "0.01"]);
    assert_eq!(told["changes"], 1);
    assert!(told["seconds"].as_f64().unwrap() < 50.0, "{told}");
}

#[test]
fn a_script_that_is_too_large_or_no_text_is_refused_whole() {
    let dir = place();
    let file = dir.path().join("long.txt");
    std::fs::write(&file, format!("trim\n{}", "# nothing\n".repeat(110_000))).unwrap();
    let said = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(said.contains("long.txt") && said.contains("1 MiB"), "{said}");
    std::fs::write(&file, b"trim\n\xff\n").unwrap();
    let said = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(said.contains("UTF-8"), "{said}");
    std::fs::write(&file, "help\n").unwrap();
    let said = refused(dir.path(), &["lab", "script", file.to_str().unwrap()]);
    assert!(said.contains("line 1: unrecognized subcommand 'help'"), "{said}");
}

#[test]
fn a_misspelt_directory_is_not_made() {
    let dir = place();
    let missing = dir.path().join("misspelt");
    let said = refused(&missing, &["lab", "trim"]);
    assert!(said.contains("misspelt") && said.contains("--data"), "{said}");
    assert!(!missing.exists());
}

#[tokio::test]
async fn a_home_is_not_put_back_beside_another_command() {
    let dir = tempfile::tempdir().unwrap();
    let (_db, mut bench) = bench(dir.path()).await;
    let other = Db::open(dir.path(), Notifier::default(), 2).unwrap();
    let refused = bench.rewind(Back::To(0), false).await.unwrap_err().to_string();
    assert!(refused.contains("another command works on"), "{refused}");
    other.close().await;
    drop(other);
    bench.rewind(Back::To(0), false).await.unwrap();
    // And others may work on it again.
    Db::open(dir.path(), Notifier::default(), 3).unwrap();
}
