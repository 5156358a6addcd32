//! The state of the screen: [`App`] and the layers over its tabs. Must not know what a key or an answer does.

use std::collections::BTreeMap;

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_contract::units::Units;
use hearth_replica::{LogLine, Phase, Status};
use time::Date;

use crate::keys::{Context, Keymap};
use crate::layout::list_and_preview;
use crate::message::Write;
use crate::now::Now;
use crate::state::attach::AttachPrompt;
use crate::state::columns::ColumnChoice;
use crate::state::confirm::Confirm;
use crate::state::conflict::ConflictScreen;
use crate::state::detail::Detail;
use crate::state::edits::Edits;
use crate::state::form::Form;
use crate::state::home::Home;
use crate::state::import::{ImportScreen, ImportStage};
use crate::state::inbox::Inbox;
use crate::state::list::List;
use crate::state::palette::Palette;
use crate::state::quick::QuickLine;
use crate::state::results::Results;
use crate::state::search::Search;
use crate::state::session::Session;
use crate::state::type_ahead::TypeAhead;
use crate::words::glyphs::Tone;
use crate::words::sync_status::SyncHalt;

/// The tabs, from left to right. The first is the home screen.
pub const TABS: [Kind; 6] = [Kind::Property, Kind::Task, Kind::Inventory, Kind::Room, Kind::Vehicle, Kind::Document];

/// The time between two status requests when no notification comes, in milliseconds.
pub(super) const STATUS_MILLIS: i64 = 5_000;

/// The time a notice is visible, in milliseconds.
pub(super) const NOTICE_MILLIS: i64 = 6_000;

/// The state of the whole screen.
#[derive(Debug)]
pub struct App {
    /// Settings and what the start of the program found.
    pub setup: Setup,
    /// Columns of the terminal.
    pub width: u16,
    /// Lines of the terminal.
    pub height: u16,
    /// The time of the last message.
    pub now: Now,
    /// The current date of the lists; may be a day behind the clock until the next tick.
    pub today: Date,
    /// The visible tab.
    pub tab: Kind,
    /// One list per collection.
    pub(super) lists: [List; 5],
    /// The home screen.
    pub home: Home,
    /// Whether the filter line has the keyboard.
    pub is_filtering: bool,
    /// The layers over the tabs, the topmost last.
    pub layers: Vec<Layer>,
    /// The sync status; None until the first answer.
    pub status: Option<Status>,
    /// Why syncing in this process stopped; None while syncing runs.
    pub(super) sync_stop: Option<SyncStop>,
    /// The sync log, newest first; empty until the first answer.
    pub log: Vec<LogLine>,
    /// The number of records of each kind.
    pub counts: BTreeMap<Kind, usize>,
    /// The result of the last action, or the reason of its refusal.
    pub notice: Option<Notice>,
    /// The last change by another person or program.
    pub news: Option<Notice>,
    /// The file that opens when its bytes are here: hash and title of the document.
    pub(super) fetching: Option<(String, String)>,
    /// Results of bulk changes that wait until the user has finished typing.
    pub(super) results: Vec<Results>,
    pub(super) tickets: u64,
    /// The keys typed ahead of an answer.
    pub(super) type_ahead: TypeAhead,
    /// The session as last saved.
    pub(super) saved_session: Session,
    /// The time of the last status request that no notification caused.
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

/// Settings of the user, and what the start of the program found.
#[derive(Debug, Default, Clone)]
pub struct Setup {
    /// A word beside the program's name, such as `demo`.
    pub title: Option<String>,
    /// Whether signs are ASCII only.
    pub ascii: bool,
    /// Whether animations are off.
    pub reduced_motion: bool,
    /// The keys of the actions.
    pub keys: Keymap,
    /// Why no API key could be read, and what to do, as a sentence; None: a key was read, or none is needed.
    pub keyless: Option<String>,
    /// Whether no server was configured at the start: the program then syncs with none.
    pub serverless: bool,
    /// Whether this program can connect the home to a server. The demo has a server of its own.
    pub can_connect: bool,
    /// The command that stores another API key, for servers that refuse the current key.
    pub another_key: Option<String>,
}

/// A layer over the tabs.
#[derive(Debug)]
pub enum Layer {
    /// The full view of a record.
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
    /// The conflict of an edit.
    Conflict(ConflictScreen),
    /// The inbox of drafts.
    Inbox(Box<Inbox>),
    /// The sync screen, and the number of lines scrolled off the top.
    Sync(usize),
    /// The results of a bulk change.
    Results(Results),
    /// The list of actions.
    Palette(Palette),
    /// The choice of a list's columns.
    Columns(ColumnChoice),
    /// The path of a file to attach.
    Attach(AttachPrompt),
    /// The import of a table.
    Import(Box<ImportScreen>),
}

/// A sentence that disappears after some seconds.
#[derive(Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sentence.
    pub text: String,
    /// The urgency of the sentence.
    pub tone: Tone,
    pub(super) until: Timestamp,
}

