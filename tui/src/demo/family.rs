//! What the other family member does: a change every now and then, of the sort that makes a home. Must not know the
//! server; it edits its own device, as everybody does.

use std::time::Duration;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{Replica, Row, RowQuery, Sort};
use serde_json::{Value, json};

use super::household::Device;

/// Changes that turn up again and again: which kind, and how.
const HABITS: [Habit; 6] = [Habit::Begin, Habit::Errand, Habit::Drive, Habit::Finish, Habit::Use, Habit::Assign];

#[derive(Clone, Copy)]
enum Habit {
    /// Starts on an open task.
    Begin,
    /// Thinks of something to buy.
    Errand,
    /// Comes home with the car.
    Drive,
    /// Finishes what was begun.
    Finish,
    /// Takes one of a supply.
    Use,
    /// Takes a task on.
    Assign,
}

/// What the family runs out of.
const ERRANDS: [&str; 5] = [
    "Buy dishwasher tablets",
    "Pick up furnace filters",
    "Get birthday candles",
    "Return library books",
    "Buy dog food",
];

/// Lives on a device until the device goes.
pub(super) async fn live(device: Device, every: Duration) {
    for turn in 0.. {
        tokio::time::sleep(every).await;
        if let Err(error) = act(&device.replica, turn) {
            tracing::debug!(%error, "the family member's change was not made");
        }
    }
}

/// One change; the same turn on the same home is the same change.
pub(super) fn act(replica: &Replica, turn: usize) -> anyhow::Result<()> {
    let round = turn / HABITS.len();
    match HABITS[turn % HABITS.len()] {
        Habit::Errand => {
            let task =
                fields(json!({ "title": ERRANDS[round % ERRANDS.len()], "priority": "low", "assignee": "Mateo" }));
            replica.create(Kind::Task, &task)?;
        }
        Habit::Begin => change(
            replica,
            Kind::Task,
            round,
            |task| has(task, "status", "open"),
            |_| json!({ "status": "in_progress" }),
        )?,
        Habit::Finish => {
            change(
                replica,
                Kind::Task,
                round,
                |task| has(task, "status", "in_progress"),
                |_| json!({ "status": "done" }),
            )?;
        }
        Habit::Assign => {
            change(
                replica,
                Kind::Task,
                round,
                |task| task.fields["assignee"].is_null(),
                |_| json!({ "assignee": "Mateo" }),
            )?;
        }
        Habit::Drive => change(
            replica,
            Kind::Vehicle,
            round,
            |car| car.fields["odometer"].is_i64(),
            |car| json!({ "odometer": car.fields["odometer"].as_i64().unwrap_or_default() + 23 }),
        )?,
        Habit::Use => change(
            replica,
            Kind::Inventory,
            round,
            |item| item.fields["quantity"].as_i64().is_some_and(|count| count > 1),
            |item| json!({ "quantity": item.fields["quantity"].as_i64().unwrap_or(2) - 1 }),
        )?,
    }
    Ok(())
}

/// Changes the round's record among those that fit.
fn change(
    replica: &Replica,
    kind: Kind,
    round: usize,
    fits: impl Fn(&Row) -> bool,
    patch: impl Fn(&Row) -> Value,
) -> anyhow::Result<()> {
    let sort = Sort { column: "created_at", descending: true };
    let page = replica.rows(&RowQuery::of(kind, sort, 200))?;
    let fitting: Vec<&Row> = page.rows.iter().filter(|row| fits(row)).collect();
    if let Some(row) = fitting.get(round % fitting.len().max(1)) {
        replica.update(kind, &row.id, &fields(patch(row)))?;
    }
    Ok(())
}

fn has(row: &Row, field: &str, word: &str) -> bool {
    row.fields.get(field).and_then(Value::as_str) == Some(word)
}

/// The members of an object.
pub(super) fn fields(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}
