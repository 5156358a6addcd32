//! `PUT /v1/files/{sha256}`: takes the bytes of a file, piece by piece (contract 21). Must not know where the bytes lie.

use std::sync::Arc;

use bytes::Bytes;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use uuid::Uuid;

use super::files::{file_json, hash_of, home_full};
use crate::app::App;
use crate::files::UPLOADS_MAX;
use crate::files::disk::{Partial, Whole};
use crate::files::reservation::Reservation;
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::random::random_bytes;
use crate::store::stored_files::{self, FileHash, StoredFile};
use crate::store::{HomeNumber, StoreError, Tx, homes, readings};
use hearth_contract::media::MediaType;

/// Bytes that are collected before they are written.
const PIECE: usize = 256 * 1024;

/// Takes the bytes of a file. 201: the file is new; 200: it was there.
pub async fn put(mut call: Call) -> Result<Reply, Refusal> {
    let hash = hash_of(&call)?;
    call.app.clock_guard.now(&call.app.clock)?;
    let Some(_permit) = call.app.uploads.open(&call.principal.key.id, UPLOADS_MAX) else {
        return Err(too_many_uploads().into());
    };
    let mut body = call.upload.take().ok_or_else(|| StoreError::Corrupt("an upload has no body".to_owned()))?;
    let place = Place { app: call.app.clone(), number: call.principal.key.home, home: call.principal.home_id() };
    let mut incoming = Incoming::begin(place, Some(&hash), body.announced()).await?;
    while let Some(piece) = body.next().await? {
        incoming.push(piece).await?;
    }
    let arrived = incoming.finish().await?;
    if *arrived.sha256() != hash {
        let message = "The bytes have another SHA-256 than the path says.";
        let problem = Problem::new(ProblemType::HashMismatch, message)
            .with("expected", hash.as_str())
            .with("found", arrived.sha256().as_str());
        return Err(problem.into());
    }
    let (file, is_new) = arrived.publish().await?;
    let status = if is_new { 201 } else { 200 };
    let reply = call.context.data_reply(status, &file_json(&file).to_string(), "");
    Ok(reply.with_header("location", paths::file(hash.as_str())))
}

/// The home that gets a file.
#[derive(Clone)]
pub struct Place {
    /// The state of the service.
    pub app: Arc<App>,
    /// The home in all tables.
    pub number: HomeNumber,
    /// The id of the home, which names its directory.
    pub home: Uuid,
}

/// The two limits of a home, in bytes.
#[derive(Clone, Copy)]
struct Most {
    files: i64,
    home: i64,
}

/// What a home holds, in bytes.
#[derive(Clone, Copy)]
struct Used {
    /// Its files.
    files: i64,
    /// Its files, records, events, stored responses and exports.
    home: i64,
}

impl Used {
    fn read(tx: &Tx<'_>, home: HomeNumber) -> Result<Used, StoreError> {
        Ok(Used { files: stored_files::used_bytes(tx, home)?, home: homes::used_bytes(tx, home)? })
    }
}

impl Most {
    /// The refusal of an upload for which the home has no room: it names the limit that is nearer.
    fn refusal(self, used: Used) -> Problem {
        home_full(if self.files - used.files <= self.home - used.home { self.files } else { self.home })
    }
}

/// A file that arrives piece by piece. Dropping the value gives up the file.
pub struct Incoming {
    place: Place,
    /// None: the file is there already and takes no more room.
    reservation: Option<Reservation>,
    /// What the home has left.
    free: i64,
    used: Used,
    most: Most,
    /// None while the bytes are written, and after a failure.
    partial: Option<Partial>,
    waiting: Vec<Bytes>,
    waiting_bytes: usize,
    arrived: i64,
}

impl Incoming {
    /// Reserves the announced bytes. `hash`: None if only the bytes will tell. Error: `payload_too_large`, before any byte is
    /// read.
    pub async fn begin(place: Place, hash: Option<&FileHash>, announced: Option<u64>) -> Result<Incoming, Refusal> {
        let (number, wanted) = (place.number, hash.cloned());
        let (is_known, used) = place
            .app
            .db
            .read(move |tx| {
                let known = wanted.map(|hash| stored_files::find(tx, number, &hash)).transpose()?.flatten();
                Ok((known.is_some(), Used::read(tx, number)?))
            })
            .await?;
        let config = &place.app.config;
        let most = Most { files: config.files_bytes_max, home: config.home_bytes_max };
        let (files, home) = (place.app.files.clone(), place.home);
        // A file without a known hash begins in any directory of the home.
        let hash = hash.cloned().unwrap_or_else(|| FileHash::from_bytes(&random_bytes()));
        let mut incoming = Incoming {
            reservation: (!is_known).then(|| place.app.files.reservations.begin(number)),
            free: (most.files - used.files).min(most.home - used.home),
            used,
            most,
            place,
            partial: None,
            waiting: Vec::new(),
            waiting_bytes: 0,
            arrived: 0,
        };
        incoming.reserve(announced.map_or(0, |length| i64::try_from(length).unwrap_or(i64::MAX)))?;
        incoming.partial = Some(on_thread(move || files.disk.begin(home, &hash)).await?);
        Ok(incoming)
    }

