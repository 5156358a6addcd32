//! What keys do over the tabs: in forms, quick add, questions, search, the edits and the list of actions, and where typed text
//! goes. Pure; must not know what a form wants of a field.

use crossterm::event::KeyEvent;
use hearth_contract::check::{Intent, check};
use hearth_contract::problem::FieldFault;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::Value;

use super::act::scrolled;
use super::{App, Confirm, Layer, QuickLine, Then};
use crate::keys::{Action, BINDINGS, Context};
use crate::layout::Layout;
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::parse::quick;
use crate::state::detail::Detail;
use crate::state::form::{Form, Wish};
use crate::state::session::Draft;
use crate::words::glyphs::Tone;
use crate::words::{self, faults, sync_status};

impl App {
    pub(super) fn act_in_palette(&mut self, now: Now, action: Action) -> Vec<Effect> {
        let page = isize::try_from(Layout::for_height(self.height).screen() / 2).unwrap_or(1);
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
    pub(super) fn act_on_lines(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::for_height(self.height).screen());
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
        let mut all =
            sync_status::report(now, status, self.halt(), self.setup.another_key.as_deref(), self.setup.ascii);
        all.extend(sync_status::journal(now, &self.log));
        sync_status::lines(all, columns)
    }

    pub(super) fn act_in_form(&mut self, action: Action) -> Vec<Effect> {
        let wish = match self.layers.last_mut() {
            Some(Layer::Form(form)) => form.act(action),
            _ => Wish::Nothing,
        };
        self.grant(wish)
    }

