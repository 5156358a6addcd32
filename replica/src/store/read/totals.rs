//! Sums over a list and the groups of its order. Must not write.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};

use super::by_room::{is_by_room, room_rank, rooms};
use super::page::{from_clause, is_backward, where_clause};
use super::view::{RowQuery, title_or_kind};
use crate::store::schema::worth::worth_sql;
use crate::store::{StoreError, select};

/// Sums over a list and the groups of its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// The sum of the worths, costs or amounts of the listed rows, in cents; None for a kind without such a field.
    pub cents: Option<i64>,
    /// The groups of the list's order, in that order; empty for an order without groups.
    pub groups: Vec<Group>,
}

/// Rows that are adjacent in an order and have a value in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The common value: a choice or an id. For due days a word of [`DUE_GROUPS`]. Empty for rows
    /// without a value.
    pub key: String,
    /// The title of the record, when the key is an id; empty otherwise.
    pub title: String,
    /// The number of rows.
    pub count: usize,
    /// The sum of the worths, costs or amounts of the rows, in cents.
    pub cents: i64,
}

/// The groups of due days, in their order: before today, today, until the end of this week, until the end of the next week,
/// after that, without a day, done.
pub const DUE_GROUPS: [&str; 7] = ["overdue", "today", "week", "next_week", "later", "none", "done"];

/// The days that divide due days into groups, each as `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weeks {
    /// The local day.
    pub today: String,
    /// The last day of this week.
    pub this: String,
    /// The last day of the next week.
    pub next: String,
}

/// Sums up the rows of a query and the groups of its order.
pub(crate) fn totals(connection: &Connection, query: &RowQuery, weeks: &Weeks) -> Result<Totals, StoreError> {
    let Some((condition, mut values)) = where_clause(query) else { return Ok(Totals::default()) };
    let cents = cents_expression(query.kind);
    let sum = format!("CAST(sum({}) AS INTEGER)", cents.as_deref().unwrap_or("0"));
    let Some(group) = group_expression(query, weeks, &mut values) else {
        let text = format!("SELECT {sum} FROM {}", from_clause(query, &condition));
        let sum: Option<i64> = select::value(connection, &text, params_from_iter(values))?;
        return Ok(Totals { cents: cents.map(|_| sum.unwrap_or_default()), groups: Vec::new() });
    };
    let from = from_clause(query, &condition);
    let text = format!("SELECT {group} AS part, count(*), {sum} FROM {from} GROUP BY part");
    let mut groups = select::all(connection, &text, params_from_iter(values), |row| {
        Ok(Group {
            key: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
            title: String::new(),
            count: select::count_of(row, 1)?,
            cents: row.get::<_, Option<i64>>(2)?.unwrap_or_default(),
        })
    })?;
    let cents = cents.map(|_| groups.iter().map(|group| group.cents).sum());
    if is_by_room(query) {
        let rooms = rooms(connection)?;
        groups.sort_by_key(|group| room_rank(&rooms, Some(&group.key)));
        for group in &mut groups {
            let name = rooms.get(&group.key).map(|room| room.name.clone());
            group.title = title_or_kind(Kind::Room, name.unwrap_or_default());
        }
    } else {
        sort_groups(query, &mut groups);
    }
    // A descending list shows its last group first. Descending priorities begin with the most urgent and are in order already.
    if is_backward(query.kind, query.sort) {
        groups.reverse();
    }
    Ok(Totals { cents, groups })
}

/// The group of a row `t` as SQL; None for an order without groups. Appends the parameters to `values`.
fn group_expression(query: &RowQuery, weeks: &Weeks, values: &mut Vec<Sql>) -> Option<String> {
    let format = resource(query.kind).field(query.sort.column).map(|field| field.format);
    match (query.kind, query.sort.column, format) {
        (Kind::Task, "due_on", _) => {
            values.extend([&weeks.today, &weeks.this, &weeks.next].map(|day| Sql::from(day.clone())));
            let (today, week, next) = (values.len() - 2, values.len() - 1, values.len());
            Some(format!(
                "CASE WHEN t.status = 'done' THEN 'done' WHEN t.due_on IS NULL THEN 'none'
                      WHEN t.due_on < ?{today} THEN 'overdue' WHEN t.due_on = ?{today} THEN 'today'
                      WHEN t.due_on <= ?{week} THEN 'week' WHEN t.due_on <= ?{next} THEN 'next_week' ELSE 'later' END"
            ))
        }
        (Kind::Task, "priority", _) => Some("CASE WHEN t.status = 'done' THEN 'done' ELSE t.priority END".to_owned()),
        (_, column, Some(Format::Choice(_) | Format::Reference(_))) => Some(format!("coalesce(t.{column}, '')")),
        _ => None,
    }
}

/// Sorts the groups of an ascending list by the order of their words.
fn sort_groups(query: &RowQuery, groups: &mut Vec<Group>) {
    let format = resource(query.kind).field(query.sort.column).map(|field| field.format);
    let words: &[&str] = match (query.kind, query.sort.column, format) {
        (Kind::Task, "due_on", _) => &DUE_GROUPS,
        (_, _, Some(Format::Choice(words))) => words,
        _ => &[],
    };
    groups.sort_by_key(|group| words.iter().position(|word| *word == group.key).unwrap_or(words.len()));
    if (query.kind, query.sort.column) == (Kind::Task, "priority") {
        // From the most urgent down; done tasks after all others.
        let done = groups.pop_if(|group| group.key == "done");
        groups.reverse();
        groups.extend(done);
    }
}

/// The worth, cost or amount of a row `t` in cents, as SQL; None for a kind without such a field.
fn cents_expression(kind: Kind) -> Option<String> {
    match kind {
        Kind::Task => Some("round(t.estimated_cost * 100)".to_owned()),
        Kind::Document => Some("round(t.amount * 100)".to_owned()),
        kind => worth_sql(kind, "t."),
    }
}
