//! What keys do over the tabs: in forms, questions, search, the edits and the help, and where typed text goes. Pure; must
//! not know what a form wants of a field.

use crossterm::event::KeyEvent;

use super::act::scrolled;
use super::{App, Confirm, Layer};
use crate::detail::Detail;
use crate::form::Wish;
use crate::help;
use crate::keys::Action;
use crate::layout::Layout;
use crate::message::Effect;

impl App {
    pub(super) fn act_in_help(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::of(self.height).screen());
        let most = help::lines(self.ascii).len().saturating_sub(page);
        match self.layers.last_mut() {
            Some(Layer::Help(scroll)) if action != Action::Back => *scroll = scrolled(*scroll, action, page, most),
            _ => return self.close(),
        }
        Vec::new()
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
            Wish::Titles(kind, words) => {
                form.ticket = ticket;
                vec![Effect::Titles(ticket, kind, words)]
            }
            Wish::Save(write) => vec![Effect::Write(write)],
            Wish::Close if form.is_changed() => self.put(Layer::Confirm(Confirm {
                question: "Leave the form?".into(),
                consequence: "What you typed is lost.".into(),
                write: None,
            })),
            Wish::Close => self.close(),
        }
    }

    pub(super) fn act_at_question(&mut self, action: Action) -> Vec<Effect> {
        let Some(Layer::Confirm(question)) = self.layers.pop() else { return Vec::new() };
        match (action, question.write) {
            (Action::Yes, Some(write)) => {
                // What was shown in full is about to be gone.
                if matches!(self.layers.last(), Some(Layer::Detail(_))) {
                    self.layers.pop();
                }
                vec![Effect::Write(write)]
            }
            (Action::Yes, None) => self.close(),
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
                    let detail = Detail::of(hit.kind, hit.id.clone());
                    return self.open(detail);
                }
            }
            Action::Back => return self.close(),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn act_in_edits(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::of(self.height).screen());
        let Some(Layer::Edits(screen)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back => return self.close(),
            Action::Open => {
                if let Some(edit) = screen.edits.get(screen.selected) {
                    let detail = Detail::of(edit.kind, edit.record_id.clone());
                    return self.open(detail);
                }
            }
            other => screen.selected = scrolled(screen.selected, other, page, screen.edits.len().saturating_sub(1)),
        }
        Vec::new()
    }

    pub(super) fn typed(&mut self, key: KeyEvent) -> Vec<Effect> {
        let wish = match self.layers.last_mut() {
            Some(Layer::Form(form)) => form.key(key),
            Some(Layer::Search(search)) => {
                let changed = search.words.key(key);
                return if changed { self.search_again() } else { Vec::new() };
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
            Some(Layer::Search(search)) => {
                search.words.paste(text);
                self.search_again()
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
        if let Some(list) = self.list_mut() {
            list.to_top();
        }
        self.ask_page()
    }
}
