//! The whole state of the screen and how it changes: `update(now, message)` gives effects. Pure: it reads no clock, no
//! database and no terminal, so a test can live through any evening in a millisecond.
//!
//! `ahead` has when a key is handled, `act` what keys do, `records` what they do to records, `decisions` what to edits that
//! wait, `layers` what they do over the tabs, `mouse` what the mouse does, `answers` what answers change, `ending` those that
//! come after the end, `sessions` what is found again after a restart.

mod act;
mod ahead;
mod answers;
#[cfg(test)]
mod bursts;
mod decisions;
mod ending;
#[cfg(test)]
mod fuzz;
mod layers;
#[cfg(test)]
mod lived;
#[cfg(test)]
mod meanwhile;
mod mouse;
mod records;
mod sessions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hearth_contract::formats::{Timestamp, date_text};
use hearth_contract::schema::Kind;
use hearth_replica::{Edit, LogLine, Status};
use time::Date;

use crate::app::ahead::Ahead;
use crate::keys::{Context, Keymap};
use crate::layout::{Layout, list_and_preview};
use crate::message::{Effect, Message, Write};
use crate::now::Now;
use crate::parse::quick::Quick;
use crate::state::conflict::ConflictScreen;
use crate::state::detail::Detail;
use crate::state::form::Form;
use crate::state::home::Home;
use crate::state::input::Line;
use crate::state::list::List;
use crate::state::palette::Palette;
use crate::state::search::Search;
use crate::state::session::Session;
use crate::words::glyphs::Tone;
use crate::words::sync_status::SyncHalt;
use crate::words::{self, Names};

/// The tabs, from left to right. The home's own is the home screen.
pub const TABS: [Kind; 6] = [Kind::Property, Kind::Task, Kind::Inventory, Kind::Room, Kind::Vehicle, Kind::Document];

/// How often it is looked how syncing stands, where nothing is heard of it.
const STATUS_MILLIS: i64 = 5_000;

/// How long a notice is shown.
const NOTICE_MILLIS: i64 = 6_000;

/// Everything the screen shows.
#[derive(Debug)]
pub struct App {
    /// How a person wants it.
    pub setup: Setup,
    /// Columns of the terminal.
    pub width: u16,
    /// Lines of the terminal.
    pub height: u16,
    /// When something last happened.
    pub now: Now,
    /// The day on the wall, as far as the lists know.
    pub today: Date,
    /// The tab in front.
    pub tab: Kind,
    /// The lists behind the tabs.
    lists: [List; 5],
    /// The home screen.
    pub home: Home,
    /// Whether the keyboard is in the filter line.
    pub filtering: bool,
    /// What lies over the tabs, the topmost last.
    pub layers: Vec<Layer>,
    /// How syncing stands, once it is read.
    pub status: Option<Status>,
    /// Why syncing in this program has ended, and whether it is tried again.
    stopped: Option<(String, bool)>,
    /// What the sync has done, newest first, once it was looked at.
    pub log: Vec<LogLine>,
    /// How many records there are of each kind.
    pub counts: BTreeMap<Kind, usize>,
    /// What was just done, or why not.
    pub notice: Option<Notice>,
    /// What somebody else has just changed.
    pub news: Option<Notice>,
    /// What became of changes of many, as long as something is typed that it must not open over.
    results: Vec<Results>,
    tickets: u64,
    /// What was typed ahead of an answer.
    ahead: Ahead,
    /// The session as it was last kept.
    kept: Session,
    /// When it was last looked how syncing stands, without any news.
    looked: Timestamp,
}

/// How a person wants the screen to be.
#[derive(Debug, Default, Clone)]
pub struct Setup {
    /// A word beside the name, such as `demo`.
    pub title: Option<String>,
    /// Whether signs are drawn in ASCII.
    pub ascii: bool,
    /// Nothing moves that need not.
    pub reduced_motion: bool,
    /// The keys.
    pub keys: Keymap,
    /// Why this program has no API key to sync with though there should be one, and what to do about it.
    pub keyless: Option<String>,
    /// No server was known when this program began, so that it syncs with none.
    pub serverless: bool,
    /// What to type where the server wants another key than the one there is.
    pub another_key: Option<String>,
}

