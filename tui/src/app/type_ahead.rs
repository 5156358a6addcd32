//! Typing ahead: a key acts on the screen as it is after all earlier keys. While a needed answer is missing, the key
//! and all later keys wait, and are handled in order afterwards. Must not know what a key does.

use crossterm::event::KeyEvent;
use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::keys::{Action, Context};
use crate::message::{Effect, Message, Slot};
use crate::now::Now;
use crate::state::list::List;

/// The most keys that wait. Later keys are lost, as in a terminal's own buffer.
const TYPED_AHEAD_MAX: usize = 512;
/// The longest wait for an answer, in milliseconds. A database that hangs must not block the keyboard.
const WAIT_MAX_MILLIS: i64 = 500;

impl App {
    /// Whether keys wait for an answer; the main loop then ticks faster.
    pub fn has_typed_ahead(&self) -> bool {
        !self.type_ahead.typed.is_empty()
    }

    /// Handles input at once, or queues the input when a needed answer is missing.
    pub(super) fn take_input(&mut self, now: Now, message: Message) -> Vec<Effect> {
        if !self.has_typed_ahead() && !self.must_wait(&message) {
            return self.handle(now, message);
        }
        if self.type_ahead.typed.len() < TYPED_AHEAD_MAX {
            self.type_ahead.typed.push_back(message);
        }
        self.type_ahead.since.get_or_insert(now.moment);
        Vec::new()
    }

    /// Handles the queued keys that need not wait longer.
    pub(super) fn handle_waiting(&mut self, now: Now) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(message) = self.type_ahead.typed.pop_front() {
            let since = *self.type_ahead.since.get_or_insert(now.moment);
            if self.must_wait(&message) {
                // A clock that was set back must not block the keyboard.
                let waited = now.moment.millis() - since.millis();
                if self.type_ahead.is_lent || (0..WAIT_MAX_MILLIS).contains(&waited) {
                    self.type_ahead.typed.push_front(message);
                    return effects;
                }
                // A form in a write closes with the answer: its letters would become commands of the screen below. They
                // keep waiting, unless the user leaves the form; then the letters before the leaving key are dropped.
                if self.is_text(&message) && self.layers.last().is_some_and(Layer::is_saving) {
                    let Some(way_out) = self.type_ahead.typed.iter().position(|later| self.leaves(later)) else {
                        self.type_ahead.typed.push_front(message);
                        return effects;
                    };
                    self.type_ahead.typed.drain(..way_out);
                    continue;
                }
                self.type_ahead.stop_waiting();
            }
            self.type_ahead.since = None;
            // The user has not yet read a notice from after the key was typed.
            let notice = self.notice.take();
            effects.extend(self.handle(now, message));
            self.notice = self.notice.take().or(notice);
        }
        effects
    }

    fn must_wait(&self, message: &Message) -> bool {
        let key = if let Message::Key(key) = message { Some(*key) } else { None };
        self.type_ahead.is_lent || self.depends(key)
    }

    /// The action of a key in the current context; None: a letter, or no key.
    fn action_of(&self, message: &Message) -> Option<Action> {
        if let Message::Key(key) = message { self.setup.keys.action(self.context(), *key) } else { None }
    }

    /// Whether the input is text for the current field.
    fn is_text(&self, message: &Message) -> bool {
        !matches!(message, Message::Mouse(_)) && self.action_of(message).is_none()
    }

    /// Whether the key leaves the current layer, or ends the program.
    fn leaves(&self, message: &Message) -> bool {
        matches!(self.action_of(message), Some(Action::Back | Action::Quit | Action::Suspend))
    }

    /// Whether a key needs a missing answer. None: pasted text or a mouse event.
    fn depends(&self, key: Option<KeyEvent>) -> bool {
        let context = self.context();
        let action = key.and_then(|key| self.setup.keys.action(context, key));
        if matches!(action, Some(Action::Quit | Action::Suspend)) {
            return false;
        }
        let awaits = |slot| self.type_ahead.awaits(slot);
        let writes = self.type_ahead.writes > 0;
        // Letters need no answer, and a layer can be left at any time.
        let is_free = action.is_none() || action == Some(Action::Back);
        match self.layers.last() {
            Some(Layer::Form(form)) => {
                form.saving.is_some()
                    || form.making.is_some()
                    || (context == Context::Options && !is_free && awaits(Slot::Titles))
            }
            Some(Layer::Quick(quick)) => {
                let asks_who = quick.understood.unknown_person.is_some() && awaits(Slot::Assignees);
                quick.saving.is_some() || (!is_free && (awaits(Slot::About) || asks_who))
            }
            Some(Layer::Search(_)) => !is_free && awaits(Slot::Search),
            Some(Layer::Detail(_)) => !is_free && (writes || awaits(Slot::Record)),
            Some(Layer::Edits(_)) => !is_free && (writes || awaits(Slot::Edits)),
            Some(Layer::Conflict(_)) => !is_free && (writes || awaits(Slot::Conflicts)),
            Some(Layer::Inbox(_)) => !is_free && (writes || awaits(Slot::Captures)),
            Some(Layer::Confirm(_) | Layer::Sync(_) | Layer::Results(_)) => false,
            Some(Layer::Palette(_) | Layer::Columns(_)) => false,
            // A letter typed before the completion has come belongs behind it.
            Some(Layer::Attach(prompt)) => prompt.saving.is_some() || awaits(Slot::Path),
            Some(Layer::Import(_)) => awaits(Slot::Path),
            None if self.tab == Kind::Property => {
                action.is_some_and(is_about_row) && (writes || awaits(Slot::Overview))
            }
            None if self.is_filtering => false,
            None => {
                let is_sure = self.list(self.tab).is_some_and(List::is_settled);
                let rows = writes || awaits(Slot::RowPosition) || (awaits(Slot::Page) && !is_sure);
                awaits(Slot::All) || (action.is_some_and(is_about_row) && rows)
            }
        }
    }
}

/// Whether an action uses the row under the cursor, moves from the row, or moves rows: undo brings a row back to its place,
/// and the cursor must be on its record before.
const fn is_about_row(action: Action) -> bool {
    matches!(
        action,
        Action::Open
            | Action::Edit
            | Action::Duplicate
            | Action::Delete
            | Action::Done
            | Action::Mark
            | Action::MarkAll
            | Action::Undo
            | Action::Redo
            | Action::Palette
            | Action::PaletteCopy
            | Action::Copy(_)
            | Action::OpenFile
            | Action::Attach
            | Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last
    )
}
