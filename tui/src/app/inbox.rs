//! Keys in the inbox: open a capture, choose fields, type values, accept, discard, read again, look at the picture. Must not know how a decision is carried
//! out.

use hearth_replica::{Capture, CaptureState};

use super::model::{App, Layer};
use super::scrolling::scrolled;
use crate::keys::Action;
use crate::layout::Layout;
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::state::confirm::{Confirm, Then};
use crate::state::inbox::{Inbox, KnownRecords};
use crate::words::glyphs::Tone;

impl App {
    /// The inbox, unless another screen is in front.
    pub(super) fn inbox(&self) -> Option<&Inbox> {
        match self.top_layer() {
            Some(Layer::Inbox(inbox)) => Some(inbox),
            _ => None,
        }
    }

    /// Whether an action has an effect in the inbox now.
    pub(super) fn applies_in_inbox(&self, action: Action) -> bool {
        let Some(inbox) = self.inbox() else { return false };
        match action {
            Action::Open => inbox.open.is_none() && inbox.current().is_some(),
            Action::OpenFile | Action::Discard => inbox.current().is_some(),
            Action::Mark | Action::Save | Action::Typed => inbox.open.is_some(),
            Action::NewOrKnown => inbox.same_record().is_some(),
            Action::Retry => inbox.current().is_some_and(|found| found.state == CaptureState::Failed),
            Action::NextField => inbox.open.is_some() && inbox.current().is_some_and(|found| found.drafts.len() > 1),
            _ => true,
        }
    }

    pub(super) fn open_inbox(&mut self) -> Vec<Effect> {
        let mut inbox = Box::<Inbox>::default();
        inbox.area_unit = self.units().area;
        self.layers.push(Layer::Inbox(inbox));
        self.reload()
    }

    /// Takes the captures that were read. Ended ones are not shown.
    pub(super) fn take_captures(&mut self, mut captures: Vec<Capture>, known: KnownRecords) -> Vec<Effect> {
        captures.retain(|capture| capture.state.is_open() || capture.state == CaptureState::Failed);
        if let Some(Layer::Inbox(inbox)) = self.layers.last_mut() {
            inbox.known = known;
            inbox.set_captures(captures);
        }
        Vec::new()
    }

    pub(super) fn act_in_inbox(&mut self, now: Now, action: Action) -> Vec<Effect> {
        let (page, today) = (usize::from(Layout::for_height(self.height).screen()), self.today);
        let Some(Layer::Inbox(inbox)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back if inbox.is_typing() => inbox.drop_value(),
            Action::Back if inbox.has_typed() => return self.ask_before_leaving("the draft"),
            Action::Back if inbox.open.is_some() => inbox.open = None,
            Action::Typed => inbox.type_value(),
            Action::Take => inbox.take_value(today),
            Action::Back => return self.close(),
            Action::Open => match inbox.current() {
                Some(capture) if capture.drafts.is_empty() => {
                    let text = capture.why().unwrap_or("There are no drafts of it yet.").to_owned();
                    self.notify(now, Tone::Notice, text);
                }
                _ => inbox.open_current(),
            },
            Action::NextField => inbox.next_draft(),
            Action::Mark => inbox.toggle_field(),
            Action::NewOrKnown => inbox.toggle_same(),
            // In the list the same key opens the drafts: nobody accepts what was not shown.
            Action::Save if inbox.open.is_none() => return self.act_in_inbox(now, Action::Open),
            Action::Save => {
                let wish = inbox.acceptance().zip(inbox.current());
                let write = wish.map(|(wish, capture)| Write::Accept {
                    capture: capture.id.clone(),
                    title: inbox.title().unwrap_or_else(|| capture.title()),
                    wish: Box::new(wish),
                });
                return write.map(Effect::Write).into_iter().collect();
            }
            other => {
                let number = if inbox.open.is_some() { inbox.fields().len() } else { inbox.captures.len() };
                let place = match &mut inbox.open {
                    Some(open) => &mut open.selected,
                    None => &mut inbox.selected,
                };
                *place = scrolled(*place, other, page, number.saturating_sub(1));
            }
        }
        Vec::new()
    }

    /// Has the files of the failed capture under the cursor read again.
    pub(super) fn retry_capture(&mut self) -> Vec<Effect> {
        let failed = self.inbox().and_then(Inbox::current).filter(|capture| capture.state == CaptureState::Failed);
        let write = failed.map(|capture| Write::RetryCapture { capture: capture.id.clone(), title: capture.title() });
        write.map(Effect::Write).into_iter().collect()
    }

    /// Asks before the drafts of a capture are thrown away.
    pub(super) fn ask_discard_capture(&mut self) -> Vec<Effect> {
        let Some(capture) = self.inbox().and_then(Inbox::current) else { return Vec::new() };
        let write = Write::DiscardCapture { capture: capture.id.clone(), title: capture.title() };
        let question = Confirm {
            question: format!("Discard the drafts of “{}”?", capture.title()),
            consequence: "No record is made of it. The pictures are removed after seven days.".into(),
            then: Then::Write(Box::new(write)),
        };
        self.push_layer(Layer::Confirm(question))
    }

    /// Opens the picture of the capture under the cursor.
    pub(super) fn open_capture_file(&mut self) -> Vec<Effect> {
        let found = self.inbox().and_then(|inbox| Some((inbox.file()?, inbox.current()?.title())));
        let effect = found.map(|(file, title)| Effect::OpenFile { file, title, may_ask: true });
        effect.into_iter().collect()
    }
}
