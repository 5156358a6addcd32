//! The text and tone of one cell of a list. States have a sign and a word. Must not know colours or widths.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_replica::Row;

use crate::now::Now;
use crate::state::detail::tone;
use crate::words::glyphs::{Sign, Tone};
use crate::words::{self, Due};

/// The text and tone of a field in a list. Empty: the kind has no such field, or the field is not set.
pub(super) fn cell(now: Now, field: &str, row: &Row, ascii: bool) -> (String, Tone) {
    cell_with(now, field, row, ascii, "overdue")
}

/// The due day of a task under the heading "Overdue", which makes the word in each line unnecessary: `3 d ago`.
pub(super) fn due_cell(now: Now, row: &Row, ascii: bool) -> (String, Tone) {
    cell_with(now, "due_on", row, ascii, "ago")
}

fn cell_with(now: Now, field: &str, row: &Row, ascii: bool, overdue: &str) -> (String, Tone) {
    let Some(known) = resource(row.kind).field(field) else { return (String::new(), Tone::Plain) };
    let text = words::field_value(now, known, row);
    let raw = words::text_field(&row.fields, field).unwrap_or_default();
    let is_done = words::text_field(&row.fields, "status") == Some("done");
    let own = tone(now, field, row);
    let signed = |sign: Sign| format!("{} {text}", sign.text(ascii));
    let due = parse_date(raw).map(|date| words::due(now.today(), date));
    let text = match (field, raw, due) {
        ("status", "open", _) => signed(Sign::Open),
        ("status", "in_progress", _) => signed(Sign::Started),
        ("status", "done", _) => signed(Sign::Done),
        ("priority", "urgent", _) => signed(Sign::Urgent),
        ("priority", "high", _) => signed(Sign::High),
        ("priority", "medium", _) => signed(Sign::Medium),
        ("priority", "low", _) => signed(Sign::Low),
        ("due_on", _, Some(Due::Overdue(days))) if !is_done => format!("{days} d {overdue}"),
        (name, _, Some(Due::Overdue(_))) if name.ends_with("expires_on") && own == Tone::Alarm => {
            signed(Sign::NeedsYou)
        }
        _ => text,
    };
    // All cells of a completed task are quiet.
    let tone = match own {
        _ if is_done => Tone::Quiet,
        Tone::Plain if field == "priority" => Tone::Quiet,
        own => own,
    };
    (text, tone)
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
        assert_eq!(cell(now(), "priority", &late, false), ("· medium".into(), Tone::Quiet));
        let done = record(Kind::Task, "2", json!({ "title": "a", "status": "done", "due_on": "2026-11-18" }));
        assert_eq!(cell(now(), "due_on", &done, false), ("18 Nov".into(), Tone::Quiet));
    }

    #[test]
    fn expired_day_is_alarm_except_warranty() {
        let car = record(Kind::Vehicle, "1", json!({ "name": "Car", "insurance_expires_on": "2026-11-01" }));
        assert_eq!(cell(now(), "insurance_expires_on", &car, false), ("! 1 Nov".into(), Tone::Alarm));
        let oven = record(Kind::Inventory, "1", json!({ "name": "Oven", "warranty_expires_on": "2026-11-01" }));
        assert_eq!(cell(now(), "warranty_expires_on", &oven, false), ("1 Nov".into(), Tone::Quiet));
    }
}
