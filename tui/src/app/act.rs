//! What each action does, by context: the second half of `App::update`. Pure like the first; must not read anything but
//! the state.

use crossterm::event::{KeyEvent, KeyEventKind};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::Row;

use super::{App, Confirm, Edits, Layer, TABS};
use crate::detail::{self, Detail};
use crate::form::Form;
use crate::keys::{self, Action, Context};
use crate::layout::Layout;
use crate::list::List;
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::search::Search;
use crate::words;

impl App {
    pub(super) fn key(&mut self, now: Now, key: KeyEvent) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let context = self.context();
        match keys::action(context, key) {
            Some(action) => self.act(now, context, action),
            None => self.typed(key),
        }
    }

    fn act(&mut self, now: Now, context: Context, action: Action) -> Vec<Effect> {
        match (action, context) {
            (Action::Quit, _) => vec![Effect::Quit],
            (Action::Help, _) => self.put(Layer::Help(0)),
            (Action::Search, _) => self.put(Layer::Search(Search::default())),
            (Action::Edits, _) => {
                self.layers.push(Layer::Edits(Edits::default()));
                self.reload()
            }
            (Action::Reload, _) => {
                let mut effects = self.reload();
                effects.push(Effect::Redraw);
                effects
            }
            (Action::Edit, _) => match self.shown() {
                Some(row) => {
                    let form = Form::edit(row);
                    self.put(Layer::Form(Box::new(form)))
                }
                None if context == Context::Home => self.put(Layer::Form(Box::new(Form::profile()))),
                None => Vec::new(),
            },
            (Action::Delete, _) => match self.shown().map(deletion) {
                Some(question) => self.put(Layer::Confirm(question)),
                None => Vec::new(),
            },
            (Action::Done, _) => {
                let write = self.shown().and_then(turned);
                // What is done moves away; the next one comes under the cursor, so that the key can be pressed again.
                if context == Context::List {
                    self.list_mut().into_iter().for_each(List::let_go);
                }
                write.map(Effect::Write).into_iter().collect()
            }
            (action, Context::List | Context::Filter) => self.act_in_list(action),
            (action, Context::Home | Context::Detail) => self.act_in_detail(now, action),
            (action, Context::Form | Context::Choice | Context::Notes | Context::Options) => self.act_in_form(action),
            (action, Context::Confirm) => self.act_at_question(action),
            (action, Context::Search) => self.act_in_search(action),
            (action, Context::Edits) => self.act_in_edits(action),
            (action, Context::Help) => self.act_in_help(action),
        }
    }

    /// The record that an action is about: the one in full, or the selected one.
    pub(super) fn shown(&self) -> Option<&Row> {
        match self.layers.last() {
            Some(Layer::Detail(detail)) => detail.row.as_ref(),
            Some(_) => None,
            None if self.tab == Kind::Property => self.home.row.as_ref(),
            None => self.list(self.tab)?.current(),
        }
    }

    /// The kind of that record.
    pub fn shown_kind(&self) -> Option<Kind> {
        self.shown().map(|row| row.kind)
    }

    pub(super) fn put(&mut self, layer: Layer) -> Vec<Effect> {
        self.layers.push(layer);
        Vec::new()
    }

    pub(super) fn close(&mut self) -> Vec<Effect> {
        self.layers.pop();
        self.reload()
    }

    fn go_to(&mut self, kind: Kind) -> Vec<Effect> {
        self.tab = kind;
        self.filtering = false;
        self.reload()
    }

    pub(super) fn open(&mut self, detail: Detail) -> Vec<Effect> {
        self.layers.push(Layer::Detail(detail));
        self.reload()
    }

    fn act_in_list(&mut self, action: Action) -> Vec<Effect> {
        let place = TABS.iter().position(|kind| *kind == self.tab).unwrap_or(0);
        let filtering = self.filtering;
        match action {
            Action::Show(kind) => return self.go_to(kind),
            Action::NextTab => return self.go_to(TABS[(place + 1) % TABS.len()]),
            Action::PreviousTab => return self.go_to(TABS[(place + TABS.len() - 1) % TABS.len()]),
            Action::Filter => self.filtering = true,
            Action::Open if filtering => self.filtering = false,
            Action::Open => {
                if let Some(row) = self.shown() {
                    let detail = Detail::showing(row.clone());
                    return self.open(detail);
                }
            }
            Action::New => return self.put(Layer::Form(Box::new(Form::create(self.tab)))),
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
            Action::Sort => {
                list.next_order();
                true
            }
            Action::Reverse => {
                list.reverse();
                true
            }
            Action::ClearFilter => {
                let had = !list.filter.text().is_empty();
                list.filter = Default::default();
                if had {
                    list.to_top();
                }
                self.filtering = false;
                had
            }
            _ => false,
        };
        if ask { self.ask_page() } else { Vec::new() }
    }

    fn act_in_detail(&mut self, now: Now, action: Action) -> Vec<Effect> {
        let columns = usize::from(self.width).saturating_sub(2);
        let page = usize::from(Layout::of(self.height).screen().saturating_sub(2));
        let ascii = self.ascii;
        let detail = match self.layers.last_mut() {
            Some(Layer::Detail(_)) if action == Action::Back => return self.close(),
            Some(Layer::Detail(detail)) => detail,
            _ if matches!(action, Action::Show(_) | Action::NextTab | Action::PreviousTab) => {
                return self.act_in_list(action);
            }
            _ => &mut self.home,
        };
        let Some(row) = &detail.row else { return Vec::new() };
        let most = detail::lines(now, row, columns, true, ascii).len().saturating_sub(page);
        detail.scroll = scrolled(detail.scroll, action, page, most);
        Vec::new()
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

/// The question before a record is deleted.
fn deletion(row: &Row) -> Confirm {
    let consequence = match row.kind {
        Kind::Room => "Items in it lose their room; tasks about it become general.",
        Kind::Inventory | Kind::Vehicle => "Its documents and tasks stay and become general.",
        _ => "This cannot be taken back here.",
    };
    Confirm {
        question: format!("Delete the {} “{}”?", words::singular(row.kind), row.title),
        consequence: consequence.into(),
        write: Some(Write::Delete { kind: row.kind, id: row.id.clone(), title: row.title.clone() }),
    }
}

/// The change that marks a task as done, or opens a done one again.
fn turned(row: &Row) -> Option<Write> {
    if row.kind != Kind::Task {
        return None;
    }
    let status = if words::text(&row.fields, "status") == Some("done") { "open" } else { "done" };
    let fields = Fields::from_iter([("status".to_owned(), status.into())]);
    Some(Write::Update { kind: row.kind, id: row.id.clone(), fields, title: row.title.clone() })
}
