//! Texts of days and timestamps, relative to the current time. Must not know fields.

use hearth_contract::formats::Timestamp;
use time::Date;

use crate::now::Now;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A day: `today`, `tomorrow`, `yesterday`, with the weekday for the next six days, with the year if not the current
/// year.
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

/// The distance of a day: `in 6 d`, `3 d ago`. Empty for yesterday, today and tomorrow.
pub fn distance(today: Date, date: Date) -> String {
    match (date - today).whole_days() {
        -1..=1 => String::new(),
        days if days > 730 => format!("in {} y", years(today, date)),
        days if days > 90 => format!("in {} months", days / 30),
        days if days > 0 => format!("in {days} d"),
        days if days < -730 => format!("{} y ago", years(date, today)),
        days if days < -90 => format!("{} months ago", -days / 30),
        days => format!("{} d ago", -days),
    }
}

/// Whole years between two days.
fn years(from: Date, to: Date) -> i32 {
    let part = |date: Date| (u8::from(date.month()), date.day());
    to.year() - from.year() - i32::from(part(to) < part(from))
}

/// How close a deadline is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Passed, by this number of days.
    Overdue(i64),
    /// Today.
    Today,
    /// Within the next seven days.
    Soon,
    /// More than seven days away.
    Later,
}

/// How close the deadline `date` is.
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

/// The full name of the month of `date`.
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

/// A timestamp (RFC 3339) in local time: `14:02` today, otherwise with the day: `yesterday 14:02`.
pub fn moment(now: Now, text: &str) -> String {
    let Some(moment) = Timestamp::parse(text) else { return text.to_owned() };
    let local = now.local(moment);
    let clock = format!("{:02}:{:02}", local.hour(), local.minute());
    if local.date() == now.today() { clock } else { format!("{} {clock}", day(now.today(), local.date())) }
}

/// A timestamp as [`moment`] writes it, and who made the change: `yesterday 14:02, by Ana's phone`.
pub fn moment_by(now: Now, text: &str, author: Option<&str>) -> String {
    let at = moment(now, text);
    author.map_or(at.clone(), |author| format!("{at}, by {author}"))
}

/// The age of a timestamp (RFC 3339): `12 s`, `5 min`, `3 h`, `2 d`. Empty if the text is no timestamp.
pub fn age(now: Now, text: &str) -> String {
    let Some(moment) = Timestamp::parse(text) else { return String::new() };
    match (now.moment.seconds() - moment.seconds()).max(0) {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 3_600 => format!("{} min", seconds / 60),
        seconds if seconds < 172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;
    use time::{OffsetDateTime, UtcOffset};

    use super::*;

    fn date(text: &str) -> Date {
        parse_date(text).unwrap()
    }

    fn hours(hours: i8) -> UtcOffset {
        UtcOffset::from_hms(hours, 0, 0).unwrap()
    }

    #[test]
    fn day_names_depend_on_today() {
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
    fn moment_uses_local_time() {
        let now = Now { moment: Timestamp::parse("2026-11-21T23:30:00Z").unwrap(), zone: |_| hours(1) };
        assert_eq!(moment(now, "2026-11-21T23:02:00.000Z"), "00:02");
        assert_eq!(moment(now, "2026-11-21T13:02:00.000Z"), "yesterday 14:02");
        assert_eq!(age(now, "2026-11-21T23:29:18.000Z"), "42 s");
        assert_eq!(age(now, "2026-11-21T20:29:18.000Z"), "3 h");
    }

    #[test]
    fn moment_uses_the_offset_of_its_own_day() {
        let zone = |at: OffsetDateTime| hours(if (4..=10).contains(&u8::from(at.month())) { 2 } else { 1 });
        let now = Now { moment: Timestamp::parse("2026-12-01T12:00:00Z").unwrap(), zone };
        assert_eq!(moment(now, "2026-07-12T22:30:00.000Z"), "13 Jul 00:30");
        assert_eq!(moment(now, "2026-11-12T22:30:00.000Z"), "12 Nov 23:30");
    }
}
