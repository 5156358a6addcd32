//! Actions of keys: which action a key starts, and where an action is available. Must not read anything but the state.

use crossterm::event::{KeyEvent, KeyEventKind};
use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::keys::{Action, BINDINGS, Context};
use crate::message::{Decision, Effect, Write};
use crate::now::Now;
use crate::state::detail::Detail;
use crate::state::edits::Edits;
use crate::state::palette::Palette;
use crate::state::search::Search;
use crate::words::glyphs::Tone;
use hearth_replica::{EditState, Method, Phase};

/// The first words of the actions that copy.
const COPY: &str = "copy ";

impl App {
    pub(super) fn key(&mut self, now: Now, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        // The user has read the notice and needs the keys below the notice again.
        self.notice = None;
        let context = self.context();
        let spells = matches!(self.layers.last(), Some(Layer::Form(form)) if form.spells(now.moment, key));
        match self.setup.keys.action(context, key).filter(|_| !spells) {
            Some(action) => self.act(now, context, action),
            None => self.type_key(key),
        }
    }

    /// Carries out an action in a context.
    pub(super) fn act(&mut self, now: Now, context: Context, action: Action) -> Vec<Effect> {
        match (action, context) {
            (Action::Quit, _) => self.quit(context),
            (Action::Suspend, _) => vec![Effect::Suspend],
            (Action::Palette, _) => self.open_palette(context, ""),
            (Action::PaletteCopy, _) => self.open_palette(context, COPY),
            (Action::Search, _) => self.push_layer(Layer::Search(Search::default())),
            (Action::QuickAdd, _) => self.quick_add(),
            (Action::Edits, _) => {
                self.layers.push(Layer::Edits(Edits::default()));
                self.reload()
            }
            (Action::Inbox, _) => self.open_inbox(),
            (Action::Sync, _) => {
                self.layers.push(Layer::Sync(0));
                self.reload()
            }
            (Action::Profile, _) => self.open(Detail::new(Kind::Property, String::new())),
            (Action::Reload, _) => {
                let mut effects = self.reload();
                effects.push(Effect::Redraw);
                effects
            }
            (Action::Undo, Context::Edits) => self.decide(now, Decision::Undo),
            (Action::Undo, _) => vec![Effect::Write(Write::Undo)],
            (Action::Redo, _) => vec![Effect::Write(Write::Redo)],
            (Action::Retry, Context::Inbox) => self.retry_capture(),
            (Action::Retry, _) => self.decide(now, Decision::Retry),
            (Action::Discard, Context::Inbox) => self.ask_discard_capture(),
            (Action::Discard, _) => self.ask_discard(),
            (Action::Connect, _) => match self.applies(context, Action::Connect) {
                true => vec![Effect::Connect],
                false => Vec::new(),
            },
            (Action::Pause | Action::SyncNow, _) if self.is_local() => {
                let key = self.setup.keys.key_of(Context::Sync, Action::Connect).filter(|_| self.setup.can_connect);
                let connect = key.map(|key| format!("; {key} connects it with one")).unwrap_or_default();
                self.notify(now, Tone::Notice, format!("This home has no server{connect}."));
                Vec::new()
            }
            (Action::Pause, _) => vec![Effect::Write(Write::Pause(!self.is_paused()))],
            (Action::SyncNow, _) => match self.why_not_tried() {
                Some(text) => {
                    self.notify(now, Tone::Notice, text);
                    Vec::new()
                }
                None => vec![Effect::Write(Write::SyncNow)],
            },
            (Action::Edit, Context::Edits) => self.change_edit(),
            (Action::Edit, _) => self.edit(),
            (Action::Duplicate, _) => self.duplicate(),
            (Action::Delete, _) => self.delete(),
            (Action::Done, _) => self.done(context),
            (Action::Copy(what), _) => self.copy(now, what),
            (Action::OpenFile, Context::Inbox) => self.open_capture_file(),
            (Action::OpenFile, _) => self.open_current_file(),
            (Action::Attach, _) => self.attach(),
            (Action::OpenImport, _) => self.open_import(),
            (action, Context::List | Context::Filter) => self.act_in_list(action),
            (action, Context::Home) => self.act_in_home(action),
            (action, Context::Detail) => self.act_in_detail(action),
            (action, Context::Form | Context::Choice | Context::Notes | Context::Options) => self.act_in_form(action),
            (action, Context::Quick) => self.act_in_quick(action),
            (action, Context::Confirm) => self.act_in_confirm(action),
            (action, Context::Search) => self.act_in_search(action),
            (action, Context::Edits) => self.act_in_edits(action),
            (action, Context::Conflict | Context::ConflictValue) => self.act_in_conflict(action),
            (action, Context::Inbox | Context::DraftValue) => self.act_in_inbox(now, action),
            (action, Context::Sync | Context::Results) => self.act_in_text(action),
            (action, Context::Palette) => self.act_in_palette(now, action),
            (action, Context::Columns) => self.act_in_columns(action),
            (action, Context::Attach) => self.act_in_attach(action),
            (action, Context::ImportPath | Context::ImportMapping | Context::Import) => self.act_in_import(action),
        }
    }

