//! Fills the disk of the replica. The replica must report the full disk, lose nothing, and continue by itself when
//! there is space. The disk is a small tmpfs in a mount namespace, where this program is started again.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::checks::{Effect, ExpectedEdit, finish_all_applied};
use super::device::{Device, fields};
use super::home::DrillHome;
use super::outcome::{DrillError, Outcome, failed};
use super::processes::{Program, read_to_end};
use hearth_replica::{BlockCause, Phase};

const LIMIT: Duration = Duration::from_secs(90);
/// The size of the small disk: enough for the backfill and little more.
const DISK_MEGABYTES: u32 = 8;
/// The number of changes during the fault: more than SQLite's reserve holds.
const CHANGES: &str = "1500";

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    match home.options.small_disk.clone() {
        Some(disk) => on_small_disk(home, &disk),
        None => start_again(home),
    }
}

/// Starts this program again in a mount namespace, and passes its trace on.
fn start_again(home: &mut DrillHome) -> Outcome {
    let (disk, mounted) = (home.file("disk"), home.file("mounted"));
    fs::create_dir(&disk)?;
    let mount = format!("size={DISK_MEGABYTES}m,mode=0700");
    let inside = r#"mount -t tmpfs -o "$1" none "$2" || exit 99; : > "$3"; shift 3; exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh", &mount]).arg(&disk).arg(&mounted);
    command.arg(std::env::current_exe()?).args(["--json", "drill", "disk-full", "--server-bin"]);
    command.arg(&home.options.server).arg("--small-disk").arg(&disk).args(["--seed", &home.options.seed.to_string()]);
    command.args(home.options.keep.then_some("--keep"));
    // Inside the outer scratch directory, so the outer program removes all files.
    command.env("TMPDIR", home.file("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Program::start_as(true, &mut command, |child| (child.stdout.take(), child.stderr.take()));
    let Ok((program, (stdout, stderr))) = started else {
        return Err(DrillError::Skipped("a small disk needs the program unshare (util-linux)".to_owned()));
    };
    let report = std::thread::spawn(move || read_to_end(stdout));
    let mut complaints = Vec::new();
    for line in stderr.into_iter().flat_map(|stderr| BufReader::new(stderr).lines().map_while(Result::ok)) {
        match log_text(&line) {
            Some(text) => home.log(text),
            None => complaints.push(line),
        }
    }
    let report = serde_json::from_slice::<Value>(&report.join().unwrap_or_default());
    let ended = program.wait();
    let Ok(report) = report else {
        let why = complaints.join("; ");
        if mounted.exists() {
            return Err(failed(format!("the program on the small disk came to no verdict ({ended}): {why}")));
        }
        return Err(DrillError::Skipped(format!("this machine does not allow mounting a small disk: {why}")));
    };
    home.set_inner_directory(report["kept"].as_str().map(PathBuf::from));
    let reason = report["reason"].as_str().unwrap_or_default().to_owned();
    match report["verdict"].as_str() {
        Some("passed") => Ok(reason),
        Some("skipped") => Err(DrillError::Skipped(reason)),
        _ => Err(failed(reason)),
    }
}

/// The text of a trace line, without its leading seconds (see `DrillHome::log`). None for other lines.
fn log_text(line: &str) -> Option<&str> {
    let (seconds, text) = line.split_once(" s  ")?;
    seconds.trim().parse::<f64>().ok().map(|_| text)
}

fn on_small_disk(home: &mut DrillHome, disk: &Path) -> Outcome {
    let mut device = Device::create(home, &disk.join("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    let pid = device.pid();
    let before = device.replica.create(Kind::Task, &fields(json!({ "title": "Edit while there was room" })))?;
    device.wait_until_settled(home, LIMIT)?;
    let ballast = disk.join("ballast");
    let filled = fill(&ballast)?;
    home.log(format!("the replica is in step; {filled} bytes fill its disk to the last"));

    let seed = home.options.seed.to_string();
    home.run_lab(&["churn", "--count", CHANGES, "--rate", "10000", "--quiet", "--seed", &seed])?;
    let head = home.head()?;
    let took = home.wait_until("the status says that the disk is full", LIMIT, || {
        let status = device.replica.status()?;
        if status.position >= head {
            return Err(failed("the replica got by without room, so the drill tested nothing"));
        }
        Ok(status.phase == Phase::Blocked && status.blocked_by == Some(BlockCause::DiskFull))
    })?;
    let status = device.replica.status()?;
    home.log(format!(
        "{CHANGES} changes later it says so, after {:.1} s: {}, {}",
        took.as_secs_f64(),
        status.phase,
        status.reason.as_deref().unwrap_or_default()
    ));
    let mut expected = vec![ExpectedEdit { id: before, effect: Effect::Created }];
    match device.replica.create(Kind::Task, &fields(json!({ "title": "Edit while it was full" }))) {
        Ok(id) => {
            home.log("an edit is still accepted");
            expected.push(ExpectedEdit { id, effect: Effect::Created });
        }
        Err(error) => home.log(format!("an edit is refused: {error}")),
    }

    fs::remove_file(&ballast)?;
    let took = device.wait_until_settled(home, LIMIT)?;
    home.log(format!("there is room again; the replica is in step after {:.1} s", took.as_secs_f64()));
    if device.pid() != pid {
        return Err(failed("the daemon was started anew"));
    }
    let result = finish_all_applied(home, &mut device, &expected)?;
    Ok(format!("it reported its full disk and recovered by itself; {result}"))
}

/// Writes until the disk is full; returns the number of bytes.
fn fill(file: &Path) -> Result<u64, DrillError> {
    let mut ballast = File::create_new(file)?;
    // Smaller and smaller pieces, until not even one page is free.
    for size in [1 << 16, 1 << 12, 1 << 8] {
        while ballast.write_all(&vec![0; size]).is_ok() {}
    }
    Ok(fs::metadata(file)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_text_ignores_other_lines() {
        assert_eq!(log_text("    1.2 s  the replica is in step"), Some("the replica is in step"));
        assert_eq!(log_text("hearth-replica: 1 of 1 failed"), None);
        assert_eq!(log_text("there it is  as before"), None);
    }
}
