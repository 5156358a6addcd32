//! The state of one list: how it is sorted and filtered, which record is selected, and the stretch of rows that is
//! loaded around the visible page. A hundred thousand records are as quick as a hundred, because only that stretch
//! ever is in memory. Must not know how rows are stored or drawn.

use std::collections::BTreeMap;

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_replica::{Pending, Row, RowPage, RowQuery, Sort};

use crate::columns::{Order, orders};
use crate::input::Line;

/// One list of a kind.
#[derive(Debug)]
pub struct List {
    /// Of this kind.
    pub kind: Kind,
    /// Which of the kind's orders.
    order: usize,
    /// Whether that order is turned round.
    reversed: bool,
    /// The filter as typed.
    pub filter: Line,
    /// How many records match.
    pub total: usize,
    /// Number of the selected record in the whole list.
    pub selected: usize,
    /// Number of the record on the first visible line.
    pub top: usize,
    /// How many lines are visible.
    height: usize,
    /// Number of the first loaded record.
    offset: usize,
    /// The loaded records.
    rows: Vec<Row>,
    /// Id of the selected record, which a reload looks for.
    anchor: Option<String>,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
    /// Whether any answer has come yet.
    pub loaded: bool,
    /// Records that somebody else has just changed, and until when that is news.
    news: BTreeMap<String, Timestamp>,
}

impl List {
    /// A list of a kind in its usual order.
    pub fn new(kind: Kind) -> List {
        List {
            kind,
            order: 0,
            reversed: false,
            filter: Line::default(),
            total: 0,
            selected: 0,
            top: 0,
            height: 1,
            offset: 0,
            rows: Vec::new(),
            anchor: None,
            ticket: 0,
            loaded: false,
            news: BTreeMap::new(),
        }
    }

    /// How it is sorted.
    pub fn order(&self) -> Order {
        let order = orders(self.kind)[self.order];
        Order { descending: order.descending != self.reversed, ..order }
    }

    /// Sorts by the kind's next order, from the top.
    pub fn next_order(&mut self) {
        self.order = (self.order + 1) % orders(self.kind).len();
        self.reversed = false;
        self.to_top();
    }

    /// Turns the order round, from the top.
    pub fn reverse(&mut self) {
        self.reversed = !self.reversed;
        self.to_top();
    }

    /// Goes to the top and forgets the selected record: what is asked for is another list.
    pub fn to_top(&mut self) {
        (self.selected, self.top, self.anchor) = (0, 0, None);
    }

    /// What to ask for: a page before the visible one, the visible one, and a page after it, so that a record that
    /// moved a little is found again and scrolling seldom waits.
    pub fn query(&self) -> RowQuery {
        let order = self.order();
        RowQuery {
            kind: self.kind,
            sort: Sort { column: order.column, descending: order.descending },
            words: self.filter.text().trim().to_owned(),
            conditions: Vec::new(),
            near: None,
            offset: self.top.saturating_sub(self.height),
            limit: self.height * 3,
        }
    }

    /// Takes an answer to [`List::query`] that began at `offset`. The selection stays on its record, and that record on
    /// its line, where the record is still to be seen; otherwise on its number. True: another stretch must be asked for.
    pub fn take(&mut self, offset: usize, page: RowPage) -> bool {
        (self.offset, self.rows, self.total, self.loaded) = (offset, page.rows, page.total, true);
        if let Some(found) = self.anchor.as_ref().and_then(|id| self.rows.iter().position(|row| row.id == *id)) {
            let line = self.selected.saturating_sub(self.top);
            self.selected = self.offset + found;
            self.top = self.selected.saturating_sub(line);
        }
        self.settle();
        // Asking again helps only if another stretch would be asked for: a database whose count and rows disagree for
        // a moment must not be asked for ever.
        !self.covers_page() && self.query().offset != offset
    }

    /// Notes which records of a page changed after a position, until a moment, and gives the title of the latest. What
    /// was waiting here is no news when it comes back.
    pub fn note_news(&mut self, position: i64, now: Timestamp, until: Timestamp, page: &RowPage) -> Option<String> {
        self.news.retain(|_, until| *until > now);
        let is_own = |id: &str| self.rows.iter().any(|row| row.id == id && row.pending != Pending::No);
        let is_new = |row: &&Row| row.rev.is_some_and(|rev| rev > position) && !is_own(&row.id);
        let fresh: Vec<&Row> = page.rows.iter().filter(is_new).collect();
        self.news.extend(fresh.iter().map(|row| (row.id.clone(), until)));
        fresh.iter().max_by_key(|row| row.rev).map(|row| row.title.clone())
    }

    /// Whether somebody else has just changed a record.
    pub fn is_news(&self, id: &str, now: Timestamp) -> bool {
        self.news.get(id).is_some_and(|until| *until > now)
    }

