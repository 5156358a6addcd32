//! Baselines of the ratios: bare hyper, bare sockets, and SQLite with plain statements. Each produces the same bytes or
//! rows as the service with the least work.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use hearth_tests::process::{self, Process};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rusqlite::Connection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use uuid::Uuid;

use crate::testbed::Testbed;

/// Starts this program in another role. Returns the process and its `host:port`.
pub(crate) fn spawn(arguments: &[&str]) -> (Process, String) {
    let (process, url) = Process::start_announcing(&mut process::command("bench", arguments));
    (process, url.trim_start_matches("http://").to_owned())
}

/// Serves bare hyper, which reads each request and sends the response from a file with head and body.
#[tokio::main]
pub(crate) async fn bare_hyper(file: &Path) -> anyhow::Result<()> {
    let bytes = Bytes::from(std::fs::read(file)?);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_default();
    let body = bytes.slice(end + 4..);
    let mut response = Response::new(());
    for line in std::str::from_utf8(&bytes[..end])?.lines() {
        match line.split_once(": ") {
            // Hyper writes these two headers itself.
            Some(("content-length" | "date", _)) => (),
            Some((name, value)) => {
                let (name, value) = (HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
                response.headers_mut().insert(name, value);
            }
            None => *response.status_mut() = line.split(' ').nth(1).unwrap_or_default().parse()?,
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (response, body) = (response.clone(), body.clone());
        tokio::spawn(async move {
            let give = service_fn(move |request: Request<Incoming>| {
                let response = response.clone().map(|()| Full::new(body.clone()));
                async move { request.into_body().collect().await.map(|_| response) }
            });
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), give).await
        });
    }
}

/// Serves bare sockets: each POST makes the server write the same bytes `pieces` times to each connection that sent GET.
#[tokio::main]
pub(crate) async fn bare_sockets(file: &Path, pieces: usize) -> anyhow::Result<()> {
    let piece = Bytes::from(std::fs::read(file)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let (begin, begun) = watch::channel(0u64);
    let begin = std::sync::Arc::new(begin);
    loop {
        let (mut socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (piece, begin, mut begun) = (piece.clone(), begin.clone(), begun.clone());
        tokio::spawn(async move {
            begun.mark_unchanged();
            let is_post = asked(&mut socket).await? == b'P';
            if is_post {
                begin.send_modify(|times| *times += 1);
                return socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nevent: ready\n\n").await?;
            while begun.changed().await.is_ok() {
                for _ in 0..pieces {
                    socket.write_all(&piece).await?;
                }
            }
            Ok(())
        });
    }
}

/// Reads a request's head. Returns the first byte.
async fn asked(socket: &mut TcpStream) -> std::io::Result<u8> {
    let mut head = Vec::with_capacity(1024);
    while !head.ends_with(b"\r\n\r\n") {
        if socket.read_buf(&mut head).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head[0])
}

/// Copies the service's database with `backup`. Returns the file.
pub(crate) fn copy(testbed: &Testbed, name: &str) -> anyhow::Result<PathBuf> {
    let file = testbed.file(name);
    let (data, to) = (testbed.data().display().to_string(), file.display().to_string());
    process::stdout("hearth-server", &["--data", &data, "backup", &to]);
    Ok(file)
}

/// Finds the best 51 records for a word prefix with FTS5's own ranking. Returns their number.
pub(crate) fn search(db: &Connection, word: &str) -> anyhow::Result<usize> {
    let mut statement = db.prepare_cached(
        "SELECT s.kind, s.record, s.title, snippet(search, 1, '**', '**', '…', 16), rank FROM search s
         WHERE search MATCH ?1 AND rank MATCH 'bm25(8.0, 1.0)' ORDER BY rank LIMIT 51",
    )?;
    let question = format!("\"11{word}\"*");
    let mut rows = statement.query([question])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
            row.get::<_, f64>(4)?,
        ));
    }
    Ok(found.len())
}

/// A copy of the service's database, where plain statements insert tasks: the same rows in the same tables in one
/// transaction, equally durable.
pub(crate) struct PlainSqlite {
    db: Connection,
    home: i64,
    body: String,
}

/// The stored number of the kind task.
const TASK: i64 = 4;

impl PlainSqlite {
    pub(crate) fn of(testbed: &Testbed, name: &str) -> anyhow::Result<PlainSqlite> {
        let db = Connection::open(copy(testbed, name)?)?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "wal_autocheckpoint", 4000)?;
        db.pragma_update(None, "cache_size", -16_384)?;
        db.set_prepared_statement_cache_capacity(64);
        let home = db.query_row("SELECT number FROM homes WHERE environment = 'live'", [], |row| row.get(0))?;
        let body = db.query_row("SELECT body FROM events WHERE kind = 4 LIMIT 1", [], |row| row.get(0))?;
        Ok(PlainSqlite { db, home, body })
    }

    /// Inserts for this long, `together` tasks in each transaction. Returns tasks per second.
    pub(crate) fn add(&self, together: usize, time: Duration) -> anyhow::Result<f64> {
        let (began, mut count) = (std::time::Instant::now(), 0u32);
        while began.elapsed() < time {
            self.db.prepare_cached("BEGIN IMMEDIATE")?.raw_execute()?;
            let mut head: i64 = self
                .db
                .prepare_cached("SELECT head FROM homes WHERE number = ?1")?
                .query_row([self.home], |row| row.get(0))?;
            for _ in 0..together {
                head += 1;
                count += 1;
                self.put(head, count)?;
            }
            self.db
                .prepare_cached(
                    "UPDATE homes SET head = ?2, last_updated_at = coalesce(last_updated_at, 0) + 1 WHERE number = ?1",
                )?
                .execute((self.home, head))?;
            self.db.prepare_cached("COMMIT")?.raw_execute()?;
        }
        Ok(f64::from(count) / began.elapsed().as_secs_f64())
    }

    fn put(&self, head: i64, number: u32) -> anyhow::Result<()> {
        let (id, seat) = (Uuid::now_v7().hyphenated().to_string(), (self.home << 40) + head);
        self.db
            .prepare_cached("SELECT 1 FROM records WHERE home = ?1 AND id = ?2")?
            .exists((self.home, &id))
            .map(|exists| assert!(!exists, "a new id is new"))?;
        self.db
            .prepare_cached(
                "INSERT INTO events (event_rowid, kind, event_type, record, at, key, body) VALUES (?1, ?2, 0, ?3, ?4, NULL, ?5)",
            )?
            .execute((seat, TASK, &id, head, &self.body))?;
        self.db
            .prepare_cached(
                "INSERT INTO records (home, id, kind, created, rev, deleted) VALUES (?1, ?2, ?3, ?4, ?4, 0)",
            )?
            .execute((self.home, &id, TASK, head))?;
        self.db
            .prepare_cached("INSERT INTO search (rowid, title, body, kind, record) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((seat, format!("11check 11the 11{number}"), "11mateo", TASK, &id))?;
        Ok(())
    }
}
