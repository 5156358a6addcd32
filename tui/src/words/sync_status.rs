//! The sync status in plain words: badges of the status bar, and the report and log of the sync screen. Reads the
//! status from the database only. Must not know the screen.

use hearth_contract::formats::Timestamp;
use hearth_replica::doctor::{DELETION_ADVICE, HELD_CHANGES_ADVICE};
use hearth_replica::{LogLevel, LogLine, Phase, Status, Transport};

use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::wrap;
use crate::words::{grouped, moment, with_any_labels};

/// One message of the status bar about syncing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusBadge {
    /// The sign before the words.
    pub sign: Sign,
    /// How strongly the badge stands out.
    pub tone: Tone,
    /// A few words: `4 waiting`.
    pub words: String,
}

impl StatusBadge {
    fn new(sign: Sign, tone: Tone, words: impl Into<String>) -> StatusBadge {
        StatusBadge { sign, tone, words: words.into() }
    }
}

/// Why no process syncs this database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncHalt<'a> {
    /// Two or three words for the status bar.
    pub words: &'static str,
    /// A full sentence with the next step, for the sync screen.
    pub why: &'a str,
}

/// The badges of the status bar, the most important first.
pub fn status_badges(now: Now, status: &Status, halt: Option<SyncHalt<'_>>) -> Vec<StatusBadge> {
    let mut all = vec![link_badge(now, status, halt)];
    if status.needs_you > 0 {
        let verb = if status.needs_you == 1 { "needs" } else { "need" };
        let words = format!("{} {verb} you", grouped(status.needs_you));
        all.push(StatusBadge::new(Sign::NeedsYou, Tone::Alarm, words));
    }
    if status.waiting > 0 {
        all.push(StatusBadge::new(Sign::Waiting, Tone::Notice, format!("{} waiting", grouped(status.waiting))));
    }
    all
}

/// The badge for the connection to the server.
fn link_badge(now: Now, status: &Status, halt: Option<SyncHalt<'_>>) -> StatusBadge {
    let busy = |words: String| StatusBadge::new(Sign::Working, Tone::Notice, words);
    if let Some(SyncHalt { words, .. }) = halt {
        return StatusBadge::new(Sign::NeedsYou, Tone::Alarm, words);
    }
    match status.phase {
        Phase::Local => StatusBadge::new(Sign::Local, Tone::Quiet, "on this machine only"),
        Phase::New => busy("first sync has not begun".into()),
        Phase::Backfilling => busy(progress("first sync", status)),
        Phase::CatchingUp => busy(match status.behind_events {
            Some(behind) if behind > 0 => format!("catching up, {} behind", grouped(behind)),
            _ => "catching up".into(),
        }),
        Phase::Reconciling => busy("comparing with the server".into()),
        Phase::Live => StatusBadge::new(Sign::Live, Tone::Good, "live"),
        Phase::Polling => StatusBadge::new(Sign::Live, Tone::Good, "live, by polling"),
        Phase::Paused => StatusBadge::new(Sign::Paused, Tone::Quiet, "paused"),
        Phase::NeedsKey => StatusBadge::new(Sign::NeedsYou, Tone::Alarm, "the server wants another key"),
        Phase::Blocked => StatusBadge::new(Sign::NeedsYou, Tone::Alarm, "syncing stopped"),
        _ => match status.offline_since.as_deref().or(status.last_contact_at.as_deref()) {
            Some(since) => {
                StatusBadge::new(Sign::Offline, Tone::Notice, format!("offline since {}", moment(now, since)))
            }
            None => StatusBadge::new(Sign::Offline, Tone::Notice, "offline"),
        },
    }
}

fn progress(what: &str, status: &Status) -> String {
    match status.head {
        Some(head) if head > 0 => format!("{what} {} of {}", grouped(status.position), grouped(head)),
        _ => what.into(),
    }
}

/// The server of a home that has none.
const NO_SERVER: &str = "none: all data is on this machine only";

/// One entry of the sync report.
#[derive(Debug, PartialEq, Eq)]
pub struct ReportLine {
    /// The name of the fact: `Last contact`.
    pub label: &'static str,
    /// The fact, of any length.
    pub text: String,
    /// How strongly the text stands out.
    pub tone: Tone,
}

