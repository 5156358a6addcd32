//! The lines of a list: records, and a heading above each group. The first line shows the heading of its group. Must
//! not know how a line is drawn.

use hearth_replica::{Group, Row};

use super::List;
use crate::words::columns::is_grouping;

/// A line of a list.
#[derive(Debug)]
pub enum ListLine<'a> {
    /// The heading of a group.
    Group(&'a Group),
    /// A record with its number; None: not loaded.
    Record(usize, Option<&'a Row>),
}

impl List {
    /// The visible lines, from top to bottom.
    pub fn visible(&self) -> Vec<ListLine<'_>> {
        let starts = self.starts();
        let mut lines = Vec::with_capacity(self.height);
        let mut number = self.top;
        while lines.len() < self.height && number < self.total {
            let group = match lines.is_empty() {
                true => starts.iter().rev().find(|(start, _)| *start <= number),
                false => starts.iter().find(|(start, _)| *start == number),
            };
            if let Some((_, group)) = group {
                // A heading on the last line would have no record below, and the record without it would seem to belong
                // to the group above.
                if lines.len() + 1 == self.height {
                    break;
                }
                lines.push(ListLine::Group(group));
            }
            lines.push(ListLine::Record(number, self.row(number)));
            number += 1;
        }
        lines
    }

    /// The number of marked records that are not visible.
    pub fn marks_out_of_sight(&self) -> usize {
        let is_marked = |line: &ListLine<'_>| match line {
            ListLine::Record(_, Some(row)) => self.marks.contains_key(&row.id),
            _ => false,
        };
        self.marks.len() - self.visible().iter().filter(|line| is_marked(line)).count()
    }

    /// Whether groups are visible.
    pub fn shows_groups(&self) -> bool {
        !self.starts().is_empty()
    }

    /// The number of the first record of each group. Empty: groups are off, or the groups do not add up to the list,
    /// because rows and sums were read at different times.
    fn starts(&self) -> Vec<(usize, &Group)> {
        let groups = &self.totals.groups;
        let sum: usize = groups.iter().map(|group| group.count).sum();
        if !self.grouped || !is_grouping(self.kind, self.order().column) || sum != self.total || self.height < 4 {
            return Vec::new();
        }
        let mut number = 0;
        groups
            .iter()
            .map(|group| {
                let start = number;
                number += group.count;
                (start, group)
            })
            .collect()
    }

    /// Scrolls until the selected line is visible and the last page is full.
    pub(super) fn clamp_page(&mut self) {
        let starts: Vec<usize> = self.starts().iter().map(|(start, _)| *start).collect();
        let lines = |from: usize, to: usize| {
            let headings = starts.iter().filter(|start| **start > from && **start <= to).count();
            to + 1 - from + headings + usize::from(!starts.is_empty())
        };
        if self.total == 0 {
            self.top = 0;
            return;
        }
        let highest_for = |last: usize| {
            let mut top = last;
            while top > 0 && lines(top - 1, last) <= self.height {
                top -= 1;
            }
            top
        };
        self.top = self.top.min(highest_for(self.total - 1)).min(self.selected);
        if lines(self.top, self.selected) > self.height {
            self.top = highest_for(self.selected);
        }
    }
}
