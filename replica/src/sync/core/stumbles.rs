//! Requests that got no good word although contact lasts: perhaps the line is at fault, perhaps something about each of
//! them. So they go after all others, one at a time, and the more of them fail in a row the slower. Pure: the time is an
//! argument.

use std::collections::{HashMap, HashSet};

use super::Millis;

/// What is known of such requests, each by its first edit.
#[derive(Debug)]
pub(super) struct Stumbles {
    known: HashMap<i64, Stumble>,
    /// How many in a row failed again, one after another.
    failures: u32,
    /// The last that failed.
    last: Option<i64>,
    not_before: Millis,
}

#[derive(Debug, Clone, Copy)]
struct Stumble {
    failures: u32,
    /// How many of the last were refusals by somebody on the way.
    forbidden: u32,
    not_before: Millis,
}

impl Default for Stumbles {
    fn default() -> Stumbles {
        Stumbles { known: HashMap::new(), failures: 0, last: None, not_before: Millis::MIN }
    }
}

impl Stumbles {
    /// How often in a row a request has failed.
    pub(super) fn of(&self, edit: i64) -> u32 {
        self.known.get(&edit).map_or(0, |stumble| stumble.failures)
    }

    /// How often in a row somebody on the way has forbidden a request.
    pub(super) fn forbidden(&self, edit: i64) -> u32 {
        self.known.get(&edit).map_or(0, |stumble| stumble.forbidden)
    }

    /// How many failed again, one after another, with nothing that came through between them.
    pub(super) fn in_a_row(&self) -> u32 {
        self.failures
    }

    /// Before when a request must not go; None: it has not failed.
    pub(super) fn due_at(&self, edit: i64) -> Option<Millis> {
        self.known.get(&edit).map(|stumble| stumble.not_before.max(self.not_before))
    }

    /// A request has failed: somebody on the way forbade it, or anything else. It waits until a moment, and until another
    /// all that have failed do, if it was another of these before.
    pub(super) fn note(&mut self, edit: i64, is_forbidden: bool, not_before: Millis, all_not_before: Millis) {
        let failures = self.of(edit);
        if failures > 0 && self.last.is_some_and(|last| last != edit) {
            self.failures += 1;
            self.not_before = all_not_before;
        }
        if failures > 0 {
            self.last = Some(edit);
        }
        let forbidden = if is_forbidden { self.forbidden(edit) + 1 } else { 0 };
        self.known.insert(edit, Stumble { failures: failures + 1, forbidden, not_before });
    }

    /// An edit got its word.
    pub(super) fn over(&mut self, edit: i64) {
        if self.known.remove(&edit).is_some() {
            (self.failures, self.last, self.not_before) = (0, None, Millis::MIN);
        }
    }

    /// None of them waits any longer.
    pub(super) fn hurry(&mut self) {
        self.not_before = Millis::MIN;
        self.known.values_mut().for_each(|stumble| stumble.not_before = Millis::MIN);
    }

    /// Forgets all but these.
    pub(super) fn retain(&mut self, edits: &HashSet<i64>) {
        self.known.retain(|edit, _| edits.contains(edit));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_alone_and_many_wait_for_each_other() {
        let mut stumbles = Stumbles::default();
        assert_eq!((stumbles.of(1), stumbles.due_at(1)), (0, None));
        stumbles.note(1, false, 10, 1000);
        stumbles.note(1, false, 20, 1000);
        assert_eq!((stumbles.of(1), stumbles.in_a_row(), stumbles.due_at(1)), (2, 0, Some(20)));
        stumbles.note(2, false, 25, 1000);
        assert_eq!(stumbles.due_at(2), Some(25), "for the first time");
        stumbles.note(2, false, 30, 1000);
        assert_eq!((stumbles.in_a_row(), stumbles.due_at(1), stumbles.due_at(2)), (1, Some(1000), Some(1000)));
        stumbles.hurry();
        assert_eq!((stumbles.due_at(1), stumbles.of(1)), (Some(Millis::MIN), 2));
        stumbles.note(1, false, 40, 2000);
        stumbles.over(2);
        assert_eq!((stumbles.in_a_row(), stumbles.due_at(1), stumbles.due_at(2)), (0, Some(40), None));
        stumbles.retain(&HashSet::new());
        assert_eq!(stumbles.of(1), 0);
    }

    #[test]
    fn what_is_forbidden_is_counted_by_itself_and_in_a_row() {
        let mut stumbles = Stumbles::default();
        for (is_forbidden, expected) in [(false, 0), (true, 1), (true, 2), (false, 0), (true, 1)] {
            stumbles.note(1, is_forbidden, 10, 1000);
            assert_eq!(stumbles.forbidden(1), expected);
        }
        assert_eq!((stumbles.of(1), stumbles.forbidden(2)), (5, 0));
    }
}
