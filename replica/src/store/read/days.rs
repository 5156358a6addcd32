//! The days that an overview covers. The home screen and `hearth-replica remind` use the same ones. Must not ask the clock.

use hearth_contract::formats::format_date;
use time::{Date, Duration};

use super::totals::Weeks;

/// How far ahead days on which something ends are listed, in days.
pub const SOON_DAYS: i64 = 45;
/// How far back days on which something has ended are listed, in days.
pub const PAST_DAYS: i64 = 60;

/// The days of an overview, each as `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Days {
    /// Today, and the ends of this week and the next.
    pub weeks: Weeks,
    /// The first day of the list of endings and of the calendar.
    pub from: String,
    /// The last day of the list of endings and of the calendar.
    pub until: String,
}

impl Days {
    /// The days around today: tasks until the end of the next week, endings of the last [`PAST_DAYS`] and the next
    /// [`SOON_DAYS`].
    pub fn around(today: Date) -> Days {
        let day = |days: i64| format_date(today.saturating_add(Duration::days(days)));
        Days { weeks: Weeks::of(today), from: day(-PAST_DAYS), until: day(SOON_DAYS) }
    }

    /// The same with tasks and endings of exactly so many days ahead.
    pub fn ahead(today: Date, days: u16) -> Days {
        let last = format_date(today.saturating_add(Duration::days(days.into())));
        let around = Days::around(today);
        let this = around.weeks.this.min(last.clone());
        Days { weeks: Weeks { this, next: last.clone(), ..around.weeks }, until: last, ..around }
    }
}

impl Weeks {
    /// Today, and the ends of this week and the next.
    pub fn of(today: Date) -> Weeks {
        let next = week_end(today.saturating_add(Duration::WEEK));
        Weeks { today: format_date(today), this: format_date(week_end(today)), next: format_date(next) }
    }
}

/// The Sunday of a day's week. Weeks begin on Monday, as in the calendar of the home screen.
pub fn week_end(day: Date) -> Date {
    day.saturating_add(Duration::days(6 - i64::from(day.weekday().number_days_from_monday())))
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;

    use super::*;

    #[test]
    fn week_ends_on_sunday() {
        let weeks_of = |day: &str| {
            let Weeks { this, next, .. } = Weeks::of(parse_date(day).unwrap());
            (this, next)
        };
        for (day, this, next) in [
            ("2026-11-16", "2026-11-22", "2026-11-29"),
            ("2026-11-21", "2026-11-22", "2026-11-29"),
            ("2026-11-22", "2026-11-22", "2026-11-29"),
            ("2026-11-23", "2026-11-29", "2026-12-06"),
        ] {
            assert_eq!(weeks_of(day), (this.to_owned(), next.to_owned()), "{day}");
        }
    }

    #[test]
    fn days_ahead_end_on_the_last_day() {
        // A Saturday.
        let today = parse_date("2026-11-21").unwrap();
        let around = Days::around(today);
        assert_eq!((around.weeks.this.as_str(), around.weeks.next.as_str()), ("2026-11-22", "2026-11-29"));
        assert_eq!((around.from.as_str(), around.until.as_str()), ("2026-09-22", "2027-01-05"));
        for (days, this, next) in [(0, "2026-11-21", "2026-11-21"), (30, "2026-11-22", "2026-12-21")] {
            let ahead = Days::ahead(today, days);
            assert_eq!((&*ahead.weeks.this, &*ahead.weeks.next, &*ahead.until), (this, next, next), "{days}");
        }
    }
}
