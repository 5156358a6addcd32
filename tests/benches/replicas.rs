//! The workload `sync`: the first sync of a whole home by `hearth-replica`. Must not know the other workloads.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hearth_tests::process;
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, Rows, params_from_iter};

use crate::figures::Target;
use crate::testbed::{self, Testbed};

/// Time between two checks of the replica's memory.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Rows of one transaction in the baseline.
const TOGETHER: usize = 10_000;

/// Measures a first sync with its search index, against prepared upserts of the same rows into the same tables.
pub(crate) fn first_sync(testbed: &mut Testbed) -> anyhow::Result<()> {
    let (mut peaks, mut requests, mut each) = (Vec::new(), Vec::new(), Vec::new());
    let records = testbed.scale.records as f64;
    let mut run = 0;
    testbed.compare(("records into a replica", "prepared upserts"), "/s", Target::AtLeast(0.5), |testbed| {
        run += 1;
        let db = init(testbed, &format!("replica-{run}.db"), &testbed.address)?;
        let asked = requests_of(testbed)?;
        let began = Instant::now();
        let synced = sync(&db)?;
        let took = began.elapsed().as_secs_f64();
        peaks.push(synced.peak / 1024.0);
        each.push(synced.processor / records);
        // One poll only reads the head of the feed.
        requests.push((requests_of(testbed)? - asked) as f64 - 1.0);
        let limit = upserts(&db, &init(testbed, &format!("limit-{run}.db"), &testbed.address)?)?;
        for name in [format!("replica-{run}.db"), format!("limit-{run}.db")] {
            std::fs::remove_file(testbed.file(&name))?;
        }
        Ok((records / took, limit))
    })?;
    testbed.record("streams opened for it", "", &requests, Some(Target::AtMost(1.0)));
    testbed.record("processor time of the replica for a record", "µs", &each, None);
    testbed.record("most memory of the replica's process", "MiB", &peaks, None);
    Ok(())
}

/// Sets up an empty replica of the service at an address. Returns the database file.
pub(crate) fn init(testbed: &Testbed, name: &str, address: &str) -> anyhow::Result<PathBuf> {
    let (db, key) = (testbed.file(name), testbed.file("key"));
    std::fs::write(&key, &testbed.key)?;
    let (file, key, url) = (db.display().to_string(), key.display().to_string(), format!("http://{address}"));
    process::stdout("hearth-replica", &["--db", &file, "init", "--server", &url, "--key-file", &key]);
    Ok(db)
}

/// The cost of a sync.
pub(crate) struct Synced {
    /// Peak memory of the process in KiB.
    pub(crate) peak: f64,
    /// Processor time in microseconds.
    pub(crate) processor: f64,
}

/// Runs `sync` until the replica is current and its edits are confirmed.
pub(crate) fn sync(db: &Path) -> anyhow::Result<Synced> {
    let db = db.display().to_string();
    let before = testbed::ended_children_processor_time()?;
    let mut syncing = process::command("hearth-replica", &["--db", &db, "sync", "--timeout", "30m"])
        .stdout(std::process::Stdio::null())
        .spawn()?;
    let mut peak: f64 = 0.0;
    loop {
        if let Some(status) = syncing.try_wait()? {
            anyhow::ensure!(status.success(), "the replica did not get in step");
            return Ok(Synced { peak, processor: testbed::ended_children_processor_time()? - before });
        }
        peak = peak.max(testbed::memory_kib(syncing.id(), "VmHWM").unwrap_or_default());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Number of feed and list requests so far, from the service's log.
fn requests_of(testbed: &Testbed) -> anyhow::Result<usize> {
    let log = std::fs::read_to_string(testbed.file("data.log"))?;
    let asks = ["stream_events", "list_events", "list_tasks"];
    Ok(log.lines().filter(|line| asks.iter().any(|operation| line.contains(operation))).count())
}

/// Copies tasks and their search entries from a full replica to an empty one with prepared statements, without triggers.
/// Returns rows per second of the writes alone.
fn upserts(full: &Path, empty: &Path) -> anyhow::Result<f64> {
    let full = Connection::open(full)?;
    let mut records = full.prepare("SELECT * FROM tasks ORDER BY rowid")?;
    let mut places = full.prepare(
        "SELECT s.id, s.kind, s.record_id FROM tasks t JOIN _search_rows s ON s.kind = 'task' AND s.record_id = t.id
         ORDER BY t.rowid",
    )?;
    let mut words = full.prepare(
        "SELECT s.rowid, s.kind, s.record_id, s.title, s.body FROM tasks t
         JOIN _search_rows r ON r.kind = 'task' AND r.record_id = t.id JOIN search s ON s.rowid = r.id ORDER BY t.rowid",
    )?;
    let columns = records.column_names().map(str::to_owned).collect::<Vec<_>>();
    let (mut records, mut places, mut words) = (records.query([])?, places.query([])?, words.query([])?);
    let db = Connection::open(empty)?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    let triggers: Vec<String> = db
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    triggers.iter().try_for_each(|name| db.execute_batch(&format!("DROP TRIGGER {name}")))?;
    let marks = vec!["?"; columns.len()].join(", ");
    let set: Vec<String> = columns[1..].iter().map(|name| format!("{name} = excluded.{name}")).collect();
    let upsert = format!("INSERT INTO tasks VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {}", set.join(", "));
    let (mut count, mut took) = (0, Duration::ZERO);
    loop {
        let some = (some(&mut records)?, some(&mut places)?, some(&mut words)?);
        if some.0.is_empty() {
            return Ok(count as f64 / took.as_secs_f64());
        }
        let began = Instant::now();
        db.execute_batch("BEGIN IMMEDIATE")?;
        for ((record, place), words) in some.0.iter().zip(&some.1).zip(&some.2) {
            db.prepare_cached(&upsert)?.execute(params_from_iter(record))?;
            db.prepare_cached("INSERT INTO _search_rows (id, kind, record_id) VALUES (?, ?, ?)")?
                .execute(params_from_iter(place))?;
            db.prepare_cached("INSERT INTO search (rowid, kind, record_id, title, body) VALUES (?, ?, ?, ?, ?)")?
                .execute(params_from_iter(words))?;
        }
        db.execute_batch("COMMIT")?;
        took += began.elapsed();
        count += some.0.len();
    }
}

/// The rows of the baseline's next transaction.
fn some(rows: &mut Rows<'_>) -> anyhow::Result<Vec<Vec<Cell>>> {
    let mut some = Vec::with_capacity(TOGETHER);
    while some.len() < TOGETHER
        && let Some(row) = rows.next()?
    {
        some.push((0..row.as_ref().column_count()).map(|at| row.get(at)).collect::<Result<_, _>>()?);
    }
    Ok(some)
}
