//! The command `lab script`: parses a timed list of lab commands and runs the list. Must not know how a command works.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use hearth_server::bench::lab::LabHome;
use hearth_server::bench::lab::script::{self, Due, Line};
use hearth_server::shutdown::Shutdown;
use hearth_server::store::directory;
use tokio::time::Instant;

use super::arguments::{Churn, Step};
use super::steps;
use crate::cli::output::print_note;

/// Size of a script in bytes, at most.
const SCRIPT_BYTES_MAX: usize = 1024 * 1024;

/// A line of a script. Options such as `--help` are not available.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true, disable_help_subcommand = true)]
struct ScriptLine {
    #[command(subcommand)]
    step: Step,
}

/// Reads and checks a whole script, before its first command runs.
pub(super) fn read(file: &Path, data: &Path) -> anyhow::Result<Vec<Line<Step>>> {
    let name = file.display();
    let text = read_text(file)?;
    let lines = script::parse(&text, |words| {
        let line = ScriptLine::try_parse_from(words).map_err(|error| to_sentence(&error))?;
        match &line.step {
            Step::Churn(Churn { lasting: None, count: None, .. }) => {
                Err("churn would never end here; add --count N or --for TIME".to_owned())
            }
            _ => Ok(line.step),
        }
    });
    let lines = lines.map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
    if let Some(line) = lines.iter().find(|line| matches!(line.step, Step::Rewind(_))) {
        let lock = directory::lock_for_serving(data).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))?;
        anyhow::ensure!(
            lock.is_some(),
            "{name}: line {}: rewind needs the server stopped, but a server uses {}",
            line.number,
            data.display()
        );
    }
    Ok(lines)
}

fn read_text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let from: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| anyhow::anyhow!("{name}: {error}"))?)
    };
    let mut bytes = Vec::new();
    // Reads one byte beyond the limit: a truncated script would be a different script.
    let read = from.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    anyhow::ensure!(bytes.len() <= SCRIPT_BYTES_MAX, "{name}: a script has at most 1 MiB; split the script");
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name}: the script is not a text in UTF-8"))
}

/// Runs a script line by line. Ctrl-C ends the whole script.
pub(super) async fn run(
    home: &mut LabHome,
    file: &Path,
    lines: &[Line<Step>],
    as_json: bool,
    mut shutdown: Shutdown,
) -> anyhow::Result<()> {
    let name = file.display();
    let began = Instant::now();
    for (nth, line) in lines.iter().enumerate() {
        let due = match line.due {
            Due::At(time) => began + time,
            Due::After(time) => Instant::now() + time,
        };
        tokio::select! {
            () = tokio::time::sleep_until(due) => (),
            () = shutdown.requested() => anyhow::bail!("{name}: interrupted; {}", not_done(&lines[nth..])),
        }
        let late = Instant::now() - due;
        if late >= Duration::from_secs(1) {
            let seconds = late.as_secs_f64();
            print_note(format_args!(
                "line {} starts {seconds:.1} s late, because earlier lines took longer",
                line.number
            ));
        }
        if !as_json {
            print_note(format_args!("{:>7.1} s  {}", began.elapsed().as_secs_f64(), line.text));
        }
        let done = steps::run(home, &line.step, as_json, &mut shutdown).await;
        let rest = not_done(&lines[nth + 1..]);
        match done {
            Ok(()) if shutdown.is_requested() => anyhow::bail!("{name}: interrupted in line {}; {rest}", line.number),
            Ok(()) => (),
            Err(error) if shutdown.is_requested() => anyhow::bail!("{name}: line {}: {error:#}; {rest}", line.number),
            Err(error) => return Err(error.context(format!("{name}: line {}", line.number))),
        }
    }
    Ok(())
}

/// The lines that did not run, as a part of a sentence.
fn not_done(lines: &[Line<Step>]) -> String {
    match lines {
        [] => "that was the last line".to_owned(),
        [line] => format!("line {} was not done", line.number),
        [first, .., last] => format!("lines {} to {} were not done", first.number, last.number),
    }
}

/// The message of clap about a wrong line, as one sentence without the usage.
fn to_sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    parts.join("; ").trim_start_matches("error: ").to_owned()
}
