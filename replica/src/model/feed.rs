//! A part of the feed. Plain values; must not know whether the events came by stream or by poll.

use hearth_contract::event::Event;

/// Consecutive events of the feed, applied in one transaction.
#[derive(Debug, Default, PartialEq)]
pub struct FeedBatch {
    /// Events in ascending order of their ids.
    pub events: Vec<Event>,
    /// The cursor after the last event. None: the cursor stays as before.
    pub cursor: Option<String>,
    /// Whether more events follow.
    pub end: BatchEnd,
}

/// How far a batch reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BatchEnd {
    /// More events may follow at once.
    #[default]
    More,
    /// The batch reaches the present of the feed.
    Present {
        /// The newest position. None: the server did not name the position.
        head: Option<i64>,
    },
}

impl FeedBatch {
    /// Whether the batch reaches the present of the feed.
    pub fn is_at_present(&self) -> bool {
        self.end != BatchEnd::More
    }

    /// The newest position, for a batch that reaches the present.
    pub fn head(&self) -> Option<i64> {
        match self.end {
            BatchEnd::Present { head } => head,
            BatchEnd::More => None,
        }
    }

    /// Whether the feed ends before `earlier_head`, a head from an earlier response. Then the server was restored from a
    /// backup in between.
    pub(crate) fn ends_before(&self, earlier_head: Option<i64>) -> bool {
        self.head().zip(earlier_head).is_some_and(|(head, earlier)| head < earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emptied_feed_ends_before_known_head() {
        let ends_at = |head| FeedBatch { end: BatchEnd::Present { head }, ..FeedBatch::default() };
        assert!(ends_at(Some(0)).ends_before(Some(9)), "restored to an empty home");
        for (head, earlier) in [(Some(9), Some(9)), (Some(9), None), (None, Some(9)), (Some(0), Some(0))] {
            assert!(!ends_at(head).ends_before(earlier), "{head:?} {earlier:?}");
        }
        assert!(!FeedBatch::default().ends_before(Some(9)));
    }
}
