//! How syncing stands, in plain words, from what the database knows and nothing else. Must not know the screen.

use hearth_contract::formats::Timestamp;
use hearth_replica::doctor::DELETION_ADVICE;
use hearth_replica::{LogLine, Phase, Status, Transport};

use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::wrap;
use crate::words::{grouped, moment, of_any};

/// One thing the status bar says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its sign.
    pub sign: Sign,
    /// How much it wants to be seen.
    pub tone: Tone,
    /// Its words.
    pub words: String,
}

impl Standing {
    fn new(sign: Sign, tone: Tone, words: impl Into<String>) -> Standing {
        Standing { sign, tone, words: words.into() }
    }
}

/// Why nobody syncs here, as long as that is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halt<'a> {
    /// In two or three words.
    pub words: &'static str,
    /// In full.
    pub why: &'a str,
}

/// Everything the status bar says about syncing, most important first.
pub fn standings(now: Now, status: &Status, halt: Option<Halt<'_>>) -> Vec<Standing> {
    let mut all = vec![contact(now, status, halt)];
    if status.needs_you > 0 {
        let verb = if status.needs_you == 1 { "needs" } else { "need" };
        let words = format!("{} {verb} you", grouped(status.needs_you));
        all.push(Standing::new(Sign::NeedsYou, Tone::Alarm, words));
    }
    if status.waiting > 0 {
        all.push(Standing::new(Sign::Waiting, Tone::Notice, format!("{} waiting", grouped(status.waiting))));
    }
    all
}

/// How contact with the server stands.
fn contact(now: Now, status: &Status, halt: Option<Halt<'_>>) -> Standing {
    let busy = |words: String| Standing::new(Sign::Working, Tone::Notice, words);
    if let Some(Halt { words, .. }) = halt {
        return Standing::new(Sign::NeedsYou, Tone::Alarm, words);
    }
    match status.phase {
        _ if status.server.is_none() => Standing::new(Sign::Offline, Tone::Quiet, "not connected"),
        Phase::New => busy("first sync has not begun".into()),
        Phase::Backfilling => busy(progress("first sync", status)),
        Phase::CatchingUp => busy(match status.behind_events {
            Some(behind) if behind > 0 => format!("catching up, {} behind", grouped(behind)),
            _ => "catching up".into(),
        }),
        Phase::Reconciling => busy("comparing with the server".into()),
        Phase::Live => Standing::new(Sign::Live, Tone::Good, "live"),
        Phase::Polling => Standing::new(Sign::Live, Tone::Good, "live, by asking now and then"),
        Phase::Paused => Standing::new(Sign::Paused, Tone::Quiet, "paused"),
        Phase::NeedsKey => Standing::new(Sign::NeedsYou, Tone::Alarm, "the server wants another key"),
        Phase::Blocked => Standing::new(Sign::NeedsYou, Tone::Alarm, "syncing stopped"),
        _ => match status.offline_since.as_deref().or(status.last_contact_at.as_deref()) {
            Some(since) => Standing::new(Sign::Offline, Tone::Notice, format!("offline since {}", moment(now, since))),
            None => Standing::new(Sign::Offline, Tone::Notice, "offline"),
        },
    }
}

fn progress(what: &str, status: &Status) -> String {
    match status.head {
        Some(head) if head > 0 => format!("{what} {} of {}", grouped(status.position), grouped(head)),
        _ => what.into(),
    }
}

/// One line of the report on syncing.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// What it is about.
    pub label: &'static str,
    /// What is known of it.
    pub text: String,
    /// How much it wants to be seen.
    pub tone: Tone,
}

/// Columns of the labels.
const LABELS: usize = 20;

/// Columns of the labels in so many.
pub fn labels(columns: usize) -> usize {
    LABELS.min(columns / 3)
}

/// The report and the log as lines of so many columns: label, text, tone. A sentence is read to its end.
pub fn lines(all: Vec<ReportLine>, columns: usize) -> Vec<(&'static str, String, Tone)> {
    let room = columns.saturating_sub(labels(columns) + 2);
    let mut lines = Vec::new();
    for ReportLine { label, text, tone } in all {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        lines.extend(labels.zip(wrap(&text, room)).map(|(label, text)| (label, text, tone)));
    }
    lines
}

