//! The state of the screen: [`App`] and the layers over its tabs. Must not know what a key or an answer does.

use std::collections::BTreeMap;

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_replica::{LogLine, Status};
use time::Date;

use crate::keys::{Context, Keymap};
use crate::layout::list_and_preview;
use crate::message::Write;
use crate::now::Now;
use crate::state::confirm::Confirm;
use crate::state::conflict::ConflictScreen;
use crate::state::detail::Detail;
use crate::state::edits::Edits;
use crate::state::form::Form;
use crate::state::home::Home;
use crate::state::list::List;
use crate::state::palette::Palette;
use crate::state::quick::QuickLine;
use crate::state::results::Results;
use crate::state::search::Search;
use crate::state::session::Session;
use crate::state::type_ahead::TypeAhead;
use crate::words::glyphs::Tone;
use crate::words::standing::Halt;

/// The tabs, from left to right. The home's own is the home screen.
pub const TABS: [Kind; 6] = [Kind::Property, Kind::Task, Kind::Inventory, Kind::Room, Kind::Vehicle, Kind::Document];

/// How often it is looked how syncing stands, where nothing is heard of it.
pub(super) const STATUS_MILLIS: i64 = 5_000;

/// How long a notice is shown.
pub(super) const NOTICE_MILLIS: i64 = 6_000;

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
    pub(super) lists: [List; 5],
    /// The home screen.
    pub home: Home,
    /// Whether the keyboard is in the filter line.
    pub is_filtering: bool,
    /// What lies over the tabs, the topmost last.
    pub layers: Vec<Layer>,
    /// How syncing stands, once it is read.
    pub status: Option<Status>,
    /// Why syncing in this program has ended, and whether it is tried again.
    pub(super) sync_stop: Option<SyncStop>,
    /// What the sync has done, newest first, once it was looked at.
    pub log: Vec<LogLine>,
    /// How many records there are of each kind.
    pub counts: BTreeMap<Kind, usize>,
    /// What was just done, or why not.
    pub notice: Option<Notice>,
    /// What somebody else has just changed.
    pub news: Option<Notice>,
    /// What became of changes of many, as long as something is typed that it must not open over.
    pub(super) results: Vec<Results>,
    pub(super) tickets: u64,
    /// What was typed ahead of an answer.
    pub(super) type_ahead: TypeAhead,
    /// The session as it was last kept.
    pub(super) saved_session: Session,
    /// When it was last looked how syncing stands, without any news.
    pub(super) status_asked_at: Timestamp,
}

/// Why syncing in this process stopped.
#[derive(Debug)]
pub(super) struct SyncStop {
    /// The reason, as a sentence.
    pub(super) reason: String,
    /// Whether syncing is tried again after a pause.
    pub(super) will_retry: bool,
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

/// A sentence that goes away by itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence.
    pub text: String,
    /// How much it wants to be seen.
    pub tone: Tone,
    pub(super) until: Timestamp,
}

impl App {
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
            None if self.is_filtering => Context::Filter,
            None => Context::List,
        }
    }

    /// Whether something is typed or a question is asked where the keyboard is: what opens by itself must not lie over that.
    pub(super) fn is_typing(&self) -> bool {
        match self.context() {
            Context::Form | Context::Choice | Context::Notes | Context::Options | Context::Quick => true,
            Context::Filter | Context::Search | Context::ConflictValue | Context::Palette | Context::Confirm => true,
            Context::Home | Context::List | Context::Detail | Context::Edits | Context::Conflict => false,
            Context::Sync | Context::Results => false,
        }
    }

    /// Why this home is not kept in step by anybody: no key can be read, where another process has none of its own that
    /// syncs, or what was begun here has ended for good.
    pub fn halt(&self) -> Option<Halt<'_>> {
        let is_synced = self.status.as_ref().is_some_and(|status| status.daemon_pid.is_some());
        let keyless = self.setup.keyless.as_deref().filter(|_| !is_synced);
        let is_heard = self.status.as_ref().is_some_and(Status::is_in_contact);
        let stop = self.sync_stop.as_ref().filter(|_| !is_heard);
        let keyless = keyless.map(|why| Halt { words: "no key to sync with", why });
        // Somebody has named one since.
        let has_server = self.status.as_ref().is_some_and(|status| status.server.is_some());
        let began_without = (self.setup.serverless && has_server && !is_synced).then_some(Halt {
            words: "not synced",
            why: "this program began before there was a server; start it again, and it syncs",
        });
        keyless.or(began_without).or(stop.map(|stop| {
            let words = if stop.will_retry { "syncing fails" } else { "syncing stopped" };
            Halt { words, why: &stop.reason }
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

    /// The columns of the list, beside the preview if there is one.
    pub fn list_width(&self) -> u16 {
        list_and_preview(self.width).0
    }
}

impl Layer {
    /// Whether what was typed in it is being saved.
    pub(super) fn is_saving(&self) -> bool {
        match self {
            Layer::Form(form) => form.saving.is_some(),
            Layer::Quick(quick) => quick.saving.is_some(),
            Layer::Conflict(screen) => screen.saving.is_some(),
            _ => false,
        }
    }

    /// Whether it has sent this write to save what was typed in it, and awaits the answer.
    pub(super) fn has_sent(&self, write: &Write) -> bool {
        match self {
            Layer::Form(form) => form.saving.as_ref() == Some(write),
            Layer::Quick(quick) => quick.saving.as_deref() == Some(write),
            Layer::Conflict(screen) => screen.saving.as_ref() == Some(write),
            _ => false,
        }
    }
}
