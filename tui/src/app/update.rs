//! [`App::update`]: a message changes the state and gives effects. Must not know what one key or one answer does.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;

use super::model::{App, Layer, STATUS_MILLIS, Setup, SyncStop, TABS};
use crate::layout::Layout;
use crate::message::{Effect, Message};
use crate::now::Now;
use crate::state::home::Home;
use crate::state::list::List;
use crate::state::session::Session;
use crate::state::type_ahead::TypeAhead;
use crate::words;
use crate::words::glyphs::Tone;

impl App {
    /// The first state and the first requests.
    pub fn start(now: Now, setup: Setup, session: Session, size: (u16, u16)) -> (App, Vec<Effect>) {
        let mut app = App {
            setup,
            width: size.0,
            height: size.1,
            now,
            today: now.today(),
            tab: TABS[0],
            lists: Kind::COLLECTIONS.map(List::new),
            home: Home::default(),
            is_filtering: false,
            layers: Vec::new(),
            status: None,
            sync_stop: None,
            log: Vec::new(),
            counts: BTreeMap::new(),
            notice: None,
            news: None,
            fetching: None,
            results: Vec::new(),
            tickets: 0,
            type_ahead: TypeAhead::default(),
            saved_session: session.clone(),
            status_asked_at: now.moment,
        };
        app.resize(size.0, size.1);
        app.restore(now, session);
        let effects = app.reload();
        app.type_ahead.note_requests(&effects, true);
        (app, effects)
    }

    /// Takes a message and gives the effects to carry out.
    pub fn update(&mut self, now: Now, message: Message) -> Vec<Effect> {
        self.now = now;
        let mut effects = match message {
            typed @ (Message::Key(_) | Message::Paste(_) | Message::Mouse(_)) => self.take_input(now, typed),
            other => self.handle(now, other),
        };
        effects.extend(self.handle_waiting(now));
        if !self.has_typed_ahead() && !self.is_typing() {
            self.layers.extend(self.results.drain(..).map(Layer::Results));
        }
        self.save_session(&mut effects);
        effects
    }

    /// Handles a message without waiting.
    pub(super) fn handle(&mut self, now: Now, message: Message) -> Vec<Effect> {
        if let Message::Answer(answer) = &message {
            self.type_ahead.note_answer(answer);
        }
        // Keys wait for requests that a user caused, not for updates after changes by others.
        let by_person = !matches!(message, Message::DatabaseChanged | Message::Tick | Message::Resize(..));
        let fetched = self.ask_fetched_file(&message);
        let mut effects = match message {
            Message::Key(key) => self.key(now, key),
            Message::Paste(text) => self.paste(&text),
            Message::Mouse(event) => self.mouse(now, event),
            Message::EditorClosed(text) => {
                self.type_ahead.note_terminal_back();
                self.editor_closed(now, text)
            }
            Message::Resize(width, height) => self.resize(width, height),
            Message::Tick => self.tick(now),
            Message::DatabaseChanged => {
                self.lists.iter_mut().for_each(List::mark_stale);
                self.reload()
            }
            Message::Answer(answer) => self.answer(now, answer),
            Message::Connected { home, another_key } => {
                (self.setup.serverless, self.setup.another_key) = (false, Some(another_key));
                self.notify(now, Tone::Good, format!("Connected to {home}; everything is being sent."));
                self.lists.iter_mut().for_each(List::mark_stale);
                self.reload()
            }
            Message::Continued => vec![Effect::TakeTerminal],
            Message::End => vec![Effect::Quit],
            Message::SyncEnded { reason, will_retry } => {
                if will_retry {
                    self.notify(now, Tone::Notice, format!("Syncing failed and will be retried shortly: {reason}"));
                } else {
                    self.notify(now, Tone::Alarm, format!("Syncing stopped: {reason}"));
                }
                self.sync_stop = Some(SyncStop { reason, will_retry });
                vec![Effect::Status]
            }
            Message::SyncResumed => {
                self.sync_stop = None;
                self.notify(now, Tone::Good, "Syncing resumed.".to_owned());
                vec![Effect::Status]
            }
            Message::Rebuilt(rescue) => {
                self.notify(now, Tone::Notice, words::rebuilt_sentence(&rescue));
                self.lists.iter_mut().for_each(List::mark_stale);
                let mut effects = vec![Effect::Reopen];
                effects.extend(self.reload());
                effects
            }
        };
        effects.extend(fetched);
        self.type_ahead.note_requests(&effects, by_person);
        effects
    }

    fn resize(&mut self, width: u16, height: u16) -> Vec<Effect> {
        let before = self.page();
        (self.width, self.height) = (width, height);
        let page = self.page();
        for layer in &mut self.layers {
            match layer {
                Layer::Detail(detail) => detail.refit(before, page),
                Layer::Form(form) => form.resized(),
                _ => {}
            }
        }
        let body = usize::from(Layout::for_height(height).body);
        let kind = self.tab;
        let mut reload = false;
        for list in &mut self.lists {
            let wants = list.resize(body);
            reload |= wants && list.kind == kind;
        }
        let mut effects = if reload { self.ask_page() } else { Vec::new() };
        // The terminal may have been smaller for a moment, which leaves wrong cells even when the size is the same
        // again.
        effects.push(Effect::Redraw);
        effects
    }

    fn tick(&mut self, now: Now) -> Vec<Effect> {
        if self.notice.as_ref().is_some_and(|notice| notice.until <= now.moment) {
            self.notice = None;
        }
        if self.news.as_ref().is_some_and(|news| news.until <= now.moment) {
            self.news = None;
        }
        if self.today == now.today() {
            // A sync process may have ended without a notification.
            let due = now.moment >= self.status_asked_at.plus_millis(STATUS_MILLIS);
            if due {
                self.status_asked_at = now.moment;
            }
            return due.then_some(Effect::Status).into_iter().collect();
        }
        // A new day changes the due dates.
        self.today = now.today();
        for list in &mut self.lists {
            list.understand(self.today);
            list.mark_stale();
        }
        for layer in &mut self.layers {
            if let Layer::Form(form) = layer {
                form.change_day(self.today);
            }
        }
        self.reload()
    }
}