/// Everything that is known about syncing. What is not known is not said.
/// `another_key`: what to type for another key.
pub fn report(
    now: Now,
    status: &Status,
    halt: Option<Halt<'_>>,
    another_key: Option<&str>,
    ascii: bool,
) -> Vec<ReportLine> {
    let mut lines = Vec::new();
    let mut say = |label, text: String, tone| lines.push(ReportLine { label, text, tone });
    let contact = contact(now, status, halt);
    say("Contact", format!("{} {}", contact.sign.text(ascii), contact.words), contact.tone);
    if let Some(reason) = halt.map(|halt| halt.why).or(status.reason.as_deref()) {
        say("Why", reason.to_owned(), Tone::Notice);
    }
    if let Some(command) = another_key.filter(|_| status.phase == Phase::NeedsKey && halt.is_none()) {
        say("To do", format!("{command}; it is taken up as soon as it is there"), Tone::Notice);
    }
    if status.asks_about_deletions {
        // This program agrees to no deletions; where it was told which home is meant, that one must be too.
        say(
            "To decide",
            format!("{DELETION_ADVICE}, each with the --profile or --db of this home if it has one"),
            Tone::Notice,
        );
    }
    if let Some(at) = status.next_attempt_at.as_deref().and_then(Timestamp::parse) {
        let text = match at.seconds() - now.moment.seconds() {
            ..=0 => "now".to_owned(),
            seconds => format!("in {}", span(seconds)),
        };
        say("Next attempt", text, Tone::Plain);
    }
    match status.transport {
        Some(Transport::Stream) => say("Connection", "a stream: changes arrive as they are made".into(), Tone::Plain),
        Some(Transport::Poll) => {
            say("Connection", "asks now and then: something on the way holds streams back".into(), Tone::Plain)
        }
        _ => {}
    }
    let behind = match (status.behind_events, status.behind_seconds) {
        (Some(0), _) => "nothing: this is what the server has".to_owned(),
        (Some(events), _) => format!("{} still to be read", changes(events)),
        (None, Some(seconds)) => format!("as the server was {} ago", span(seconds)),
        (None, None) => "not known: the first sync is not done".to_owned(),
    };
    say("Behind", behind, Tone::Plain);
    if let Some(left) = status.retention_left_seconds {
        let tone = if left < 86_400 { Tone::Notice } else { Tone::Plain };
        say("Can stay offline", format!("{}; after that everything is compared anew", span(left)), tone);
    }
    let waiting = match status.waiting {
        0 => "nothing".to_owned(),
        waiting => {
            let since = status.oldest_waiting_at.as_deref().map(|at| format!(", the oldest since {}", moment(now, at)));
            format!("{}{}", changes(waiting), since.unwrap_or_default())
        }
    };
    say("Waiting to be sent", waiting, if status.waiting > 0 { Tone::Notice } else { Tone::Plain });
    if status.edits_to_decide() > 0 {
        let sign = Sign::NeedsYou.text(ascii);
        say("Needs you", format!("{sign} {}: see the edits", changes(status.edits_to_decide())), Tone::Alarm);
    }
    let verified = status.verified_at.as_deref().map_or("never yet".to_owned(), |at| moment(now, at));
    say("Verified", verified, Tone::Plain);
    say("Last heard", status.last_contact_at.as_deref().map_or("never".into(), |at| moment(now, at)), Tone::Plain);
    let position = match status.head {
        Some(head) => format!("{} of {}", grouped(status.position), grouped(head)),
        None => grouped(status.position),
    };
    say("Position", position, Tone::Plain);
    say("Server", status.server.clone().unwrap_or_else(|| "none: only on this machine".into()), Tone::Plain);
    let home = match (status.home.as_deref(), status.environment.as_deref()) {
        (Some(home), Some("test")) => format!("{home}, the sandbox"),
        (Some(home), _) => home.to_owned(),
        (None, _) => "not named yet".to_owned(),
    };
    say("Home", home, Tone::Plain);
    let process = status.daemon_pid.map_or("none at the moment".to_owned(), |pid| format!("process {pid}"));
    say("Synced by", process, Tone::Plain);
    lines
}

/// What the sync has done, newest first, as lines of the report.
pub fn journal(now: Now, log: &[LogLine]) -> Vec<ReportLine> {
    let line = |(index, line): (usize, &LogLine)| ReportLine {
        label: if index == 0 { "What happened" } else { "" },
        text: format!("{}  {}", moment(now, &line.at), of_any(&line.text)),
        tone: if line.level == "warning" { Tone::Notice } else { Tone::Quiet },
    };
    let gap = ReportLine { label: "", text: String::new(), tone: Tone::Plain };
    (!log.is_empty()).then_some(gap).into_iter().chain(log.iter().enumerate().map(line)).collect()
}

fn changes(number: i64) -> String {
    if number == 1 { "1 change".to_owned() } else { format!("{} changes", grouped(number)) }
}

/// A length of time in its greatest unit.
fn span(seconds: i64) -> String {
    let (number, unit) = match seconds.max(0) {
        1 => (1, "second"),
        seconds if seconds < 120 => (seconds, "seconds"),
        seconds if seconds < 7_200 => (seconds / 60, "minutes"),
        seconds if seconds < 172_800 => (seconds / 3_600, "hours"),
        seconds => (seconds / 86_400, "days"),
    };
    format!("{} {unit}", grouped(number))
}
