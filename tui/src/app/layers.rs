//! Keys on the layers over the tabs: questions, search, the list of actions, text without a cursor. Must not know how a
//! layer is drawn.

use super::model::{App, Layer};
use super::scrolling::scrolled;
use crate::keys::{Action, BINDINGS, Context};
use crate::layout::Layout;
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::state::confirm::{Confirm, Then};
use crate::state::detail::Detail;
use crate::words::glyphs::Tone;
use crate::words::sync_status;

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
                // The screen below may have changed while the list was open.
                if self.context() != context {
                    return self.reload();
                }
                if self.is_about_cursor(context, action) && self.cursor() != cursor {
                    self.notify(now, Tone::Notice, CURSOR_MOVED.to_owned());
                    return self.reload();
                }
                return if self.applies(context, action) { self.act(now, context, action) } else { self.reload() };
            }
            _ => {}
        }
        Vec::new()
    }

    /// Keys on a screen of lines without a cursor.
    pub(super) fn act_in_text(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::for_height(self.height).screen());
        let columns = usize::from(self.width).saturating_sub(2);
        // Scrolling stops at the last line; else the first keys back up would have no effect.
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

    /// The sync report and the sync log in this many columns: label, text, tone.
    pub fn sync_lines(&self, now: Now, columns: usize) -> Vec<(&'static str, String, Tone)> {
        let Some(status) = &self.status else { return Vec::new() };
        let another_key = self.setup.another_key.as_deref();
        let connect = self.setup.keys.key_of(Context::Sync, Action::Connect).filter(|_| self.setup.can_connect);
        let mut all = sync_status::report(now, status, self.halt(), another_key, connect, self.setup.ascii);
        all.extend(sync_status::journal(now, &self.log));
        sync_status::lines(all, columns)
    }

    /// Asks before typed text is lost.
    pub(super) fn ask_before_leaving(&mut self, what: &str) -> Vec<Effect> {
        if self.layers.last().is_some_and(Layer::is_saving) {
            self.notify(self.now, Tone::Notice, SAVING.to_owned());
            return Vec::new();
        }
        let question = format!("Leave {what}?");
        self.push_layer(Layer::Confirm(Confirm { question, consequence: TYPED_TEXT_LOST.into(), then: Then::Leave }))
    }

    /// Ends the program. Asks once when typed text of a conflict or a draft would be lost, because nothing keeps it. Over a
    /// question the key means yes.
    pub(super) fn quit(&mut self, context: Context) -> Vec<Effect> {
        let would_lose = |layer: &Layer| match layer {
            Layer::Conflict(screen) if screen.has_typed() => Some("a conflict"),
            Layer::Inbox(inbox) if inbox.has_typed() => Some("a draft"),
            _ => None,
        };
        let Some(what) = self.layers.iter().rev().find_map(would_lose).filter(|_| context != Context::Confirm) else {
            return vec![Effect::Quit];
        };
        let question = format!("Leave Hearth in the middle of {what}?");
        self.push_layer(Layer::Confirm(Confirm { question, consequence: TYPED_TEXT_LOST.into(), then: Then::Quit }))
    }

    pub(super) fn act_in_confirm(&mut self, action: Action) -> Vec<Effect> {
        let Some(Layer::Confirm(question)) = self.layers.pop() else { return Vec::new() };
        match (action, question.then) {
            (Action::Yes, Then::Write(write)) => {
                // The record in full is about to be deleted.
                if matches!(*write, Write::Delete { .. }) && matches!(self.layers.last(), Some(Layer::Detail(_))) {
                    self.layers.pop();
                }
                self.import_begins(&write);
                vec![Effect::Write(*write)]
            }
            (Action::Yes, Then::Leave) => self.leave(),
            (Action::Yes, Then::Quit) => vec![Effect::Quit],
            _ => self.reload(),
        }
    }

    /// Leaves typed text: from a draft to the list of captures, else to the screen below.
    fn leave(&mut self) -> Vec<Effect> {
        if let Some(Layer::Inbox(inbox)) = self.layers.last_mut()
            && inbox.open.take().is_some()
        {
            return self.reload();
        }
        self.close()
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
                    let detail = Detail::new(hit.kind, hit.id.clone());
                    return self.open(detail);
                }
            }
            Action::Back => return self.close(),
            _ => {}
        }
        Vec::new()
    }
}

/// The consequence of leaving typed text.
const TYPED_TEXT_LOST: &str = "What you typed is lost.";
/// The notice for a second action on a form whose write is in progress.
pub(super) const SAVING: &str = "Saving; please wait.";
/// The notice when the cursor has moved since the action was chosen.
const CURSOR_MOVED: &str = "The cursor has moved to another record; nothing was done.";
