//! Values as people read them: days, sums, choices, times, and how syncing stands. Must not know screens, colours
//! or widths.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::{Timestamp, parse_date};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};
use hearth_replica::{Rescue, Row};
use serde_json::Value;
use time::Date;

use crate::glyphs::{Sign, Tone};
use crate::message::{Decision, Write};
use crate::now::Now;

/// A value of a field for reading; empty when it is not set. References show the name of what they point at.
pub fn value(now: Now, field: &Field, row: &Row) -> String {
    match (field.format, row.fields.get(field.name)) {
        (_, None | Some(Value::Null)) => String::new(),
        (Format::Reference(_) | Format::Subject, Some(id)) => match row.names.get(field.name) {
            Some(name) => name.clone(),
            None => plain(id),
        },
        (format, Some(value)) => of_format(now, format, value),
    }
}

fn of_format(now: Now, format: Format, value: &Value) -> String {
    let text = plain(value);
    match format {
        Format::Choice(_) => choice(&text),
        Format::Money => money(&text),
        Format::Count => value.as_i64().map_or(text, grouped),
        Format::Date => parse_date(&text).map_or(text, |date| day(now.today(), date)),
        Format::Timestamp => moment(now, &text),
        _ => text,
    }
}

/// A JSON value without quotes; empty for null.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text of a field, if it is set.
pub fn text<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// The name of a field as people write it: `hvac_make` is `HVAC make`.
pub fn label(field: &Field) -> String {
    let label = field.label();
    let (first, rest) = label.split_once(' ').unwrap_or((&label, ""));
    match first {
        "Hvac" | "Vin" | "Url" if rest.is_empty() => first.to_uppercase(),
        "Hvac" | "Vin" | "Url" => format!("{} {rest}", first.to_uppercase()),
        _ => label,
    }
}

/// A choice: `plug_in_hybrid` is `plug in hybrid`. One is called something shorter everywhere, since a list has better uses
/// for its columns.
pub fn choice(word: &str) -> String {
    if word == "in_progress" { "doing".to_owned() } else { word.replace('_', " ") }
}

/// The choice that is meant by its word, as the contract or a screen has it, or by a beginning of one.
pub fn choice_meant(words: &[&'static str], typed: &str) -> Option<&'static str> {
    let typed = typed.to_lowercase().replace([' ', '-'], "_");
    let shown = |word: &str| choice(word).replace(' ', "_");
    let is = |word: &&&'static str| **word == typed || shown(word) == typed;
    let begins = |word: &&&'static str| word.starts_with(&typed) || shown(word).starts_with(&typed);
    // The contract's beginnings come first: `do` is done, which it has always been.
    let first = || words.iter().find(|word| word.starts_with(&typed));
    words.iter().find(is).or_else(first).or_else(|| words.iter().find(begins)).copied()
}

/// A whole number in groups of three digits.
pub fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

/// A number of things in groups of three digits.
pub fn figure(number: usize) -> String {
    grouped(number.try_into().unwrap_or(i64::MAX))
}

/// A sum in groups of three digits: `1299.00` is `1,299.00`.
pub fn money(text: &str) -> String {
    let (whole, cents) = text.split_once('.').unwrap_or((text, "00"));
    match whole.parse() {
        Ok(whole) => format!("{}.{cents}", grouped(whole)),
        Err(_) => text.to_owned(),
    }
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A day: today, tomorrow, yesterday, the weekday within a week, the year only where it differs.
pub fn day(today: Date, date: Date) -> String {
    match (date - today).whole_days() {
        0 => "today".into(),
        1 => "tomorrow".into(),
        -1 => "yesterday".into(),
        2..=6 => format!("{} {}", weekday(date), day_month(date)),
        _ if date.year() == today.year() => day_month(date),
        _ => format!("{} {}", day_month(date), date.year()),
    }
}

/// A day in full: `Fri 27 Nov 2026`.
pub fn full_day(date: Date) -> String {
    format!("{} {} {}", weekday(date), day_month(date), date.year())
}

/// How far away a day is: `in 6 d`, `3 d ago`; nothing for today and its neighbours, whose names say it.
pub fn distance(today: Date, date: Date) -> String {
    match (date - today).whole_days() {
        -1..=1 => String::new(),
        days if days > 730 => format!("in {} y", days / 365),
        days if days > 90 => format!("in {} months", days / 30),
        days if days > 0 => format!("in {days} d"),
        days if days < -730 => format!("{} y ago", -days / 365),
        days if days < -90 => format!("{} months ago", -days / 30),
        days => format!("{} d ago", -days),
    }
}

/// How a day stands that something must happen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// It has passed, so many days ago.
    Overdue(i64),
    /// It is today.
    Today,
    /// It is within a week.
    Soon,
    /// It is further away.
    Later,
}

/// How a due day stands.
pub fn due(today: Date, date: Date) -> Due {
    match (date - today).whole_days() {
        days if days < 0 => Due::Overdue(-days),
        0 => Due::Today,
        1..=7 => Due::Soon,
        _ => Due::Later,
    }
}

fn weekday(date: Date) -> &'static str {
    WEEKDAYS[usize::from(date.weekday().number_days_from_monday())]
}

fn day_month(date: Date) -> String {
    format!("{} {}", date.day(), MONTHS[usize::from(u8::from(date.month())) - 1])
}

/// A month's name in full.
pub fn month_name(date: Date) -> &'static str {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    NAMES[usize::from(u8::from(date.month())) - 1]
}

