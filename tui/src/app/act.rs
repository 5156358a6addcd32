//! What keys start, by context: the second half of `App::update`. Pure like the first; must not read anything but the state.

use crossterm::event::{KeyEvent, KeyEventKind};
use hearth_contract::schema::Kind;

use super::{App, Edits, Layer, TABS};
use crate::keys::{Action, BINDINGS, Context};
use crate::layout::Layout;
use crate::message::{Decision, Effect, Write};
use crate::now::Now;
use crate::state::detail::{Detail, Page};
use crate::state::form::Form;
use crate::state::list::List;
use crate::state::palette::Palette;
use crate::state::search::Search;
use crate::words::glyphs::Tone;

/// How many months the calendar goes either way.
const MONTHS_MAX: i32 = 60;
/// What the list of actions is narrowed to where something is to be copied.
const COPY: &str = "copy ";

impl App {
    pub(super) fn key(&mut self, now: Now, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        // What was said has been read by now; the keys it covered are wanted again.
        self.notice = None;
        let context = self.context();
        match self.setup.keys.action(context, key) {
            Some(action) => self.act(now, context, action),
            None => self.typed(key),
        }
    }

    /// Carries out an action of a context.
    pub(super) fn act(&mut self, now: Now, context: Context, action: Action) -> Vec<Effect> {
        match (action, context) {
            (Action::Quit, _) => self.quit(context),
            (Action::Suspend, _) => vec![Effect::Suspend],
            (Action::Palette, _) => self.open_palette(context, ""),
            (Action::PaletteCopy, _) => self.open_palette(context, COPY),
            (Action::Search, _) => self.put(Layer::Search(Search::default())),
            (Action::QuickAdd, _) => self.quick_add(),
            (Action::Edits, _) => {
                self.layers.push(Layer::Edits(Edits::default()));
                self.reload()
            }
            (Action::Sync, _) => {
                self.layers.push(Layer::Sync(0));
                self.reload()
            }
            (Action::Profile, _) => self.open(Detail::of(Kind::Property, String::new())),
            (Action::Reload, _) => {
                let mut effects = self.reload();
                effects.push(Effect::Redraw);
                effects
            }
            (Action::Undo, Context::Edits) => self.decide(now, Decision::Undo),
            (Action::Undo, _) => vec![Effect::Write(Write::Undo)],
            (Action::Redo, _) => vec![Effect::Write(Write::Redo)],
            (Action::Retry, _) => self.decide(now, Decision::Retry),
            (Action::Discard, _) => self.ask_discard(),
            (Action::Pause, _) => vec![Effect::Write(Write::Pause(!self.is_paused()))],
            (Action::Hurry, _) => match self.not_tried() {
                Some(text) => {
                    self.notify(now, Tone::Notice, text);
                    Vec::new()
                }
                None => vec![Effect::Write(Write::Hurry)],
            },
            (Action::Edit, Context::Edits) => self.change_edit(),
            (Action::Edit, _) => self.edit(),
            (Action::Delete, _) => self.delete(),
            (Action::Done, _) => self.done(context),
            (Action::Copy(what), _) => self.copy(now, what),
            (action, Context::List | Context::Filter) => self.act_in_list(action),
            (action, Context::Home) => self.act_at_home(action),
            (action, Context::Detail) => self.act_in_detail(action),
            (action, Context::Form | Context::Choice | Context::Notes | Context::Options) => self.act_in_form(action),
            (action, Context::Quick) => self.act_in_quick(action),
            (action, Context::Confirm) => self.act_at_question(action),
            (action, Context::Search) => self.act_in_search(action),
            (action, Context::Edits) => self.act_in_edits(action),
            (action, Context::Conflict | Context::ConflictValue) => self.act_on_conflict(action),
            (action, Context::Sync | Context::Results) => self.act_on_lines(action),
            (action, Context::Palette) => self.act_in_palette(now, action),
        }
    }

