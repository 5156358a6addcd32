//! What keys do over the tabs: in forms, quick add, questions, search, the edits and the list of actions, and where typed text
//! goes. Pure; must not know what a form wants of a field.

use crossterm::event::KeyEvent;
use hearth_contract::schema::Kind;

use super::act::scrolled;
use super::model::{App, Layer};
use crate::keys::{Action, BINDINGS, Context};
use crate::layout::Layout;
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::state::confirm::{Confirm, Then};
use crate::state::detail::Detail;
use crate::state::form::{Form, FormRequest};
use crate::state::quick::QuickLine;
use crate::typed::quick;
use crate::words::glyphs::Tone;
use crate::words::standing;

impl App {
    pub(super) fn act_in_palette(&mut self, now: Now, action: Action) -> Vec<Effect> {
        let page = isize::try_from(Layout::of(self.height).screen() / 2).unwrap_or(1);
        let Some(Layer::Palette(palette)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Down => palette.step(1),
            Action::Up => palette.step(-1),
            Action::PageDown => palette.step(page),
            Action::PageUp => palette.step(-page),
            Action::Back => return self.close(),
            Action::Take => {
                let Some(chosen) = palette.chosen() else { return Vec::new() };
                let (context, cursor) = (palette.context, std::mem::take(&mut palette.cursor));
                let action = BINDINGS[chosen].action;
                self.layers.pop();
                // What is underneath may have changed while the list was read.
                if self.context() != context {
                    return self.reload();
                }
                if self.is_about_cursor(context, action) && self.cursor() != cursor {
                    self.notify(now, Tone::Notice, ELSEWHERE.to_owned());
                    return self.reload();
                }
                return if self.applies(context, action) { self.act(now, context, action) } else { self.reload() };
            }
            _ => {}
        }
        Vec::new()
    }