/// A moment by the clock on the wall: `14:02` today, with the day before it otherwise.
pub fn moment(now: Now, text: &str) -> String {
    let Some(moment) = Timestamp::parse(text) else { return text.to_owned() };
    let local = now.local(moment);
    let clock = format!("{:02}:{:02}", local.hour(), local.minute());
    if local.date() == now.today() { clock } else { format!("{} {clock}", day(now.today(), local.date())) }
}

/// How long ago a moment was: `12 s`, `5 min`, `3 h`, `2 d`.
pub fn age(now: Now, text: &str) -> String {
    let Some(moment) = Timestamp::parse(text) else { return String::new() };
    match (now.moment.seconds() - moment.seconds()).max(0) {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 3_600 => format!("{} min", seconds / 60),
        seconds if seconds < 172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A sum of cents in whole units: `1,299`. What a home is worth is no matter of cents.
pub fn whole_money(cents: i64) -> String {
    grouped((cents + 50).div_euclid(100))
}

/// What an edit does, in a word.
pub fn method(method: &str) -> &str {
    match method {
        "create" => "made",
        "delete" => "deleted",
        _ => "changed",
    }
}

/// How an edit stands or how it ended, in words, and how much that wants to be seen.
pub fn edit_state(state: &str) -> (&str, Tone) {
    match state {
        "waiting" => ("waiting", Tone::Notice),
        "sending" | "sent" => ("on its way", Tone::Notice),
        "blocked" => ("blocked", Tone::Alarm),
        "rejected" => ("rejected", Tone::Alarm),
        "conflict" => ("in conflict", Tone::Alarm),
        "merged" => ("on the server, merged", Tone::Quiet),
        "confirmed" => ("on the server", Tone::Quiet),
        "superseded" => ("overtaken by a later change", Tone::Quiet),
        other => (other, Tone::Quiet),
    }
}

/// What is said of a record that was to be written to.
pub const GONE: &str = "It is not there any more: someone has deleted it.";

/// What is said of a record that a value points at and that is not here.
pub const NOT_HERE: &str = "something that is not here";

/// Names of records by their ids, for values that point at them.
pub type Names = BTreeMap<String, String>;

/// A value of a field as people write it: days with their weekday, sums grouped, what it points at by name; one line.
pub fn shown(kind: Kind, name: &str, value: Option<&Value>, names: &Names, ascii: bool) -> String {
    let text = value.map(plain).unwrap_or_default();
    if text.is_empty() {
        return Sign::Unset.text(ascii).to_owned();
    }
    match resource(kind).field(name).map(|field| field.format) {
        Some(Format::Choice(_)) => choice(&text),
        Some(Format::Money) => money(&text),
        Some(Format::Date) => parse_date(&text).map_or(text, full_day),
        Some(Format::Reference(_) | Format::Subject) => {
            names.get(&text).cloned().unwrap_or_else(|| NOT_HERE.to_owned())
        }
        _ => {
            let mut lines = text.lines();
            let first = lines.next().unwrap_or_default().to_owned();
            if lines.next().is_some() { first + Sign::Cut.text(ascii) } else { first }
        }
    }
}

/// What a field is called.
pub fn field_label(kind: Kind, name: &str) -> String {
    resource(kind).field(name).map_or_else(|| choice(name), label)
}

/// A changed field in words: `Due on: Wed 18 Nov 2026 → Tue 1 Dec 2026`.
pub fn changed(kind: Kind, name: &str, from: Option<&Value>, to: &Value, names: &Names, ascii: bool) -> String {
    let arrow = if ascii { "->" } else { "→" };
    let (from, to) = (shown(kind, name, from, names, ascii), shown(kind, name, Some(to), names, ascii));
    format!("{}: {from} {arrow} {to}", field_label(kind, name))
}

/// What became of a database that was damaged.
pub fn rebuilt(rescue: &Rescue) -> String {
    let edits = match rescue.edits {
        0 => "no change waited in it".to_owned(),
        1 => "the change that waited goes on".to_owned(),
        many => format!("the {many} changes that waited go on"),
    };
    let lost = if rescue.lost.is_empty() { "" } else { "; what could not be read is in the log" };
    format!("The database was damaged and is read anew from the server: {edits}{lost}.")
}

/// What was decided about an edit, as undoing it says.
pub fn decision(decision: &Decision, title: &str) -> String {
    match decision {
        Decision::Retry => format!("sending “{title}” again"),
        Decision::Discard => format!("giving up the change of “{title}”"),
        Decision::Undo => format!("taking back the change of “{title}”"),
        Decision::Change(_) => format!("the other values for “{title}”"),
        Decision::Resolve(_) => format!("the decision about “{title}”"),
    }
}

/// A sentence with a capital at its beginning.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A reason of an edit, with the names of fields as people write them.
pub fn reason(kind: Kind, text: &str) -> String {
    labelled(&[kind], text)
}

/// A sentence about records of any kind, with the names of fields as people write them.
pub fn of_any(text: &str) -> String {
    labelled(&Kind::COLLECTIONS, text)
}

fn labelled(kinds: &[Kind], text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut said = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|letter| !is_part(letter)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        let field = kinds.iter().find_map(|kind| resource(*kind).field(word)).filter(|_| word.contains('_'));
        said.push_str(&rest[..start]);
        said.push_str(&field.map_or_else(|| word.to_owned(), |field| label(field).to_lowercase()));
        rest = &rest[end..];
    }
    said + rest
}

/// What a kind is called where there are many of it.
pub fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "Inventory",
        Kind::Vehicle => "Vehicles",
        Kind::Document => "Documents",
        Kind::Task => "Tasks",
        Kind::Room => "Rooms",
        Kind::Property => "Home",
    }
}

