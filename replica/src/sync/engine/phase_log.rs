//! Log lines and `sync_log` entries about the phase, each change once. Must not know the core or the database.

use std::collections::BTreeSet;

use crate::model::{LogLevel, Phase, Transport};

/// An entry for `sync_log`: level and text.
pub(super) type Entry = (LogLevel, String);

/// What was logged last.
#[derive(Debug, Default)]
pub(super) struct PhaseLog {
    last: Option<(Phase, Option<String>)>,
    is_polling: bool,
    /// Reasons of key refusals logged so far. None: the key works.
    refusals: Option<BTreeSet<String>>,
    /// The refusal that an earlier process has written to `sync_log`. None: the key worked at the last use.
    pub(super) known_refusal: Option<String>,
}

impl PhaseLog {
    /// Logs refusals of another key again, even with the same reason.
    pub(super) fn key_changed(&mut self) {
        self.known_refusal = None;
        if let Some(refusals) = &mut self.refusals {
            refusals.clear();
        }
    }

    /// Logs a change between stream and polls.
    pub(super) fn transport(&mut self, transport: Transport) {
        let is_polling = transport == Transport::Poll;
        match (std::mem::replace(&mut self.is_polling, is_polling), is_polling) {
            (false, true) => tracing::info!("the feed is polled from now on"),
            (true, false) => tracing::info!("the feed comes by the stream again"),
            _ => {}
        }
    }

    /// Logs a change of the phase. `head`: the feed head, if just received. Returns an entry for `sync_log`.
    pub(super) fn phase(&mut self, phase: Phase, reason: Option<&str>, head: Option<i64>) -> Option<Entry> {
        let state = Some((phase, reason.map(str::to_owned)));
        let is_news = std::mem::replace(&mut self.last, state.clone()) != state;
        if phase == Phase::NeedsKey {
            return self.key_refused(reason.unwrap_or("no reason is known"));
        }
        let is_in_contact =
            matches!(phase, Phase::Backfilling | Phase::CatchingUp | Phase::Live | Phase::Polling | Phase::Reconciling);
        let is_accepted_again = is_in_contact && (self.refusals.take().is_some() | self.known_refusal.take().is_some());
        if is_accepted_again {
            tracing::info!("the server takes the key again");
        }
        match phase {
            _ if !is_news => tracing::trace!(phase = phase.as_str(), reason, "phase"),
            Phase::Live => tracing::info!(head, "in step"),
            _ => tracing::info!(phase = phase.as_str(), reason, "phase"),
        }
        is_accepted_again.then(|| (LogLevel::Info, "The server takes the key again.".to_owned()))
    }

    /// Logs a refused key once per reason: a refused key is tried each minute, perhaps for weeks.
    fn key_refused(&mut self, reason: &str) -> Option<Entry> {
        if !self.refusals.get_or_insert_default().insert(reason.to_owned()) {
            return None;
        }
        tracing::warn!(reason, "the server wants another key");
        let is_known = self.known_refusal.as_deref() == Some(reason);
        (!is_known).then(|| (LogLevel::Warning, format!("The server wants another key: {reason}")))
    }
}