impl App {
    /// The place of the keyboard focus.
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
            Some(Layer::Inbox(inbox)) if inbox.is_typing() => Context::DraftValue,
            Some(Layer::Inbox(_)) => Context::Inbox,
            Some(Layer::Sync(_)) => Context::Sync,
            Some(Layer::Results(_)) => Context::Results,
            Some(Layer::Palette(_)) => Context::Palette,
            Some(Layer::Columns(_)) => Context::Columns,
            Some(Layer::Attach(_)) => Context::Attach,
            Some(Layer::Import(screen)) => match screen.stage {
                ImportStage::Path => Context::ImportPath,
                ImportStage::Mapping => Context::ImportMapping,
                _ => Context::Import,
            },
            None if self.tab == Kind::Property => Context::Home,
            None if self.is_filtering => Context::Filter,
            None => Context::List,
        }
    }

    /// Whether text is being typed or a question is open: results must not open over either.
    pub(super) fn is_typing(&self) -> bool {
        match self.context() {
            Context::Form | Context::Choice | Context::Notes | Context::Options | Context::Quick => true,
            Context::Attach | Context::ImportPath | Context::ImportMapping | Context::DraftValue => true,
            Context::Filter | Context::Search | Context::ConflictValue | Context::Palette | Context::Confirm => true,
            Context::Home | Context::List | Context::Detail | Context::Edits | Context::Conflict => false,
            Context::Inbox | Context::Sync | Context::Results | Context::Columns | Context::Import => false,
        }
    }

    /// Why no process syncs this home: the API key cannot be read, the program started without a server, or syncing
    /// stopped. None: the home is synced, or has no server.
    pub fn halt(&self) -> Option<SyncHalt<'_>> {
        let is_synced = self.status.as_ref().is_some_and(|status| status.daemon_pid.is_some());
        let keyless = self.setup.keyless.as_deref().filter(|_| !is_synced);
        let is_heard = self.status.as_ref().is_some_and(Status::is_in_contact);
        let stop = self.sync_stop.as_ref().filter(|_| !is_heard);
        let keyless = keyless.map(|why| SyncHalt { words: "no key to sync with", why });
        // A server was configured after the start.
        let has_server = self.status.as_ref().is_some_and(|status| status.server.is_some());
        let began_without = (self.setup.serverless && has_server && !is_synced).then_some(SyncHalt {
            words: "not synced",
            why: "this program started before a server was configured; start it again to sync",
        });
        keyless.or(began_without).or(stop.map(|stop| {
            let words = if stop.will_retry { "syncing fails" } else { "syncing stopped" };
            SyncHalt { words, why: &stop.reason }
        }))
    }

    /// The units in which the home reads sums and areas. Plain sums and square feet until the first status.
    pub fn units(&self) -> Units {
        self.status.as_ref().map(|status| status.units).unwrap_or_default()
    }

    /// Whether the home has no server: all data is on this machine, and no change waits.
    pub fn is_local(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.phase == Phase::Local)
    }

    /// The list of a kind; None for the home screen.
    pub fn list(&self, kind: Kind) -> Option<&List> {
        self.lists.iter().find(|list| list.kind == kind)
    }

    /// The visible list; None on the home screen.
    pub(crate) fn list_mut(&mut self) -> Option<&mut List> {
        self.lists.iter_mut().find(|list| list.kind == self.tab)
    }

    /// A new ticket, larger than any before.
    pub(crate) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    /// Shows a notice for some seconds.
    pub(crate) fn notify(&mut self, now: Now, tone: Tone, text: String) {
        self.notice = Some(Notice { text, tone, until: now.moment.plus_millis(NOTICE_MILLIS) });
    }

    /// The columns of the list, without the preview.
    pub fn list_width(&self) -> u16 {
        list_and_preview(self.width).0
    }
}

impl Layer {
    /// Shows and reads areas in the units of the home.
    pub(super) fn set_units(&mut self, units: Units) {
        match self {
            Layer::Form(form) => form.set_units(units),
            Layer::Conflict(screen) => screen.area_unit = units.area,
            Layer::Inbox(inbox) => inbox.area_unit = units.area,
            _ => {}
        }
    }

    /// Whether a write of the layer's text is in progress.
    pub(super) fn is_saving(&self) -> bool {
        match self {
            Layer::Form(form) => form.saving.is_some() || form.making.is_some(),
            Layer::Quick(quick) => quick.saving.is_some(),
            Layer::Attach(prompt) => prompt.saving.is_some(),
            Layer::Import(screen) => screen.saving.is_some(),
            Layer::Conflict(screen) => screen.saving.is_some(),
            _ => false,
        }
    }

    /// Whether the layer sent this write and waits for its answer.
    pub(super) fn has_sent(&self, write: &Write) -> bool {
        match self {
            Layer::Form(form) => form.saving.as_ref() == Some(write),
            Layer::Quick(quick) => quick.saving.as_deref() == Some(write),
            Layer::Attach(prompt) => prompt.saving.as_deref() == Some(write),
            Layer::Import(screen) => screen.saving.as_deref() == Some(write),
            Layer::Conflict(screen) => screen.saving.as_ref() == Some(write),
            _ => false,
        }
    }
}
