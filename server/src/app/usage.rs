//! Counts the requests of each key and day in memory, until the background work adds them to the database. Must not know
//! requests; the time is an argument.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_contract::formats::Timestamp;

use super::limits::RateClass;
use crate::store::usage::{self, Counts, Usage};
use crate::store::{Db, StoreError};

/// Days of which the database keeps the numbers, with today.
pub const DAYS_KEPT: i64 = 30;
/// Length of a day, in milliseconds.
const DAY_MS: i64 = 24 * 3600 * 1000;

/// The day of a moment: days since 1970-01-01, in UTC.
pub const fn day_of(at: Timestamp) -> i64 {
    at.millis().div_euclid(DAY_MS)
}

/// The moment at which a day begins.
pub const fn start_of_day(day: i64) -> Timestamp {
    Timestamp::from_millis(day * DAY_MS)
}

/// How a request was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A window counted the request.
    In(RateClass),
    /// The request was refused with 429.
    Refused,
}

/// The numbers that are not stored yet: at most two days for each key.
#[derive(Default)]
pub struct UsageCounter {
    waiting: Mutex<HashMap<String, Vec<(i64, Counts)>>>,
}

impl UsageCounter {
    /// Counts a request of a key (id).
    pub fn count(&self, key: &str, counted: Counted, now: Timestamp) {
        let mut counts = Counts::default();
        match counted {
            Counted::In(RateClass::Free) => return,
            Counted::In(RateClass::Read) => counts.reads = 1,
            Counted::In(RateClass::Write) => counts.writes = 1,
            Counted::In(RateClass::Bulk) => counts.bulk = 1,
            Counted::Refused => counts.refused = 1,
        }
        self.add(key, day_of(now), counts);
    }

    /// Adds all waiting numbers to the database, and deletes the days that are too old. Does nothing when no number waits.
    /// After an error the numbers wait again.
    pub async fn store(&self, db: &Db, now: Timestamp) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.lock());
        if waiting.is_empty() {
            return Ok(());
        }
        let of_key = |(key, days): (String, Vec<(i64, Counts)>)| {
            days.into_iter().map(move |(day, counts)| Usage { key: key.clone(), day, counts })
        };
        let rows: Vec<Usage> = waiting.into_iter().flat_map(of_key).collect();
        let (stored, first_day) = (rows.clone(), first_day(now));
        let written = db
            .write(move |tx| {
                stored.iter().try_for_each(|row| usage::add(tx, row))?;
                usage::delete_before(tx, first_day)
            })
            .await;
        if written.is_err() {
            rows.iter().for_each(|row| self.add(&row.key, row.day, row.counts));
        }
        written
    }

    /// The numbers of keys (ids) on the days that are kept, by key and day: stored and waiting. A key and a day may come twice.
    pub async fn of_keys(&self, db: &Db, keys: Vec<String>, now: Timestamp) -> Result<Vec<Usage>, StoreError> {
        let since = first_day(now);
        let (keys, mut rows) = db
            .read(move |tx| {
                let mut rows = Vec::new();
                for key in &keys {
                    rows.append(&mut usage::of_key(tx, key, since)?);
                }
                Ok((keys, rows))
            })
            .await?;
        let waiting = self.lock();
        for key in keys {
            let days = waiting.get(&key).into_iter().flatten();
            rows.extend(days.map(|(day, counts)| Usage { key: key.clone(), day: *day, counts: *counts }));
        }
        Ok(rows)
    }

    fn add(&self, key: &str, day: i64, counts: Counts) {
        let mut waiting = self.lock();
        let days = match waiting.get_mut(key) {
            Some(days) => days,
            None => waiting.entry(key.to_owned()).or_default(),
        };
        match days.iter_mut().find(|(known, _)| *known == day) {
            Some((_, sum)) => *sum += counts,
            None => days.push((day, counts)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<(i64, Counts)>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first day whose numbers are kept.
fn first_day(now: Timestamp) -> i64 {
    day_of(now) - DAYS_KEPT + 1
}