    fn is_paused(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.phase == Phase::Paused)
    }

    /// The reason why trying the server now has no effect; None: the server is tried.
    fn why_not_tried(&self) -> Option<String> {
        let halted = self.halt().map(|halt| format!("No process can try the server: {}.", halt.words));
        let key = self.setup.keys.key_of(Context::Sync, Action::Pause).unwrap_or("?");
        halted.or(self.is_paused().then(|| format!("Syncing is paused; {key} resumes it.")))
    }

    /// Whether an action has an effect now. The footer and the list of actions offer no other actions.
    pub fn applies(&self, context: Context, action: Action) -> bool {
        let marks = self.list(self.tab).is_some_and(|list| !list.marks.is_empty());
        let edit = self.selected_edit();
        match action {
            Action::Edit if context == Context::Edits => {
                edit.is_some_and(|edit| edit.method != Method::Delete && edit.state != EditState::Conflict)
            }
            Action::Retry if self.is_local() => false,
            Action::Retry if context != Context::Inbox => {
                edit.is_some_and(|edit| !matches!(edit.state, EditState::Sending | EditState::Sent))
            }
            _ if context == Context::Inbox => self.applies_in_inbox(action),
            Action::Discard => edit.is_some(),
            Action::Typed => match self.top_layer() {
                Some(Layer::Conflict(screen)) => screen.can_type(),
                _ => false,
            },
            Action::Assign => {
                self.layers.iter().any(|layer| matches!(layer, Layer::Quick(quick) if quick.can_assign()))
            }
            Action::SyncNow => {
                let waits = |status: &hearth_replica::Status| {
                    status.offline_since.is_some() && status.next_attempt_at.is_some()
                };
                self.status.as_ref().is_some_and(waits)
            }
            Action::Connect => self.setup.can_connect && self.is_local(),
            Action::Pause => !self.is_local(),
            Action::Undo | Action::Open if context == Context::Edits => edit.is_some(),
            Action::Done => self.shown_kind() == Some(Kind::Task) || (marks && self.tab == Kind::Task),
            Action::Delete => self.shown_kind().is_some_and(|kind| kind != Kind::Property) || marks,
            Action::Duplicate => self.shown_kind().is_some_and(|kind| kind != Kind::Property),
            Action::OpenFile => self.current_file().is_some(),
            Action::Attach => self.takes_files(),
            Action::Import | Action::ImportKind | Action::ImportFormat | Action::ImportMapping => {
                self.applies_in_import(action)
            }
            Action::SaveAndNext => matches!(self.top_layer(), Some(Layer::Form(form)) if form.is_new()),
            Action::Edit => self.current_record().is_some() || marks || self.is_profile_unset(),
            Action::PaletteCopy | Action::Copy(_) => self.current_record().is_some(),
            Action::MarkAll | Action::Mark | Action::Export(_) => {
                self.list(self.tab).is_some_and(|list| list.total > 0)
            }
            Action::Open if context == Context::Home => !self.home.is_empty(self.today),
            Action::Open if context == Context::Detail => self.link_target().is_some(),
            _ => true,
        }
    }

    pub(super) fn go_to(&mut self, kind: Kind) -> Vec<Effect> {
        self.tab = kind;
        self.is_filtering = false;
        self.reload()
    }

    pub(super) fn open(&mut self, detail: Detail) -> Vec<Effect> {
        self.layers.push(Layer::Detail(detail));
        self.reload()
    }

    fn open_palette(&mut self, context: Context, words: &str) -> Vec<Effect> {
        // The action that opened this list would only open the list again.
        let is_round = |action| action == Action::PaletteCopy && words == COPY;
        let offered = |action| !is_round(action) && self.applies(context, action);
        let mut palette = Palette::new(context, words, |index| offered(BINDINGS[index].action));
        palette.cursor = self.cursor();
        self.push_layer(Layer::Palette(palette))
    }

    pub(super) fn push_layer(&mut self, mut layer: Layer) -> Vec<Effect> {
        layer.set_units(self.units());
        self.layers.push(layer);
        Vec::new()
    }

    pub(super) fn close(&mut self) -> Vec<Effect> {
        self.layers.pop();
        self.reload()
    }
}
