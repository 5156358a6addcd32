//! The records of the replica as a report, and as a calendar. Must not know the form of either, nor how a file is created.

use std::fs::File;
use std::io::{BufReader, Write};

use hearth_contract::formats::format_date;
use hearth_contract::media::MediaType;
use hearth_contract::schema::Kind;
use hearth_exchange::calendar::{Calendar, KINDS};
use hearth_exchange::report::{self, Facts, Photo, Report};
use hearth_replica::{PAGE_ROWS, Replica, RowQuery, Sort};

use super::super::today;
use super::file::{ExportError, oldest_first};

/// The kinds that a report shows.
const REPORTED: [Kind; 5] = [Kind::Property, Kind::Room, Kind::Inventory, Kind::Vehicle, Kind::Document];
/// The name of a home without a server.
const HOME: &str = "Home";

/// Writes a report of all things with their values. Returns the number of things.
pub(super) fn write(replica: &Replica, out: &mut dyn Write) -> Result<usize, ExportError> {
    let mut report = Report::default();
    for kind in REPORTED {
        replica.each_row(&oldest_first(kind), |row| {
            report.add(kind, &row.id, &row.fields).map_err(|_| ExportError::ReportTooLarge)
        })?;
    }
    let facts = Facts { home: home_name(replica)?, day: format_date(today::local()) };
    Ok(report::write(&report, &facts, &mut |hash| photo(replica, hash), out)?)
}

/// The photo of a file for a report. None: its bytes are not here, or are no picture.
fn photo(replica: &Replica, sha256: &str) -> Option<Photo> {
    let media = MediaType::parse(replica.file(sha256).ok()??.content_type.as_deref()?);
    let bytes = File::open(replica.file_path(sha256)?).ok()?;
    report::photo(BufReader::new(bytes), media)
}

/// Writes a calendar of due tasks and of days on which something ends. Returns the number of its days.
pub(super) fn write_calendar(replica: &Replica, out: &mut dyn Write) -> Result<usize, ExportError> {
    // A record that no server has seen has no moment of its last change.
    let now = hearth_replica::now().to_string();
    let mut calendar = Calendar::new(&home_name(replica)?);
    for kind in KINDS {
        // The open tasks come first, because a calendar has a limit.
        let query = match kind {
            Kind::Task => RowQuery::all(kind, Sort { column: "due_on", descending: false }, PAGE_ROWS),
            kind => oldest_first(kind),
        };
        replica.each_row(&query, |row| -> Result<(), ExportError> {
            calendar.add(kind, &row.id, row.updated_at.as_deref().unwrap_or(&now), &row.fields);
            Ok(())
        })?;
    }
    let events = calendar.events();
    out.write_all(calendar.finish().as_bytes())?;
    Ok(events)
}

fn home_name(replica: &Replica) -> Result<String, ExportError> {
    Ok(replica.status()?.home.unwrap_or_else(|| HOME.to_owned()))
}
