//! The bytes that uploads in progress have reserved in their homes, so that several uploads together keep to the limit. Only
//! in memory. Must not know what a home holds already: that number is an argument.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::store::HomeNumber;

/// The reserved bytes of all homes. Cheap to clone.
#[derive(Clone, Default)]
pub struct Reservations {
    reserved: Arc<Mutex<HashMap<HomeNumber, i64>>>,
}

/// Reserved bytes of one upload. Dropping the value gives them back.
pub struct Reservation {
    all: Reservations,
    home: HomeNumber,
    bytes: i64,
}

/// The home has not so many bytes left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFewLeft;

impl Reservations {
    /// A reservation of no bytes.
    pub fn begin(&self, home: HomeNumber) -> Reservation {
        Reservation { all: self.clone(), home, bytes: 0 }
    }
}

impl Reservation {
    /// Reserves up to `bytes` in all for this upload. `free`: the bytes that the home has left, without any reservation.
    pub fn grow_to(&mut self, bytes: i64, free: i64) -> Result<(), TooFewLeft> {
        let mut reserved = self.all.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        let all = reserved.entry(self.home).or_default();
        let more = (bytes - self.bytes).max(0);
        if *all + more > free {
            if *all == 0 {
                reserved.remove(&self.home);
            }
            return Err(TooFewLeft);
        }
        *all += more;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut reserved = self.all.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = reserved.get_mut(&self.home) {
            *all -= self.bytes;
            if *all <= 0 {
                reserved.remove(&self.home);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_together_keep_to_the_limit() {
        let all = Reservations::default();
        let (mut first, mut second) = (all.begin(HomeNumber(1)), all.begin(HomeNumber(1)));
        assert_eq!((first.grow_to(60, 100), second.grow_to(60, 100)), (Ok(()), Err(TooFewLeft)));
        assert_eq!((second.grow_to(40, 100), first.grow_to(61, 100)), (Ok(()), Err(TooFewLeft)));
        assert_eq!(all.begin(HomeNumber(2)).grow_to(100, 100), Ok(()));
        drop(first);
        assert_eq!(second.grow_to(100, 100), Ok(()));
        drop(second);
        assert!(all.reserved.lock().unwrap().is_empty());
    }
}
