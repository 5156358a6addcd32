//! The state of one list: how it is sorted, filtered and grouped, which records are marked and which is selected, and the
//! stretch of rows that is loaded around the visible page. A hundred thousand records are as quick as a hundred, because
//! only that stretch ever is in memory. `lines` has what stands on which line. Must not know how rows are stored or drawn.

mod lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_replica::{Near, Pending, Row, RowPage, RowQuery, Sort, Totals};
use time::Date;

use crate::state::input::Line;
use crate::typed::filter::{self, Filter};
use crate::words::columns::{Order, is_grouping, orders};

pub use lines::ListLine;

/// More records than this are not marked at once.
pub const MARKS_MAX: usize = 10_000;

/// One list of a kind.
#[derive(Debug)]
pub struct List {
    /// Of this kind.
    pub kind: Kind,
    /// Which of the kind's orders.
    order: usize,
    /// Whether that order is turned round.
    reversed: bool,
    /// Whether groups are shown where the order has some.
    pub grouped: bool,
    /// The filter as typed.
    pub filter: Line,
    /// The filter as understood.
    pub understood: Filter,
    /// How many records match.
    pub total: usize,
    /// Sums and groups, once they are read.
    pub totals: Totals,
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
    /// Whether their numbers still are right, as far as is known.
    fresh: bool,
    /// Id of the selected record, which a reload looks for.
    anchor: Option<String>,
    /// Id of the record that the selection let go of: it is not held again just because it has not moved yet.
    left: Option<String>,
    /// Id of a record that the selection shall go to as soon as it is known where it stands.
    sought: Option<String>,
    /// The marked records, ids and titles.
    pub marks: BTreeMap<String, String>,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
    /// The newest request for sums and groups. Pages are asked for more often: what is scrolled is the same list.
    pub sums: u64,
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
            grouped: kind == Kind::Task,
            filter: Line::default(),
            understood: Filter::default(),
            total: 0,
            totals: Totals::default(),
            selected: 0,
            top: 0,
            height: 1,
            offset: 0,
            rows: Vec::new(),
            fresh: false,
            anchor: None,
            left: None,
            sought: None,
            marks: BTreeMap::new(),
            ticket: 0,
            sums: 0,
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
        self.sort_by((self.order + 1) % orders(self.kind).len(), false);
    }

    /// Turns the order round, from the top.
    pub fn reverse(&mut self) {
        self.sort_by(self.order, !self.reversed);
    }

    /// Whether the order is turned round.
    pub fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Sorts by the kind's order of that number, if there is one, from the top.
    pub fn sort_by(&mut self, order: usize, reversed: bool) {
        (self.order, self.reversed) = (order.min(orders(self.kind).len() - 1), reversed);
        self.totals.groups.clear();
        self.to_top();
    }

    /// Shows groups, or none. Where the order has none, the list is sorted by one that has. True: read it again.
    pub fn toggle_groups(&mut self) -> bool {
        let groups = |order: &Order| is_grouping(self.kind, order.column);
        if groups(&self.order()) {
            self.grouped = !self.grouped;
            self.fit();
            return false;
        }
        match orders(self.kind).iter().position(groups) {
            Some(order) => {
                self.grouped = true;
                self.sort_by(order, false);
                true
            }
            None => false,
        }
    }

    /// Understands the filter line anew, from the top.
    pub fn filter_changed(&mut self, today: Date) {
        self.understand(today);
        self.to_top();
    }

    /// Understands the filter line: `due<fri` means another day tomorrow.
    pub fn understand(&mut self, today: Date) {
        self.understood = filter::understand(self.kind, self.filter.text(), today);
    }

    /// Goes to the top and forgets the selected record: what is asked for is another list.
    pub fn to_top(&mut self) {
        (self.selected, self.top, self.fresh) = (0, 0, false);
        self.hold_nothing();
    }

    /// Something changed: the numbers of the loaded rows may be wrong by now.
    pub fn stale(&mut self) {
        self.fresh = false;
    }

    /// What to ask for: a page before the visible one, the visible one, and a page after it, so that a record that
    /// moved a little is found again and scrolling seldom waits.
    pub fn query(&self) -> RowQuery {
        let offset = self.top.saturating_sub(self.height);
        // From the nearest loaded row, while its number is known to be right.
        let last = self.rows.len().saturating_sub(1);
        let near = offset.saturating_sub(self.offset).min(last);
        let near = self.rows.get(near).filter(|_| self.fresh);
        let near = near
            .map(|row| Near { id: row.id.clone(), number: self.offset + offset.saturating_sub(self.offset).min(last) });
        RowQuery { offset, limit: self.height * 3, near, ..self.whole() }
    }

    /// The whole list, for sums and exports.
    pub fn whole(&self) -> RowQuery {
        let order = self.order();
        RowQuery {
            words: self.understood.words.clone(),
            conditions: self.understood.conditions.clone(),
            ..RowQuery::all(self.kind, Sort { column: order.column, descending: order.descending }, usize::MAX >> 1)
        }
    }

    /// Takes an answer to [`List::query`] that began at `offset`. The selection stays on its record, and that record on
    /// its line, where the record is still to be seen; otherwise on its number. True: another stretch must be asked for.
    pub fn take(&mut self, offset: usize, page: RowPage) -> bool {
        (self.offset, self.rows, self.total, self.loaded) = (offset, page.rows, page.total, true);
        self.fresh = true;
        let place = |id: &Option<String>| id.as_ref().and_then(|id| self.rows.iter().position(|row| row.id == *id));
        if let Some(found) = place(&self.sought) {
            self.selected = self.offset + found;
            self.sought = None;
        } else if let Some(found) = place(&self.anchor) {
            let line = self.selected.saturating_sub(self.top);
            self.selected = self.offset + found;
            self.top = self.selected.saturating_sub(line);
        }
        for row in &self.rows {
            if let Some(title) = self.marks.get_mut(&row.id) {
                title.clone_from(&row.title);
            }
        }
        self.settle();
        // Asking again helps only if another stretch would be asked for: a database whose count and rows disagree for
        // a moment must not be asked for ever.
        !self.covers_page() && self.query().offset != offset
    }

    /// Takes sums and groups.
    pub fn take_totals(&mut self, totals: Totals) {
        self.totals = totals;
        self.fit();
    }

    /// Notes which records of a page somebody else changed after a position, until a moment, and gives the title of the
    /// latest.
    pub fn note_news(&mut self, position: i64, now: Timestamp, until: Timestamp, page: &RowPage) -> Option<String> {
        self.news.retain(|_, until| *until > now);
        let is_new = |row: &&Row| row.rev.is_some_and(|rev| rev > position) && !row.own && row.pending == Pending::No;
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
        self.hold_nothing();
        self.settle();
        !self.covers_page()
    }

    fn hold_nothing(&mut self) {
        (self.anchor, self.left, self.sought) = (None, None, None);
    }

    /// Lets go of the selected record: wherever it moves, the selection stays on its number.
    pub fn let_go(&mut self) {
        self.left = self.current().map(|row| row.id.clone());
        self.anchor = None;
    }

    /// After the change for which a record was let go of: by now it has moved away, if it ever will. From the next page on the
    /// selection holds on to what is under it; where the change was in vain, to that record.
    pub fn hold_again(&mut self, id: &str, in_vain: bool) {
        let left = self.left.take_if(|left| left.as_str() == id);
        if in_vain && left.is_some() {
            self.anchor = left;
        }
    }

    /// Selects a record by its id once a page says where it stands.
    pub fn seek(&mut self, id: &str) {
        self.sought = Some(id.to_owned());
    }

    /// The sought record, if the page that was just taken does not have it. From then on it is not sought any more.
    pub fn missed(&mut self) -> Option<String> {
        self.sought.take()
    }

    /// The id of the selected record.
    pub fn anchor(&self) -> Option<&str> {
        self.anchor.as_deref()
    }

    /// Marks the selected record, or takes its mark, and goes on to the next. True: rows must be asked for.
    pub fn mark(&mut self) -> bool {
        let Some(row) = self.current() else { return false };
        let (id, title) = (row.id.clone(), row.title.clone());
        if self.marks.remove(&id).is_none() && self.marks.len() < MARKS_MAX {
            self.marks.insert(id, title);
        }
        self.step(1)
    }

    /// Marks these, every record of the list as far as it goes, beside what is marked outside it. Where all of them are marked
    /// already, nothing is any more; where there are none, nothing changes. Gives how many marks outside the list had to make
    /// room for these.
    pub fn mark_all(&mut self, records: Vec<(String, String)>) -> usize {
        if !records.is_empty() && records.iter().all(|(id, _)| self.marks.contains_key(id)) {
            self.marks.clear();
            return 0;
        }
        let listed: BTreeSet<&String> = records.iter().map(|(id, _)| id).collect();
        let outside = self.marks.keys().filter(|id| !listed.contains(id)).count();
        let dropped = if outside + listed.len() > MARKS_MAX { outside } else { 0 };
        if dropped > 0 {
            self.marks.clear();
        }
        self.marks.extend(records);
        dropped
    }

    /// How many of the marked records are not among the visible ones.
    pub fn marks_out_of_sight(&self) -> usize {
        let is_marked = |line: &ListLine<'_>| match line {
            ListLine::Record(_, Some(row)) => self.marks.contains_key(&row.id),
            _ => false,
        };
        self.marks.len() - self.visible().iter().filter(|line| is_marked(line)).count()
    }

    /// Takes the number of visible lines. True: the visible rows must be asked for.
    pub fn resize(&mut self, height: usize) -> bool {
        self.height = height.max(1);
        self.fit();
        !self.covers_page()
    }

    /// Whether it is known which record is under the cursor.
    pub fn is_settled(&self) -> bool {
        self.fresh && (self.total == 0 || self.current().is_some())
    }

    /// How many lines are visible.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The selected record, if it is loaded.
    pub fn current(&self) -> Option<&Row> {
        self.row(self.selected)
    }

    fn row(&self, number: usize) -> Option<&Row> {
        self.rows.get(number.checked_sub(self.offset)?)
    }

    /// Keeps the selection inside the list and on the page, and holds on to the record that is there.
    fn settle(&mut self) {
        self.fit();
        let id = self.current().map(|row| row.id.clone()).filter(|id| self.left.as_ref() != Some(id));
        if id.is_some() {
            (self.anchor, self.left) = (id, None);
        }
    }

    /// Keeps the selection inside the list and on the page. Only what brings rows or moves the cursor says which record
    /// is selected: sums come before or after the rows they belong to.
    fn fit(&mut self) {
        self.selected = self.selected.min(self.total.saturating_sub(1));
        self.settle_lines();
    }

    fn covers_page(&self) -> bool {
        let end = self.total.min(self.top + self.height);
        self.offset <= self.top && end <= self.offset + self.rows.len()
    }
}
