//! Typed text: forms, quick add, search, filters, and pasted text. Must not know what a form wants of a field.

use crossterm::event::KeyEvent;
use hearth_contract::schema::Kind;

use super::layers::SAVING;
use super::model::{App, Layer};
use crate::keys::Action;
use crate::message::Effect;
use crate::now::Now;
use crate::parse::quick;
use crate::state::form::{Form, FormRequest};
use crate::state::quick::QuickLine;
use crate::words::glyphs::Tone;

impl App {
    pub(super) fn act_in_form(&mut self, action: Action) -> Vec<Effect> {
        let wish = match self.layers.last_mut() {
            Some(Layer::Form(form)) => form.act(action),
            _ => FormRequest::Nothing,
        };
        self.carry_out(wish)
    }

    fn carry_out(&mut self, wish: FormRequest) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(Layer::Form(form)) = self.layers.last_mut() else { return Vec::new() };
        match wish {
            FormRequest::Nothing => Vec::new(),
            FormRequest::Titles(kinds, words) => {
                form.ticket = ticket;
                vec![Effect::Titles(ticket, kinds, words)]
            }
            FormRequest::Save(write) | FormRequest::Make(write) => vec![Effect::Write(write)],
            FormRequest::Editor(text) => vec![Effect::Editor(text)],
            FormRequest::Close if form.is_changed() => self.ask_before_leaving("the form"),
            FormRequest::Close => self.close(),
        }
    }

    pub(super) fn editor_closed(&mut self, now: Now, text: Result<String, String>) -> Vec<Effect> {
        match (text, self.layers.last_mut()) {
            (Ok(text), Some(Layer::Form(form))) => form.set_notes(&text),
            (Ok(_), _) => {}
            (Err(sentence), _) => self.notify(now, Tone::Alarm, sentence),
        }
        Vec::new()
    }

    /// Opens quick add; the record in full view becomes the subject of the task.
    pub(super) fn quick_add(&mut self) -> Vec<Effect> {
        let preset = match self.layers.last() {
            Some(Layer::Detail(detail)) => detail
                .row()
                .filter(|row| matches!(row.kind, Kind::Room | Kind::Inventory | Kind::Vehicle))
                .map(|row| (row.kind, row.id.clone(), row.title.clone())),
            _ => None,
        };
        self.layers.push(Layer::Quick(QuickLine { about: preset.clone(), preset, ..QuickLine::default() }));
        vec![Effect::Assignees]
    }

    /// The line of quick add, which may have the list of actions over it.
    pub(super) fn quick_line(&mut self) -> Option<&mut QuickLine> {
        self.layers.iter_mut().rev().find_map(|layer| match layer {
            Layer::Quick(quick) => Some(quick),
            _ => None,
        })
    }

    pub(super) fn act_in_quick(&mut self, action: Action) -> Vec<Effect> {
        let today = self.today;
        let Some(Layer::Quick(quick)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back if quick.is_empty() => self.close(),
            Action::Back => self.ask_before_leaving("quick add"),
            // A form could save the task a second time.
            Action::Open | Action::Save if quick.saving.is_some() => {
                self.notify(self.now, Tone::Notice, SAVING.to_owned());
                Vec::new()
            }
            Action::Save if quick.is_looking_up => {
                let name = quick.understood.about.clone().unwrap_or_default();
                self.notify(self.now, Tone::Notice, format!("Still looking up “{name}”; save again."));
                Vec::new()
            }
            Action::Open => {
                let draft = quick.draft();
                self.layers.pop();
                Form::of_draft(&draft, today).map_or_else(Vec::new, |form| self.push_layer(Layer::Form(Box::new(form))))
            }
            Action::Assign => {
                quick.confirm_person();
                self.reparse_quick()
            }
            Action::Save => match quick.write() {
                Some(write) => vec![Effect::Write(write)],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    pub(super) fn type_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let wish = match self.layers.last_mut() {
            Some(Layer::Form(form)) => form.key(self.now.moment, key),
            Some(Layer::Quick(quick)) => {
                let changed = quick.line.key(key);
                return if changed { self.reparse_quick() } else { Vec::new() };
            }
            Some(Layer::Attach(prompt)) => {
                if prompt.line.key(key) {
                    prompt.text_changed();
                }
                return Vec::new();
            }
            Some(Layer::Import(screen)) => {
                if screen.typed_line_mut().is_some_and(|line| line.key(key)) {
                    screen.text_changed();
                }
                return Vec::new();
            }
            Some(Layer::Search(search)) => {
                let changed = search.words.key(key);
                return if changed { self.ask_search() } else { Vec::new() };
            }
            Some(Layer::Conflict(screen)) => {
                if let Some(line) = &mut screen.typing {
                    line.key(key);
                    screen.after_typing();
                }
                return Vec::new();
            }
            Some(Layer::Inbox(inbox)) => {
                if let Some(line) = inbox.line_mut() {
                    line.key(key);
                }
                return Vec::new();
            }
            Some(Layer::Palette(palette)) => {
                if palette.words.key(key) {
                    palette.narrow();
                }
                return Vec::new();
            }
            None if self.is_filtering => {
                let changed = self.list_mut().is_some_and(|list| list.filter.key(key));
                return if changed { self.reparse_filter() } else { Vec::new() };
            }
            _ => return Vec::new(),
        };
        self.carry_out(wish)
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        match self.layers.last_mut() {
            Some(Layer::Form(form)) => {
                let wish = form.paste(text);
                self.carry_out(wish)
            }
            Some(Layer::Quick(quick)) => {
                quick.line.paste(text);
                self.reparse_quick()
            }
            Some(Layer::Attach(prompt)) => {
                prompt.line.paste(text);
                prompt.text_changed();
                Vec::new()
            }
            Some(Layer::Import(screen)) => {
                if let Some(line) = screen.typed_line_mut() {
                    line.paste(text);
                    screen.text_changed();
                }
                Vec::new()
            }
            Some(Layer::Search(search)) => {
                search.words.paste(text);
                self.ask_search()
            }
            Some(Layer::Conflict(screen)) => {
                if let Some(line) = &mut screen.typing {
                    line.paste(text);
                    screen.after_typing();
                }
                Vec::new()
            }
            Some(Layer::Inbox(inbox)) => {
                if let Some(line) = inbox.line_mut() {
                    line.paste(text);
                }
                Vec::new()
            }
            Some(Layer::Palette(palette)) => {
                palette.words.paste(text);
                palette.narrow();
                Vec::new()
            }
            None if self.is_filtering => {
                if let Some(list) = self.list_mut() {
                    list.filter.paste(text);
                }
                self.reparse_filter()
            }
            _ => Vec::new(),
        }
    }

    fn ask_search(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(Layer::Search(search)) = self.layers.last_mut() else { return Vec::new() };
        (search.ticket, search.is_answered) = (ticket, false);
        vec![Effect::Search(ticket, search.words.text().to_owned())]
    }

    fn reparse_filter(&mut self) -> Vec<Effect> {
        let today = self.today;
        if let Some(list) = self.list_mut() {
            list.filter_changed(today);
        }
        self.ask_list()
    }

    pub(super) fn reparse_quick(&mut self) -> Vec<Effect> {
        let (today, ticket) = (self.today, self.ticket());
        let Some(quick) = self.quick_line() else { return Vec::new() };
        let before = quick.understood.about.clone();
        quick.understood = quick::parse_line(quick.line.text(), today, &quick.people);
        quick.refusal = None;
        match &quick.understood.about {
            Some(name) if quick.understood.about != before => {
                (quick.ticket, quick.is_looking_up) = (ticket, true);
                // The record of an older name, or of the full view, is not the record of this name.
                quick.about = None;
                vec![Effect::About(ticket, name.clone())]
            }
            None => {
                // The name was removed; a late answer must not set the subject.
                (quick.ticket, quick.is_looking_up) = (ticket, false);
                quick.about = quick.preset.clone();
                Vec::new()
            }
            Some(_) => Vec::new(),
        }
    }
}