impl ReportLine {
    fn new(label: &'static str, text: String, tone: Tone) -> ReportLine {
        ReportLine { label, text, tone }
    }
}

/// The most terminal columns of a label.
const LABEL_WIDTH_MAX: usize = 20;

/// The width of the labels on a screen of `columns`.
pub fn label_width(columns: usize) -> usize {
    LABEL_WIDTH_MAX.min(columns / 3)
}

/// The report and the log as screen lines of `columns`: label, text, tone. A long text takes several lines.
pub fn lines(all: Vec<ReportLine>, columns: usize) -> Vec<(&'static str, String, Tone)> {
    let room = columns.saturating_sub(label_width(columns) + 2);
    let mut lines = Vec::new();
    for ReportLine { label, text, tone } in all {
        let labels = std::iter::once(label).chain(std::iter::repeat(""));
        lines.extend(labels.zip(wrap(&text, room)).map(|(label, text)| (label, text, tone)));
    }
    lines
}

/// The report of the sync screen. Facts that the database does not hold are left out.
/// `another_key`: the command that sets another API key. `connect`: the key that connects a home without a server.
pub fn report(
    now: Now,
    status: &Status,
    halt: Option<SyncHalt<'_>>,
    another_key: Option<&str>,
    connect: Option<&str>,
    ascii: bool,
) -> Vec<ReportLine> {
    let mut lines = Vec::new();
    let link = link_badge(now, status, halt);
    lines.push(ReportLine::new("Contact", format!("{} {}", link.sign.text(ascii), link.words), link.tone));
    if status.phase == Phase::Local && halt.is_none() {
        // Nothing waits, and nothing is behind.
        let mut say = |label, text: String| lines.push(ReportLine::new(label, text, Tone::Plain));
        say("Server", NO_SERVER.to_owned());
        if let Some(key) = connect {
            say("To connect", format!("{key} asks for a server and an API key; everything is then sent once"));
        }
        lines.extend(held_changes_line(status));
        return lines;
    }
    report_advice(&mut lines, status, halt, another_key);
    lines.extend(held_changes_line(status));
    report_link(&mut lines, now, status);
    report_edits(&mut lines, now, status, ascii);
    report_home(&mut lines, now, status);
    lines
}

/// The question about changes by another program, with the commands that answer it.
fn held_changes_line(status: &Status) -> Option<ReportLine> {
    let held = status.held_changes.as_ref()?;
    Some(ReportLine::new("To decide", format!("{}: {HELD_CHANGES_ADVICE}", held.question()), Tone::Notice))
}

/// Why syncing does not work, and the commands that help.
fn report_advice(lines: &mut Vec<ReportLine>, status: &Status, halt: Option<SyncHalt<'_>>, another_key: Option<&str>) {
    let mut say = |label, text: String| lines.push(ReportLine::new(label, text, Tone::Notice));
    if let Some(reason) = halt.map(|halt| halt.why).or(status.reason.as_deref()) {
        say("Why", reason.to_owned());
    }
    if let Some(command) = another_key.filter(|_| status.phase == Phase::NeedsKey && halt.is_none()) {
        say("To do", format!("{command}; hearth uses the new key at once"));
    }
    if status.asks_about_deletions {
        // `hearth` has no action that confirms deletions; only `hearth-replica` does.
        say("To decide", format!("{DELETION_ADVICE}, each with the --profile or --db of this home if it has one"));
    }
}

