//! What the mouse does where it was given to us: the wheel moves, a click selects, a second click opens. Must not know colours.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use hearth_contract::schema::Kind;

use super::App;
use crate::home::{HomeLine, lines};
use crate::keys::{Action, Context};
use crate::layout::{Layout, attention};
use crate::list::ListLine;
use crate::message::Effect;
use crate::now::Now;
use crate::tabs;

/// Lines that one turn of the wheel moves.
const WHEEL: usize = 3;

impl App {
    pub(super) fn mouse(&mut self, now: Now, event: MouseEvent) -> Vec<Effect> {
        let context = self.context();
        match event.kind {
            MouseEventKind::ScrollDown => self.turn(now, context, Action::Down),
            MouseEventKind::ScrollUp => self.turn(now, context, Action::Up),
            MouseEventKind::Down(MouseButton::Left) => self.click(now, context, event.column, event.row),
            _ => Vec::new(),
        }
    }

    fn turn(&mut self, now: Now, context: Context, action: Action) -> Vec<Effect> {
        if matches!(context, Context::Form | Context::Choice | Context::Notes | Context::Confirm) {
            return Vec::new();
        }
        (0..WHEEL).flat_map(|_| self.act(now, context, action)).collect()
    }

    fn click(&mut self, now: Now, context: Context, column: u16, row: u16) -> Vec<Effect> {
        if !matches!(context, Context::List | Context::Home | Context::Filter) {
            return Vec::new();
        }
        if row == 0 {
            return self.tab_at(column).map_or_else(Vec::new, |kind| self.go_to(kind));
        }
        let layout = Layout::of(self.height);
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
        let ask = list.go(number);
        if ask { self.ask_page() } else { Vec::new() }
    }

    /// The entry of the home screen at a place, told the line of the screen and how many it has.
    fn entry_at(&self, column: u16, line: Option<u16>, height: u16) -> Option<usize> {
        let inside = (1..=attention(self.width)).contains(&column);
        let line = line.filter(|line| inside && *line < height)?;
        let sections = self.home.sections(self.today);
        let (lines, top) = lines(&sections, self.home.selected, height);
        match lines.get(top + usize::from(line)) {
            Some(HomeLine::Entry(number, _)) => Some(*number),
            _ => None,
        }
    }

    /// The tab whose word is at a column of the first line.
    fn tab_at(&self, column: u16) -> Option<Kind> {
        let tabs = tabs::fitting(self);
        let found = tabs.tabs.iter().rfind(|tab| tab.column <= usize::from(column))?;
        Some(found.kind)
    }
}
