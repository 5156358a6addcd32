//! The terminal UI on a terminal, over a replica with many records: how soon it shows something, how soon a key is answered
//! by a picture, how soon a search has found, and what memory it takes. Must not know the service.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hearth_replica::{Origin, Replica};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;

use crate::figures::Target;
use crate::stand::Stand;

/// Longest wait for a picture.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks; far below what is measured.
const LOOK: Duration = Duration::from_micros(50);
/// Keys that are pressed one after another.
const KEYS: usize = 300;
/// Columns and lines of the terminal.
const SIZE: (u16, u16) = (120, 40);

/// All figures of the screens.
pub(crate) fn screens(stand: &mut Stand) -> anyhow::Result<()> {
    let db = stand.dir.path().join("screens.db");
    fill(&db, stand.scale.records)?;
    let arguments = ["--db", db.to_str().unwrap_or_default()];
    let directory = stand.dir.path().to_owned();
    let open = || Terminal::start("hearth", &arguments, &directory, SIZE);
    let mut starts = Vec::new();
    for _ in 0..stand.scale.runs.max(3) {
        let began = Instant::now();
        let mut screen = open();
        until(|| screen.text().contains("Overdue"))?;
        starts.push(millis(began));
        screen.types("q");
        screen.ends();
    }
    stand.note("from start to what needs attention", "ms", &starts, Some(Target::AtMost(50.0)));

    let mut screen = open();
    until(|| screen.text().contains("Worth by room"))?;
    screen.types("3");
    until(|| screen.text().contains("items  "))?;
    let mut frames = Vec::new();
    // From the top, from the middle and from the end; then through pages.
    for (jump, key) in [("g", "j"), ("G", "k"), ("g", "\x04")] {
        answered(&mut screen, jump)?;
        thread::sleep(Duration::from_millis(200));
        for _ in 0..KEYS / 3 {
            frames.push(answered(&mut screen, key)?);
        }
    }
    frames.sort_by(f64::total_cmp);
    let p99 = frames[frames.len() * 99 / 100];
    stand.note("key to picture in a list, 99 of 100", "ms", &[p99], Some(Target::AtMost(5.0)));

    let mut searches = Vec::new();
    for words in ["lamp number 77", "receipt", "blue", "b"] {
        screen.types("/");
        until(|| screen.text().contains("everything is searched"))?;
        let began = Instant::now();
        screen.types(words);
        until(|| !screen.text().contains("everything is searched") && found(&screen))?;
        searches.push(millis(began));
        screen.types("\x1b");
        until(|| screen.text().contains("items  "))?;
    }
    stand.note("a search to its first results", "ms", &searches, Some(Target::AtMost(20.0)));

    let status = std::fs::read_to_string(format!("/proc/{}/status", screen.pid().unwrap_or_default()))?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    let peak: f64 = peak.unwrap_or(f64::NAN);
    stand.note("memory at its most", "MiB", &[peak / 1024.0], Some(Target::AtMost(60.0)));
    screen.types("q");
    screen.ends();
    Ok(())
}

/// Whether the third line of the search holds a result.
fn found(screen: &Terminal) -> bool {
    screen.look(|screen| screen.rows(0, SIZE.0).nth(4).is_some_and(|line| !line.trim().is_empty()))
}

/// The time from a key to the first byte of the next picture.
fn answered(screen: &mut Terminal, key: &str) -> anyhow::Result<f64> {
    // The last picture is complete when nothing has come for a moment.
    let mut before = screen.written();
    loop {
        thread::sleep(Duration::from_millis(4));
        if screen.written() == before {
            break;
        }
        before = screen.written();
    }
    let began = Instant::now();
    screen.types(key);
    until(|| screen.written() > before)?;
    Ok(millis(began))
}

fn until(is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let since = Instant::now();
    while !is_so() {
        anyhow::ensure!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for a picture");
        thread::sleep(LOOK);
    }
    Ok(())
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// A replica of so many records: rooms, items, tasks and documents. They pass the gate as the sync does.
pub(crate) fn fill(db: &Path, records: usize) -> anyhow::Result<()> {
    drop(Replica::open(db, Origin::Cli)?);
    let (items, documents) = (records * 2 / 5, records / 5);
    let tasks = records.saturating_sub(items + documents + 100).max(100);
    let numbers =
        |most: usize| format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {most})");
    let (n_rooms, n_items, n_tasks, n_documents) =
        (numbers(100), numbers(items.max(1)), numbers(tasks), numbers(documents.max(1)));
    Connection::open(db)?.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         UPDATE _gate SET open = 1, change_count = change_count + 1;
         INSERT INTO rooms (id, name, rev)
         {n_rooms} SELECT printf('00000000-0000-7000-8000-%012x', i), 'Room ' || i, i FROM n;
         INSERT INTO inventory (name, room_id, category, make, serial_number, quantity, current_value, warranty_expires_on, notes, rev)
         {n_items} SELECT CASE i % 4 WHEN 0 THEN 'Lamp' WHEN 1 THEN 'Chair' WHEN 2 THEN 'Drill' ELSE 'Mirror' END || ' number ' || i,
                printf('00000000-0000-7000-8000-%012x', 1 + i % 100),
                CASE i % 3 WHEN 0 THEN 'tool' WHEN 1 THEN 'furniture' ELSE 'appliance' END, 'Make ' || i % 50,
                printf('SN%08d', i), 1 + i % 3, printf('%d.50', i % 3000), date('now', (i % 2500 - 1000) || ' days'),
                'From the blue corner, receipt ' || i, 100 + i FROM n;
         INSERT INTO tasks (title, status, priority, due_on, assignee, estimated_cost, notes, rev)
         {n_tasks} SELECT CASE i % 3 WHEN 0 THEN 'Clean' WHEN 1 THEN 'Repair' ELSE 'Paint' END || ' thing ' || i,
                CASE i % 10 WHEN 0 THEN 'open' WHEN 1 THEN 'in_progress' ELSE 'done' END,
                CASE i % 4 WHEN 0 THEN 'low' WHEN 1 THEN 'medium' WHEN 2 THEN 'high' ELSE 'urgent' END,
                date('now', (i % 900 - 450) || ' days'), 'Ana', '12.50', 'With the blue bucket ' || i, 200000 + i FROM n;
         INSERT INTO documents (title, category, expires_on, amount, notes, rev)
         {n_documents} SELECT 'Receipt ' || i, 'receipt', date('now', (i % 2500 - 1000) || ' days'), '99.99',
                'In the blue folder ' || i, 400000 + i FROM n;
         UPDATE _gate SET open = 0, change_count = change_count + 1;
         COMMIT;"
    ))?;
    Ok(())
}