/// What one of a kind is called in a sentence.
pub fn singular(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "item",
        Kind::Property => "home profile",
        other => other.word(),
    }
}

/// A number of things of a kind: `1 task`, `1,200 items`.
pub fn counted(kind: Kind, number: usize) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {}{s}", figure(number), singular(kind))
}

/// The kind of the records that a write is about, where it names them.
pub fn kind_of(write: &Write) -> Option<Kind> {
    match write {
        Write::Create { kind, .. }
        | Write::Update { kind, .. }
        | Write::Many { kind, .. }
        | Write::Delete { kind, .. } => Some(*kind),
        Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry => None,
    }
}

/// Why a write was not carried out, with the names of fields as people write them.
pub fn refusal(write: &Write, sentence: &str) -> String {
    kind_of(write).map_or_else(|| of_any(sentence), |kind| reason(kind, sentence))
}

/// What was done, as a sentence. It claims no more than that: the server has not heard of it yet.
pub fn written(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("New {}: {}", singular(*kind), name_in(fields)),
        Write::Update { fields, title, again, .. } if is_status(fields) => {
            let again = again.map(|date| format!("; comes again on {}", full_day(date)));
            let status = capital(&choice(text(fields, "status").unwrap_or_default()));
            format!("{status}: {title}{}", again.unwrap_or_default())
        }
        Write::Update { kind: Kind::Property, .. } => "Saved the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("Saved: {}", new_name(*kind, fields, title)),
        Write::Delete { title, .. } => format!("Deleted: {title}"),
        Write::Many { kind, records, .. } => counted(*kind, records.len()),
        Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry => String::new(),
    }
}

/// What is being done while a write takes long.
pub fn doing(write: &Write) -> &'static str {
    match write {
        Write::Many { change: None, .. } | Write::Delete { .. } => "Deleting",
        Write::Undo => "Undoing",
        Write::Redo => "Doing again",
        _ => "Changing",
    }
}

/// What was done, as that which is undone or done again.
pub fn step(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("the new {} “{}”", singular(*kind), name_in(fields)),
        Write::Update { fields, title, .. } if is_status(fields) => {
            format!("“{title}” as {}", choice(text(fields, "status").unwrap_or_default()))
        }
        Write::Update { kind: Kind::Property, .. } => "the change of the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("the change of “{}”", new_name(*kind, fields, title)),
        Write::Delete { title, .. } => format!("the deletion of “{title}”"),
        other => written(other),
    }
}

