//! Frames that are made once for all streams of a home that stand at the same place: the first who looks there reads the
//! log, and who comes after takes what it found. Must not know when a stream looks, or how frames are sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use hearth_contract::schema::Kind;
use tokio::sync::OnceCell;

use crate::home::cursor::FeedCursor;
use crate::store::{Fault, HomeNo};

/// Looks that a home keeps at hand: streams that are level are seldom further apart.
const LOOKS_MAX: usize = 8;

/// Where a stream stands, and in which form it wants what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// After this.
    pub cursor: FeedCursor,
    /// Only these kinds; none: all.
    pub kinds: Vec<Kind>,
    /// In the words of this version.
    pub version: &'static str,
}

/// What the bells had said when a stream looked: its home's, and that of other processes. What was committed before they
/// rang is seen by every look that begins after.
pub(crate) type Heard = (i64, u64);

/// What one look at the log has found.
#[derive(Debug)]
pub(crate) struct Look {
    /// The frames of the events; "" when there were none.
    pub frames: Bytes,
    /// Where to look next.
    pub next: FeedCursor,
    /// `next` as a text.
    pub next_text: Arc<str>,
    /// Whether there was more at this moment.
    pub has_more: bool,
    /// The home's head at this moment.
    pub head: i64,
}

/// What came of a look; None: the place is no longer good.
pub(crate) type Found = Option<Arc<Look>>;

/// The shelves of all homes that have streams.
#[derive(Default)]
pub struct Shelves {
    homes: Mutex<HashMap<HomeNo, Weak<Shelf>>>,
}

impl Shelves {
    /// The shelf of a home; it lasts as long as somebody holds it.
    pub(crate) fn of(&self, home: HomeNo) -> Arc<Shelf> {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shelf) = homes.get(&home).and_then(Weak::upgrade) {
            return shelf;
        }
        homes.retain(|_, shelf| shelf.strong_count() > 0);
        let shelf = Arc::new(Shelf::default());
        homes.insert(home, Arc::downgrade(&shelf));
        shelf
    }
}

/// The latest looks at a home's log.
#[derive(Default)]
pub(crate) struct Shelf {
    looks: Mutex<VecDeque<Kept>>,
}

struct Kept {
    place: Place,
    heard: Heard,
    found: Arc<OnceCell<Found>>,
}

impl Shelf {
    /// What follows a place: taken from the shelf, or found by `look` and put there.
    pub(crate) async fn look<F: Future<Output = Result<Found, Fault>>>(
        &self,
        place: &Place,
        heard: Heard,
        look: impl FnOnce() -> F,
    ) -> Result<Found, Fault> {
        let cell = self.cell(place, heard);
        cell.get_or_try_init(look).await.cloned()
    }

    fn cell(&self, place: &Place, heard: Heard) -> Arc<OnceCell<Found>> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        // A look holds until a bell rings. From then on it would still be true of what followed, but who looks anew gets
        // all there is by now: so a stream that lags writes more at once, and catches up.
        let holds = |kept: &Kept| kept.place == *place && kept.heard.0 >= heard.0 && kept.heard.1 >= heard.1;
        if let Some(kept) = looks.iter().rev().find(|kept| holds(kept)) {
            return kept.found.clone();
        }
        if looks.len() == LOOKS_MAX {
            looks.pop_front();
        }
        let found = Arc::new(OnceCell::new());
        looks.push_back(Kept { place: place.clone(), heard, found: found.clone() });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(position: i64) -> Place {
        Place { cursor: FeedCursor { position, run: 1, ..FeedCursor::default() }, kinds: Vec::new(), version: "v" }
    }

    fn look(frames: &'static str) -> Found {
        let next = FeedCursor { position: 9, run: 1, ..FeedCursor::default() };
        Some(Arc::new(Look { frames: frames.into(), next, next_text: "".into(), has_more: false, head: 9 }))
    }

    /// What a stream at a place gets whose own look would find `own`.
    async fn get(shelf: &Shelf, position: i64, heard: Heard, own: &'static str) -> String {
        let found = shelf.look(&place(position), heard, async || Ok(look(own))).await.unwrap().unwrap();
        String::from_utf8(found.frames.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn the_first_looks_for_all_who_stand_there() {
        let shelf = Shelf::default();
        assert_eq!(get(&shelf, 1, (5, 0), "a").await, "a");
        assert_eq!(get(&shelf, 1, (5, 0), "b").await, "a");
        assert_eq!(get(&shelf, 1, (4, 0), "b").await, "a");
        assert_eq!(get(&shelf, 2, (5, 0), "c").await, "c");
    }

    #[tokio::test]
    async fn what_was_found_holds_until_a_bell_rings() {
        let shelf = Shelf::default();
        assert_eq!(get(&shelf, 1, (5, 0), "").await, "");
        assert_eq!(get(&shelf, 1, (5, 0), "a").await, "");
        assert_eq!(get(&shelf, 1, (5, 1), "a").await, "a");
        assert_eq!(get(&shelf, 1, (6, 1), "b").await, "b");
    }

    #[tokio::test]
    async fn a_look_that_failed_is_made_again() {
        let shelf = Shelf::default();
        let failed = shelf.look(&place(1), (5, 0), async || Err(Fault::DiskFull)).await;
        assert!(failed.is_err());
        assert_eq!(get(&shelf, 1, (5, 0), "a").await, "a");
    }
}
