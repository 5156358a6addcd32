//! The home screen's state: what needs attention, in sections, and the month of its calendar. Must not know how it is drawn.

use hearth_contract::formats::{date_text, parse_date};
use hearth_contract::schema::Kind;
use hearth_replica::{Days, Expiring, Figures, Overview, Row};
use time::{Date, Duration};

use crate::parse::dates::months_on;
use crate::words::{self, Due};

/// Days that count as this week, after today.
const WEEK_DAYS: i64 = 7;
/// So many days ahead what runs out is listed, not only marked in the calendar.
const SOON_DAYS: i64 = 45;
/// So many days back something that ran out may have been forgotten.
const PAST_DAYS: i64 = 60;
/// What that is called.
const SOON: &str = "Runs out soon";
/// Days of the sparkline.
pub const ACTIVITY_DAYS: usize = 30;

/// What the home screen shows and where its cursor is.
#[derive(Debug, Default)]
pub struct Home {
    /// What needs attention, once it is read.
    pub overview: Option<Overview>,
    /// What the home is worth and how lively it is, once it is read.
    pub figures: Option<Figures>,
    /// Which entry is under the cursor, counted over all sections.
    pub selected: usize,
    /// How many months the calendar is ahead of today's.
    pub month: i32,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
}

/// A part of what needs attention.
#[derive(Debug)]
pub struct Section<'a> {
    /// What its entries have in common.
    pub title: &'static str,
    /// How many there are.
    pub count: usize,
    /// Whether there are still more, which were not counted.
    pub is_cut: bool,
    /// The entries.
    pub entries: Vec<Entry<'a>>,
}

/// Something that needs attention.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A task.
    Task(&'a Row),
    /// Something that runs out.
    Expiring(&'a Expiring),
}

/// One line of what needs attention.
#[derive(Debug)]
pub enum HomeLine<'a> {
    /// What a section's entries have in common.
    Heading(&'a Section<'a>),
    /// An entry, and its number over all sections.
    Entry(usize, Entry<'a>),
    /// That there are more.
    More(String),
    /// Nothing.
    Blank,
}

/// The lines of the sections, of which so many are visible, and how many of them are above the picture.
pub fn lines<'a>(sections: &'a [Section<'a>], selected: usize, height: u16) -> (Vec<HomeLine<'a>>, usize) {
    let roomy = height >= 14;
    let mut lines = Vec::new();
    let mut number = 0;
    for section in sections {
        if roomy && !lines.is_empty() {
            lines.push(HomeLine::Blank);
        }
        lines.push(HomeLine::Heading(section));
        for entry in &section.entries {
            lines.push(HomeLine::Entry(number, *entry));
            number += 1;
        }
        let more = i64::try_from(section.count.saturating_sub(section.entries.len())).unwrap_or(i64::MAX);
        if more > 0 {
            lines.push(HomeLine::More(format!("and {} more", words::grouped(more))));
        } else if section.is_cut {
            lines.push(HomeLine::More("and more".to_owned()));
        }
    }
    let cursor = lines.iter().position(|line| matches!(line, HomeLine::Entry(at, _) if *at == selected));
    let cursor = cursor.unwrap_or(0);
    let height = usize::from(height).max(1);
    // The heading above the first entry is seen with it.
    let top = if cursor + 2 < height {
        0
    } else {
        (cursor + 2).saturating_sub(height).min(lines.len().saturating_sub(height))
    };
    (lines, top)
}

impl Entry<'_> {
    /// The record.
    pub fn record(&self) -> (Kind, &str) {
        match self {
            Entry::Task(row) => (row.kind, &row.id),
            Entry::Expiring(it) => (it.kind, &it.id),
        }
    }

    /// Which of a record's days it is; empty where there is but one.
    pub fn what(&self) -> &str {
        match self {
            Entry::Task(_) => "",
            Entry::Expiring(it) => &it.what,
        }
    }

    /// Its day.
    pub fn on(&self) -> Option<Date> {
        match self {
            Entry::Task(row) => words::text_field(&row.fields, "due_on").and_then(parse_date),
            Entry::Expiring(it) => parse_date(&it.on),
        }
    }
}

impl Home {
    /// The days to ask for: around today, and the month of the calendar.
    pub fn days(&self, today: Date) -> Days {
        let month = self.first_of_month(today);
        let end = months_on(month, 1).unwrap_or(month);
        let from = month.min(today.saturating_sub(Duration::days(PAST_DAYS)));
        let until = end.max(today.saturating_add(Duration::days(SOON_DAYS)));
        Days {
            today: date_text(today),
            week: date_text(week_end(today)),
            from: date_text(from),
            until: date_text(until),
        }
    }

    /// The first day of the calendar's month.
    pub fn first_of_month(&self, today: Date) -> Date {
        let month = months_on(today, self.month).unwrap_or(today);
        month.replace_day(1).unwrap_or(month)
    }

    /// The first day of the sparkline.
    pub fn since(today: Date) -> Date {
        today.saturating_sub(Duration::days(i64::try_from(ACTIVITY_DAYS).unwrap_or(30) - 1))
    }