/// What stays elsewhere when a change is undone that the server has heard of.
pub fn stays(write: &Write) -> Option<String> {
    match write {
        Write::Update { again: Some(date), .. } => Some(format!("the one for {} stays", full_day(*date))),
        _ => None,
    }
}

fn name_in(fields: &Fields) -> &str {
    ["title", "name"].iter().find_map(|field| text(fields, field)).unwrap_or_default()
}

/// The name that a record has from now on.
fn new_name<'a>(kind: Kind, fields: &'a Fields, title: &'a str) -> &'a str {
    text(fields, resource(kind).title).unwrap_or(title)
}

fn is_status(fields: &Fields) -> bool {
    fields.len() == 1 && fields.contains_key("status")
}

#[cfg(test)]
mod tests {
    use time::{OffsetDateTime, UtcOffset};

    use super::*;

    fn date(text: &str) -> Date {
        parse_date(text).unwrap()
    }

    fn hours(hours: i8) -> UtcOffset {
        UtcOffset::from_hms(hours, 0, 0).unwrap()
    }

    #[test]
    fn days_are_named_from_today() {
        let today = date("2026-11-21");
        for (text, expected, away) in [
            ("2026-11-21", "today", ""),
            ("2026-11-22", "tomorrow", ""),
            ("2026-11-20", "yesterday", ""),
            ("2026-11-27", "Fri 27 Nov", "in 6 d"),
            ("2026-11-28", "28 Nov", "in 7 d"),
            ("2026-11-18", "18 Nov", "3 d ago"),
            ("2027-11-28", "28 Nov 2027", "in 12 months"),
            ("2019-01-02", "2 Jan 2019", "7 y ago"),
        ] {
            assert_eq!(day(today, date(text)), expected);
            assert_eq!(distance(today, date(text)), away);
        }
        assert_eq!(due(today, date("2026-11-18")), Due::Overdue(3));
        assert_eq!(full_day(date("2026-11-27")), "Fri 27 Nov 2026");
    }

    #[test]
    fn labels_write_abbreviations_in_capitals() {
        let label = |kind, name| label(hearth_contract::resources::resource(kind).field(name).unwrap());
        assert_eq!(label(Kind::Property, "hvac_make"), "HVAC make");
        assert_eq!(label(Kind::Vehicle, "vin"), "VIN");
        assert_eq!(label(Kind::Task, "due_on"), "Due on");
    }

    #[test]
    fn a_refusal_names_fields_as_they_are_labelled() {
        let write = Write::Delete { kind: Kind::Task, id: String::new(), title: String::new() };
        let said = refusal(&write, "subject_id names no inventory of this home.");
        assert_eq!(said, "subject names no inventory of this home.");
        assert_eq!(refusal(&Write::Undo, "room_id names no room of this home."), "room names no room of this home.");
        assert_eq!(of_any("task Sweep: due_on changed there too"), "task Sweep: due on changed there too");
    }

    #[test]
    fn sums_and_counts_are_grouped() {
        assert_eq!(money("1299.00"), "1,299.00");
        assert_eq!(money("0.05"), "0.05");
        assert_eq!(money("999999999999.99"), "999,999,999,999.99");
        assert_eq!(grouped(-1234), "-1,234");
        assert_eq!(grouped(123), "123");
        assert_eq!(counted(Kind::Inventory, 1), "1 item");
    }

    #[test]
    fn moments_follow_the_clock_on_the_wall() {
        let now = Now { moment: Timestamp::parse("2026-11-21T23:30:00Z").unwrap(), zone: |_| hours(1) };
        assert_eq!(moment(now, "2026-11-21T23:02:00.000Z"), "00:02");
        assert_eq!(moment(now, "2026-11-21T13:02:00.000Z"), "yesterday 14:02");
        assert_eq!(age(now, "2026-11-21T23:29:18.000Z"), "42 s");
        assert_eq!(age(now, "2026-11-21T20:29:18.000Z"), "3 h");
    }

    #[test]
    fn a_moment_of_last_summer_is_shown_as_the_clock_showed_it_then() {
        let zone = |at: OffsetDateTime| hours(if (4..=10).contains(&u8::from(at.month())) { 2 } else { 1 });
        let now = Now { moment: Timestamp::parse("2026-12-01T12:00:00Z").unwrap(), zone };
        assert_eq!(moment(now, "2026-07-12T22:30:00.000Z"), "13 Jul 00:30");
        assert_eq!(moment(now, "2026-11-12T22:30:00.000Z"), "12 Nov 23:30");
    }
}
