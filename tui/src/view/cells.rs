//! The text and tone of one cell of a list. States have a sign and a word. Must not know colours or widths.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_replica::Row;

use crate::now::Now;
use crate::state::detail::tone;
use crate::words::files::{FILE, file_state, file_text};
use crate::words::glyphs::{Sign, Tone, choice_sign};
use crate::words::{self, Due};

/// The text and tone of a field, of the worth, or of a time of the record in a list. Empty: the value is not set.
pub(super) fn cell(now: Now, field: &str, row: &Row, ascii: bool) -> (String, Tone) {
    cell_with(now, field, row, ascii, "overdue")
}

/// The due day of a task under the heading "Overdue", which makes the word in each line unnecessary: `3 d ago`.
pub(super) fn due_cell(now: Now, row: &Row, ascii: bool) -> (String, Tone) {
    cell_with(now, "due_on", row, ascii, "ago")
}

fn cell_with(now: Now, field: &str, row: &Row, ascii: bool, overdue: &str) -> (String, Tone) {
    let is_done = words::text_field(&row.fields, "status") == Some("done");
    // All cells of a completed task are quiet.
    let quiet_if_done = |tone| if is_done { Tone::Quiet } else { tone };
    let Some(known) = resource(row.kind).field(field) else {
        return (words::computed_value(now, field, row), quiet_if_done(Tone::Plain));
    };
    if let Some(state) = row.file.filter(|_| field == FILE) {
        return (file_text(state, ascii), file_state(state).2);
    }
    let text = words::field_value(now, known, row);
    let raw = words::text_field(&row.fields, field).unwrap_or_default();
    let own = tone(now, field, row);
    let signed = |sign: Sign| format!("{} {text}", sign.text(ascii));
    let due = parse_date(raw).map(|date| words::due(now.today(), date));
    let text = match (field, due, choice_sign(field, raw)) {
        (_, _, Some(sign)) => signed(sign),
        ("due_on", Some(Due::Overdue(days)), _) if !is_done => format!("{days} d {overdue}"),
        (name, Some(Due::Overdue(_)), _) if name.ends_with("expires_on") && own == Tone::Alarm => {
            signed(Sign::NeedsYou)
        }
        _ => text,
    };
    (text, quiet_if_done(if own == Tone::Plain && field == "priority" { Tone::Quiet } else { own }))
}

#[cfg(test)]
mod tests {
    use hearth_contract::schema::Kind;
    use serde_json::json;

    use super::*;
    use crate::fixtures::{now, record, task};

    #[test]
    fn states_show_sign_and_word() {
        let late = task("1", "Clean gutters", Some("2026-11-18"));
        assert_eq!(cell(now(), "due_on", &late, false), ("3 d overdue".into(), Tone::Alarm));
        assert_eq!(due_cell(now(), &late, false), ("3 d ago".into(), Tone::Alarm));
        assert_eq!(cell(now(), "status", &late, false).0, "○ open");
        assert_eq!(cell(now(), "status", &late, true).0, "o open");
        assert_eq!(cell(now(), "priority", &late, false), ("▄ medium".into(), Tone::Quiet));
        let done = record(Kind::Task, "2", json!({ "title": "a", "status": "done", "due_on": "2026-11-18" }));
        assert_eq!(cell(now(), "due_on", &done, false), ("18 Nov".into(), Tone::Quiet));
    }

    #[test]
    fn worth_and_last_change_are_cells() {
        let chairs =
            record(Kind::Inventory, "1", json!({ "name": "Chairs", "quantity": 8, "current_value": "130.50" }));
        assert_eq!(cell(now(), "worth", &chairs, false), ("1,044.00".into(), Tone::Plain));
        assert_eq!(cell(now(), "updated_at", &chairs, false).0, "yesterday 09:00");
    }

    #[test]
    fn expired_day_is_alarm_except_warranty() {
        let car = record(Kind::Vehicle, "1", json!({ "name": "Car", "insurance_expires_on": "2026-11-01" }));
        assert_eq!(cell(now(), "insurance_expires_on", &car, false), ("! 1 Nov".into(), Tone::Alarm));
        let oven = record(Kind::Inventory, "1", json!({ "name": "Oven", "warranty_expires_on": "2026-11-01" }));
        assert_eq!(cell(now(), "warranty_expires_on", &oven, false), ("1 Nov".into(), Tone::Quiet));
    }
}
