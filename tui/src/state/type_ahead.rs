//! Keys typed ahead of an answer, and the answers they wait for. Must not know what a key does.

use std::collections::{BTreeMap, VecDeque};

use hearth_contract::formats::Timestamp;

use crate::message::{Answer, Effect, Message, Slot};

/// The queued keys, and the missing answers.
#[derive(Debug, Default)]
pub struct TypeAhead {
    /// Queued keys and pasted texts, the oldest first.
    pub typed: VecDeque<Message>,
    /// The time since when the first of them waits.
    pub since: Option<Timestamp>,
    /// The slots of the user's unanswered requests, with the newest ticket of each.
    pub asked: BTreeMap<Slot, Option<u64>>,
    /// The number of unanswered writes.
    pub writes: usize,
    /// Whether an external editor has the terminal, or is about to get it.
    pub is_lent: bool,
}

impl TypeAhead {
    /// Notes requests. Keys wait for requests that the user caused, and for later requests of the same slot.
    pub fn note_requests(&mut self, effects: &[Effect], by_person: bool) {
        for effect in effects {
            match (effect.slot(), effect) {
                (_, Effect::Write(_)) => self.writes += 1,
                (_, Effect::Editor(_)) => self.is_lent = true,
                (Some(slot), _) if by_person || self.asked.contains_key(&slot) => {
                    self.asked.insert(slot, effect.ticket());
                }
                _ => {}
            }
        }
    }

    /// Notes an answer. A refused write leaves another screen than the user expected, so the queued keys are dropped.
    pub fn note_answer(&mut self, answer: &Answer) {
        let refused = match answer {
            Answer::Written(_, result) | Answer::Decided(_, result) => result.is_err(),
            Answer::Imported(_, result) => result.is_err(),
            Answer::RecordChanged(..) | Answer::RecordDeleted(_) => true,
            Answer::ManyWritten(_, each) => each.iter().any(|(_, result)| result.is_err()),
            other => {
                if let Some((slot, ticket)) = other.slot()
                    && self.asked.get(&slot) == Some(&ticket)
                {
                    self.asked.remove(&slot);
                }
                return;
            }
        };
        self.writes = self.writes.saturating_sub(1);
        if refused {
            self.typed.clear();
        }
    }

    /// Notes that the external editor was closed.
    pub fn note_terminal_back(&mut self) {
        self.is_lent = false;
    }

    /// Whether the user waits for an answer to a request of this slot.
    pub fn awaits(&self, slot: Slot) -> bool {
        self.asked.contains_key(&slot)
    }

    /// Stops waiting for missing answers.
    pub fn stop_waiting(&mut self) {
        self.asked.clear();
        self.writes = 0;
    }
}
