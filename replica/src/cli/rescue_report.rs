//! Prints what a rebuild kept and what was lost. Must not rebuild.

use hearth_replica::RebuildReport;

use super::{output, text};

/// Prints the result of a rebuild without a server to stderr.
pub(super) fn report_local(rescue: &RebuildReport) {
    match &rescue.kept_as {
        Some(_) => report(rescue),
        None => output::message("the database was sound"),
    }
}

/// Prints the result of a rebuild to stderr.
pub(super) fn report(rescue: &RebuildReport) {
    let edits = text::count(rescue.edits, "edit");
    match &rescue.kept_as {
        Some(kept) => {
            output::message(&format!("the database could not be used; it is kept as {}", kept.display()));
            let records = text::count(rescue.records, "record");
            output::message(&format!("{records} and {edits} carried over into a new database"));
        }
        None => {
            let stay = if rescue.edits == 1 { "stays" } else { "stay" };
            output::message(&format!("the database is sound; everything is downloaded again, and {edits} {stay}"));
        }
    }
    for sentence in &rescue.lost {
        output::message(&text::one_line(sentence));
    }
    if rescue.parked > 0 {
        output::message("the edits wait for you, because the damaged database does not say which home they are for");
    }
}
