//! The days of a home for calendar programs (contract 23). The text depends on the records alone, so equal positions give equal
//! texts. Must not know links, nor who reads.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_exchange::calendar::{Calendar, EVENTS_MAX};
use serde_json::Value;

use crate::store::records::{self, Bounds, Direction, Sort};
use crate::store::{HomeNumber, StoreError, Tx, field_values};

/// Records read at once.
const PAGE_RECORDS: usize = 500;

/// The calendar with the days of some kinds of records.
pub fn text(tx: &Tx<'_>, home: HomeNumber, name: &str, kinds: &[Kind]) -> Result<String, StoreError> {
    let mut calendar = Calendar::new(name);
    for kind in kinds {
        match kind {
            // The tasks that are done are many, and stand in no calendar.
            Kind::Task => {
                for json in field_values::next_tasks(tx, home, EVENTS_MAX)? {
                    add(&mut calendar, *kind, &json)?;
                }
            }
            _ => add_all(tx, home, *kind, &mut calendar)?,
        }
    }
    Ok(calendar.finish())
}

fn add_all(tx: &Tx<'_>, home: HomeNumber, kind: Kind, calendar: &mut Calendar) -> Result<(), StoreError> {
    let mut bounds = Bounds::default();
    loop {
        let page = records::page(tx, home, kind, (Sort::Created, Direction::Ascending), bounds, PAGE_RECORDS)?;
        for (_, json) in &page {
            add(calendar, kind, json)?;
        }
        match page.last() {
            Some((place, _)) if page.len() == PAGE_RECORDS => bounds.after = Some(*place),
            _ => return Ok(()),
        }
    }
}

fn add(calendar: &mut Calendar, kind: Kind, json: &str) -> Result<(), StoreError> {
    let members: Fields = serde_json::from_str(json)
        .map_err(|_| StoreError::Corrupt(format!("image of a {kind} that a calendar shows")))?;
    let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    calendar.add(kind, text("id"), text("updated_at"), &members);
    Ok(())
}
