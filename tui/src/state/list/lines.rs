//! What stands on which line of a list: records, and above the first of each group its heading. The first line names the
//! group that one is in. Must not know how lines are drawn.

use hearth_replica::{Group, Row};

use super::List;
use crate::words::columns::is_grouping;

/// One line of a list.
#[derive(Debug)]
pub enum ListLine<'a> {
    /// The heading of a group.
    Group(&'a Group),
    /// The record of a number; a gap where it is not loaded yet.
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
                // A heading alone on the last line would promise what is not to be seen, and a record without it would
                // stand under the heading of another group.
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

    /// How many of the marked records are not among the visible ones.
    pub fn marks_out_of_sight(&self) -> usize {
        let is_marked = |line: &ListLine<'_>| match line {
            ListLine::Record(_, Some(row)) => self.marks.contains_key(&row.id),
            _ => false,
        };
        self.marks.len() - self.visible().iter().filter(|line| is_marked(line)).count()
    }

    /// Whether groups are shown now.
    pub fn shows_groups(&self) -> bool {
        !self.starts().is_empty()
    }

    /// The number of the first record of each group. None where groups are not wanted, or where they do not add up to the
    /// list: they were read a moment before or after it.
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

    /// Moves the page so that the last page is full where it can be and the selected line is on it.
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