/// The connection to the server and how far the replica is behind.
fn report_link(lines: &mut Vec<ReportLine>, now: Now, status: &Status) {
    let mut say = |label, text: String, tone| lines.push(ReportLine::new(label, text, tone));
    if let Some(at) = status.next_attempt_at.as_deref().and_then(Timestamp::parse) {
        let text = match at.seconds() - now.moment.seconds() {
            ..=0 => "now".to_owned(),
            seconds => format!("in {}", duration(seconds)),
        };
        say("Next attempt", text, Tone::Plain);
    }
    match status.transport {
        Some(Transport::Stream) => say("Connection", "a stream: changes arrive at once".into(), Tone::Plain),
        Some(Transport::Poll) => {
            say("Connection", "polling, because streams do not get through the network".into(), Tone::Plain)
        }
        _ => {}
    }
    let behind = match (status.behind_events, status.behind_seconds) {
        (Some(0), _) => "nothing: every change of the server is here".to_owned(),
        (Some(events), _) => format!("{} not yet downloaded", changes(events)),
        (None, Some(seconds)) => format!("shows the state of the server {} ago", duration(seconds)),
        (None, None) => "unknown until the first sync is complete".to_owned(),
    };
    say("Behind", behind, Tone::Plain);
    if let Some(left) = status.retention_left_seconds {
        let tone = if left < 86_400 { Tone::Notice } else { Tone::Plain };
        say("Can stay offline", format!("{}; after that, all records are compared again", duration(left)), tone);
    }
}

/// The edits that wait for the server or for a person.
fn report_edits(lines: &mut Vec<ReportLine>, now: Now, status: &Status, ascii: bool) {
    let waiting = match status.waiting {
        0 => "nothing".to_owned(),
        waiting => {
            let since = status.oldest_waiting_at.as_deref().map(|at| format!(", the oldest since {}", moment(now, at)));
            format!("{}{}", changes(waiting), since.unwrap_or_default())
        }
    };
    let tone = if status.waiting > 0 { Tone::Notice } else { Tone::Plain };
    lines.push(ReportLine::new("Waiting to be sent", waiting, tone));
    if status.edits_to_decide() > 0 {
        let sign = Sign::NeedsYou.text(ascii);
        let text = format!("{sign} {}: see the edits", changes(status.edits_to_decide()));
        lines.push(ReportLine::new("Needs you", text, Tone::Alarm));
    }
}

/// The checks, the position, the server, the home and the process that syncs.
fn report_home(lines: &mut Vec<ReportLine>, now: Now, status: &Status) {
    let mut say = |label, text: String| lines.push(ReportLine::new(label, text, Tone::Plain));
    say("Verified", status.verified_at.as_deref().map_or("never".to_owned(), |at| moment(now, at)));
    say("Last contact", status.last_contact_at.as_deref().map_or("never".into(), |at| moment(now, at)));
    let position = match status.head {
        Some(head) => format!("{} of {}", grouped(status.position), grouped(head)),
        None => grouped(status.position),
    };
    say("Position", position);
    say("Server", status.server.clone().unwrap_or_else(|| NO_SERVER.to_owned()));
    let home = match (status.home.as_deref(), status.environment.as_deref()) {
        (Some(home), Some("test")) => format!("{home}, the sandbox"),
        (Some(home), _) => home.to_owned(),
        (None, _) => "no name yet".to_owned(),
    };
    say("Home", home);
    say("Synced by", status.daemon_pid.map_or("no process".to_owned(), |pid| format!("process {pid}")));
}

/// The sync log as entries of the report, newest first.
pub fn journal(now: Now, log: &[LogLine]) -> Vec<ReportLine> {
    let line = |(index, line): (usize, &LogLine)| ReportLine {
        label: if index == 0 { "Log" } else { "" },
        text: format!("{}  {}", moment(now, &line.at), with_any_labels(&line.text)),
        tone: if line.level == LogLevel::Warning { Tone::Notice } else { Tone::Quiet },
    };
    let gap = ReportLine { label: "", text: String::new(), tone: Tone::Plain };
    (!log.is_empty()).then_some(gap).into_iter().chain(log.iter().enumerate().map(line)).collect()
}

fn changes(number: i64) -> String {
    if number == 1 { "1 change".to_owned() } else { format!("{} changes", grouped(number)) }
}

/// A duration in one unit: `3 hours`.
fn duration(seconds: i64) -> String {
    let (number, unit) = match seconds.max(0) {
        1 => (1, "second"),
        seconds if seconds < 120 => (seconds, "seconds"),
        seconds if seconds < 7_200 => (seconds / 60, "minutes"),
        seconds if seconds < 172_800 => (seconds / 3_600, "hours"),
        seconds => (seconds / 86_400, "days"),
    };
    format!("{} {unit}", grouped(number))
}