/// Something that lies over the tabs.
#[derive(Debug)]
pub enum Layer {
    /// A record in full.
    Detail(Detail),
    /// A form.
    Form(Box<Form>),
    /// A task in one line.
    Quick(QuickLine),
    /// A question.
    Confirm(Confirm),
    /// Search across kinds.
    Search(Search),
    /// The waiting edits.
    Edits(Edits),
    /// A conflict, field by field.
    Conflict(ConflictScreen),
    /// How syncing stands.
    Sync(usize),
    /// What became of a change of many.
    Results(Results),
    /// The list of actions.
    Palette(Palette),
}

/// A question before something is lost.
#[derive(Debug, PartialEq)]
pub struct Confirm {
    /// What is asked, naming the thing.
    pub question: String,
    /// What follows from yes.
    pub consequence: String,
    /// What yes does.
    pub then: Then,
}

/// What follows a question that was answered with yes.
#[derive(Debug, PartialEq)]
pub enum Then {
    /// Something is written.
    Write(Box<Write>),
    /// What is underneath is left.
    Leave,
    /// Hearth is left.
    Quit,
}

/// A task in one line, under way.
#[derive(Debug, Default)]
pub struct QuickLine {
    /// What was typed.
    pub line: Line,
    /// What it means.
    pub understood: Quick,
    /// What it is about: kind, id, title.
    pub about: Option<(Kind, String, String)>,
    /// What it is about unless another name is typed.
    pub preset: Option<(Kind, String, String)>,
    /// The newest request for a name.
    pub ticket: u64,
    /// Whether an answer to that is awaited.
    pub looking: bool,
    /// Why it was not saved.
    pub refusal: Option<String>,
    /// What was sent to save it, as long as its answer is awaited.
    pub saving: Option<Box<Write>>,
}

/// What became of a change of many.
#[derive(Debug)]
pub struct Results {
    /// What was done, in a sentence.
    pub done: String,
    /// What was done to each, in a word: `changed` or `deleted`.
    pub did: &'static str,
    /// Titles, and why not where it was not done; those first.
    pub each: Vec<(String, Result<(), String>)>,
    /// How many lines are above the picture.
    pub scroll: usize,
}

/// The edits that are not settled.
#[derive(Debug, Default)]
pub struct Edits {
    /// The edits, oldest first.
    pub edits: Vec<Edit>,
    /// Names of what their values point at.
    pub names: Names,
    /// Which of them is under the cursor.
    pub selected: usize,
    /// Whether they have been read.
    pub loaded: bool,
}

/// A sentence that goes away by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence.
    pub text: String,
    /// How much it wants to be seen.
    pub tone: Tone,
    until: Timestamp,
}

