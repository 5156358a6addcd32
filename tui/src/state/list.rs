//! The state of a list: order, filter, groups, marks, selection, and the rows loaded around the visible page. Only
//! those rows are in memory, so a list of 100,000 records is as fast as one of 100. `lines` places rows and headings on
//! lines. Must not know how rows are stored or drawn.

mod lines;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use hearth_contract::units::AreaUnit;
use hearth_replica::{Near, Pending, Row, RowPage, RowQuery, Sort, Totals};
use time::Date;

use crate::parse::filter::{self, Filter};
use crate::state::input::Line;
use crate::words::columns::{Column, Order, is_grouping, list_columns, orders};

pub use lines::ListLine;

/// The most marked records.
pub const MARKS_MAX: usize = 10_000;

/// The list of a kind.
#[derive(Debug)]
pub struct List {
    /// The kind of the records.
    pub kind: Kind,
    /// The column of the order.
    sorted_by: &'static str,
    /// Whether the order is reversed.
    is_reversed: bool,
    /// Whether groups are shown, in orders with groups.
    pub grouped: bool,
    /// The columns beside the title that the person has chosen; None: the usual columns.
    chosen: Option<Vec<&'static str>>,
    /// The filter as typed.
    pub filter: Line,
    /// The parsed filter.
    pub understood: Filter,
    /// The unit of areas in the filter that have no unit of their own.
    pub area_unit: AreaUnit,
    /// The number of matching records.
    pub total: usize,
    /// Sums and groups of the list, once read.
    pub totals: Totals,
    /// The number of the selected record in the whole list.
    pub selected: usize,
    /// The number of the record on the first visible line.
    pub top: usize,
    /// The number of visible lines.
    height: usize,
    /// The number of the first loaded record.
    offset: usize,
    /// The loaded records.
    rows: Vec<Row>,
    /// Whether the numbers of the loaded rows are reliable: nothing has changed since.
    is_fresh: bool,
    /// The id of the selected record, for finding the record after a reload.
    anchor: Option<String>,
    /// The id of the released record: the selection must not follow the record when it moves.
    released: Option<String>,
    /// The id of a record to select once its position is known.
    target: Option<String>,
    /// The marked records: titles by id.
    pub marks: BTreeMap<String, String>,
    /// The ticket of the newest request for a page; older answers are dropped.
    pub ticket: u64,
    /// The ticket of the newest request for sums. Scrolling requests pages, but no sums.
    pub sums: u64,
    /// Whether a page has been read.
    pub is_loaded: bool,
    /// Ids of records that others have just changed, and the time until which a change is news.
    news: BTreeMap<String, Timestamp>,
}

impl List {
    /// A list in the kind's default order.
    pub fn new(kind: Kind) -> List {
        List {
            kind,
            sorted_by: orders(kind, None)[0].column,
            is_reversed: false,
            grouped: kind == Kind::Task,
            chosen: None,
            filter: Line::default(),
            understood: Filter::default(),
            area_unit: AreaUnit::default(),
            total: 0,
            totals: Totals::default(),
            selected: 0,
            top: 0,
            height: 1,
            offset: 0,
            rows: Vec::new(),
            is_fresh: false,
            anchor: None,
            released: None,
            target: None,
            marks: BTreeMap::new(),
            ticket: 0,
            sums: 0,
            is_loaded: false,
            news: BTreeMap::new(),
        }
    }

    /// The orders of the list.
    fn orders(&self) -> Vec<Order> {
        orders(self.kind, self.chosen.as_deref())
    }

    /// The current order.
    pub fn order(&self) -> Order {
        let mut all = self.orders();
        let place = all.iter().position(|order| order.column == self.sorted_by).unwrap_or(0);
        let order = all.swap_remove(place);
        Order { descending: order.descending != self.is_reversed, ..order }
    }

    /// Sorts by the next order and goes to the top.
    pub fn next_order(&mut self) {
        let all = self.orders();
        let place = all.iter().position(|order| order.column == self.sorted_by).unwrap_or(0);
        self.sort_by(all[(place + 1) % all.len()].column, false);
    }

    /// Reverses the order and goes to the top.
    pub fn reverse(&mut self) {
        self.sort_by(self.sorted_by, !self.is_reversed);
    }

    /// Whether the order is reversed.
    pub fn is_reversed(&self) -> bool {
        self.is_reversed
    }

