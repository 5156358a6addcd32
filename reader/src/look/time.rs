//! How much time the reading of a file may take: a page and a line are begun only while there is time for them. Must not know clocks.

use std::time::Duration;

/// Whether so much more time may be spent on a file.
pub type HasTime<'a> = &'a dyn Fn(Duration) -> bool;

/// The time for the picture of a page: it is drawn, and its codes and lines are found.
pub(super) const PAGE_TIME: Duration = Duration::from_secs(8);
/// The time for one line of text.
pub(super) const LINE_TIME: Duration = Duration::from_secs(1);
