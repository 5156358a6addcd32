//! What is said of how it stands, in the log and in `sync_log`: each change once, however often it is shown or tried again.
//! Must not know who reads it.

use std::collections::BTreeSet;

use crate::sync::core::Phase;

/// A line of `sync_log`: its level and its text.
pub(super) type Line = (&'static str, String);

/// What was said last.
#[derive(Debug, Default)]
pub(super) struct Telling {
    last: Option<(Phase, Option<String>)>,
    polls: bool,
    /// Why the key is refused, as far as that was said; None: it is taken.
    refused: Option<BTreeSet<String>>,
    /// Why it was when this process began: `sync_log` has a line of that.
    refused_before: Option<String>,
}

impl Telling {
    /// What `sync_log` says of the key already, if it was refused when it was used last.
    pub(super) fn begin(&mut self, refused: Option<String>) {
        self.refused_before = refused;
    }

    /// Another key may be refused for the same reason, which is worth a word.
    pub(super) fn key_changed(&mut self) {
        self.refused_before = None;
        if let Some(said) = &mut self.refused {
            said.clear();
        }
    }

    /// It came by a poll, or by the stream.
    pub(super) fn comes(&mut self, polled: bool) {
        match (std::mem::replace(&mut self.polls, polled), polled) {
            (false, true) => tracing::info!("the feed is polled from now on"),
            (true, false) => tracing::info!("the feed comes by the stream again"),
            _ => {}
        }
    }

    /// It stands so; with the head where that has just been told. Gives what belongs into `sync_log`.
    pub(super) fn stands(&mut self, phase: Phase, reason: Option<&str>, head: Option<i64>) -> Option<Line> {
        let stands = Some((phase, reason.map(str::to_owned)));
        let is_news = std::mem::replace(&mut self.last, stands.clone()) != stands;
        if phase == Phase::NeedsKey {
            return self.refused(reason.unwrap_or("no reason is known"));
        }
        let is_in_contact =
            matches!(phase, Phase::Backfilling | Phase::CatchingUp | Phase::Live | Phase::Polling | Phase::Reconciling);
        let is_taken = is_in_contact && (self.refused.take().is_some() | self.refused_before.take().is_some());
        if is_taken {
            tracing::info!("the server takes the key again");
        }
        match phase {
            _ if !is_news => tracing::trace!(phase = phase.as_str(), reason, "phase"),
            Phase::Live => tracing::info!(head, "in step"),
            _ => tracing::info!(phase = phase.as_str(), reason, "phase"),
        }
        is_taken.then(|| ("info", "The server takes the key again.".to_owned()))
    }

    /// The key is refused. It is tried again each minute, perhaps for weeks.
    fn refused(&mut self, reason: &str) -> Option<Line> {
        if !self.refused.get_or_insert_default().insert(reason.to_owned()) {
            return None;
        }
        tracing::warn!(reason, "the server wants another key");
        let is_known = self.refused_before.as_deref() == Some(reason);
        (!is_known).then(|| ("warning", format!("The server wants another key: {reason}")))
    }
}