    /// Sorts by a column and goes to the top. A list that cannot be sorted so gets its first order.
    pub fn sort_by(&mut self, column: &str, reversed: bool) {
        let all = self.orders();
        let known = all.iter().find(|order| order.column == column);
        (self.sorted_by, self.is_reversed) = known.map_or((all[0].column, false), |order| (order.column, reversed));
        self.totals.groups.clear();
        self.to_top();
    }

    /// The columns of the list, from left to right.
    pub fn columns(&self) -> Vec<Column> {
        let grouped_by = self.shows_groups().then_some(self.sorted_by);
        list_columns(self.kind, self.chosen.as_deref(), self.sorted_by, grouped_by)
    }

    /// The columns beside the title that the person has chosen; None: the usual columns.
    pub fn chosen_columns(&self) -> Option<&[&'static str]> {
        self.chosen.as_deref()
    }

    /// Shows these columns beside the title; None: the usual columns. True: the order was by a column that is gone, and the
    /// list must be read again.
    pub fn choose_columns(&mut self, chosen: Option<Vec<&'static str>>) -> bool {
        self.chosen = chosen;
        let is_known = self.orders().iter().any(|order| order.column == self.sorted_by);
        if !is_known {
            self.sort_by("", false);
        }
        !is_known
    }

    /// Shows or hides groups. When the order has no groups, sorts by the first order with groups. True: the list must
    /// be read again.
    pub fn toggle_groups(&mut self) -> bool {
        let groups = |order: &Order| is_grouping(self.kind, order.column);
        if groups(&self.order()) {
            self.grouped = !self.grouped;
            self.clamp_selection();
            return false;
        }
        match self.orders().into_iter().find(groups) {
            Some(order) => {
                self.grouped = true;
                self.sort_by(order.column, false);
                true
            }
            None => false,
        }
    }

    /// Parses the filter and goes to the top.
    pub fn filter_changed(&mut self, today: Date) {
        self.understand(today);
        self.to_top();
    }

    /// Parses the filter. Relative dates such as `due<fri` depend on the current date.
    pub fn understand(&mut self, today: Date) {
        self.understood = filter::parse_filter(self.kind, self.filter.text(), today, self.area_unit);
    }

    /// Goes to the top and forgets the selection, because another list is requested.
    pub fn to_top(&mut self) {
        (self.selected, self.top, self.is_fresh) = (0, 0, false);
        self.forget_selection();
    }

    /// Notes a change: the numbers of the loaded rows may be wrong.
    pub fn mark_stale(&mut self) {
        self.is_fresh = false;
    }

    /// The query for the visible page, the page before and the page after. A record that moved a little stays loaded,
    /// and scrolling seldom waits.
    pub fn page_query(&self) -> RowQuery {
        let offset = self.top.saturating_sub(self.height);
        // The query starts at the nearest loaded row while its number is reliable.
        let last = self.rows.len().saturating_sub(1);
        let near = offset.saturating_sub(self.offset).min(last);
        let near = self.rows.get(near).filter(|_| self.is_fresh);
        let near = near
            .map(|row| Near { id: row.id.clone(), number: self.offset + offset.saturating_sub(self.offset).min(last) });
        RowQuery { offset, limit: self.height * 3, near, ..self.whole_query() }
    }

    /// The query for the whole list, for sums, marks and exports.
    pub fn whole_query(&self) -> RowQuery {
        let order = self.order();
        RowQuery {
            words: self.understood.words.clone(),
            conditions: self.understood.conditions.clone(),
            ..RowQuery::all(self.kind, Sort { column: order.column, descending: order.descending }, usize::MAX >> 1)
        }
    }