    /// Everything that needs attention, the most urgent first. Sections without entries are left out.
    pub fn sections(&self, today: Date) -> Vec<Section<'_>> {
        let Some(overview) = &self.overview else { return Vec::new() };
        let tasks = |due: fn(&Due) -> bool| -> Vec<Entry<'_>> {
            let day = |row: &&Row| words::text_field(&row.fields, "due_on").and_then(parse_date);
            let is = |row: &&Row| day(row).is_some_and(|date| due(&words::due(today, date)));
            overview.due.iter().filter(is).map(Entry::Task).collect()
        };
        let runs_out = |from: i64, until: i64| -> Vec<Entry<'_>> {
            let away = |it: &&Expiring| parse_date(&it.on).map(|date| (date - today).whole_days());
            // A warranty that has ended is no news.
            let is = |it: &&Expiring| {
                away(it).is_some_and(|days| (from..=until).contains(&days) && (days >= 0 || it.what != "warranty"))
            };
            overview.expiring.iter().filter(is).map(Entry::Expiring).collect()
        };
        let ended = runs_out(-PAST_DAYS, -1);
        let ends = runs_out(0, SOON_DAYS);
        // Where the last that was read is still within these days.
        let last = overview.expiring.last().and_then(|it| parse_date(&it.on));
        let is_cut = overview.is_cut && last.is_some_and(|date| (date - today).whole_days() <= SOON_DAYS);
        let all = [
            ("Overdue", overview.overdue, tasks(|due| matches!(due, Due::Overdue(_)))),
            ("Today", overview.today, tasks(|due| *due == Due::Today)),
            ("Ran out", ended.len(), ended),
            ("This week", overview.week, tasks(|due| *due == Due::Soon)),
            (SOON, ends.len(), ends),
        ];
        all.into_iter()
            .filter(|(_, _, entries)| !entries.is_empty())
            .map(|(title, count, entries)| Section { title, count, is_cut: is_cut && title == SOON, entries })
            .collect()
    }

    /// The entry under the cursor.
    pub fn current(&self, today: Date) -> Option<Entry<'_>> {
        self.sections(today).into_iter().flat_map(|section| section.entries).nth(self.selected)
    }

    /// How many entries there are.
    pub fn len(&self, today: Date) -> usize {
        self.sections(today).iter().map(|section| section.entries.len()).sum()
    }

    /// Whether nothing needs attention.
    pub fn is_empty(&self, today: Date) -> bool {
        self.len(today) == 0
    }

    /// Takes what was read. The cursor stays on its record, or on its number; at the top in any case while the home comes
    /// here for the first time.
    pub fn take(&mut self, overview: Overview, today: Date, first: bool) {
        let before = self.current(today).filter(|_| !first || self.selected > 0);
        let before = before.map(|entry| (entry.record().0, entry.record().1.to_owned(), entry.what().to_owned()));
        self.overview = Some(overview);
        let sections = self.sections(today);
        let mut entries = sections.iter().flat_map(|section| &section.entries);
        let is = |entry: &Entry<'_>, (kind, id, what): &(Kind, String, String)| {
            entry.record() == (*kind, id) && entry.what() == what
        };
        let found = before.and_then(|before| entries.position(|entry| is(entry, &before)));
        let last = self.len(today).saturating_sub(1);
        self.selected = found.unwrap_or(self.selected).min(last);
    }
}

/// The last day that counts as this week.
pub fn week_end(today: Date) -> Date {
    today.saturating_add(Duration::days(WEEK_DAYS))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::{record, task};

    #[test]
    fn the_most_urgent_comes_first_and_the_cursor_stays_on_its_record() {
        let today = parse_date("2026-11-21").unwrap();
        let mut home = Home::default();
        let car = Expiring {
            on: "2026-12-01".into(),
            what: "insurance".into(),
            kind: Kind::Vehicle,
            id: "car".into(),
            title: "Car".into(),
        };
        let oven = Expiring { on: "2026-11-01".into(), what: "warranty".into(), ..car.clone() };
        let due = vec![task("a", "Late", Some("2026-11-18")), task("b", "Now", Some("2026-11-21"))];
        let overview = Overview { overdue: 1, today: 1, due, expiring: vec![oven, car], ..Overview::default() };
        home.take(overview.clone(), today, false);
        let titles: Vec<&str> = home.sections(today).iter().map(|section| section.title).collect();
        assert_eq!(titles, ["Overdue", "Today", "Runs out soon"]);
        home.selected = 1;
        let mut more = overview;
        more.due.insert(0, record(Kind::Task, "z", json!({ "title": "Later still", "due_on": "2026-11-10" })));
        home.take(more, today, false);
        assert_eq!(home.current(today).unwrap().record(), (Kind::Task, "b"));
        home.month = -1;
        assert_eq!(home.days(today).from, "2026-09-22");
        home.month = 3;
        assert_eq!((home.days(today).from.as_str(), home.days(today).until.as_str()), ("2026-09-22", "2027-03-01"));
    }

    #[test]
    fn the_cursor_stays_on_the_second_day_of_the_same_vehicle() {
        let today = parse_date("2026-11-21").unwrap();
        let insurance = Expiring {
            on: "2026-12-01".into(),
            what: "insurance".into(),
            kind: Kind::Vehicle,
            id: "car".into(),
            title: "Car".into(),
        };
        let registration = Expiring { on: "2026-12-05".into(), what: "registration".into(), ..insurance.clone() };
        let mut home = Home::default();
        let overview = Overview { expiring: vec![insurance.clone(), registration.clone()], ..Overview::default() };
        home.take(overview, today, false);
        home.selected = 1;
        let van = Expiring { on: "2026-11-30".into(), id: "van".into(), ..insurance.clone() };
        let expiring = vec![van, insurance, registration];
        home.take(Overview { expiring, ..Overview::default() }, today, false);
        assert_eq!(home.selected, 2);
    }
}
