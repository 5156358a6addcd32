//! The state of the home screen: due tasks and expiry dates in sections, and the month of the calendar. Must not know
//! how the screen is drawn.

use hearth_contract::formats::{format_date, parse_date};
use hearth_contract::schema::Kind;
use hearth_replica::{Days, Expiring, Figures, Overview, PAST_DAYS, Row, SOON_DAYS, week_end};
use time::{Date, Duration};

use crate::parse::dates::months_on;
use crate::words;

/// The days of the sparkline.
pub const ACTIVITY_DAYS: usize = 30;

/// The state of the home screen.
#[derive(Debug, Default)]
pub struct Home {
    /// Due tasks and expiry dates; None until the first answer.
    pub overview: Option<Overview>,
    /// Value and activity of the home; None until the first answer.
    pub figures: Option<Figures>,
    /// The number of the entry under the cursor, counted over all sections.
    pub selected: usize,
    /// The month of the calendar, counted from the current month.
    pub month: i32,
    /// The ticket of the newest request; older answers are dropped.
    pub ticket: u64,
}

/// A section of entries.
#[derive(Debug)]
pub struct Section<'a> {
    /// The heading of the section.
    pub title: &'static str,
    /// The number of entries, including those that were not read.
    pub count: usize,
    /// Whether more entries exist beyond `count`.
    pub is_cut: bool,
    /// The entries that were read.
    pub entries: Vec<Entry<'a>>,
}

/// A task or an expiry date.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// A task.
    Task(&'a Row),
    /// An expiry date of a record.
    Expiring(&'a Expiring),
}

/// A line of the sections.
#[derive(Debug)]
pub enum HomeLine<'a> {
    /// The heading of a section.
    Heading(&'a Section<'a>),
    /// An entry, with its number over all sections.
    Entry(usize, Entry<'a>),
    /// A line that counts the remaining entries.
    More(String),
    /// An empty line.
    Blank,
}

/// The lines of the sections, and how many are scrolled off the top so that the selected entry is visible in `height`
/// lines.
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
    // The heading of the first entry stays visible.
    let top = if cursor + 2 < height {
        0
    } else {
        (cursor + 2).saturating_sub(height).min(lines.len().saturating_sub(height))
    };
    (lines, top)
}

impl Entry<'_> {
    /// The kind and the id of the record.
    pub fn record(&self) -> (Kind, &str) {
        match self {
            Entry::Task(row) => (row.kind, &row.id),
            Entry::Expiring(it) => (it.kind, &it.id),
        }
    }

    /// The name of the date, such as `insurance`; empty for a task.
    pub fn what(&self) -> &str {
        match self {
            Entry::Task(_) => "",
            Entry::Expiring(it) => &it.what,
        }
    }

    /// The date of the entry.
    pub fn on(&self) -> Option<Date> {
        match self {
            Entry::Task(row) => words::text_field(&row.fields, "due_on").and_then(parse_date),
            Entry::Expiring(it) => parse_date(&it.on),
        }
    }
}

impl Home {
    /// The dates to request: around today, and the month of the calendar.
    pub fn days(&self, today: Date) -> Days {
        let month = self.first_of_month(today);
        let end = months_on(month, 1).unwrap_or(month);
        let around = Days::around(today);
        Days { from: around.from.min(format_date(month)), until: around.until.max(format_date(end)), ..around }
    }

    /// The first day of the calendar's month.
    pub fn first_of_month(&self, today: Date) -> Date {
        let month = months_on(today, self.month).unwrap_or(today);
        month.replace_day(1).unwrap_or(month)
    }

    /// The first day of the sparkline.
    pub fn activity_start(today: Date) -> Date {
        today.saturating_sub(Duration::days(i64::try_from(ACTIVITY_DAYS).unwrap_or(30) - 1))
    }

