//! A report of a home's things for people, such as an insurer: one HTML file without other files and without scripts, which
//! prints well. Must not know the clock, nor where records and photos come from.
//!
//! - `gather`: takes the records in any order, and keeps what a report shows.
//! - `money`: exact sums.
//! - `page`: what the template shows, and the photos.

mod gather;
mod money;
mod page;

pub use self::gather::{Report, TooLarge};
pub use self::page::{Facts, Photo, PhotoSource, photo, write};

/// The most records of a report. A longer page opens in no browser.
pub const RECORDS_MAX: usize = 100_000;
/// The most bytes of all photos of a report, before they are encoded as text.
pub const PHOTO_BYTES_MAX: usize = 24 * 1024 * 1024;
/// The most papers that are listed at a thing.
const PAPERS_MAX: usize = 10;