impl App {
    /// The state at the start and what to ask for first.
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
            filtering: false,
            layers: Vec::new(),
            status: None,
            stopped: None,
            log: Vec::new(),
            counts: BTreeMap::new(),
            notice: None,
            news: None,
            results: Vec::new(),
            tickets: 0,
            ahead: Ahead::default(),
            kept: session.clone(),
            looked: now.moment,
        };
        app.resize(size.0, size.1);
        app.restore(now, session);
        let effects = app.reload();
        app.ahead.ask(&effects, true);
        (app, effects)
    }

    /// Takes a message and gives what is to be done.
    pub fn update(&mut self, now: Now, message: Message) -> Vec<Effect> {
        self.now = now;
        let mut effects = match message {
            typed @ (Message::Key(_) | Message::Paste(_) | Message::Mouse(_)) => self.input(now, typed),
            other => self.handle(now, other),
        };
        effects.extend(self.go_on(now));
        if !self.is_ahead() && !self.is_typing() {
            self.layers.extend(self.results.drain(..).map(Layer::Results));
        }
        self.keep(&mut effects);
        effects
    }

    /// Does what a message means at once.
    fn handle(&mut self, now: Now, message: Message) -> Vec<Effect> {
        if let Message::Answer(answer) = &message {
            self.ahead.hear(answer);
        }
        // What others change is read again beside what a person does; nobody waits for it.
        let by_person = !matches!(message, Message::Stale | Message::Tick | Message::Resize(..));
        let effects = match message {
            Message::Key(key) => self.key(now, key),
            Message::Paste(text) => self.paste(&text),
            Message::Mouse(event) => self.mouse(now, event),
            Message::Edited(text) => {
                self.ahead.come_back();
                self.edited(now, text)
            }
            Message::Resize(width, height) => self.resize(width, height),
            Message::Tick => self.tick(now),
            Message::Stale => {
                self.lists.iter_mut().for_each(List::stale);
                self.reload()
            }
            Message::Answer(answer) => self.answer(now, answer),
            Message::Continued => vec![Effect::Takeover],
            Message::End => vec![Effect::Quit],
            Message::SyncEnded { reason, again } => {
                if again {
                    self.notify(now, Tone::Notice, format!("Syncing failed and is tried again shortly: {reason}"));
                } else {
                    self.notify(now, Tone::Alarm, format!("Syncing stopped: {reason}"));
                }
                self.stopped = Some((reason, again));
                vec![Effect::Status]
            }
            Message::SyncBegins => {
                self.stopped = None;
                self.notify(now, Tone::Good, "Syncing resumed.".to_owned());
                vec![Effect::Status]
            }
            Message::Rebuilt(rescue) => {
                self.notify(now, Tone::Notice, words::rebuilt_sentence(&rescue));
                self.lists.iter_mut().for_each(List::stale);
                let mut effects = vec![Effect::Reopen];
                effects.extend(self.reload());
                effects
            }
        };
        self.ahead.ask(&effects, by_person);
        effects
    }

    /// Where the keyboard is.
    pub fn context(&self) -> Context {
        match self.layers.last() {
            Some(Layer::Detail(_)) => Context::Detail,
            Some(Layer::Form(form)) => form.context(),
            Some(Layer::Quick(_)) => Context::Quick,
            Some(Layer::Confirm(_)) => Context::Confirm,
            Some(Layer::Search(_)) => Context::Search,
            Some(Layer::Edits(_)) => Context::Edits,
            Some(Layer::Conflict(screen)) if screen.typing.is_some() => Context::ConflictValue,
            Some(Layer::Conflict(_)) => Context::Conflict,
            Some(Layer::Sync(_)) => Context::Sync,
            Some(Layer::Results(_)) => Context::Results,
            Some(Layer::Palette(_)) => Context::Palette,
            None if self.tab == Kind::Property => Context::Home,
            None if self.filtering => Context::Filter,
            None => Context::List,
        }
    }

    /// Whether something is typed or a question is asked where the keyboard is: what opens by itself must not lie over that.
    fn is_typing(&self) -> bool {
        match self.context() {
            Context::Form | Context::Choice | Context::Notes | Context::Options | Context::Quick => true,
            Context::Filter | Context::Search | Context::ConflictValue | Context::Palette | Context::Confirm => true,
            Context::Home | Context::List | Context::Detail | Context::Edits | Context::Conflict => false,
            Context::Sync | Context::Results => false,
        }
    }

    /// Why this home is not kept in step by anybody: no key can be read, where another process has none of its own that
    /// syncs, or what was begun here has ended for good.
    pub fn halt(&self) -> Option<SyncHalt<'_>> {
        let is_synced = self.status.as_ref().is_some_and(|status| status.daemon_pid.is_some());
        let keyless = self.setup.keyless.as_deref().filter(|_| !is_synced);
        let is_heard = self.status.as_ref().is_some_and(Status::is_in_contact);
        let stopped = self.stopped.as_ref().filter(|_| !is_heard);
        let keyless = keyless.map(|why| SyncHalt { words: "no key to sync with", why });
        // Somebody has named one since.
        let has_server = self.status.as_ref().is_some_and(|status| status.server.is_some());
        let began_without = (self.setup.serverless && has_server && !is_synced).then_some(SyncHalt {
            words: "not synced",
            why: "this program began before there was a server; start it again, and it syncs",
        });
        keyless.or(began_without).or(stopped.map(|(why, again)| {
            let words = if *again { "syncing fails" } else { "syncing stopped" };
            SyncHalt { words, why }
        }))
    }

    /// The list of a kind; the home screen has none.
    pub fn list(&self, kind: Kind) -> Option<&List> {
        self.lists.iter().find(|list| list.kind == kind)
    }

    /// The list in front, unless the home screen is.
    pub(crate) fn list_mut(&mut self) -> Option<&mut List> {
        self.lists.iter_mut().find(|list| list.kind == self.tab)
    }

    /// A number that no request had before.
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Says something for a while.
    pub(crate) fn notify(&mut self, now: Now, tone: Tone, text: String) {
        self.notice = Some(Notice { text, tone, until: now.moment.plus_millis(NOTICE_MILLIS) });
    }

    /// Asks for the visible page of the list in front.
    pub(crate) fn ask_page(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let ask = |list: &mut List| {
            list.ticket = ticket;
            Effect::Page(ticket, list.query())
        };
        self.list_mut().map(ask).into_iter().collect()
    }

    /// Asks for the visible page of the list in front and for its sums: the list may be another than before.
    pub(crate) fn ask_list(&mut self) -> Vec<Effect> {
        let mut effects = self.ask_page();
        let today = self.today;
        let ask = |list: &mut List| {
            list.sums = list.ticket;
            Effect::Totals(list.sums, list.whole(), today)
        };
        effects.extend(self.list_mut().map(ask));
        effects
    }

    /// Asks again for what can be seen, and nothing else.
    pub(crate) fn reload(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let mut effects = match self.layers.last_mut() {
            Some(Layer::Detail(detail)) => {
                detail.ticket = ticket;
                vec![Effect::Record(ticket, detail.kind, detail.id.clone())]
            }
            Some(Layer::Search(search)) => {
                search.ticket = ticket;
                vec![Effect::Search(ticket, search.words.text().to_owned())]
            }
            Some(Layer::Edits(_)) => vec![Effect::Edits],
            Some(Layer::Conflict(_)) => vec![Effect::Conflicts],
            Some(Layer::Sync(_)) => vec![Effect::Log],
            None if self.tab == Kind::Property => self.ask_home(),
            Some(Layer::Form(_) | Layer::Quick(_) | Layer::Confirm(_) | Layer::Palette(_))
            | Some(Layer::Results(_))
            | None => {
                if self.tab == Kind::Property {
                    self.ask_home()
                } else {
                    self.ask_list()
                }
            }
        };
        effects.extend([Effect::Status, Effect::Counts]);
        effects
    }

    /// Asks for what the home screen shows.
    pub(crate) fn ask_home(&mut self) -> Vec<Effect> {
        self.home.ticket = self.ticket();
        let days = self.home.days(self.today);
        vec![Effect::Overview(self.home.ticket, days), Effect::Figures(date_text(Home::since(self.today)))]
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
        // A terminal may have been smaller for a moment and cut off what it showed, also when it is as large as before by
        // the time it is looked at.
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
            // Whoever syncs may have ended without a word, and only a look at the clock tells.
            let due = now.moment >= self.looked.plus_millis(STATUS_MILLIS);
            if due {
                self.looked = now.moment;
            }
            return due.then_some(Effect::Status).into_iter().collect();
        }
        // Another day: what is due is something else.
        self.today = now.today();
        for list in &mut self.lists {
            list.understand(self.today);
            list.stale();
        }
        for layer in &mut self.layers {
            if let Layer::Form(form) = layer {
                form.turn(self.today);
            }
        }
        self.reload()
    }

    /// The columns of the list, beside the preview if there is one.
    pub fn list_width(&self) -> u16 {
        list_and_preview(self.width).0
    }
}

impl Layer {
    /// Whether what was typed in it is being saved.
    fn is_saving(&self) -> bool {
        match self {
            Layer::Form(form) => form.saving.is_some(),
            Layer::Quick(quick) => quick.saving.is_some(),
            Layer::Conflict(screen) => screen.saving.is_some(),
            _ => false,
        }
    }

    /// Whether it has sent this write to save what was typed in it, and awaits the answer.
    fn has_sent(&self, write: &Write) -> bool {
        match self {
            Layer::Form(form) => form.saving.as_ref() == Some(write),
            Layer::Quick(quick) => quick.saving.as_deref() == Some(write),
            Layer::Conflict(screen) => screen.saving.as_ref() == Some(write),
            _ => false,
        }
    }
}

impl Edits {
    /// Takes what was read; the cursor stays on its edit.
    pub fn take(&mut self, edits: Vec<Edit>) {
        let before = self.edits.get(self.selected).map(|edit| edit.id);
        let found = before.and_then(|id| edits.iter().position(|edit| edit.id == id));
        self.selected = found.unwrap_or(self.selected).min(edits.len().saturating_sub(1));
        self.edits = edits;
        self.loaded = true;
    }
}
