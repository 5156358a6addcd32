//! `remind`: what is due, overdue or ends soon, for people, scripts, cron and systemd timers. The list is the one of the terminal
//! UI's home screen. Must not know how the list is read.

use std::io::{IsTerminal, stdout};

use clap::Args;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use hearth_replica::{Days, Expiring, Overview, Row};
use serde::Serialize;
use serde_json::{Value, json};
use time::Date;

use super::context::Context;
use super::failure::Failure;
use super::{desktop, output, text, today};

/// Entries in a desktop notification, at most.
const NOTIFIED_MAX: usize = 5;

/// Arguments of `remind`.
#[derive(Debug, Args)]
pub(super) struct Remind {
    /// How many days ahead to look [default: tasks until the end of the next week, and what ends within 45 days]
    #[arg(long)]
    days: Option<u16>,
    /// Show a desktop notification too; without a desktop session, print only
    #[arg(long)]
    notify: bool,
}

/// One thing that needs attention.
#[derive(Serialize)]
struct Reminder<'a> {
    group: Group,
    kind: Kind,
    id: &'a str,
    title: &'a str,
    /// The day, `YYYY-MM-DD`. None: an urgent task without a day.
    on: Option<&'a str>,
    /// What ends: `warranty`, and so on. None: a task.
    what: Option<&'a str>,
}

/// The groups, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Group {
    Overdue,
    Today,
    Urgent,
    Ended,
    Due,
    Ends,
}

impl Group {
    const ALL: [Group; 6] = [Group::Overdue, Group::Today, Group::Urgent, Group::Ended, Group::Due, Group::Ends];

    const fn title(self) -> &'static str {
        match self {
            Group::Overdue => "Overdue",
            Group::Today => "Today",
            Group::Urgent => "Urgent, no day",
            Group::Ended => "Ran out",
            Group::Due => "Due",
            Group::Ends => "Runs out soon",
        }
    }
}

impl Remind {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let today = today::local();
        let days = self.days.map_or_else(|| Days::around(today), |days| Days::ahead(today, days));
        let overview = context.open_existing()?.overview(&days)?;
        let reminders = reminders(&overview, today);
        // A cut list must not look complete.
        let left_out = count(&overview).saturating_sub(overview.due.len() + overview.urgent_tasks.len());
        if self.notify && !reminders.is_empty() {
            let lines: Vec<String> = reminders.iter().take(NOTIFIED_MAX).map(|one| one.line(true)).collect();
            let summary = format!("{} due or expiring", text::count(reminders.len(), "thing"));
            if let Err(why) = desktop::notify(&summary, &lines.join("\n")) {
                output::message(&format!("hearth-replica: no notification was shown: {}", text::one_line(&why)));
            }
        }
        if context.json {
            let members = json!({
                "today": format_date(today), "tasks_until": days.weeks.next, "ends_until": days.until,
                "reminders": reminders, "left_out": left_out, "is_cut": overview.is_cut,
            });
            return Ok(output::json(&members)?);
        }
        print(&reminders, left_out, overview.is_cut, &days)
    }
}

/// The number of all tasks that belong to the list, also of those that were not read.
fn count(overview: &Overview) -> usize {
    overview.overdue + overview.today + overview.week + overview.next_week + overview.urgent
}

fn print(reminders: &[Reminder<'_>], left_out: usize, is_cut: bool, days: &Days) -> Result<(), Failure> {
    // cron sends a mail when a command prints, so an empty list prints nothing.
    if reminders.is_empty() && stdout().is_terminal() {
        output::message(&format!("nothing is due until {}, and nothing ends until {}", days.weeks.next, days.until));
    }
    for group in Group::ALL {
        let mut of_group = reminders.iter().filter(|one| one.group == group).peekable();
        if of_group.peek().is_some() {
            output::line(group.title())?;
        }
        for one in of_group {
            output::line(&format!("  {}", one.line(false)))?;
        }
    }
    if left_out > 0 {
        output::line(&format!("and {} more", text::count(left_out, "task")))?;
    }
    if is_cut {
        output::line("and more that ends later")?;
    }
    Ok(())
}

/// The entries of the overview, the most urgent group first.
fn reminders(overview: &Overview, today: Date) -> Vec<Reminder<'_>> {
    let today = format_date(today);
    let group_of = |row: &Row| match due_on(row).unwrap_or_default() {
        day if day < today.as_str() => Group::Overdue,
        day if day == today => Group::Today,
        _ => Group::Due,
    };
    let tasks = overview.due.iter().map(|row| (group_of(row), row));
    let urgent = overview.urgent_tasks.iter().map(|row| (Group::Urgent, row));
    let tasks = tasks.chain(urgent).map(|(group, row)| Reminder {
        group,
        kind: Kind::Task,
        id: &row.id,
        title: &row.title,
        on: due_on(row),
        what: None,
    });
    let ends = overview.expiring.iter().map(|Expiring { on, what, kind, id, title }| {
        let group = if *on < today { Group::Ended } else { Group::Ends };
        Reminder { group, kind: *kind, id, title, on: Some(on), what: Some(what) }
    });
    let mut all: Vec<Reminder<'_>> = tasks.chain(ends).collect();
    all.sort_by_key(|one| one.group);
    all
}

/// The due day of a task.
fn due_on(row: &Row) -> Option<&str> {
    row.fields.get("due_on").and_then(Value::as_str)
}

impl Reminder<'_> {
    /// One line. `with_group`: the line stands alone, without the title of its group.
    fn line(&self, with_group: bool) -> String {
        let day = self.on.unwrap_or("          ");
        let what = self.what.map(|what| format!(": {}", what.replace('_', " "))).unwrap_or_default();
        let line = text::one_line(&format!("{}{what}", self.title));
        if with_group { format!("{}: {line}", self.group.title()) } else { format!("{day}  {line}") }
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;
    use hearth_replica::{Origin, Replica};

    use super::*;

    #[test]
    fn groups_follow_the_days() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap();
        let make = |kind, fields: Value| replica.create(kind, fields.as_object().unwrap()).unwrap();
        for (title, day) in
            [("Late", "2026-11-20"), ("Now", "2026-11-21"), ("Soon", "2026-11-29"), ("Far", "2026-12-20")]
        {
            make(Kind::Task, json!({ "title": title, "due_on": day }));
        }
        make(Kind::Task, json!({ "title": "Leak", "priority": "urgent" }));
        make(Kind::Task, json!({ "title": "Done", "due_on": "2026-11-20", "status": "done" }));
        make(Kind::Vehicle, json!({ "name": "Car", "insurance_expires_on": "2026-11-01" }));
        make(Kind::Inventory, json!({ "name": "Oven", "warranty_expires_on": "2026-12-06" }));
        let today = parse_date("2026-11-21").unwrap();
        let list = |days: &Days| -> Vec<String> {
            let overview = replica.overview(days).unwrap();
            reminders(&overview, today).iter().map(|one| one.line(true)).collect()
        };
        let around = list(&Days::around(today));
        let expected = ["Overdue: Late", "Today: Now", "Urgent, no day: Leak", "Ran out: Car: insurance", "Due: Soon"];
        assert_eq!(around, [&expected[..], &["Runs out soon: Oven: warranty"]].concat());
        assert_eq!(list(&Days::ahead(today, 0)), &expected[..4]);
        assert_eq!(list(&Days::ahead(today, 30))[4..], ["Due: Soon", "Due: Far", "Runs out soon: Oven: warranty"]);
    }
}
