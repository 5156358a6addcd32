//! Keys on lists, on the home screen and on the full view of a record. Must not know how a screen is drawn.

use hearth_contract::schema::Kind;

use super::model::{App, Layer, TABS};
use super::scrolling::scrolled;
use crate::keys::Action;
use crate::layout::Layout;
use crate::message::Effect;
use crate::state::columns::ColumnChoice;
use crate::state::detail::{Detail, Page};
use crate::state::form::Form;
use crate::state::list::List;

/// The most months between today's month and the calendar's month.
const MONTHS_MAX: i32 = 60;

impl App {
    /// The tab of an action that opens a tab.
    fn tab_of(&self, action: Action) -> Option<Kind> {
        let place = TABS.iter().position(|kind| *kind == self.tab).unwrap_or(0);
        match action {
            Action::Show(kind) => Some(kind),
            Action::NextTab => Some(TABS[(place + 1) % TABS.len()]),
            Action::PreviousTab => Some(TABS[(place + TABS.len() - 1) % TABS.len()]),
            _ => None,
        }
    }

    pub(super) fn act_in_list(&mut self, action: Action) -> Vec<Effect> {
        if let Some(kind) = self.tab_of(action) {
            return self.go_to(kind);
        }
        let filtering = self.is_filtering;
        match action {
            Action::Filter => self.is_filtering = true,
            // A filter with a fault filters nothing; closing the line would show the wrong list.
            Action::Open if filtering => {
                self.is_filtering = self.list(self.tab).is_some_and(|list| list.understood.fault.is_some());
            }
            Action::Open => {
                if let Some(row) = self.current_record() {
                    let detail = Detail::with_row(row.clone());
                    return self.open(detail);
                }
            }
            Action::New => return self.push_layer(Layer::Form(Box::new(Form::create(self.tab, self.today)))),
            Action::Columns => {
                let choice = self.list(self.tab).map(|list| ColumnChoice::new(list.kind, list.chosen_columns()));
                return choice.map_or_else(Vec::new, |choice| self.push_layer(Layer::Columns(choice)));
            }
            Action::ClearFilter => return self.clear_filter(),
            Action::MarkAll => return self.mark_all(),
            Action::Export(form) => {
                let today = self.today;
                let export = |list: &mut List| Effect::Export(form, list.whole_query(), today);
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
            Action::First => list.select(0),
            Action::Last => list.select(usize::MAX),
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

    /// Keys in the choice of columns. The list behind the choice changes at once.
    pub(super) fn act_in_columns(&mut self, action: Action) -> Vec<Effect> {
        let page = usize::from(Layout::for_height(self.height).screen() / 2);
        let Some(Layer::Columns(choice)) = self.layers.last_mut() else { return Vec::new() };
        match action {
            Action::Back => return self.close(),
            Action::Mark => choice.toggle(),
            Action::ClearField => choice.reset(),
            other => {
                choice.selected = scrolled(choice.selected, other, page, choice.all.len().saturating_sub(1));
                return Vec::new();
            }
        }
        let (kind, chosen) = (choice.kind, choice.chosen.clone());
        let list = self.lists.iter_mut().find(|list| list.kind == kind);
        if list.is_some_and(|list| list.choose_columns(chosen)) { self.ask_list() } else { Vec::new() }
    }

    /// Removes the marks, if any, while the filter line is closed; else clears the filter.
    fn clear_filter(&mut self) -> Vec<Effect> {
        let (today, filtering) = (self.today, self.is_filtering);
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
        self.is_filtering = false;
        if had { self.ask_list() } else { Vec::new() }
    }

    /// Asks for every record of the list; the answer marks them, or unmarks all when all were marked.
    fn mark_all(&mut self) -> Vec<Effect> {
        self.list_mut().map(|list| Effect::All(list.whole_query())).into_iter().collect()
    }

    pub(super) fn act_in_home(&mut self, action: Action) -> Vec<Effect> {
        if let Some(kind) = self.tab_of(action) {
            return self.go_to(kind);
        }
        let most = self.home.len(self.today).saturating_sub(1);
        let page = usize::from(Layout::for_height(self.height).screen() / 2);
        match action {
            Action::Open => {
                let record = self.home.current(self.today).map(|entry| (entry.record().0, entry.record().1.to_owned()));
                if let Some((kind, id)) = record {
                    return self.open(Detail::new(kind, id));
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
            let followed = self.link_target();
            return followed.map_or_else(Vec::new, |(kind, id)| self.open(Detail::new(kind, id)));
        }
        let page = self.page();
        let Some(Layer::Detail(detail)) = self.layers.last_mut() else { return Vec::new() };
        let number = detail.lines(page).len();
        let to = scrolled(detail.selected, action, page.height, number.saturating_sub(1));
        detail.select_line(to, number, page.height);
        Vec::new()
    }

    /// The size of the full view of a record.
    pub(crate) fn page(&self) -> Page {
        let columns = usize::from(self.width).saturating_sub(2);
        let height = usize::from(Layout::for_height(self.height).screen().saturating_sub(2));
        Page { now: self.now, columns, height, ascii: self.setup.ascii }
    }
}