    /// On screens of lines without a cursor.
    pub(super) fn act_in_text(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::of(self.height).screen());
        let columns = usize::from(self.width).saturating_sub(2);
        // No further than the last line, so that the way back begins at once.
        let sync = self.sync_lines(self.now, columns).len().saturating_sub(page);
        match self.layers.last_mut() {
            Some(Layer::Results(results)) if action != Action::Back => {
                let most = (results.each.len() + 2).saturating_sub(page);
                results.scroll = scrolled(results.scroll, action, page, most);
                Vec::new()
            }
            Some(Layer::Sync(scroll)) if action != Action::Back => {
                *scroll = scrolled((*scroll).min(sync), action, page, sync);
                Vec::new()
            }
            _ => self.close(),
        }
    }

    /// How syncing stands and what it has done, in so many columns: label, text, tone.
    pub fn sync_lines(&self, now: Now, columns: usize) -> Vec<(&'static str, String, Tone)> {
        let Some(status) = &self.status else { return Vec::new() };
        let mut all = standing::report(now, status, self.halt(), self.setup.another_key.as_deref(), self.setup.ascii);
        all.extend(standing::journal(now, &self.log));
        standing::lines(all, columns)
    }

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
            FormRequest::Save(write) => vec![Effect::Write(write)],
            FormRequest::Editor(text) => vec![Effect::Editor(text)],
            FormRequest::Close if form.is_changed() => self.ask_before_leaving("the form"),
            FormRequest::Close => self.close(),
        }
    }

    /// Asks before something that was typed is lost.
    pub(super) fn ask_before_leaving(&mut self, what: &str) -> Vec<Effect> {
        if self.layers.last().is_some_and(Layer::is_saving) {
            self.notify(self.now, Tone::Notice, SAVING.to_owned());
            return Vec::new();
        }
        let question = format!("Leave {what}?");
        self.push_layer(Layer::Confirm(Confirm { question, consequence: LOST.into(), then: Then::Leave }))
    }

    /// Leaves Hearth; asks once where that would lose what no draft keeps. Where something is asked already, it is the answer.
    pub(super) fn quit(&mut self, context: Context) -> Vec<Effect> {
        let would_lose = |layer: &Layer| match layer {
            Layer::Conflict(screen) if screen.has_typed() => Some("a conflict"),
            _ => None,
        };
        let Some(what) = self.layers.iter().rev().find_map(would_lose).filter(|_| context != Context::Confirm) else {
            return vec![Effect::Quit];
        };
        let question = format!("Leave Hearth in the middle of {what}?");
        self.push_layer(Layer::Confirm(Confirm { question, consequence: LOST.into(), then: Then::Quit }))
    }

    pub(super) fn editor_closed(&mut self, now: Now, text: Result<String, String>) -> Vec<Effect> {
        match (text, self.layers.last_mut()) {
            (Ok(text), Some(Layer::Form(form))) => form.set_notes(&text),
            (Ok(_), _) => {}
            (Err(sentence), _) => self.notify(now, Tone::Alarm, sentence),
        }
        Vec::new()
    }

    pub(super) fn act_in_confirm(&mut self, action: Action) -> Vec<Effect> {
        let Some(Layer::Confirm(question)) = self.layers.pop() else { return Vec::new() };
        match (action, question.then) {
            (Action::Yes, Then::Write(write)) => {
                // What was shown in full is about to be gone.
                if matches!(*write, Write::Delete { .. }) && matches!(self.layers.last(), Some(Layer::Detail(_))) {
                    self.layers.pop();
                }
                vec![Effect::Write(*write)]
            }
            (Action::Yes, Then::Leave) => self.close(),
            (Action::Yes, Then::Quit) => vec![Effect::Quit],
            _ => self.reload(),
        }
    }

    pub(super) fn act_in_search(&mut self, action: Action) -> Vec<Effect> {
        let page = isize::try_from(Layout::of(self.height).screen() / 2).unwrap_or(1);
        let Some(Layer::Search(search)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Down => search.step(1),
            Action::Up => search.step(-1),
            Action::PageDown => search.step(page),
            Action::PageUp => search.step(-page),
            Action::Open => {
                if let Some(hit) = search.hits.get(search.selected) {
                    let detail = Detail::new(hit.kind, hit.id.clone());
                    return self.open(detail);
                }
            }
            Action::Back => return self.close(),
            _ => {}
        }
        Vec::new()
    }

    /// Opens quick add; what is shown in full is what the task is about.
    pub(super) fn quick_add(&mut self) -> Vec<Effect> {
        let preset = match self.layers.last() {
            Some(Layer::Detail(detail)) => detail
                .row()
                .filter(|row| matches!(row.kind, Kind::Room | Kind::Inventory | Kind::Vehicle))
                .map(|row| (row.kind, row.id.clone(), row.title.clone())),
            _ => None,
        };
        self.push_layer(Layer::Quick(QuickLine { about: preset.clone(), preset, ..QuickLine::default() }))
    }

    pub(super) fn act_in_quick(&mut self, action: Action) -> Vec<Effect> {
        let today = self.today;
        let Some(Layer::Quick(quick)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back if quick.is_empty() => self.close(),
            Action::Back => self.ask_before_leaving("quick add"),
            // In a form it could be saved once more.
            Action::Open | Action::Save if quick.saving.is_some() => {
                self.notify(self.now, Tone::Notice, SAVING.to_owned());
                Vec::new()
            }
            Action::Save if quick.is_looking_up => {
                let name = quick.understood.about.clone().unwrap_or_default();
                self.notify(self.now, Tone::Notice, format!("“{name}” is still being looked for; save again."));
                Vec::new()
            }
            Action::Open => {
                let draft = quick.draft();
                self.layers.pop();
                Form::of_draft(&draft, today).map_or_else(Vec::new, |form| self.push_layer(Layer::Form(Box::new(form))))
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
            Some(Layer::Form(form)) => form.key(key),
            Some(Layer::Quick(quick)) => {
                let changed = quick.line.key(key);
                return if changed { self.reparse_quick() } else { Vec::new() };
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

    fn reparse_quick(&mut self) -> Vec<Effect> {
        let (today, ticket) = (self.today, self.ticket());
        let Some(Layer::Quick(quick)) = self.layers.last_mut() else { return Vec::new() };
        let before = quick.understood.about.clone();
        quick.understood = quick::understand(quick.line.text(), today);
        quick.refusal = None;
        match &quick.understood.about {
            Some(name) if quick.understood.about != before => {
                (quick.ticket, quick.is_looking_up) = (ticket, true);
                // What another name meant, or was meant without one, is not what this one means.
                quick.about = None;
                vec![Effect::About(ticket, name.clone())]
            }
            None => {
                // An answer that is on its way is to a name that is no longer there.
                (quick.ticket, quick.is_looking_up) = (ticket, false);
                quick.about = quick.preset.clone();
                Vec::new()
            }
            Some(_) => Vec::new(),
        }
    }
}

/// What follows from leaving what is typed.
const LOST: &str = "What you typed is lost.";
/// What is said where something else is wanted of what is being saved.
pub(super) const SAVING: &str = "It is being saved.";
/// What is said where an action was chosen for what the cursor was on before.
const ELSEWHERE: &str = "The cursor is on another record by now; nothing was done.";
