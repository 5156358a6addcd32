//! The tour in sentences: each says what happened and how long it took, and the last whether both sides are equal.
//! Must not draw.

use std::io::{Write, stdout};
use std::time::Instant;

use anyhow::{Context, ensure};
use hearth_contract::schema::Kind;
use hearth_replica::{Phase, Replica, Row, StoreError};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::family::fields;
use super::household::{Device, Household};

/// Tells the tour.
pub(super) async fn tell(mut household: Household) -> anyhow::Result<()> {
    writeln!(stdout(), "A home is served at {}. It is a sandbox; nothing of it stays.", household.url())?;

    let began = Instant::now();
    let here = Device::start(household.sync())?;
    here.wait_for("the first sync is done", |replica| Ok(replica.status()?.phase == Phase::Live)).await?;
    let records = here.records()?.len();
    writeln!(stdout(), "First sync: {records} records in {} ms, by one request.", millis(began))?;

    let phone = household.another_device().await?;
    let task = open_task(&phone.replica)?;
    let began = Instant::now();
    phone.replica.update(Kind::Task, &task.id, &fields(json!({ "status": "in_progress" })))?;
    wait_for_field(&here, &task.id, "status", "in_progress").await?;
    writeln!(stdout(), "Live: Mateo's phone began “{}”; it was seen here after {} ms.", task.title, millis(began))?;

    household.unplug().await;
    here.wait_for("the lost server is noticed", |replica| Ok(replica.status()?.phase == Phase::Offline)).await?;
    let began = Instant::now();
    let id = here.replica.create(Kind::Task, &fields(json!({ "title": "Call the roofer", "priority": "high" })))?;
    let kept = millis(began);
    let waiting = here.replica.status()?.waiting;
    writeln!(stdout(), "Offline: the server is stopped. A new task was kept here in {kept} ms; {waiting} edit waits.")?;
    ensure!(waiting == 1, "one edit should wait, {waiting} do");

    let began = Instant::now();
    household.plug_in().await?;
    here.wait_for("the edit is pushed", |replica| Ok(replica.status()?.waiting == 0)).await?;
    let pushed = millis(began);
    phone.wait_for("the phone has the task", |replica| Ok(replica.row(Kind::Task, &id)?.is_some())).await?;
    writeln!(
        stdout(),
        "Back: the server started again; the edit was confirmed after {pushed} ms and is on Mateo's phone too."
    )?;

    let task = open_task(&here.replica)?;
    let began = Instant::now();
    as_a_script_would(&household, &task.id)?;
    wait_for_field(&phone, &task.id, "priority", "urgent").await?;
    writeln!(
        stdout(),
        "Script: plain SQL set “{}” to urgent; by way of the server it was on Mateo's phone after {} ms.",
        task.title,
        millis(began)
    )?;

    here.wait_for("everything is confirmed", |replica| Ok(replica.status()?.waiting == 0)).await?;
    let differing = differences(&household, &here).await?;
    ensure!(differing.is_empty(), "the two sides differ in {}: {}", differing.len(), differing.join(", "));
    writeln!(
        stdout(),
        "Equal: {} records on the server and here, none missing, none different.",
        here.records()?.len()
    )?;
    drop((here, phone));
    household.move_out().await;
    Ok(())
}

/// What `sqlite3 replica.db "UPDATE …"` does: a connection of its own that knows nothing of Hearth.
fn as_a_script_would(household: &Household, id: &str) -> anyhow::Result<()> {
    let connection = Connection::open(household.db())?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    let changed = connection.execute("UPDATE tasks SET priority = 'urgent' WHERE id = ?1", [id])?;
    ensure!(changed == 1, "the script changed {changed} rows");
    Ok(())
}

fn open_task(replica: &Replica) -> anyhow::Result<Row> {
    let sort = hearth_replica::Sort { column: "due_on", descending: false };
    let query = hearth_replica::RowQuery::all(Kind::Task, sort, 200);
    let open = |row: &Row| row.fields["status"] == "open" && row.fields["priority"] != "urgent";
    replica.rows(&query)?.rows.into_iter().find(open).context("the sandbox has an open task")
}

async fn wait_for_field(device: &Device, id: &str, field: &str, word: &str) -> anyhow::Result<()> {
    let has = |replica: &Replica| -> Result<bool, StoreError> {
        Ok(replica.row(Kind::Task, id)?.is_some_and(|row| row.fields.get(field).and_then(Value::as_str) == Some(word)))
    };
    device.wait_for("the change arrives", has).await
}

/// The ids of records that are not the same on both sides.
async fn differences(household: &Household, here: &Device) -> anyhow::Result<Vec<String>> {
    let (theirs, ours) = (household.server_records().await?, here.records()?);
    let same = |id: &String| match (theirs.get(id), ours.get(id)) {
        (Some(record), Some(row)) => {
            row.rev == Some(record.rev)
                && row.fields == record.fields
                && row.created_at.as_deref() == Some(record.created_at.to_string().as_str())
                && row.updated_at.as_deref() == Some(record.updated_at.to_string().as_str())
        }
        _ => false,
    };
    let mut differing: Vec<String> = theirs.keys().chain(ours.keys()).filter(|id| !same(id)).cloned().collect();
    differing.dedup();
    Ok(differing)
}

fn millis(since: Instant) -> u128 {
    since.elapsed().as_millis()
}
