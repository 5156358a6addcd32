//! The tour of the demo as text: each sentence names an event and a duration; the last compares server and replica.
//! Must not draw.

use std::io::{Write, stdout};
use std::time::Instant;

use anyhow::{Context, ensure};
use hearth_contract::schema::Kind;
use hearth_replica::{Phase, Replica, Row, StoreError};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::family::fields;
use super::home::{DemoHome, Device};

/// Runs the tour and prints a sentence for each step.
pub(super) async fn print_tour(mut home: DemoHome) -> anyhow::Result<()> {
    writeln!(stdout(), "A home is served at {}. It is a sandbox; all data is deleted at the end.", home.url())?;
    let here = first_sync(&home).await?;
    let phone = home.start_second_device().await?;
    live_edit(&here, &phone).await?;
    offline_edit(&mut home, &here, &phone).await?;
    script_edit(&home, &here, &phone).await?;
    compare(&home, &here).await?;
    drop((here, phone));
    home.shut_down().await;
    Ok(())
}

async fn first_sync(home: &DemoHome) -> anyhow::Result<Device> {
    let began = Instant::now();
    let here = Device::start(home.sync_config())?;
    here.wait_for("the first sync is done", |replica| Ok(replica.status()?.phase == Phase::Live)).await?;
    let records = here.records()?.len();
    writeln!(stdout(), "First sync: {records} records in {} ms, with one request.", millis(began))?;
    Ok(here)
}

/// The second device makes an edit, and the first device receives the edit.
async fn live_edit(here: &Device, phone: &Device) -> anyhow::Result<()> {
    let task = open_task(&phone.replica)?;
    let began = Instant::now();
    phone.replica.update(Kind::Task, &task.id, &fields(json!({ "status": "in_progress" })))?;
    wait_for_field(here, &task.id, "status", "in_progress").await?;
    writeln!(
        stdout(),
        "Live: Mateo's phone started “{}”; the change arrived here after {} ms.",
        task.title,
        millis(began)
    )?;
    Ok(())
}

/// The first device makes an edit without a server. After the server is back, the second device receives the edit.
async fn offline_edit(home: &mut DemoHome, here: &Device, phone: &Device) -> anyhow::Result<()> {
    home.stop_server().await;
    here.wait_for("the lost server is noticed", |replica| Ok(replica.status()?.phase == Phase::Offline)).await?;
    let began = Instant::now();
    let id = here.replica.create(Kind::Task, &fields(json!({ "title": "Call the roofer", "priority": "high" })))?;
    let saved = millis(began);
    let waiting = here.replica.status()?.waiting;
    writeln!(
        stdout(),
        "Offline: the server is stopped. A new task was saved here in {saved} ms; {waiting} edit waits."
    )?;
    ensure!(waiting == 1, "one edit should wait, {waiting} do");

    let began = Instant::now();
    home.restart_server().await?;
    here.wait_for("the edit is pushed", |replica| Ok(replica.status()?.waiting == 0)).await?;
    let pushed = millis(began);
    phone.wait_for("the phone has the task", |replica| Ok(replica.row(Kind::Task, &id)?.is_some())).await?;
    writeln!(
        stdout(),
        "Back: the server started again; the edit was confirmed after {pushed} ms and is on Mateo's phone too."
    )?;
    Ok(())
}

/// A script changes the database with plain SQL, and the second device receives the change.
async fn script_edit(home: &DemoHome, here: &Device, phone: &Device) -> anyhow::Result<()> {
    let task = open_task(&here.replica)?;
    let began = Instant::now();
    update_with_sql(home, &task.id)?;
    wait_for_field(phone, &task.id, "priority", "urgent").await?;
    writeln!(
        stdout(),
        "Script: plain SQL set “{}” to urgent; the change reached Mateo's phone through the server after {} ms.",
        task.title,
        millis(began)
    )?;
    Ok(())
}

async fn compare(home: &DemoHome, here: &Device) -> anyhow::Result<()> {
    here.wait_for("everything is confirmed", |replica| Ok(replica.status()?.waiting == 0)).await?;
    let differing = differences(home, here).await?;
    ensure!(differing.is_empty(), "the two sides differ in {}: {}", differing.len(), differing.join(", "));
    writeln!(
        stdout(),
        "Equal: {} records on the server and here, none missing, none different.",
        here.records()?.len()
    )?;
    Ok(())
}

/// Does the same as `sqlite3 replica.db "UPDATE …"`: opens a separate connection without any code of Hearth.
fn update_with_sql(home: &DemoHome, id: &str) -> anyhow::Result<()> {
    let connection = Connection::open(home.db())?;
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

/// The ids of the records that differ between server and replica.
async fn differences(home: &DemoHome, here: &Device) -> anyhow::Result<Vec<String>> {
    let (theirs, ours) = (home.server_records().await?, here.records()?);
    let same = |id: &String| match (theirs.get(id), ours.get(id)) {
        (Some(record), Some(row)) => {
            row.rev == Some(record.rev)
                && row.fields == record.fields
                && row.created_at.as_deref() == Some(record.created_at.to_string().as_str())
                && row.updated_at.as_deref() == Some(record.updated_at.to_string().as_str())
                && row.updated_by.as_ref() == Some(&record.updated_by)
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
