//! Restoring and saving the session. Must not know where the session is stored.

use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::message::Effect;
use crate::now::Now;
use crate::state::form::Form;
use crate::state::input::Line;
use crate::state::session::{ListSession, Session};
use crate::words::columns::column_choices;
use crate::words::glyphs::Tone;

impl App {
    /// Restores tab, lists and draft of a session.
    pub(super) fn restore(&mut self, now: Now, session: Session) {
        self.tab = Kind::parse(&session.tab).unwrap_or(self.tab);
        for list in &mut self.lists {
            let Some(was) = session.lists.get(list.kind.as_str()) else { continue };
            let known = column_choices(list.kind);
            let chosen = was.columns.as_ref();
            list.choose_columns(
                chosen.map(|names| known.into_iter().filter(|name| names.iter().any(|n| n == name)).collect()),
            );
            list.sort_by(&was.sort, was.reversed);
            list.grouped = was.grouped;
            list.filter = Line::with_text(&was.filter);
            list.understand(now.today());
        }
        if let Some(form) = session.draft.and_then(|draft| Form::of_draft(&draft, now.today())) {
            self.layers.push(Layer::Form(Box::new(form)));
            self.notify(now, Tone::Notice, "This form was not saved last time; your entries are restored.".into());
        }
    }

    /// Saves the session when it has changed.
    pub(super) fn save_session(&mut self, effects: &mut Vec<Effect>) {
        let session = self.session();
        if session != self.saved_session {
            self.saved_session = session.clone();
            // First, because the last effect may end the program.
            effects.insert(0, Effect::SaveSession(session));
        }
    }

    /// The current session.
    pub(super) fn session(&self) -> Session {
        let list = |list: &crate::state::list::List| ListSession {
            sort: list.order().column.to_owned(),
            reversed: list.is_reversed(),
            grouped: list.grouped,
            columns: list.chosen_columns().map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            filter: list.filter.text().to_owned(),
        };
        let draft = self.layers.iter().rev().find_map(|layer| match layer {
            // Also during its write: only the answer confirms the write.
            Layer::Form(form) => form.draft(),
            Layer::Quick(quick) => quick.draft_to_keep(),
            _ => None,
        });
        Session {
            tab: self.tab.as_str().to_owned(),
            lists: self.lists.iter().map(|one| (one.kind.as_str().to_owned(), list(one))).collect(),
            draft,
        }
    }
}
