//! The workload `screen`: the terminal UI over a replica with many records. Measures the time to the first screen, the
//! delay of a key, the time of a search, and memory. Must not know the service.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use hearth_replica::{Origin, Replica};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;

use crate::figures::Target;
use crate::testbed::Testbed;

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two checks, far below the measured times.
const LOOK: Duration = Duration::from_micros(50);
/// Number of measured keys.
const KEYS: usize = 300;
/// Columns and lines of the terminal.
const SIZE: (u16, u16) = (120, 40);

/// Measures all figures of the terminal UI.
pub(crate) fn screens(testbed: &mut Testbed) -> anyhow::Result<()> {
    let db = testbed.dir.path().join("screens.db");
    fill(&db, testbed.scale.records)?;
    let arguments = ["--db", db.to_str().unwrap_or_default()];
    let directory = testbed.dir.path().to_owned();
    let open = || Terminal::start("hearth", &arguments, &directory, SIZE);
    let mut starts = Vec::new();
    for _ in 0..testbed.scale.runs.max(3) {
        let began = Instant::now();
        let mut screen = open();
        until(|| screen.text().contains("Overdue"))?;
        starts.push(millis(began));
        screen.type_keys("q");
        screen.wait_for_exit();
    }
    testbed.record("from start to what needs attention", "ms", &starts, Some(Target::AtMost(50.0)));

    let mut screen = open();
    until(|| screen.text().contains("Worth by room"))?;
    screen.type_keys("3");
    until(|| screen.text().contains("items  "))?;
    let mut frames = Vec::new();
    // Down from the top, up from the end, then page by page.
    for (jump, key) in [("g", "j"), ("G", "k"), ("g", "\x04")] {
        responded(&mut screen, jump)?;
        thread::sleep(Duration::from_millis(200));
        for _ in 0..KEYS / 3 {
            frames.push(responded(&mut screen, key)?);
        }
    }
    frames.sort_by(f64::total_cmp);
    let p99 = frames[frames.len() * 99 / 100];
    testbed.record("key to picture in a list, 99 of 100", "ms", &[p99], Some(Target::AtMost(5.0)));

    let mut searches = Vec::new();
    for words in ["lamp number 77", "receipt", "blue", "b"] {
        screen.type_keys("/");
        until(|| screen.text().contains("All records are searched"))?;
        let began = Instant::now();
        screen.type_keys(words);
        until(|| !screen.text().contains("All records are searched") && found(&screen))?;
        searches.push(millis(began));
        screen.type_keys("\x1b");
        until(|| screen.text().contains("items  "))?;
    }
    testbed.record("a search to its first results", "ms", &searches, Some(Target::AtMost(20.0)));

    let status = std::fs::read_to_string(format!("/proc/{}/status", screen.pid().unwrap_or_default()))?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
    let peak: f64 = peak.unwrap_or(f64::NAN);
    testbed.record("memory at its most", "MiB", &[peak / 1024.0], Some(Target::AtMost(60.0)));
    screen.type_keys("q");
    screen.wait_for_exit();
    Ok(())
}

/// True if the first result line of the search has text.
fn found(screen: &Terminal) -> bool {
    screen.with_screen(|screen| screen.rows(0, SIZE.0).nth(4).is_some_and(|line| !line.trim().is_empty()))
}

/// The time from a key to the first byte of the next frame, in milliseconds.
fn responded(screen: &mut Terminal, key: &str) -> anyhow::Result<f64> {
    // The last frame is complete when no byte has come for 4 ms.
    let mut before = screen.output_len();
    loop {
        thread::sleep(Duration::from_millis(4));
        if screen.output_len() == before {
            break;
        }
        before = screen.output_len();
    }
    let began = Instant::now();
    screen.type_keys(key);
    until(|| screen.output_len() > before)?;
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

/// Creates a replica with this number of rooms, items, tasks and documents. The rows pass the gate as the sync does.
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
