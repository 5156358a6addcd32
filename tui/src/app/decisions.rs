//! Keys on open edits and on conflicts. Must not know how a decision is carried out.

use hearth_replica::{Choice, Edit, EditState, Method};

use super::layers::SAVING;
use super::model::{App, Layer};
use super::scrolling::scrolled;
use crate::keys::{Action, Context};
use crate::layout::Layout;
use crate::message::{Decision, Effect, Write};
use crate::now::Now;
use crate::state::confirm::{Confirm, Then};
use crate::state::conflict::ConflictScreen;
use crate::state::detail::Detail;
use crate::state::form::Form;
use crate::words::glyphs::Tone;
use crate::words::{self, Names};

/// The effect of discarding an edit of a record that the server has.
const SERVER_VALUES_RETURN: &str =
    "The record shows the server's values again; the change stays in the history for 30 days.";

impl App {
    /// The edit under the cursor; None: another screen is in front.
    pub(super) fn selected_edit(&self) -> Option<&Edit> {
        match self.top_layer() {
            Some(Layer::Edits(screen)) => screen.edits.get(screen.selected),
            _ => None,
        }
    }

    pub(super) fn decide(&mut self, now: Now, decision: Decision) -> Vec<Effect> {
        let Some(edit) = self.selected_edit().map(|edit| edit.id) else {
            let key = self.setup.keys.key_of(Context::List, Action::Undo).unwrap_or("?");
            let text = format!("No change is waiting; {key} in a list undoes the last change.");
            self.notify(now, Tone::Notice, text);
            return Vec::new();
        };
        vec![Effect::Write(Write::Decide(edit, decision))]
    }

    pub(super) fn ask_discard(&mut self) -> Vec<Effect> {
        let question = self.selected_edit().map(|edit| {
            // The server does not have a new record.
            let (what, consequence) = match edit.method {
                Method::Create => (
                    format!("the new {}", words::singular(edit.kind)),
                    "The record is removed, with all its waiting changes; they stay in the history for 30 days.",
                ),
                Method::Delete => ("the deletion of".to_owned(), SERVER_VALUES_RETURN),
                Method::Update => ("the change of".to_owned(), SERVER_VALUES_RETURN),
            };
            let question = format!("Discard {what} “{}”?", edit.title);
            let then = Then::Write(Box::new(Write::Decide(edit.id, Decision::Discard)));
            Confirm { question, consequence: consequence.into(), then }
        });
        question.map_or_else(Vec::new, |question| self.push_layer(Layer::Confirm(question)))
    }

    /// Opens a form for the values of the edit; for a conflict, the conflict screen.
    pub(super) fn change_edit(&mut self) -> Vec<Effect> {
        if self.selected_edit().is_some_and(|edit| edit.state == EditState::Conflict) {
            return self.act_in_edits(Action::Open);
        }
        let today = self.today;
        let names = match self.layers.last() {
            Some(Layer::Edits(screen)) => screen.names.clone(),
            _ => Names::new(),
        };
        let edit = self.selected_edit().filter(|edit| edit.method != Method::Delete);
        let form = edit.map(|edit| Form::of_edit(edit, &names, today));
        form.map_or_else(Vec::new, |form| self.push_layer(Layer::Form(Box::new(form))))
    }

    pub(super) fn act_in_edits(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::for_height(self.height).screen());
        if action == Action::Open {
            let Some(edit) = self.selected_edit() else { return Vec::new() };
            let (id, kind, record) = (edit.id, edit.kind, edit.record_id.clone());
            if edit.state == EditState::Conflict {
                let screen = ConflictScreen::of(id, edit.method);
                self.push_layer(Layer::Conflict(screen));
                return self.reload();
            }
            return self.open(Detail::new(kind, record));
        }
        let Some(Layer::Edits(screen)) = self.layers.last_mut() else { return Vec::new() };
        if action == Action::Back {
            return self.close();
        }
        screen.selected = scrolled(screen.selected, action, page, screen.edits.len().saturating_sub(1));
        Vec::new()
    }

    pub(super) fn act_in_conflict(&mut self, action: Action) -> Vec<Effect> {
        let today = self.today;
        let page = usize::from(Layout::for_height(self.height).screen());
        let Some(Layer::Conflict(screen)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back | Action::Save if screen.saving.is_some() => {
                self.notify(self.now, Tone::Notice, SAVING.to_owned());
            }
            Action::Back if screen.typing.is_some() => screen.drop_value(),
            Action::Back if screen.has_typed() => return self.ask_before_leaving("the conflict"),
            Action::Back => return self.close(),
            Action::Mine => screen.choose(Choice::Mine),
            Action::Theirs => screen.choose(Choice::Theirs),
            Action::AllMine => screen.choose_all(&Choice::Mine),
            Action::AllTheirs => screen.choose_all(&Choice::Theirs),
            Action::Typed => screen.type_value(),
            Action::Take => screen.take_value(today),
            Action::Save => {
                let edit = screen.edit;
                let decided = screen.resolution().map(|resolution| Write::Decide(edit, Decision::Resolve(resolution)));
                screen.saving.clone_from(&decided);
                return decided.map(Effect::Write).into_iter().collect();
            }
            other => {
                screen.selected = scrolled(screen.selected, other, page, screen.fields.len().saturating_sub(1));
            }
        }
        Vec::new()
    }
}
