//! Records by the days that matter to people: when a task is due, and when something of a record ends. A part of the table of
//! field values. Must not know who reads the days.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::number;
use super::tx::Tx;

/// The number under which the due day of a task is stored once more, unless the task is done: the next tasks are then the first
/// rows, however many tasks a home has.
pub(super) const NEXT_DUE: i64 = 6;

/// The number of a day on which something of the record ends: the next ones are then the first rows.
pub(super) const NEXT_END: i64 = 9;

/// The days on which something of a record ends.
pub(super) fn ends(kind: Kind, fields: &Fields) -> Vec<&str> {
    let mut days: Vec<&str> = hearth_exchange::ends::ends(kind, fields).map(|(_, day)| day).collect();
    days.sort_unstable();
    days.dedup();
    days
}

/// The days by which records can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Days {
    /// The due day of a task that is not done.
    Due,
    /// A day on which something of a record ends ([`hearth_exchange::ends::ENDS`]).
    Ends,
}

/// A record in a list by days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated {
    /// The day, as YYYY-MM-DD.
    pub day: String,
    /// The id of the event that created the record: the order within one day.
    pub created: i64,
    /// The JSON of the record.
    pub json: String,
}

/// The records of a kind with a day up to `last`, the earliest day first, at most `limit`. `after`: the list begins behind this
/// day and this creation position. A record with two such days occurs twice.
pub fn by_day(
    tx: &Tx<'_>,
    home: HomeNumber,
    (kind, days): (Kind, Days),
    after: (&str, i64),
    last: &str,
    limit: usize,
) -> Result<Vec<Dated>, StoreError> {
    // CROSS JOIN: SQLite would otherwise begin with all records of the kind.
    let mut statement = tx.conn.prepare_cached(
        "SELECT v.value, v.created, e.body FROM field_values v
         CROSS JOIN records r INDEXED BY records_by_creation
           ON r.home = v.home AND r.kind = v.kind AND r.deleted = 0 AND r.created = v.created
         CROSS JOIN events e ON e.event_rowid = ?1 + r.rev
         WHERE v.home = ?2 AND v.kind = ?3 AND v.field = ?4 AND (v.value, v.created) > (?5, ?6) AND v.value <= ?7
         ORDER BY v.value, v.created LIMIT ?8",
    )?;
    let field = match days {
        Days::Due => NEXT_DUE,
        Days::Ends => NEXT_END,
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let values = (home.event_rowid(0), home.0, number(kind), field, after.0, after.1, last, limit);
    let rows =
        statement.query_map(values, |row| Ok(Dated { day: row.get(0)?, created: row.get(1)?, json: row.get(2)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn record_has_each_day_once() {
        let car = json!({ "insurance_expires_on": "2027-01-05", "registration_expires_on": "2026-01-05" });
        assert_eq!(ends(Kind::Vehicle, car.as_object().unwrap()), ["2026-01-05", "2027-01-05"]);
        let car = json!({ "insurance_expires_on": "2027-01-05", "registration_expires_on": "2027-01-05" });
        assert_eq!(ends(Kind::Vehicle, car.as_object().unwrap()), ["2027-01-05"]);
        let paper = json!({ "expires_on": null, "warranty_expires_on": "2027-01-05" });
        assert!(ends(Kind::Document, paper.as_object().unwrap()).is_empty());
    }
}
