//! State of the engine, and how an engine is opened. Must not decide anything.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::messages::{Command, RandomBits, StepOutput};
use super::phase_log::PhaseLog;
use crate::model::ConflictPolicy;
use crate::store::edits::push;
use crate::store::feed::Checkpoint;
use crate::store::presence::OpenedFile;
use crate::store::{Connection, StoreError, connection, open};
use crate::sync::core::{Core, Millis, Request, Until};
use crate::sync::page_buffer::UnwrittenPages;

/// While another program locks the database, the cancel flag is checked this often.
const BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// A request that awaits a response.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) asked: Asked,
    /// A new contact, a poll or an id gap came after the request: the response may be of a history discarded since.
    pub(super) is_stale: bool,
}

/// What a request asks.
#[derive(Debug)]
pub(super) enum Asked {
    /// Takes edits. `sent`: those that the core wanted to send. `request`: the frozen request from the outbox.
    Edits { sent: Vec<i64>, request: push::Request },
    /// Anything else.
    Other(Request),
}

/// One sync of one database.
pub struct Engine {
    pub(super) core: Core,
    pub(super) connection: Connection,
    pub(super) db: PathBuf,
    pub(super) place: OpenedFile,
    /// The server's address, as saved in the database.
    pub(super) server: String,
    /// The id of the syncing process, as saved in the database.
    pub(super) process: Option<u32>,
    pub(super) policy: ConflictPolicy,
    pub(super) random: RandomBits,
    /// Requests by ticket.
    pub(super) pending: HashMap<u64, PendingRequest>,
    pub(super) last_ticket: u64,
    /// Edits that the server had accepted when the feed head was requested last.
    pub(super) accepted_edits: Vec<i64>,
    /// The count of retry-now requests read last.
    pub(super) retry_requests: i64,
    /// `PRAGMA data_version` at the last look: only commits of other connections change the number.
    pub(super) data_version: i64,
    /// `PRAGMA schema_version` when the schema was last found unaltered. None: not looked at yet.
    pub(super) schema_version: Option<i64>,
    /// When the schema is restored that another program has altered. None: nothing is altered.
    pub(super) restore_at: Option<Millis>,
    pub(super) output: StepOutput,
    pub(super) command_sink: Option<Box<dyn FnMut(Command) + Send>>,
    /// True: fail instead of waiting for a program that locks the database.
    pub(super) cancel: Arc<AtomicBool>,
    /// Pages of the reconcile that are not written yet.
    pub(super) unwritten_pages: Option<UnwrittenPages>,
    /// Where the feed goes on, as this sync has stored it. None before the first write.
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) phase_log: PhaseLog,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("core", &self.core).field("pending", &self.pending).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the database; creates or migrates the database if necessary. `server`: the address to save with the home.
    pub fn open(
        db: &Path,
        server: &str,
        until: Until,
        policy: ConflictPolicy,
        mut random: RandomBits,
    ) -> Result<Engine, StoreError> {
        let core = Core::new(until, (random)() as u64);
        let connection = open::read_write(db)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(Engine {
            core,
            data_version: connection::data_version(&connection)?,
            schema_version: None,
            restore_at: None,
            connection,
            db: db.to_owned(),
            place: OpenedFile::new(db),
            server: server.to_owned(),
            process: None,
            policy,
            random,
            pending: HashMap::new(),
            last_ticket: 0,
            accepted_edits: Vec::new(),
            retry_requests: 0,
            output: StepOutput::default(),
            command_sink: None,
            cancel: Arc::default(),
            unwritten_pages: None,
            checkpoint: None,
            phase_log: PhaseLog::default(),
        })
    }

    /// Sends commands to `sink` as soon as they are safe to execute, instead of returning them in [`StepOutput`]. Requests
    /// then leave while the engine still writes.
    pub fn set_command_sink(&mut self, sink: impl FnMut(Command) + Send + 'static) {
        self.command_sink = Some(Box::new(sink));
    }

    /// A flag to set before the end: the engine then fails instead of waiting for a program that locks the database.
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.clone()
    }

    /// Whether files may be sent and fetched now.
    pub fn may_carry_files(&self) -> bool {
        self.core.may_carry_files()
    }

    /// When to report [`super::DriverEvent::Timer`], if nothing else happens.
    pub fn wake_at(&self) -> Option<Millis> {
        self.restore_at.or_else(|| self.core.wake_at())
    }
}
