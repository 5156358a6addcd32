//! Sends the records of a replica to an empty home of another server (contract 24), one request at a time. Each record carries its
//! id, so what is sent again changes nothing, and a refill that was cut goes on. Must not ask a person or print.

use std::path::Path;

use hearth_contract::check::Fields;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::client::{Client, ClientError};
use super::core::{Failure, Identity, Refusal};
use super::engine::stored_home;
use super::retry::{self, Attempts};
use super::transfer::{Store, TransferEnd, upload};
use super::wire::{self, HttpRequest};
use crate::model::FILE_SHA256;
use crate::store::file_store::bytes;
use crate::store::refill::{self, SentRecord};
use crate::store::{Connection, StoreError, open, reconcile};

/// Records in one call, at most (contract 7).
const CALL_RECORDS_MAX: usize = 50;
/// Bytes of the records in one call, at most: a body may have 1 MiB.
const CALL_BYTES_MAX: usize = 768 * 1024;
/// Refused records that an error names, at most.
const NAMED_MAX: usize = 10;

/// Why a refill does not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RefillError {
    /// The server or the network.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The home of the key has records, or had some; with a sentence about it.
    #[error("{0}")]
    NotEmpty(String),
    /// The server refuses records or a file: one sentence for each, at most [`NAMED_MAX`].
    #[error("the server refuses {}", .0.join("; "))]
    Refused(Vec<String>),
}

/// What a refill has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefillReport {
    /// Records that the home has now.
    pub records: usize,
    /// Documents that were sent without their file, because its bytes are not on this machine.
    pub without_file: usize,
    /// Records that were sent without a reference, because the replica does not have the record that it names.
    pub without_reference: usize,
}

/// The records that a refill sends, and the home in which a refill has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefillPlan {
    /// The number of records.
    pub records: usize,
    /// False: the replica may have only a part of the home's records, because a first sync, a reconcile or a rebuild has not ended.
    pub is_whole: bool,
    /// The address of the server whose home is being filled. None: no refill has begun.
    pub server: Option<String>,
    /// The id of the home that is being filled. None: no refill has begun.
    pub home_id: Option<String>,
}

/// Looks what a refill of this database would send.
pub fn plan_refill(db: &Path) -> Result<RefillPlan, StoreError> {
    let connection = open::read_write(db)?;
    let (server, home_id) = refill::load(&connection)?.map(|refill| (refill.server, refill.home_id)).unzip();
    let (records, is_whole) = (refill::count(&connection)?, reconcile::is_whole(&connection)?);
    Ok(RefillPlan { records, is_whole, server, home_id })
}

/// Fills the empty home of a key, and makes the database a replica of that home. The caller holds the sync lock. `from`: the id
/// of the lost home. `sent`: gets the number of records that the home has so far. An unfinished refill of another home is
/// given up, unless the server refuses this one.
pub async fn refill_home(
    db: &Path,
    server: &str,
    key: &SecretString,
    home: &Identity,
    from: &str,
    mut sent: impl FnMut(usize),
) -> Result<RefillReport, RefillError> {
    let client = Client::new(server, key)?;
    let sender = Sender { client, store: Store::new(db) };
    let begun = sender.read(refill::load).await?;
    let noted = begun.as_ref().filter(|begun| begun.home_id == home.home_id);
    let (is_noted, has_sent) = (noted.is_some(), noted.is_some_and(|begun| begun.after.is_some()));
    // The note is written before the request is sent: when the answer is lost, `status` names the home, and the same command goes on.
    let (address, home_id) = (server.to_owned(), home.home_id.clone());
    sender.write(move |connection| refill::begin(connection, &address, &home_id)).await?;
    let is_ended = match sender.begin(from, has_sent).await {
        Err(refused @ RefillError::NotEmpty(_)) if !is_noted => {
            sender.write(move |connection| refill::undo_begin(connection, begun)).await?;
            return Err(refused);
        }
        answer => answer?,
    };
    let mut report = RefillReport::default();
    if is_ended {
        report.records = sender.read(refill::count).await?;
    } else {
        sender.send_all(&mut report, &mut sent).await?;
        let _: Value = sender.ask("DELETE", paths::REFILL, None).await?;
    }
    let home = stored_home(server, home);
    sender.write(move |connection| refill::finish(connection, &home)).await?;
    Ok(report)
}

/// The network and the database of a refill.
struct Sender {
    client: Client,
    store: Store,
}

/// The result of one operation of a bulk call.
#[derive(Deserialize)]
struct Outcome {
    index: usize,
    status: u16,
    error: Option<OutcomeError>,
}

#[derive(Deserialize)]
struct OutcomeError {
    message: String,
    #[serde(default)]
    details: Value,
}

impl Sender {
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.store.run(move |connection, _| work(connection)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.write(move |connection| work(connection)).await
    }

    /// Begins the refill on the server. True: an earlier run of this command has ended it there. `has_sent`: an earlier run has sent
    /// records. Without one, another replica with the same key has filled the home.
    async fn begin(&self, from: &str, has_sent: bool) -> Result<bool, RefillError> {
        /// The refill as the server tells it.
        #[derive(Deserialize)]
        struct Begun {
            ended_at: Option<String>,
        }
        match self.ask::<Begun>("POST", paths::REFILL, Some(json!({ "from": from }))).await {
            Ok(Begun { ended_at: Some(_) }) if !has_sent => {
                let why = "this home is not empty: it was refilled before; to follow it: hearth-replica init --server URL --take-over";
                Err(RefillError::NotEmpty(why.to_owned()))
            }
            Ok(begun) => Ok(begun.ended_at.is_some()),
            Err(ClientError::Refused(409, why)) => Err(RefillError::NotEmpty(why)),
            Err(error) => Err(error.into()),
        }
    }