    /// Reserves up to `bytes` in all.
    fn reserve(&mut self, bytes: i64) -> Result<(), Problem> {
        let file_bytes_max = self.place.app.config.file_bytes_max;
        if bytes > file_bytes_max {
            let message = format!("The file is over {file_bytes_max} bytes.");
            let problem = Problem::new(ProblemType::PayloadTooLarge, message)
                .with("limit_bytes", file_bytes_max)
                .with("of", "file");
            return Err(problem.with_fix("Send a smaller file, or ask the operator to raise --max-file."));
        }
        let reserved = self.reservation.as_mut().map(|reservation| reservation.grow_to(bytes, self.free));
        reserved.unwrap_or(Ok(())).map_err(|_| self.most.refusal(self.used))
    }

    /// Takes the next bytes.
    pub async fn push(&mut self, piece: Bytes) -> Result<(), Refusal> {
        self.arrived = self.arrived.saturating_add(piece.len() as i64);
        self.reserve(self.arrived)?;
        self.waiting_bytes += piece.len();
        self.waiting.push(piece);
        if self.waiting_bytes >= PIECE {
            self.write().await?;
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        let pieces = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut partial = self.partial.take().ok_or(StoreError::Panicked)?;
        let written = on_thread(move || {
            pieces.iter().try_for_each(|piece| partial.push(piece))?;
            Ok(partial)
        });
        self.partial = Some(written.await?);
        Ok(())
    }

    /// Ends the file. It has no name yet.
    pub async fn finish(mut self) -> Result<Arrived, Refusal> {
        self.write().await?;
        let partial = self.partial.take().ok_or(StoreError::Panicked)?;
        let whole = on_thread(move || partial.finish()).await?;
        Ok(Arrived { place: self.place, whole, most: self.most, _reservation: self.reservation })
    }
}

/// A file that has arrived. Dropping the value gives up the file.
pub struct Arrived {
    place: Place,
    whole: Whole,
    most: Most,
    _reservation: Option<Reservation>,
}

impl Arrived {
    /// The hash of the bytes.
    pub fn sha256(&self) -> &FileHash {
        &self.whole.sha256
    }

    /// The media type, judged by the bytes.
    pub fn media(&self) -> MediaType {
        self.whole.media
    }

    /// The size in bytes.
    pub fn size_bytes(&self) -> i64 {
        self.whole.size_bytes
    }

    /// Gives the file its name, then stores its row. The lock is held until the row is committed. True: the file is new.
    pub async fn publish(self) -> Result<(StoredFile, bool), Refusal> {
        let Arrived { place: Place { app, number, home }, whole, most, _reservation } = self;
        let hash = whole.sha256.clone();
        let lock = app.files.lock(&hash).await;
        // The wait may have been long.
        let now = app.clock_guard.now(&app.clock)?;
        let file = StoredFile {
            number: None,
            sha256: whole.sha256.clone(),
            size_bytes: whole.size_bytes,
            content_type: whole.media.as_str().to_owned(),
            created_at: now,
        };
        let files = app.files.clone();
        // Bytes that are there already are replaced too: they may be damaged.
        on_thread(move || files.disk.publish(home, whole)).await?;
        let refusal = match store(&app, number, file, now, most).await {
            Ok(Ok(stored)) => return Ok(stored),
            Ok(Err(problem)) => problem.into(),
            Err(fault) => fault.into(),
        };
        app.files.remove_unnamed(&app.db, home, Some(number), &hash, &lock).await?;
        Err(refusal)
    }
}

/// Stores the row. The inner error: the home has no room, and nothing is stored.
async fn store(
    app: &App,
    number: HomeNumber,
    file: StoredFile,
    now: Timestamp,
    most: Most,
) -> Result<Result<(StoredFile, bool), Problem>, StoreError> {
    let reads = app.config.reader.is_some();
    let stored = app
        .db
        .write_for(number, move |tx| {
            let (file, is_new) = stored_files::put(tx, number, &file, now)?;
            if reads && MediaType::parse(&file.content_type) != MediaType::Other {
                readings::want(tx, number, &file.sha256, false, false)?;
            }
            let used = Used::read(tx, number)?;
            if is_new && (used.files > most.files || used.home > most.home) {
                tx.roll_back();
                return Ok(Err(most.refusal(used)));
            }
            Ok(Ok((file, is_new)))
        })
        .await;
    app.new_capture.notify_one();
    stored
}

/// Runs file operations on a thread that may block.
async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Panicked))
}

/// Seconds after which an upload over [`UPLOADS_MAX`] may try again.
const RETRY_SECONDS: u64 = 1;

fn too_many_uploads() -> Problem {
    Problem::new(ProblemType::RateLimited, format!("The key has {UPLOADS_MAX} uploads in progress, which is the most."))
        .with("window", "uploads")
        .with("limit", UPLOADS_MAX)
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Wait for the end of an upload, then send this one again.")
}
