//! Files of documents: open the one of the current document, attach one to the current record. Must not know how a file is
//! opened or read.

use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::keys::Action;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::state::attach::AttachPrompt;
use crate::words::files::FILE;
use crate::words::glyphs::Tone;
use crate::words::text_field;

impl App {
    /// The file of the current document: its hash and the document's title.
    pub(super) fn current_file(&self) -> Option<(String, String)> {
        let row = self.current_record().filter(|row| row.kind == Kind::Document)?;
        Some((text_field(&row.fields, FILE)?.to_owned(), row.title.clone()))
    }

    /// Whether a file can be attached to the current record.
    pub(super) fn takes_files(&self) -> bool {
        matches!(self.shown_kind(), Some(Kind::Inventory | Kind::Vehicle | Kind::Document))
    }

    pub(super) fn open_current_file(&mut self) -> Vec<Effect> {
        let Some((file, title)) = self.current_file() else { return Vec::new() };
        vec![Effect::OpenFile { file, title, may_ask: true }]
    }

    pub(super) fn attach(&mut self) -> Vec<Effect> {
        if !self.takes_files() {
            return Vec::new();
        }
        let record = self.current_record().map(|row| (row.kind, row.id.clone(), row.title.clone()));
        let prompt = record.map(|(kind, id, title)| AttachPrompt::new(kind, id, title));
        prompt.map_or_else(Vec::new, |prompt| self.push_layer(Layer::Attach(prompt)))
    }

    pub(super) fn act_in_attach(&mut self, action: Action) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(Layer::Attach(prompt)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back => self.close(),
            Action::Save if prompt.saving.is_none() => prompt.write().map(Effect::Write).into_iter().collect(),
            Action::Complete => {
                prompt.ticket = ticket;
                vec![Effect::CompletePath(ticket, prompt.line.text().to_owned())]
            }
            _ => Vec::new(),
        }
    }

    /// The bytes of a file are on their way. The file opens when they are here.
    pub(super) fn file_is_fetched(&mut self, now: Now, file: String, title: String, is_new: bool) {
        if is_new {
            self.notify(now, Tone::Notice, format!("Fetching {title}; it opens when it is here."));
        }
        self.fetching = Some((file, title));
    }

    /// Asks again for the file that is being fetched, after the database has changed.
    pub(super) fn ask_fetched_file(&mut self, message: &Message) -> Option<Effect> {
        let is_change = matches!(message, Message::DatabaseChanged);
        let (file, title) = self.fetching.take_if(|_| is_change)?;
        Some(Effect::OpenFile { file, title, may_ask: false })
    }
}
