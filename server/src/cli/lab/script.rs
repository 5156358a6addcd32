//! `lab script`: reads a list of the bench's tools as words of this command line, and plays it. Must not know how any of
//! them is done.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use clap::Parser;
use hearth_server::lab::Bench;
use hearth_server::lab::script::{self, Due, Line};
use hearth_server::stopping::Stopping;
use hearth_server::store::open;
use tokio::time::Instant;

use super::{Churn, Step, carry_out};
use crate::cli::output::note;

/// Greatest script in bytes.
const SCRIPT_BYTES_MAX: usize = 1024 * 1024;

/// A line of a script, without the words that a command line has for help.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_version_flag = true, disable_help_subcommand = true)]
struct ScriptLine {
    #[command(subcommand)]
    step: Step,
}

/// Reads a whole script, before anything of it is done.
pub(super) fn read(file: &Path, data: &Path) -> anyhow::Result<Vec<Line<Step>>> {
    let name = file.display();
    let text = text(file)?;
    let lines = script::read(&text, |words| {
        let line = ScriptLine::try_parse_from(words).map_err(|error| sentence(&error))?;
        match &line.step {
            Step::Churn(Churn { lasting: None, count: None, .. }) => {
                Err("churn would never end here; say --count N or --for TIME".to_owned())
            }
            _ => Ok(line.step),
        }
    });
    let lines = lines.map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
    // Said before anything is done, rather than in the middle.
    if let Some(line) = lines.iter().find(|line| matches!(line.step, Step::Rewind(_))) {
        let held = open::lock_for_serving(data).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))?;
        anyhow::ensure!(
            held.is_some(),
            "{name}: line {}: rewind needs the server stopped, and one serves {}",
            line.number,
            data.display()
        );
    }
    Ok(lines)
}

fn text(file: &Path) -> anyhow::Result<String> {
    let name = file.display();
    let from: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(file).map_err(|error| anyhow::anyhow!("{name}: {error}"))?)
    };
    let mut bytes = Vec::new();
    // One byte more than there may be: a part of a script is another script.
    let read = from.take(SCRIPT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    anyhow::ensure!(bytes.len() <= SCRIPT_BYTES_MAX, "{name}: a script has at most 1 MiB; make several of it");
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name}: a script is text in UTF-8, and this is not"))
}

/// Carries a script out, line by line. Ctrl-C ends all of it.
pub(super) async fn play(
    bench: &mut Bench,
    file: &Path,
    lines: &[Line<Step>],
    as_json: bool,
    mut stopping: Stopping,
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
            () = stopping.heard() => anyhow::bail!("{name}: interrupted; {}", not_done(&lines[nth..])),
        }
        let late = Instant::now() - due;
        if late >= Duration::from_secs(1) {
            let seconds = late.as_secs_f64();
            note(format_args!("line {} begins {seconds:.1} s late: what is above it took longer", line.number));
        }
        if !as_json {
            note(format_args!("{:>7.1} s  {}", began.elapsed().as_secs_f64(), line.text));
        }
        let done = carry_out(bench, &line.step, as_json, &mut stopping).await;
        let left = not_done(&lines[nth + 1..]);
        match done {
            Ok(()) if stopping.is_said() => anyhow::bail!("{name}: interrupted in line {}; {left}", line.number),
            Ok(()) => (),
            Err(error) if stopping.is_said() => anyhow::bail!("{name}: line {}: {error:#}; {left}", line.number),
            Err(error) => return Err(error.context(format!("{name}: line {}", line.number))),
        }
    }
    Ok(())
}

/// Which lines were left, in words.
fn not_done(lines: &[Line<Step>]) -> String {
    match lines {
        [] => "it was the last".to_owned(),
        [line] => format!("line {} was not done", line.number),
        [first, .., last] => format!("lines {} to {} were not done", first.number, last.number),
    }
}

/// What clap says of a wrong line, as one sentence.
fn sentence(error: &clap::Error) -> String {
    let text = error.to_string();
    let said: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    said.join("; ").trim_start_matches("error: ").to_owned()
}