    async fn send_all(&self, report: &mut RefillReport, sent: &mut impl FnMut(usize)) -> Result<(), RefillError> {
        if let Some(profile) = self.read(refill::profile).await? {
            let _: Value = self.ask("PATCH", paths::PROPERTY, Some(Value::Object(profile))).await?;
            report.records += 1;
        }
        let after = self.read(refill::load).await?.and_then(|refill| refill.after);
        let is_behind = |kind: Kind| {
            let place = |kind| refill::ORDER.iter().position(|known| *known == kind);
            after.as_ref().is_some_and(|(last, _)| place(kind) < place(*last))
        };
        for kind in refill::ORDER {
            let mut ids = self.read(move |connection| refill::ids(connection, kind)).await?;
            let done = match &after {
                _ if is_behind(kind) => ids.len(),
                Some((last, id)) if *last == kind => ids.iter().position(|known| known == id).map_or(0, |at| at + 1),
                _ => 0,
            };
            report.records += done;
            sent(report.records);
            let mut rest = ids.split_off(done).into_iter().peekable();
            while rest.peek().is_some() {
                let last = self.send_some(kind, &mut rest, report).await?;
                self.write(move |connection| refill::note_sent(connection, kind, &last)).await?;
                sent(report.records);
            }
        }
        Ok(())
    }

    /// Sends the next records of a kind in one call. Returns the id of the last one.
    async fn send_some(
        &self,
        kind: Kind,
        rest: &mut std::iter::Peekable<impl Iterator<Item = String>>,
        report: &mut RefillReport,
    ) -> Result<String, RefillError> {
        let (mut operations, mut bytes, mut last) = (Vec::new(), 0, String::new());
        while operations.len() < CALL_RECORDS_MAX && bytes < CALL_BYTES_MAX {
            let Some(id) = rest.next() else { break };
            last.clone_from(&id);
            let found = self.read(move |connection| refill::record(connection, kind, &id)).await?;
            let Some(SentRecord { fields: mut record, lacks_reference }) = found else { continue };
            report.without_reference += usize::from(lacks_reference);
            self.send_file(&mut record, report).await?;
            record.insert("method".to_owned(), "create".into());
            let operation = Value::Object(record);
            bytes += operation.to_string().len();
            operations.push(operation);
        }
        let path = format!("{}/bulk", paths::collection(kind));
        let outcomes: Vec<Outcome> = self.ask("POST", &path, Some(json!({ "operations": operations }))).await?;
        let mut refused = Vec::new();
        for Outcome { index, status, error } in outcomes {
            // A record that an earlier call has brought is there.
            if matches!(status, 201 | 409) {
                report.records += 1;
            } else {
                let id = operations.get(index).and_then(|operation| operation["id"].as_str()).unwrap_or_default();
                let why = error.map_or_else(|| status.to_string(), |error| sentence(&error));
                refused.push(format!("the {kind} {id}: {why}"));
            }
        }
        refused.truncate(NAMED_MAX);
        if refused.is_empty() { Ok(last) } else { Err(RefillError::Refused(refused)) }
    }

    /// Sends the file that a document names before the document. A document whose file is not here goes without it.
    async fn send_file(&self, record: &mut Fields, report: &mut RefillReport) -> Result<(), RefillError> {
        let Some(hash) = record.get(FILE_SHA256).and_then(Value::as_str).map(str::to_owned) else { return Ok(()) };
        let mut go_without = || {
            record.shift_remove(FILE_SHA256);
            report.without_file += 1;
        };
        if !bytes::is_here(&self.store.db, &hash) {
            go_without();
            return Ok(());
        }
        let mut attempts = Attempts::default();
        loop {
            let failure = match upload(&self.client, &self.store.db, &hash).await {
                TransferEnd::Done => return Ok(()),
                TransferEnd::NotHere | TransferEnd::WrongBytes => {
                    go_without();
                    return Ok(());
                }
                TransferEnd::Refused(refusal) => Failure::Refused(refusal),
                TransferEnd::NoAnswer(why) => Failure::NoAnswer(why),
            };
            if attempts.wait_after(&failure, true).await {
                continue;
            }
            return Err(match failure {
                Failure::Refused(Refusal { status: 413 | 415, message, .. }) => {
                    let id = record.get("id").and_then(Value::as_str).unwrap_or_default();
                    RefillError::Refused(vec![format!("the file of the document {id}: {message}")])
                }
                Failure::Refused(refusal) => ClientError::Refused(refusal.status, refusal.message).into(),
                Failure::NoAnswer(why) => self.client.unreachable(why).into(),
            });
        }
    }

    /// Sends a request until it is answered. Err: a failure that a repetition does not cure.
    async fn ask<T: DeserializeOwned>(&self, method: &str, path: &str, body: Option<Value>) -> Result<T, ClientError> {
        let request = HttpRequest::new(method, path, body.map(|body| body.to_string()));
        retry::ask(&self.client, &request, async |request: &HttpRequest| self.client.send(request).await, wire::data)
            .await
    }
}

/// Why the server refuses a record: the first fault, else its sentence.
fn sentence(error: &OutcomeError) -> String {
    let fault = error.details.pointer("/fields/0/message").and_then(Value::as_str);
    fault.unwrap_or(&error.message).to_owned()
}
