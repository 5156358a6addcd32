//! A whole sync without network and clock: the core's decisions, carried out on the database and turned into
//! questions to the server. Whoever drives it passes on what is heard and does what it says; it blocks while SQLite
//! works. Must not decide anything.

mod carry;
pub(crate) mod meaning;
mod telling;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use self::meaning::Asked;
use self::telling::Telling;
pub use self::words::{Chance, Deed, Done, Heard, Moment};
use super::Until;
use super::core::{Core, Effect, Errand, Input, Millis};
use super::walked::Kept;
use super::wire;
use crate::doctor::unwritten;
use crate::model::BlockCause;
use crate::store::edits::judge::ConflictPolicy;
use crate::store::edits::numbers;
use crate::store::presence::OpenedFile;
use crate::store::{
    Connection, StoreError, connection, control, disk_reserve, gate, open, recovery, schema, sync_state,
};

/// Why nothing goes on while the disk is full.
const NO_ROOM: &str = "the disk that holds the replica is full; make room, and it goes on by itself";
/// While another program holds the database, whether to wait on is looked at this often.
const HELD_LOOK: Duration = Duration::from_millis(250);

/// One sync of one database.
pub struct Engine {
    core: Core,
    connection: Connection,
    db: PathBuf,
    place: OpenedFile,
    server: String,
    /// The process that syncs, as others read it.
    process: Option<u32>,
    policy: ConflictPolicy,
    chance: Chance,
    asked: HashMap<u64, Asked>,
    tickets: u64,
    /// The edits that the server had accepted when it was last asked for its head.
    accepted: Vec<i64>,
    /// How often it was told to hurry so far.
    retry_requests: i64,
    /// The database as it was last looked at: others' commits change it, ours do not.
    seen: i64,
    /// Its tables and triggers as they were when it was last written to.
    schema: Option<i64>,
    done: Done,
    outlet: Option<Box<dyn FnMut(Deed) + Send>>,
    /// Whether another program that holds the database is not waited for any more.
    give_up: Arc<AtomicBool>,
    /// Answers that wait to be written with those that follow.
    walked: Option<Kept>,
    telling: Telling,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("core", &self.core).field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Engine {
    /// Opens the database, made and brought up to date if that is due. `server` is what the replica calls it.
    pub fn open(
        db: &Path,
        server: &str,
        until: Until,
        policy: ConflictPolicy,
        mut chance: Chance,
    ) -> Result<Engine, StoreError> {
        let core = Core::new(until, (chance)() as u64);
        let connection = open::read_write(db)?;
        connection.busy_timeout(HELD_LOOK)?;
        Ok(Engine {
            core,
            seen: connection::data_version(&connection)?,
            schema: None,
            connection,
            db: db.to_owned(),
            place: OpenedFile::new(db),
            server: server.to_owned(),
            process: None,
            policy,
            chance,
            asked: HashMap::new(),
            tickets: 0,
            accepted: Vec::new(),
            retry_requests: 0,
            done: Done::default(),
            outlet: None,
            give_up: Arc::default(),
            walked: None,
            telling: Telling::default(),
        })
    }

    /// Deeds are told as soon as they may be done, while the engine still writes what goes with them, instead of with what
    /// came of it all.
    pub fn tell_at_once(&mut self, outlet: impl FnMut(Deed) + Send + 'static) {
        self.outlet = Some(Box::new(outlet));
    }

    /// To be set when it is to end soon: from then on what another program holds back fails, instead of waiting.
    pub fn give_up(&self) -> Arc<AtomicBool> {
        self.give_up.clone()
    }

    /// Begins where the database stands; this process is named as the one that syncs.
    pub fn start(&mut self, process: u32, now: Moment) -> Result<Done, StoreError> {
        self.process = Some(process);
        unless_unwritten(disk_reserve::allocate(&self.db))?;
        let mut full = None;
        if let Err(error) = self.keep(|c| sync_state::set_daemon(c, Some(process), now.wall)) {
            full = Some(self.why_unwritten(&error));
            unless_unwritten(Err(error))?;
            // An earlier process may have left with the disk full and this still set aside, which is there to say so: a log
            // that is taken over would have it.
            connection::set_autocheckpoint(&self.connection, &self.db, false)?;
            disk_reserve::release(&self.db);
            unless_unwritten(self.keep(|c| sync_state::set_daemon(c, Some(process), now.wall)))?;
        }
        unless_unwritten(self.patiently(numbers::set_right))?;
        let refused = self.patiently(|c| sync_state::key_refusal(c))?;
        self.telling.begin(refused);
        if let Some((cause, reason)) = full {
            let done = self.tell(now, [Input::DiskFull { reason, cause }])?;
            connection::set_autocheckpoint(&self.connection, &self.db, true)?;
            return Ok(done);
        }
        let begun = self.begun()?;
        self.tell(now, begun)
    }

    /// Takes in what happened, carries out what it means here, and says what is to be done outside.
    pub fn hear(&mut self, now: Moment, heard: Heard) -> Result<Done, StoreError> {
        self.place.ensure_unmoved()?;
        let input = match heard {
            Heard::DatabaseChanged => {
                // The bell tells of our own commits too.
                let seen = self.patiently(|c| connection::data_version(c))?;
                if std::mem::replace(&mut self.seen, seen) == seen {
                    return Ok(Done::default());
                }
                let wishes = self.wishes()?;
                return self.tell(now, [wishes, Input::EditsChanged]);
            }
            Heard::Answer { ticket, answer } => match self.asked.remove(&ticket) {
                // Contact begins with answers of its own.
                Some(asked) if asked.outdated && asked.errand.is_of_contact() => return Ok(Done::default()),
                Some(asked) => self.answered(asked, answer)?,
                None => return Ok(Done::default()),
            },
            Heard::StreamOpened => Input::StreamOpened,
            Heard::StreamRefused(answer) => Input::StreamRefused(wire::refusal(&answer)),
            Heard::Frames(stretch) => Input::Frames(stretch),
            Heard::Contact => Input::Contact,
            Heard::StreamEnded { reason } => Input::StreamEnded { reason },
            Heard::KeyChanged => {
                self.telling.key_changed();
                Input::KeyChanged
            }
            Heard::Timer => Input::Timer,
            Heard::StopRequested => Input::StopRequested,
        };
        self.tell(now, [input])
    }

    /// When to be woken, if nothing else happens.
    pub fn wake_at(&self) -> Option<Millis> {
        self.core.wake_at()
    }

    /// Nobody shall read any longer that a process syncs.
    pub fn leave(&mut self, now: Moment) -> Result<(), StoreError> {
        unless_unwritten(self.keep(|c| sync_state::set_daemon(c, None, now.wall)))
    }

    /// What to begin from: where the database stands, and what people wish.
    fn begun(&mut self) -> Result<[Input; 2], StoreError> {
        Ok([self.standing()?, self.wishes()?])
    }

    /// Where the database stands.
    fn standing(&mut self) -> Result<Input, StoreError> {
        let sync_state::SyncState { cursor, backfilled, home_id: home } =
            self.patiently(|c| sync_state::load_state(c))?;
        let recovery = self.patiently(|c| recovery::read(c))?;
        let paused = self.patiently(|c| control::load_requests(c))?.paused;
        Ok(Input::Started { cursor, backfilled, home, recovery, paused })
    }

    fn wishes(&mut self) -> Result<Input, StoreError> {
        let control::ControlRequests { paused, reconcile, retry_requests } =
            self.patiently(|c| control::load_requests(c))?;
        let hurry = retry_requests > std::mem::replace(&mut self.retry_requests, retry_requests);
        Ok(Input::Wished { paused, reconcile, hurry })
    }

    /// Hands inputs to the core and carries out what comes of them.
    fn tell<const N: usize>(&mut self, now: Moment, inputs: [Input; N]) -> Result<Done, StoreError> {
        let mut inputs = VecDeque::from(inputs);
        let mut is_log_left = false;
        while let Some(input) = inputs.pop_front() {
            let mut effects = self.core.handle(now.steady, input).into_iter().peekable();
            while let Some(effect) = effects.next() {
                let carried_out = match effect {
                    Effect::Ask(Errand::Send { parcels }) => {
                        // What goes at the same time is written down at once.
                        let more = std::iter::from_fn(|| match effects.next_if(Effect::sends)? {
                            Effect::Ask(Errand::Send { parcels }) => Some(parcels),
                            _ => None,
                        });
                        let all = [parcels].into_iter().chain(more).collect();
                        self.send(now, all)
                    }
                    effect => self.carry_out(now, effect),
                };
                match carried_out {
                    Ok(more) => inputs.extend(more),
                    Err(error)
                        if error.is_write_failure()
                            && hearth_simulated::planted(hearth_simulated::Fault::DiskFullIsSuccess) => {}
                    Err(error) if error.is_write_failure() => {
                        // Nothing of this effect was written, and what follows rests on it.
                        tracing::warn!(%error, "not written");
                        // Before room is given back.
                        let (cause, reason) = self.why_unwritten(&error);
                        // To take the log over may need room as well, and what is set aside is there to say what is wrong.
                        is_log_left = connection::checkpoint_truncate(&self.connection).is_err();
                        disk_reserve::release(&self.db);
                        inputs = VecDeque::from([Input::DiskFull { reason, cause }]);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if is_log_left && let Err(error) = connection::checkpoint_truncate(&self.connection) {
            tracing::warn!(%error, "the log's room could not be given back");
        }
        Ok(std::mem::take(&mut self.done))
    }

    /// Why nothing goes on while the disk does not take what is written.
    fn why_unwritten(&self, error: &StoreError) -> (BlockCause, String) {
        if error.is_out_of_room(&self.db) {
            return (BlockCause::DiskFull, NO_ROOM.to_owned());
        }
        let why = unwritten("the replica", error) + "; it goes on by itself once that is over";
        (BlockCause::DiskUnwritable, why)
    }

    /// Writes.
    fn keep<T>(&mut self, work: impl FnMut(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        // A trigger may have been made, or be gone.
        let schema = self.patiently(|c| connection::schema_version(c))?;
        if self.schema != Some(schema) {
            // A newer program may know columns that this one would pass over.
            if !self.patiently(|c| schema::is_current(c))? {
                return Err(StoreError::SchemaReplaced);
            }
            self.patiently(|c| gate::skip_own_triggers(c))?;
            self.schema = Some(schema);
        }
        let value = self.patiently(work)?;
        self.done.wrote = true;
        Ok(value)
    }

    /// Reads or writes, again while somebody's script holds a long transaction: it will end, or this is told to.
    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut said = false;
        loop {
            match work(&mut self.connection) {
                Err(error) if error.is_busy() && !self.give_up.load(Ordering::Relaxed) => {
                    if !std::mem::replace(&mut said, true) {
                        tracing::warn!("the database is held by another program; waiting");
                    }
                }
                result => return result,
            }
        }
    }
}

/// What only says how things stand may stay unsaid while there is no room; it is said again.
fn unless_unwritten(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(error) if error.is_write_failure() => {
            tracing::warn!(%error, "how things stand could not be written down");
            Ok(())
        }
        result => result,
    }
}
