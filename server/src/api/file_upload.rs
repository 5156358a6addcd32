//! `PUT /v1/files/{sha256}`: takes the bytes of a file, piece by piece (contract 21). Must not know where the bytes lie.

use bytes::Bytes;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};

use super::files::{file_json, hash_of, home_full};
use crate::app::App;
use crate::files::UPLOADS_MAX;
use crate::files::disk::{Partial, Whole};
use crate::files::room::Reservation;
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::http::upload_body::UploadBody;
use crate::store::stored_files::{self, FileHash, StoredFile};
use crate::store::{HomeNumber, StoreError, Tx, homes};

/// Bytes that are collected before they are written.
const PIECE: usize = 256 * 1024;

/// Takes the bytes of a file. 201: the file is new; 200: it was there.
pub async fn put(mut call: Call) -> Result<Reply, Refusal> {
    let hash = hash_of(&call)?;
    call.app.clock_guard.now(&call.app.clock)?;
    let Some(_permit) = call.app.uploads.open(&call.principal.key.id, UPLOADS_MAX) else {
        return Err(too_many_uploads().into());
    };
    let body = call.upload.take().ok_or_else(|| StoreError::Corrupt("an upload has no body".to_owned()))?;
    let mut limit = Limit::begin(&call, &hash, body.announced()).await?;
    let whole = receive(&call, &hash, body, &mut limit).await?;
    if whole.sha256 != hash {
        let message = "The bytes have another SHA-256 than the path says.";
        let problem = Problem::new(ProblemType::HashMismatch, message)
            .with("expected", hash.as_str())
            .with("found", whole.sha256.as_str());
        return Err(problem.into());
    }
    let (file, is_new) = publish(&call, whole, limit.most).await?;
    let status = if is_new { 201 } else { 200 };
    let reply = call.context.data_reply(status, &file_json(&file).to_string(), "");
    Ok(reply.with_header("location", paths::file(hash.as_str())))
}

/// The room of an upload: what one file may have, and what the home has left.
struct Limit {
    /// None: the file is there already and takes no more room.
    reservation: Option<Reservation>,
    free: i64,
    used: Used,
    most: Most,
    file_bytes_max: i64,
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

impl Limit {
    /// Reserves the announced bytes. Error: `payload_too_large`, before any byte is read.
    async fn begin(call: &Call, hash: &FileHash, announced: Option<u64>) -> Result<Limit, Refusal> {
        let (number, wanted) = (call.principal.key.home, hash.clone());
        let (is_known, used) = call
            .app
            .db
            .read(move |tx| {
                let is_known = stored_files::find(tx, number, &wanted)?.is_some();
                Ok((is_known, Used::read(tx, number)?))
            })
            .await?;
        let config = &call.app.config;
        let most = Most { files: config.files_bytes_max, home: config.home_bytes_max };
        let mut limit = Limit {
            reservation: (!is_known).then(|| call.app.files.room.begin(number)),
            free: (most.files - used.files).min(most.home - used.home),
            used,
            most,
            file_bytes_max: config.file_bytes_max,
        };
        limit.reserve(announced.map_or(0, |length| i64::try_from(length).unwrap_or(i64::MAX)))?;
        Ok(limit)
    }

    /// Reserves up to `bytes` in all.
    fn reserve(&mut self, bytes: i64) -> Result<(), Problem> {
        if bytes > self.file_bytes_max {
            let message = format!("The file is over {} bytes.", self.file_bytes_max);
            let problem = Problem::new(ProblemType::PayloadTooLarge, message)
                .with("limit_bytes", self.file_bytes_max)
                .with("of", "file");
            return Err(problem.with_fix("Send a smaller file, or ask the operator to raise --max-file."));
        }
        let reserved = self.reservation.as_mut().map(|reservation| reservation.grow_to(bytes, self.free));
        reserved.unwrap_or(Ok(())).map_err(|_| self.most.refusal(self.used))
    }
}

/// Writes the body to a temporary file.
async fn receive(call: &Call, hash: &FileHash, mut body: UploadBody, limit: &mut Limit) -> Result<Whole, Refusal> {
    let (files, home, wanted) = (call.app.files.clone(), call.principal.home_id(), hash.clone());
    let mut partial = on_thread(move || files.disk.begin(home, &wanted)).await?;
    let (mut waiting, mut bytes, mut arrived) = (Vec::new(), 0, 0_i64);
    loop {
        let next = body.next().await?;
        if let Some(piece) = &next {
            arrived = arrived.saturating_add(piece.len() as i64);
            limit.reserve(arrived)?;
            bytes += piece.len();
            waiting.push(piece.clone());
        }
        if next.is_none() || bytes >= PIECE {
            partial = write(partial, std::mem::take(&mut waiting)).await?;
            bytes = 0;
        }
        if next.is_none() {
            return Ok(on_thread(move || partial.finish()).await?);
        }
    }
}

async fn write(mut partial: Partial, pieces: Vec<Bytes>) -> Result<Partial, StoreError> {
    on_thread(move || {
        pieces.iter().try_for_each(|piece| partial.push(piece))?;
        Ok(partial)
    })
    .await
}

/// Gives the file its name, then stores its row. The lock is held until the row is committed.
async fn publish(call: &Call, whole: Whole, most: Most) -> Result<(StoredFile, bool), Refusal> {
    let (app, home, number) = (call.app.clone(), call.principal.home_id(), call.principal.key.home);
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

/// Stores the row. The inner error: the home has no room, and nothing is stored.
async fn store(
    app: &App,
    number: HomeNumber,
    file: StoredFile,
    now: Timestamp,
    most: Most,
) -> Result<Result<(StoredFile, bool), Problem>, StoreError> {
    app.db
        .write_for(number, move |tx| {
            let (file, is_new) = stored_files::put(tx, number, &file, now)?;
            let used = Used::read(tx, number)?;
            if is_new && (used.files > most.files || used.home > most.home) {
                tx.roll_back();
                return Ok(Err(most.refusal(used)));
            }
            Ok(Ok((file, is_new)))
        })
        .await
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
