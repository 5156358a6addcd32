//! Mouse events: the wheel scrolls, a click selects, a second click opens. Must not know colours.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::keys::{Action, Context};
use crate::layout::tabs;
use crate::layout::{Layout, attention_width};
use crate::message::Effect;
use crate::now::Now;
use crate::state::home::{HomeLine, lines};
use crate::state::list::ListLine;

/// Lines per turn of the wheel.
const WHEEL: usize = 3;

impl App {
    pub(super) fn mouse(&mut self, now: Now, event: MouseEvent) -> Vec<Effect> {
        let context = self.context();
        match event.kind {
            MouseEventKind::ScrollDown => self.scroll(now, context, Action::Down),
            MouseEventKind::ScrollUp => self.scroll(now, context, Action::Up),
            MouseEventKind::Down(MouseButton::Left) => self.click(now, context, event.column, event.row),
            _ => Vec::new(),
        }
    }

    fn scroll(&mut self, now: Now, context: Context, action: Action) -> Vec<Effect> {
        let is_typed = matches!(
            context,
            Context::Form | Context::Choice | Context::Notes | Context::ConflictValue | Context::DraftValue
        );
        if is_typed || context == Context::Confirm {
            return Vec::new();
        }
        (0..WHEEL).flat_map(|_| self.act(now, context, action)).collect()
    }

    fn click(&mut self, now: Now, context: Context, column: u16, row: u16) -> Vec<Effect> {
        let layout = Layout::for_height(self.height);
        // Below the heading and an empty line.
        let line = row.checked_sub(layout.tabs + layout.rule + 2).filter(|line| *line + 2 < layout.screen());
        match context {
            Context::List | Context::Home | Context::Filter | Context::Detail | Context::Search if row == 0 => {
                return self.click_on_tabs(column);
            }
            Context::List | Context::Home | Context::Filter => {}
            Context::Detail => return self.click_in_detail(line.map(usize::from)),
            Context::Search => return self.click_in_search(line.map(usize::from)),
            _ => return Vec::new(),
        }
        if context == Context::Home {
            let first = layout.tabs + layout.rule;
            return match self.entry_at(column, row.checked_sub(first), layout.screen()) {
                Some(number) if number == self.home.selected => self.act(now, context, Action::Open),
                Some(number) => {
                    self.home.selected = number;
                    Vec::new()
                }
                None => Vec::new(),
            };
        }
        let above = layout.tabs + layout.rule + layout.info + layout.heading;
        let width = self.list_width();
        let Some(list) = self.list_mut().filter(|_| row >= above && column < width) else { return Vec::new() };
        let number = match list.visible().get(usize::from(row - above)) {
            Some(ListLine::Record(number, _)) => *number,
            _ => return Vec::new(),
        };
        if number == list.selected {
            return self.act(now, Context::List, Action::Open);
        }
        let ask = list.select(number);
        if ask { self.ask_page() } else { Vec::new() }
    }

    /// Opens the clicked tab. Records and search results over the tab close; forms, questions and other layers stay.
    fn click_on_tabs(&mut self, column: u16) -> Vec<Effect> {
        let can_leave = self.layers.iter().all(|layer| matches!(layer, Layer::Detail(_) | Layer::Search(_)));
        let Some(kind) = self.tab_at(column).filter(|_| can_leave) else { return Vec::new() };
        self.layers.clear();
        self.go_to(kind)
    }

    fn click_in_detail(&mut self, line: Option<usize>) -> Vec<Effect> {
        let page = self.page();
        let Some(Layer::Detail(detail)) = self.layers.last_mut() else { return Vec::new() };
        let number = detail.lines(page).len();
        match line.map(|line| detail.scroll + line).filter(|at| *at < number) {
            Some(at) if at == detail.selected => return self.act_in_detail(Action::Open),
            Some(at) => detail.select_line(at, number, page.height),
            None => {}
        }
        Vec::new()
    }

    fn click_in_search(&mut self, line: Option<usize>) -> Vec<Effect> {
        let height = self.page().height;
        let Some(Layer::Search(search)) = self.layers.last_mut() else { return Vec::new() };
        match line.map(|line| search.top(height) + line).filter(|at| *at < search.hits.len()) {
            Some(at) if at == search.selected => return self.act_in_search(Action::Open),
            Some(at) => search.selected = at,
            None => {}
        }
        Vec::new()
    }

    /// The entry of the home screen at a column and a line, on a screen of this height; None: no entry.
    fn entry_at(&self, column: u16, line: Option<u16>, height: u16) -> Option<usize> {
        let inside = (1..=attention_width(self.width)).contains(&column);
        let line = line.filter(|line| inside && *line < height)?;
        let sections = self.home.sections(self.today);
        let (lines, top) = lines(&sections, self.home.selected, height);
        match lines.get(top + usize::from(line)) {
            Some(HomeLine::Entry(number, _)) => Some(*number),
            _ => None,
        }
    }

    /// The tab at a column of the first line; None: no tab.
    fn tab_at(&self, column: u16) -> Option<Kind> {
        let tabs = tabs::fit_tabs(&tabs::TabLine {
            title: self.setup.title.as_deref(),
            ascii: self.setup.ascii,
            keys: &self.setup.keys,
            counts: &self.counts,
            kinds: &crate::app::TABS,
            front: self.tab,
            width: self.width,
        });
        let found = tabs.tabs.iter().find(|tab| (tab.column..tab.column + tab.width()).contains(&column.into()))?;
        Some(found.kind)
    }
}