    /// Selects the record so many below, or above. True: the visible rows must be asked for.
    pub fn step(&mut self, by: isize) -> bool {
        self.go(self.selected.saturating_add_signed(by))
    }

    /// Selects the record of that number. True: the visible rows must be asked for.
    pub fn go(&mut self, number: usize) -> bool {
        self.selected = number;
        self.anchor = None;
        self.settle();
        !self.covers_page()
    }

    /// Lets go of the selected record: wherever it moves, the selection stays on its number.
    pub fn let_go(&mut self) {
        self.anchor = None;
    }

    /// Selects a record by its id once it is among the loaded ones.
    pub fn seek(&mut self, id: &str) {
        self.anchor = Some(id.to_owned());
    }

    /// Takes the number of visible lines. True: the visible rows must be asked for.
    pub fn resize(&mut self, height: usize) -> bool {
        self.height = height.max(1);
        self.settle();
        !self.covers_page()
    }

    /// How many lines are visible.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The selected record, if it is loaded.
    pub fn current(&self) -> Option<&Row> {
        self.row(self.selected)
    }

    /// The visible records with their numbers; a gap where one is not loaded yet.
    pub fn visible(&self) -> impl Iterator<Item = (usize, Option<&Row>)> {
        (self.top..self.total.min(self.top + self.height)).map(|number| (number, self.row(number)))
    }

    fn row(&self, number: usize) -> Option<&Row> {
        self.rows.get(number.checked_sub(self.offset)?)
    }

    fn settle(&mut self) {
        self.selected = self.selected.min(self.total.saturating_sub(1));
        // The last page is full where it can be, and the selected line is on the page.
        self.top = self.top.min(self.total.saturating_sub(self.height));
        self.top = self.top.clamp((self.selected + 1).saturating_sub(self.height), self.selected);
        if let Some(row) = self.current() {
            self.anchor = Some(row.id.clone());
        }
    }

    fn covers_page(&self) -> bool {
        let end = self.total.min(self.top + self.height);
        self.offset <= self.top && end <= self.offset + self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::room;

    /// The page that a database of rooms `names` answers.
    fn answer(list: &List, names: &[String]) -> (usize, RowPage) {
        let query = list.query();
        let rows = names.iter().skip(query.offset).take(query.limit).map(|name| room(name, name)).collect();
        (query.offset, RowPage { rows, total: names.len() })
    }

    fn reload(list: &mut List, names: &[String]) {
        for _ in 0..3 {
            let (offset, page) = answer(list, names);
            if !list.take(offset, page) {
                return;
            }
        }
        panic!("the list never was content");
    }

    fn names(numbers: std::ops::Range<usize>) -> Vec<String> {
        numbers.map(|number| format!("room {number:06}")).collect()
    }

    fn selected(list: &List) -> &str {
        &list.current().unwrap().title
    }

    #[test]
    fn only_a_stretch_is_loaded() {
        let rooms = names(0..10_000);
        let mut list = List::new(Kind::Room);
        list.resize(20);
        reload(&mut list, &rooms);
        assert_eq!((list.total, list.rows.len(), selected(&list)), (10_000, 60, "room 000000"));
        assert!(list.go(9_999));
        reload(&mut list, &rooms);
        assert_eq!(selected(&list), "room 009999");
        assert_eq!(list.visible().count(), 20);
        assert!(list.visible().all(|(_, row)| row.is_some()));
    }

    #[test]
    fn a_change_keeps_the_selection_on_its_record_and_line() {
        let rooms = names(100..200);
        let mut list = List::new(Kind::Room);
        list.resize(10);
        reload(&mut list, &rooms);
        list.go(50);
        reload(&mut list, &rooms);
        let line = list.selected - list.top;
        // Three come in above.
        let more: Vec<String> = names(0..3).into_iter().chain(rooms.clone()).collect();
        reload(&mut list, &more);
        assert_eq!((selected(&list), list.selected, list.selected - list.top), ("room 000150", 53, line));
        // The selected one goes: its number stays.
        let fewer: Vec<String> = more.iter().filter(|name| *name != "room 000150").cloned().collect();
        reload(&mut list, &fewer);
        assert_eq!(selected(&list), "room 000151");
        // All go.
        reload(&mut list, &[]);
        assert!(list.current().is_none());
    }

    #[test]
    fn scrolling_moves_the_page_only_at_its_edges() {
        let rooms = names(0..30);
        let mut list = List::new(Kind::Room);
        list.resize(10);
        reload(&mut list, &rooms);
        list.step(9);
        assert_eq!(list.top, 0);
        list.step(1);
        assert_eq!(list.top, 1);
        list.step(-5);
        assert_eq!((list.top, list.selected), (1, 5));
        list.step(-50);
        assert_eq!((list.top, list.selected), (0, 0));
    }
}