    fn is_paused(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.phase == "paused")
    }

    /// Why the server would not be tried at once, if it would not.
    fn not_tried(&self) -> Option<String> {
        if self.status.as_ref().is_some_and(|status| status.server.is_none()) {
            return Some("There is no server: hearth-replica init connects this home with one.".to_owned());
        }
        let halted = self.halt().map(|halt| format!("Nobody is there to try it: {}.", halt.words));
        let key = self.setup.keys.key_of(Context::Sync, Action::Pause).unwrap_or("?");
        halted.or(self.is_paused().then(|| format!("Syncing is paused; {key} resumes syncing.")))
    }

    /// Whether an action can do something where the keyboard is; footer and palette promise nothing else.
    pub fn applies(&self, context: Context, action: Action) -> bool {
        let marks = self.list(self.tab).is_some_and(|list| !list.marks.is_empty());
        let edit = self.selected_edit();
        match action {
            Action::Edit if context == Context::Edits => {
                edit.is_some_and(|edit| edit.method != "delete" && edit.state != "conflict")
            }
            Action::Retry => edit.is_some_and(|edit| !matches!(edit.state.as_str(), "sending" | "sent")),
            Action::Discard => edit.is_some(),
            Action::Typed => match self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_))) {
                Some(Layer::Conflict(screen)) => screen.can_type(),
                _ => false,
            },
            Action::Hurry => {
                let waits = |status: &hearth_replica::Status| {
                    status.offline_since.is_some() && status.next_attempt_at.is_some()
                };
                self.status.as_ref().is_some_and(waits)
            }
            Action::Undo | Action::Open if context == Context::Edits => edit.is_some(),
            Action::Done => self.shown_kind() == Some(Kind::Task) || (marks && self.tab == Kind::Task),
            Action::Delete => self.shown_kind().is_some_and(|kind| kind != Kind::Property) || marks,
            Action::Edit => self.shown().is_some() || marks || self.is_profile_unset(),
            Action::PaletteCopy | Action::Copy(_) => self.shown().is_some(),
            Action::MarkAll | Action::Mark | Action::Export(_) => {
                self.list(self.tab).is_some_and(|list| list.total > 0)
            }
            Action::Open if context == Context::Home => !self.home.is_empty(self.today),
            Action::Open if context == Context::Detail => self.followed().is_some(),
            _ => true,
        }
    }

    fn open_palette(&mut self, context: Context, words: &str) -> Vec<Effect> {
        // What has opened the list to choose from would only open it again.
        let is_round = |action| action == Action::PaletteCopy && words == COPY;
        let offered = |action| !is_round(action) && self.applies(context, action);
        let mut palette = Palette::over(context, words, |index| offered(BINDINGS[index].action));
        palette.cursor = self.cursor();
        self.put(Layer::Palette(palette))
    }

    pub(super) fn put(&mut self, layer: Layer) -> Vec<Effect> {
        self.layers.push(layer);
        Vec::new()
    }

    pub(super) fn close(&mut self) -> Vec<Effect> {
        self.layers.pop();
        self.reload()
    }

    pub(super) fn go_to(&mut self, kind: Kind) -> Vec<Effect> {
        self.tab = kind;
        self.filtering = false;
        self.reload()
    }

    pub(super) fn open(&mut self, detail: Detail) -> Vec<Effect> {
        self.layers.push(Layer::Detail(detail));
        self.reload()
    }

    /// Another tab, if that is what the action means.
    fn tab_of(&self, action: Action) -> Option<Kind> {
        let place = TABS.iter().position(|kind| *kind == self.tab).unwrap_or(0);
        match action {
            Action::Show(kind) => Some(kind),
            Action::NextTab => Some(TABS[(place + 1) % TABS.len()]),
            Action::PreviousTab => Some(TABS[(place + TABS.len() - 1) % TABS.len()]),
            _ => None,
        }
    }

    fn act_in_list(&mut self, action: Action) -> Vec<Effect> {
        if let Some(kind) = self.tab_of(action) {
            return self.go_to(kind);
        }
        let filtering = self.filtering;
        match action {
            Action::Filter => self.filtering = true,
            // What is not understood filters nothing: the list would be another than the one that was meant.
            Action::Open if filtering => {
                self.filtering = self.list(self.tab).is_some_and(|list| list.understood.fault.is_some());
            }
            Action::Open => {
                if let Some(row) = self.shown() {
                    let detail = Detail::showing(row.clone());
                    return self.open(detail);
                }
            }
            Action::New => return self.put(Layer::Form(Box::new(Form::create(self.tab, self.today)))),
            Action::ClearFilter => return self.clear_filter(),
            Action::MarkAll => return self.mark_all(),
            Action::Export(form) => {
                let today = self.today;
                let export = |list: &mut List| Effect::Export(form, list.whole(), today);
                return self.list_mut().map(export).into_iter().collect();
            }
            _ => {}
        }
        let Some(list) = self.list_mut() else { return Vec::new() };
        let page = isize::try_from(list.height()).unwrap_or(isize::MAX);
        let ask = match action {
            Action::Down => list.step(1),
            Action::Up => list.step(-1),
            Action::PageDown => list.step(page),
            Action::PageUp => list.step(-page),
            Action::First => list.go(0),
            Action::Last => list.go(usize::MAX),
            Action::Mark => list.mark(),
            Action::Group => {
                let resort = list.toggle_groups();
                return if resort { self.ask_list() } else { self.ask_page() };
            }
            Action::Sort => {
                list.next_order();
                return self.ask_list();
            }
            Action::Reverse => {
                list.reverse();
                return self.ask_list();
            }
            _ => false,
        };
        if ask { self.ask_page() } else { Vec::new() }
    }

    /// Drops the marks if there are some and nothing is being typed, else the filter.
    fn clear_filter(&mut self) -> Vec<Effect> {
        let (today, filtering) = (self.today, self.filtering);
        let Some(list) = self.list_mut() else { return Vec::new() };
        if !filtering && !list.marks.is_empty() {
            list.marks.clear();
            return Vec::new();
        }
        let had = !list.filter.text().is_empty();
        list.filter = Default::default();
        if had {
            list.filter_changed(today);
        }
        self.filtering = false;
        if had { self.ask_list() } else { Vec::new() }
    }

    /// Marks every record of the list; where that many are marked already, which ones they are says the answer.
    fn mark_all(&mut self) -> Vec<Effect> {
        self.list_mut().map(|list| Effect::All(list.whole())).into_iter().collect()
    }

    fn act_at_home(&mut self, action: Action) -> Vec<Effect> {
        if let Some(kind) = self.tab_of(action) {
            return self.go_to(kind);
        }
        let most = self.home.len(self.today).saturating_sub(1);
        let page = usize::from(Layout::for_height(self.height).screen() / 2);
        match action {
            Action::Open => {
                let record = self.home.current(self.today).map(|entry| (entry.record().0, entry.record().1.to_owned()));
                if let Some((kind, id)) = record {
                    return self.open(Detail::of(kind, id));
                }
            }
            Action::MonthNext | Action::MonthPrevious => {
                let by = if action == Action::MonthNext { 1 } else { -1 };
                self.home.month = (self.home.month + by).clamp(-MONTHS_MAX, MONTHS_MAX);
                return self.ask_home();
            }
            other => self.home.selected = scrolled(self.home.selected, other, page, most),
        }
        Vec::new()
    }

    pub(super) fn act_in_detail(&mut self, action: Action) -> Vec<Effect> {
        if action == Action::Back {
            return self.close();
        }
        if action == Action::Open {
            let followed = self.followed();
            return followed.map_or_else(Vec::new, |(kind, id)| self.open(Detail::of(kind, id)));
        }
        let page = self.page();
        let Some(Layer::Detail(detail)) = self.layers.last_mut() else { return Vec::new() };
        let number = detail.lines(page).len();
        let to = scrolled(detail.selected, action, page.height, number.saturating_sub(1));
        detail.go(to, number, page.height);
        Vec::new()
    }

    /// The room that a record in full has.
    pub(crate) fn page(&self) -> Page {
        let columns = usize::from(self.width).saturating_sub(2);
        let height = usize::from(Layout::for_height(self.height).screen().saturating_sub(2));
        Page { now: self.now, columns, height, ascii: self.setup.ascii }
    }
}

/// A position after a movement, from nothing to the most.
pub(super) fn scrolled(at: usize, action: Action, page: usize, most: usize) -> usize {
    let to = match action {
        Action::Down => at.saturating_add(1),
        Action::Up => at.saturating_sub(1),
        Action::PageDown => at.saturating_add(page),
        Action::PageUp => at.saturating_sub(page),
        Action::First => 0,
        Action::Last => most,
        _ => at,
    };
    to.min(most)
}