    /// The sections, the most urgent first, without empty ones.
    pub fn sections(&self, today: Date) -> Vec<Section<'_>> {
        let Some(overview) = &self.overview else { return Vec::new() };
        let (this_week, next_week) = (week_end(today), week_end(today.saturating_add(Duration::WEEK)));
        let tasks = |is_in: &dyn Fn(Date) -> bool| -> Vec<Entry<'_>> {
            let day = |row: &&Row| words::text_field(&row.fields, "due_on").and_then(parse_date);
            overview.due.iter().filter(|row| day(row).is_some_and(is_in)).map(Entry::Task).collect()
        };
        let runs_out = |from: i64, until: i64| -> Vec<Entry<'_>> {
            let away = |it: &&Expiring| parse_date(&it.on).map(|date| (date - today).whole_days());
            // An expired warranty needs no action.
            let is = |it: &&Expiring| {
                away(it).is_some_and(|days| (from..=until).contains(&days) && (days >= 0 || it.what != "warranty"))
            };
            overview.expiring.iter().filter(is).map(Entry::Expiring).collect()
        };
        let ended = runs_out(-PAST_DAYS, -1);
        let ends = runs_out(0, SOON_DAYS);
        // The answer was cut off within the listed days.
        let last = overview.expiring.last().and_then(|it| parse_date(&it.on));
        let is_cut = overview.is_cut && last.is_some_and(|date| (date - today).whole_days() <= SOON_DAYS);
        let section = |title, count, entries| Section { title, count, is_cut: false, entries };
        let all = [
            section("Overdue", overview.overdue, tasks(&|date| date < today)),
            section("Today", overview.today, tasks(&|date| date == today)),
            section("Urgent, no day", overview.urgent, overview.urgent_tasks.iter().map(Entry::Task).collect()),
            section("Ran out", ended.len(), ended),
            section("This week", overview.week, tasks(&|date| date > today && date <= this_week)),
            section("Next week", overview.next_week, tasks(&|date| date > this_week && date <= next_week)),
            Section { is_cut, ..section("Runs out soon", ends.len(), ends) },
        ];
        all.into_iter().filter(|section| !section.entries.is_empty()).collect()
    }

    /// The entry under the cursor.
    pub fn current(&self, today: Date) -> Option<Entry<'_>> {
        self.sections(today).into_iter().flat_map(|section| section.entries).nth(self.selected)
    }

    /// The number of entries.
    pub fn len(&self, today: Date) -> usize {
        self.sections(today).iter().map(|section| section.entries.len()).sum()
    }

    /// Whether no section has entries.
    pub fn is_empty(&self, today: Date) -> bool {
        self.len(today) == 0
    }

    /// Takes the overview that was read. The cursor stays on its record, else on its number. During the first backfill
    /// (`first`) the cursor stays at the top.
    pub fn set_overview(&mut self, overview: Overview, today: Date, first: bool) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::{record, task};

    #[test]
    fn overview_sorts_and_keeps_cursor() {
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
        home.set_overview(overview.clone(), today, false);
        let titles: Vec<&str> = home.sections(today).iter().map(|section| section.title).collect();
        assert_eq!(titles, ["Overdue", "Today", "Runs out soon"]);
        home.selected = 1;
        let mut more = overview;
        more.due.insert(0, record(Kind::Task, "z", json!({ "title": "Later still", "due_on": "2026-11-10" })));
        home.set_overview(more, today, false);
        assert_eq!(home.current(today).unwrap().record(), (Kind::Task, "b"));
        home.month = -1;
        assert_eq!(home.days(today).from, "2026-09-22");
        home.month = 3;
        assert_eq!((home.days(today).from.as_str(), home.days(today).until.as_str()), ("2026-09-22", "2027-03-01"));
    }

    #[test]
    fn sections_follow_the_calendar_week() {
        let today = parse_date("2026-11-21").unwrap();
        let mut home = Home::default();
        let due = ["2026-11-22", "2026-11-23", "2026-11-29"].map(|day| task(day, day, Some(day))).to_vec();
        let urgent_tasks = vec![record(Kind::Task, "u", json!({ "title": "Leak", "priority": "urgent" }))];
        let overview = Overview { week: 1, next_week: 2, urgent: 1, due, urgent_tasks, ..Overview::default() };
        home.set_overview(overview, today, false);
        let sections: Vec<(&str, usize)> =
            home.sections(today).iter().map(|section| (section.title, section.entries.len())).collect();
        assert_eq!(sections, [("Urgent, no day", 1), ("This week", 1), ("Next week", 2)]);
    }

    #[test]
    fn cursor_distinguishes_dates_of_one_record() {
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
        home.set_overview(overview, today, false);
        home.selected = 1;
        let van = Expiring { on: "2026-11-30".into(), id: "van".into(), ..insurance.clone() };
        let expiring = vec![van, insurance, registration];
        home.set_overview(Overview { expiring, ..Overview::default() }, today, false);
        assert_eq!(home.selected, 2);
    }
}