    fn grant(&mut self, wish: Wish) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(Layer::Form(form)) = self.layers.last_mut() else { return Vec::new() };
        match wish {
            Wish::Nothing => Vec::new(),
            Wish::Titles(kinds, words) => {
                form.ticket = ticket;
                vec![Effect::Titles(ticket, kinds, words)]
            }
            Wish::Save(write) => vec![Effect::Write(write)],
            Wish::Editor(text) => vec![Effect::Editor(text)],
            Wish::Close if form.is_changed() => self.ask_to_leave("the form"),
            Wish::Close => self.close(),
        }
    }

    /// Asks before something that was typed is lost.
    pub(super) fn ask_to_leave(&mut self, what: &str) -> Vec<Effect> {
        if self.layers.last().is_some_and(Layer::is_saving) {
            self.notify(self.now, Tone::Notice, SAVING.to_owned());
            return Vec::new();
        }
        let question = format!("Leave {what}?");
        self.put(Layer::Confirm(Confirm { question, consequence: LOST.into(), then: Then::Leave }))
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
        self.put(Layer::Confirm(Confirm { question, consequence: LOST.into(), then: Then::Quit }))
    }

    pub(super) fn edited(&mut self, now: Now, text: Result<String, String>) -> Vec<Effect> {
        match (text, self.layers.last_mut()) {
            (Ok(text), Some(Layer::Form(form))) => form.edited(&text),
            (Ok(_), _) => {}
            (Err(sentence), _) => self.notify(now, Tone::Alarm, sentence),
        }
        Vec::new()
    }

    pub(super) fn act_at_question(&mut self, action: Action) -> Vec<Effect> {
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
        let page = isize::try_from(Layout::for_height(self.height).screen() / 2).unwrap_or(1);
        let Some(Layer::Search(search)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Down => search.step(1),
            Action::Up => search.step(-1),
            Action::PageDown => search.step(page),
            Action::PageUp => search.step(-page),
            Action::Open => {
                if let Some(hit) = search.hits.get(search.selected) {
                    let detail = Detail::of(hit.kind, hit.id.clone());
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
        self.put(Layer::Quick(QuickLine { about: preset.clone(), preset, ..QuickLine::default() }))
    }

    pub(super) fn act_in_quick(&mut self, action: Action) -> Vec<Effect> {
        let today = self.today;
        let Some(Layer::Quick(quick)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back if quick.is_empty() => self.close(),
            Action::Back => self.ask_to_leave("quick add"),
            // In a form it could be saved once more.
            Action::Open | Action::Save if quick.saving.is_some() => {
                self.notify(self.now, Tone::Notice, SAVING.to_owned());
                Vec::new()
            }
            Action::Save if quick.looking => {
                let name = quick.understood.about.clone().unwrap_or_default();
                self.notify(self.now, Tone::Notice, format!("“{name}” is still being looked for; save again."));
                Vec::new()
            }
            Action::Open => {
                let draft = quick.draft();
                self.layers.pop();
                Form::of_draft(&draft, today).map_or_else(Vec::new, |form| self.put(Layer::Form(Box::new(form))))
            }
            Action::Save => match quick.write() {
                Some(write) => vec![Effect::Write(write)],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    pub(super) fn typed(&mut self, key: KeyEvent) -> Vec<Effect> {
        let wish = match self.layers.last_mut() {
            Some(Layer::Form(form)) => form.key(key),
            Some(Layer::Quick(quick)) => {
                let changed = quick.line.key(key);
                return if changed { self.quick_again() } else { Vec::new() };
            }
            Some(Layer::Search(search)) => {
                let changed = search.words.key(key);
                return if changed { self.search_again() } else { Vec::new() };
            }
            Some(Layer::Conflict(screen)) => {
                if let Some(line) = &mut screen.typing {
                    line.key(key);
                    screen.typed();
                }
                return Vec::new();
            }
            Some(Layer::Palette(palette)) => {
                if palette.words.key(key) {
                    palette.narrow();
                }
                return Vec::new();
            }
            None if self.filtering => {
                let changed = self.list_mut().is_some_and(|list| list.filter.key(key));
                return if changed { self.filter_again() } else { Vec::new() };
            }
            _ => return Vec::new(),
        };
        self.grant(wish)
    }

    pub(super) fn paste(&mut self, text: &str) -> Vec<Effect> {
        match self.layers.last_mut() {
            Some(Layer::Form(form)) => {
                let wish = form.paste(text);
                self.grant(wish)
            }
            Some(Layer::Quick(quick)) => {
                quick.line.paste(text);
                self.quick_again()
            }
            Some(Layer::Search(search)) => {
                search.words.paste(text);
                self.search_again()
            }
            Some(Layer::Conflict(screen)) => {
                if let Some(line) = &mut screen.typing {
                    line.paste(text);
                    screen.typed();
                }
                Vec::new()
            }
            Some(Layer::Palette(palette)) => {
                palette.words.paste(text);
                palette.narrow();
                Vec::new()
            }
            None if self.filtering => {
                if let Some(list) = self.list_mut() {
                    list.filter.paste(text);
                }
                self.filter_again()
            }
            _ => Vec::new(),
        }
    }

    fn search_again(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(Layer::Search(search)) = self.layers.last_mut() else { return Vec::new() };
        (search.ticket, search.answered) = (ticket, false);
        vec![Effect::Search(ticket, search.words.text().to_owned())]
    }

    fn filter_again(&mut self) -> Vec<Effect> {
        let today = self.today;
        if let Some(list) = self.list_mut() {
            list.filter_changed(today);
        }
        self.ask_list()
    }

    fn quick_again(&mut self) -> Vec<Effect> {
        let (today, ticket) = (self.today, self.ticket());
        let Some(Layer::Quick(quick)) = self.layers.last_mut() else { return Vec::new() };
        let before = quick.understood.about.clone();
        quick.understood = quick::parse_line(quick.line.text(), today);
        quick.refusal = None;
        match &quick.understood.about {
            Some(name) if quick.understood.about != before => {
                (quick.ticket, quick.looking) = (ticket, true);
                // What another name meant, or was meant without one, is not what this one means.
                quick.about = None;
                vec![Effect::About(ticket, name.clone())]
            }
            None => {
                // An answer that is on its way is to a name that is no longer there.
                (quick.ticket, quick.looking) = (ticket, false);
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

impl QuickLine {
    /// The task that the line makes; None, with the reason on the line, while it makes none.
    fn write(&mut self) -> Option<Write> {
        let mut fields = self.understood.fields.clone();
        if let Some((kind, id, _)) = &self.about {
            fields.insert(SUBJECT_TYPE.into(), kind.as_str().into());
            fields.insert(SUBJECT_ID.into(), id.clone().into());
        }
        let checked = check(Kind::Task, Intent::Create, &Value::Object(fields.clone()));
        let missing = self.understood.about.as_ref().filter(|_| self.about.is_none());
        let missing = missing.map(|name| format!("nothing here is called {name}"));
        let fault = self.understood.faults.first().cloned().or(missing);
        let said = |fault: &FieldFault| faults::fault_sentence(Kind::Task, fault, fields.get(&fault.field));
        self.refusal = fault.or_else(|| checked.faults.first().map(said));
        if self.refusal.is_some() {
            return None;
        }
        let fields = checked.fields.into_iter().filter(|(name, _)| fields.contains_key(name)).collect();
        let write = Write::Create { kind: Kind::Task, fields };
        self.saving = Some(Box::new(write.clone()));
        Some(write)
    }

    /// Whether nothing was typed that leaving would lose.
    fn is_empty(&self) -> bool {
        self.line.text().trim().is_empty()
    }

    /// What a crash must not lose; it is there again as a form.
    pub(super) fn kept(&self) -> Option<Draft> {
        (!self.is_empty()).then(|| self.draft())
    }

    /// The line as the beginning of a form.
    fn draft(&self) -> Draft {
        let mut typed = self.understood.fields.clone();
        let mut names = std::collections::BTreeMap::new();
        if let Some((kind, id, title)) = &self.about {
            typed.insert(SUBJECT_TYPE.into(), kind.as_str().into());
            typed.insert(SUBJECT_ID.into(), id.clone().into());
            names.insert(SUBJECT_ID.to_owned(), title.clone());
        }
        // What was not understood is there as it was typed; in the title it is seen.
        let missing = self.understood.about_part.as_deref().filter(|_| self.about.is_none());
        let rest = self.understood.unread.iter().map(String::as_str).chain(missing);
        let title = words::text_field(&typed, "title").into_iter().chain(rest).filter(|part| !part.is_empty());
        let title = title.collect::<Vec<_>>().join(" ");
        typed.insert("title".into(), title.into());
        let before = check(Kind::Task, Intent::Create, &Value::Object(Default::default())).fields;
        let kind = Kind::Task.as_str().to_owned();
        Draft { kind, before, typed: typed.into_iter().collect(), names, ..Draft::default() }
    }
}
