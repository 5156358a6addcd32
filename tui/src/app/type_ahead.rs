//! What is typed ahead of an answer. A key means what stands on the screen once everything typed before it has come true:
//! while an answer it depends on is still out, it waits here, with all that follows it, and is handled in order afterwards.
//! Told the time; must not know what a key does.

use crossterm::event::KeyEvent;
use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::keys::{Action, Context};
use crate::message::{Effect, Message, Slot};
use crate::now::Now;
use crate::state::list::List;

/// More than this is not typed ahead; what follows is lost, as in a terminal's own buffer.
const TYPED_AHEAD_MAX: usize = 512;
/// So long an answer is waited for. A database that hangs must not make the keyboard hang.
const WAIT_MAX_MILLIS: i64 = 500;

impl App {
    /// Whether something that was typed still waits for an answer; then time matters more than usual.
    pub fn has_typed_ahead(&self) -> bool {
        !self.type_ahead.typed.is_empty()
    }

    /// Takes what was typed or clicked: at once, or, where it must wait, after the answer.
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

    /// Handles what waited and need not wait any longer.
    pub(super) fn handle_waiting(&mut self, now: Now) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(message) = self.type_ahead.typed.pop_front() {
            let since = *self.type_ahead.since.get_or_insert(now.moment);
            if self.must_wait(&message) {
                // A clock that was set back must not hold the keyboard.
                let waited = now.moment.millis() - since.millis();
                if self.type_ahead.is_lent || (0..WAIT_MAX_MILLIS).contains(&waited) {
                    self.type_ahead.typed.push_front(message);
                    return effects;
                }
                // What is being saved closes with its answer: letters would be split between it and what lies beneath, where
                // they are commands. So they wait on, unless whoever typed them wants to leave; then they are not meant.
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
            // What was said since it was typed has not been read yet.
            let said = self.notice.take();
            effects.extend(self.handle(now, message));
            self.notice = self.notice.take().or(said);
        }
        effects
    }

    fn must_wait(&self, message: &Message) -> bool {
        let key = if let Message::Key(key) = message { Some(*key) } else { None };
        self.type_ahead.is_lent || self.depends(key)
    }

    /// What a key does where the keyboard is; None: it is a letter, or no key.
    fn action_of(&self, message: &Message) -> Option<Action> {
        if let Message::Key(key) = message { self.setup.keys.action(self.context(), *key) } else { None }
    }

    /// Whether this would be typed into what has the keyboard.
    fn is_text(&self, message: &Message) -> bool {
        !matches!(message, Message::Mouse(_)) && self.action_of(message).is_none()
    }

    /// Whether this leaves what has the keyboard, or Hearth.
    fn leaves(&self, message: &Message) -> bool {
        matches!(self.action_of(message), Some(Action::Back | Action::Quit | Action::Suspend))
    }

    /// Whether what a key does here depends on an answer that is still out. No key: a text is pasted, or the mouse is used.
    fn depends(&self, key: Option<KeyEvent>) -> bool {
        let context = self.context();
        let action = key.and_then(|key| self.setup.keys.action(context, key));
        if matches!(action, Some(Action::Quit | Action::Suspend)) {
            return false;
        }
        let awaits = |slot| self.type_ahead.awaits(slot);
        let writes = self.type_ahead.writes > 0;
        // Letters of a line are the line's own, and it can be left at any time.
        let is_free = action.is_none() || action == Some(Action::Back);
        match self.layers.last() {
            Some(Layer::Form(form)) => {
                form.saving.is_some() || (context == Context::Options && !is_free && awaits(Slot::Titles))
            }
            Some(Layer::Quick(quick)) => quick.saving.is_some() || (!is_free && awaits(Slot::About)),
            Some(Layer::Search(_)) => !is_free && awaits(Slot::Search),
            Some(Layer::Detail(_)) => !is_free && (writes || awaits(Slot::Record)),
            Some(Layer::Edits(_)) => !is_free && (writes || awaits(Slot::Edits)),
            Some(Layer::Conflict(_)) => !is_free && (writes || awaits(Slot::Conflicts)),
            Some(Layer::Confirm(_) | Layer::Sync(_) | Layer::Results(_) | Layer::Palette(_)) => false,
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

/// Whether an action is about the row under the cursor, or moves from it.
const fn is_about_row(action: Action) -> bool {
    matches!(
        action,
        Action::Open
            | Action::Edit
            | Action::Delete
            | Action::Done
            | Action::Mark
            | Action::MarkAll
            | Action::Palette
            | Action::PaletteCopy
            | Action::Copy(_)
            | Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last
    )
}