    /// Takes the answer to [`List::page_query`] with the given `offset`. The selection stays on its record and line
    /// while the record is loaded, else on its number. True: another page must be requested.
    pub fn set_page(&mut self, offset: usize, page: RowPage) -> bool {
        (self.offset, self.rows, self.total, self.is_loaded) = (offset, page.rows, page.total, true);
        self.is_fresh = true;
        let place = |id: &Option<String>| id.as_ref().and_then(|id| self.rows.iter().position(|row| row.id == *id));
        if let Some(found) = place(&self.target) {
            self.selected = self.offset + found;
            self.target = None;
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
        self.settle_selection();
        // Request again only for other rows: a count that differs from the rows for a moment must not cause endless
        // requests.
        !self.covers_page() && self.page_query().offset != offset
    }

    /// Takes sums and groups that were read.
    pub fn set_totals(&mut self, totals: Totals) {
        self.totals = totals;
        self.clamp_selection();
    }

    /// Notes the records of a page that others changed after `position`; the change is news until `until`. Gives the
    /// title of the latest.
    pub fn record_news(&mut self, position: i64, now: Timestamp, until: Timestamp, page: &RowPage) -> Option<String> {
        self.news.retain(|_, until| *until > now);
        let is_new = |row: &&Row| row.rev.is_some_and(|rev| rev > position) && !row.own && row.pending == Pending::No;
        let fresh: Vec<&Row> = page.rows.iter().filter(is_new).collect();
        self.news.extend(fresh.iter().map(|row| (row.id.clone(), until)));
        fresh.iter().max_by_key(|row| row.rev).map(|row| row.title.clone())
    }

    /// Whether others have just changed the record.
    pub fn is_news(&self, id: &str, now: Timestamp) -> bool {
        self.news.get(id).is_some_and(|until| *until > now)
    }

    /// Moves the selection by this many records. True: the page must be requested.
    pub fn step(&mut self, by: isize) -> bool {
        self.select(self.selected.saturating_add_signed(by))
    }

    /// Selects the record with this number. True: the page must be requested.
    pub fn select(&mut self, number: usize) -> bool {
        self.selected = number;
        self.forget_selection();
        self.settle_selection();
        !self.covers_page()
    }

    fn forget_selection(&mut self) {
        (self.anchor, self.released, self.target) = (None, None, None);
    }

    /// Releases the selected record: when the record moves, the selection stays on its number.
    pub fn release_selection(&mut self) {
        self.released = self.current().map(|row| row.id.clone());
        self.anchor = None;
    }

    /// Ends the release after the write. After a failure the selection follows the record again; else the next page
    /// anchors the selection on its number.
    pub fn end_release(&mut self, id: &str, failed: bool) {
        let left = self.released.take_if(|left| left.as_str() == id);
        if failed && left.is_some() {
            self.anchor = left;
        }
    }

    /// Selects a record as soon as a page contains the id.
    pub fn select_when_loaded(&mut self, id: &str) {
        self.target = Some(id.to_owned());
    }

    /// The record to select when the last page does not contain it. The list forgets the id.
    pub fn take_missing_target(&mut self) -> Option<String> {
        self.target.take()
    }

    /// The id of the selected record.
    pub fn anchor(&self) -> Option<&str> {
        self.anchor.as_deref()
    }

    /// Marks or unmarks the selected record and moves to the next. True: the page must be requested.
    pub fn mark(&mut self) -> bool {
        let Some(row) = self.current() else { return false };
        let (id, title) = (row.id.clone(), row.title.clone());
        if self.marks.remove(&id).is_none() && self.marks.len() < MARKS_MAX {
            self.marks.insert(id, title);
        }
        self.step(1)
    }

    /// Marks these records of the list, or unmarks all when all of these are marked. Without records nothing changes.
    /// Gives the number of marks outside the list that were removed to stay within [`MARKS_MAX`].
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

    /// Sets the number of visible lines. True: the page must be requested.
    pub fn resize(&mut self, height: usize) -> bool {
        self.height = height.max(1);
        self.clamp_selection();
        !self.covers_page()
    }

    /// Whether the record under the cursor is known.
    pub fn is_settled(&self) -> bool {
        self.is_fresh && (self.total == 0 || self.current().is_some())
    }

    /// The number of visible lines.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The selected record, if loaded.
    pub fn current(&self) -> Option<&Row> {
        self.row(self.selected)
    }

    fn row(&self, number: usize) -> Option<&Row> {
        self.rows.get(number.checked_sub(self.offset)?)
    }

    /// Clamps the selection to the list and the page, and anchors the selection on its record.
    fn settle_selection(&mut self) {
        self.clamp_selection();
        let id = self.current().map(|row| row.id.clone()).filter(|id| self.released.as_ref() != Some(id));
        if id.is_some() {
            (self.anchor, self.released) = (id, None);
        }
    }

    /// Clamps the selection to the list and the page without a new anchor: sums may arrive before or after their rows.
    fn clamp_selection(&mut self) {
        self.selected = self.selected.min(self.total.saturating_sub(1));
        self.clamp_page();
    }

    fn covers_page(&self) -> bool {
        let end = self.total.min(self.top + self.height);
        self.offset <= self.top && end <= self.offset + self.rows.len()
    }
}
