//! The days of a home for calendar programs (contract 23). The text depends on the records alone, so equal positions give equal
//! texts. Must not know links, nor who reads.

use std::collections::HashSet;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_exchange::calendar::{Calendar, EVENTS_MAX};
use serde_json::Value;

use crate::store::days::{self, Days};
use crate::store::{HomeNumber, StoreError, Tx};

/// The end of all days.
const LAST_DAY: &str = "9999-12-31";

/// The calendar with the days of some kinds of records.
pub fn text(tx: &Tx<'_>, home: HomeNumber, name: &str, kinds: &[Kind]) -> Result<String, StoreError> {
    let mut calendar = Calendar::new(name);
    for kind in kinds {
        let list = if *kind == Kind::Task { Days::Due } else { Days::Ends };
        // A record with two days is listed twice, and added with both days at once.
        let mut added = HashSet::new();
        for dated in days::by_day(tx, home, (*kind, list), ("", 0), LAST_DAY, EVENTS_MAX)? {
            if added.insert(dated.created) {
                add(&mut calendar, *kind, &dated.json)?;
            }
        }
    }
    Ok(calendar.finish())
}

fn add(calendar: &mut Calendar, kind: Kind, json: &str) -> Result<(), StoreError> {
    let members: Fields = serde_json::from_str(json)
        .map_err(|_| StoreError::Corrupt(format!("image of a {kind} that a calendar shows")))?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    calendar.add(kind, text("id"), text("updated_at"), &members);
    Ok(())
}
