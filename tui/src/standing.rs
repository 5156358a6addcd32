//! How syncing stands, in plain words, from what the database knows and nothing else. Must not know the screen.

use hearth_replica::Status;

use crate::glyphs::{Sign, Tone};
use crate::now::Now;
use crate::words::{grouped, moment};

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

/// Everything the status bar says about syncing, most important first.
pub fn standings(now: Now, status: &Status) -> Vec<Standing> {
    let mut all = vec![contact(now, status)];
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
fn contact(now: Now, status: &Status) -> Standing {
    let busy = |words: String| Standing::new(Sign::Working, Tone::Notice, words);
    match status.phase.as_str() {
        _ if status.server.is_none() => Standing::new(Sign::Offline, Tone::Quiet, "not connected"),
        "new" => busy("first sync has not begun".into()),
        "backfilling" => busy(progress("first sync", status)),
        "catching_up" => busy(match status.behind_events {
            Some(behind) if behind > 0 => format!("catching up, {} behind", grouped(behind)),
            _ => "catching up".into(),
        }),
        "reconciling" => busy("comparing with the server".into()),
        "live" => Standing::new(Sign::Live, Tone::Good, "live"),
        "polling" => Standing::new(Sign::Live, Tone::Good, "live, by asking now and then"),
        "paused" => Standing::new(Sign::Paused, Tone::Quiet, "paused"),
        "needs_key" => Standing::new(Sign::NeedsYou, Tone::Alarm, "the server refuses the key"),
        "blocked" => Standing::new(Sign::NeedsYou, Tone::Alarm, "syncing stopped"),
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
