//! Keys that were typed ahead of an answer, and the answers they wait for. Must not know what a key does.

use std::collections::{BTreeMap, VecDeque};

use hearth_contract::formats::Timestamp;

use crate::message::{Answer, Effect, Message, Slot};

/// What was typed ahead, and what it waits for.
#[derive(Debug, Default)]
pub struct TypeAhead {
    /// Keys and pasted texts, the first typed first.
    pub typed: VecDeque<Message>,
    /// Since when the first of them waits.
    pub since: Option<Timestamp>,
    /// What a person asked for and has no answer to: the slots of the requests, with the newest ticket of each.
    pub asked: BTreeMap<Slot, Option<u64>>,
    /// Writes that are not answered yet.
    pub writes: usize,
    /// Whether a person's own editor has the terminal, or is about to have it.
    pub is_lent: bool,
}

impl TypeAhead {
    /// Notes what was asked for, because of what a person did or not. A request that takes the place of one a person made
    /// is waited for in its stead.
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

    /// Notes an answer. What was refused leaves another screen than the one that was typed ahead for.
    pub fn note_answer(&mut self, answer: &Answer) {
        let refused = match answer {
            Answer::Written(_, result) | Answer::Decided(_, result) => result.is_err(),
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

    /// Notes that the terminal is back.
    pub fn note_terminal_back(&mut self) {
        self.is_lent = false;
    }

    /// Whether the user waits for an answer to a request of this slot.
    pub fn awaits(&self, slot: Slot) -> bool {
        self.asked.contains_key(&slot)
    }

    /// Takes no notice any more of what did not come.
    pub fn stop_waiting(&mut self) {
        self.asked.clear();
        self.writes = 0;
    }
}
