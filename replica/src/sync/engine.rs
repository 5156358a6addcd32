//! A whole sync without network and clock: the core's decisions, carried out on the database and turned into
//! questions to the server. Whoever drives it passes on what is heard and does what it says; it blocks while SQLite
//! works. Must not decide anything.

pub(crate) mod meaning;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use uuid::Uuid;

use self::meaning::{Asked, moment, verdict};
use super::Until;
use super::core::{Core, Effect, Errand, Input, Millis, Outcome, Ready, Stretch, There, Verdict};
use super::walked::Kept;
use super::wire::{self, Answer, Ask};
use crate::store::edits::judge::ConflictPolicy;
use crate::store::edits::{answers, plan, push};
use crate::store::place::Place;
use crate::store::{Connection, StoreError, mirror, open, recovery, reserve, standing, wishes};

/// Why nothing goes on while the disk is full.
const NO_ROOM: &str = "the disk that holds the replica is full; make room, and it goes on by itself";
/// While another program holds the database, whether to wait on is looked at this often.
const HELD_LOOK: Duration = Duration::from_millis(250);
/// Edits looked up at a time, beside those that the key may not write: more than all bulk calls that are under way beside
/// each other.
const PLAN_EDITS: usize = 2000;

/// A point in time, as told to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds of a clock that never goes back; its zero means nothing.
    pub steady: Millis,
    /// This machine's idea of the time, for display and for how old contact is; nothing is decided by it.
    pub wall: Timestamp,
}

/// Random bits: for spreading retries and for keys that nobody else has.
pub type Chance = Box<dyn FnMut() -> u128 + Send>;

/// What the driver passes on.
#[derive(Debug)]
pub enum Heard {
    /// A question was answered, or was not, for this reason.
    Answer {
        /// Which question.
        ticket: u64,
        /// The answer, or why there is none, in plain words.
        answer: Result<Answer, String>,
    },
    /// The server has accepted the stream's cursor.
    StreamOpened,
    /// The server refuses the stream.
    StreamRefused(Answer),
    /// A stretch of the stream.
    Frames(Stretch),
    /// Bytes came on the stream, whatever they say.
    Contact,
    /// The stream is over, or never came to be.
    StreamEnded {
        /// Why, in plain words.
        reason: String,
    },
    /// Somebody wrote to the database.
    DatabaseChanged,
    /// Another key is asked with from now on.
    KeyChanged,
    /// The moment of [`Engine::wake_at`] has come.
    Timer,
    /// A person or the system wants it to end.
    StopRequested,
}

/// What the driver has to do, in order.
#[derive(Debug, PartialEq)]
pub enum Deed {
    /// Ask the server; the answer comes back with the ticket.
    Ask {
        /// What the answer comes back with.
        ticket: u64,
        /// The question.
        ask: Ask,
    },
    /// Open the stream.
    OpenStream(Ask),
    /// Let go of the stream.
    CloseStream,
    /// Nothing is left to do.
    End(Verdict),
}

/// What came of something heard.
#[derive(Debug, Default)]
pub struct Done {
    /// To be done now.
    pub deeds: Vec<Deed>,
    /// Whether the database was written, so that others should hear of it.
    pub wrote: bool,
}

/// One sync of one database.
pub struct Engine {
    core: Core,
    connection: Connection,
    db: PathBuf,
    place: Place,
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
    hurried: i64,
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
            seen: open::data_version(&connection)?,
            schema: None,
            connection,
            db: db.to_owned(),
            place: Place::of(db),
            server: server.to_owned(),
            process: None,
            policy,
            chance,
            asked: HashMap::new(),
            tickets: 0,
            accepted: Vec::new(),
            hurried: 0,
            done: Done::default(),
            outlet: None,
            give_up: Arc::default(),
            walked: None,
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
        unless_full(reserve::hold(&self.db))?;
        if let Err(error) = self.keep(|c| standing::set_daemon(c, Some(process), now.wall)) {
            unless_full(Err(error))?;
            // An earlier process may have left with the disk full and this still set aside.
            reserve::release(&self.db);
            unless_full(self.keep(|c| standing::set_daemon(c, Some(process), now.wall)))?;
        }
        let begun = self.begun()?;
        self.tell(now, begun)
    }

    /// Takes in what happened, carries out what it means here, and says what is to be done outside.
    pub fn hear(&mut self, now: Moment, heard: Heard) -> Result<Done, StoreError> {
        self.place.is_kept()?;
        let input = match heard {
            Heard::DatabaseChanged => {
                // The bell tells of our own commits too.
                let seen = self.patiently(|c| open::data_version(c))?;
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
            Heard::KeyChanged => Input::KeyChanged,
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
        unless_full(self.keep(|c| standing::set_daemon(c, None, now.wall)))
    }

    /// What to begin from: where the database stands, and what people wish.
    fn begun(&mut self) -> Result<[Input; 2], StoreError> {
        Ok([self.standing()?, self.wishes()?])
    }

    /// Where the database stands.
    fn standing(&mut self) -> Result<Input, StoreError> {
        let standing::Standing { cursor, filled, home_id: home } = self.patiently(|c| standing::read(c))?;
        let recovery = self.patiently(|c| recovery::read(c))?;
        let paused = self.patiently(|c| wishes::read(c))?.paused;
        Ok(Input::Started { cursor, filled, home, recovery, paused })
    }

    fn wishes(&mut self) -> Result<Input, StoreError> {
        let wishes::Wishes { paused, reconcile, hurried } = self.patiently(|c| wishes::read(c))?;
        let hurry = hurried > std::mem::replace(&mut self.hurried, hurried);
        Ok(Input::Wished { paused, reconcile, hurry })
    }

    /// Hands inputs to the core and carries out what comes of them.
    fn tell<const N: usize>(&mut self, now: Moment, inputs: [Input; N]) -> Result<Done, StoreError> {
        let mut inputs = VecDeque::from(inputs);
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
                    Err(error) if error.is_full() && hearth_simulated::planted("a full disk counts as written") => {}
                    Err(error) if error.is_full() => {
                        // Nothing of this effect was written, and what follows rests on it.
                        tracing::warn!(%error, "no room");
                        reserve::release(&self.db);
                        if let Err(error) = open::give_back_log(&self.connection) {
                            tracing::warn!(%error, "the log's room could not be given back");
                        }
                        inputs = VecDeque::from([Input::DiskFull { reason: NO_ROOM.to_owned() }]);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(std::mem::take(&mut self.done))
    }

    fn carry_out(&mut self, now: Moment, effect: Effect) -> Result<Vec<Input>, StoreError> {
        if !matches!(effect, Effect::Keep { .. } | Effect::Ask(Errand::Recover { .. })) {
            self.write_walked()?;
        }
        match effect {
            Effect::Ask(errand) => return self.ask(now, errand),
            Effect::OpenStream { cursor } => self.do_deed(Deed::OpenStream(Ask::stream(cursor.as_deref()))),
            Effect::CloseStream => self.do_deed(Deed::CloseStream),
            Effect::Finish(verdict) => self.do_deed(Deed::End(verdict)),
            Effect::Greet { identity, standing } => {
                let greeting = standing::Greeting {
                    home: meaning::home(&self.server, &identity),
                    head: standing.head,
                    retention_seconds: standing.retention_seconds,
                    accepted: self.accepted.clone(),
                    process: self.process,
                };
                self.keep(|c| standing::greet(c, &greeting, now.wall))?;
            }
            Effect::Apply { stretch, phase, reason, polled, current } => {
                let Stretch { events, cursor, ready } = stretch;
                if let Some(head) = ready.filter(|_| !polled) {
                    tracing::info!(head, "in step");
                }
                let batch = mirror::Batch { events, cursor, ready };
                let proof = mirror::Proof {
                    phase: phase.word(),
                    reason,
                    transport: if polled { "poll" } else { "stream" },
                    current,
                    now: now.wall,
                };
                let mirror::Applied { position: tail, touched_edits, found_edits } =
                    self.keep(|c| mirror::apply(c, &batch, &proof))?;
                return Ok(vec![Input::Applied { cursor: batch.cursor, tail, touched_edits, found_edits }]);
            }
            Effect::Touch { current } => self.keep(|c| standing::touch(c, current, now.wall))?,
            Effect::Plan => {
                let forbidden = self.core.forbidden();
                let plan::Plan { ready, open } = self.patiently(|c| plan::plan(c, PLAN_EDITS, &forbidden))?;
                let ready = ready.into_iter().map(|plan::Ready { edits, kind, frozen, bytes }| Ready {
                    edits,
                    kind,
                    frozen,
                    bytes,
                });
                return Ok(vec![Input::Planned { ready: ready.collect(), open }]);
            }
            Effect::Record { endings } => {
                let verdicts: Vec<_> = endings.into_iter().map(|(edit, ending)| (edit, verdict(now, ending))).collect();
                self.keep(|c| answers::record(c, &verdicts, now.wall))?;
            }
            Effect::Show { phase, reason, retry_at } => {
                let retry_at = retry_at.map(|at| moment(now, at));
                tracing::info!(phase = phase.word(), reason, "phase");
                let shown = self.keep(|c| standing::set_phase(c, phase.word(), reason.as_deref(), retry_at, now.wall));
                unless_full(shown)?;
            }
            Effect::Reload => {
                // First of all what is needed to say it, should there be no room again.
                reserve::hold(&self.db)?;
                return Ok(self.begun()?.into());
            }
            Effect::Recover(cause) => {
                tracing::warn!(?cause, "recovering");
                return Ok(vec![Input::Recovering(self.keep(|c| recovery::begin(c, &cause))?)]);
            }
            Effect::Keep { question, found, then } => self.walked(Kept { question, found, then })?,
            Effect::SetStep(step) => self.keep(|c| recovery::set_step(c, &step))?,
            Effect::LookForMissing { kind } => {
                return Ok(vec![Input::Missing(self.patiently(|c| recovery::missing(c, kind))?)]);
            }
            Effect::Sweep { kind, as_of, then } => {
                let swept = self.keep(|c| recovery::sweep(c, kind, as_of, &then, now.wall))?;
                return Ok(vec![Input::Swept { kind, swept }]);
            }
            Effect::AskPerson(question) => self.keep(|c| recovery::ask(c, &question))?,
            Effect::Heed { accepted } => self.keep(|c| recovery::heed(c, accepted))?,
            Effect::EndRecovery => self.keep(|c| recovery::finish(c, now.wall))?,
        }
        Ok(Vec::new())
    }

    /// Turns an errand into a question; what the question says is on disk first if it must be repeatable.
    fn ask(&mut self, now: Moment, errand: Errand) -> Result<Vec<Input>, StoreError> {
        let ask = match &errand {
            Errand::Me => {
                // Contact begins anew. The server may have been put back to an older copy since it was asked for an
                // edit, even where it still knows our cursor: what it says of it then is of a history that is gone.
                self.asked.values_mut().for_each(|asked| asked.outdated = true);
                Ask::me()
            }
            Errand::Scopes { .. } => Ask::me(),
            Errand::Feed => {
                self.accepted = self.patiently(|c| recovery::lost::accepted(c))?;
                Ask::feed()
            }
            Errand::Poll { cursor } => Ask::poll(cursor.as_deref()),
            Errand::Recover { question, .. } => Ask::recover(question),
            Errand::Send { parcels } => return self.send(now, vec![parcels.clone()]),
            Errand::Look { edit } => match self.patiently(|c| answers::record_of(c, *edit))? {
                Some((kind, record)) => Ask::look(kind, &record),
                None => return Ok(vec![Input::Looked { edit: *edit, there: There::Other }]),
            },
        };
        self.put(errand, None, ask);
        Ok(Vec::new())
    }

    /// Writes an answer of a recovery down, or has it wait for those that are like it.
    fn walked(&mut self, kept: Kept) -> Result<(), StoreError> {
        match &mut self.walked {
            Some(before) => before.extend(kept),
            before => *before = Some(kept),
        }
        match &self.walked {
            Some(walked) if walked.may_wait() => Ok(()),
            _ => self.write_walked(),
        }
    }

    fn write_walked(&mut self) -> Result<(), StoreError> {
        let Some(Kept { question, found, then }) = self.walked.take() else { return Ok(()) };
        self.keep(|c| recovery::keep(c, &question, &found, &then))
    }

    /// Asks for edits, once their requests are on disk; gives what is known of them without asking.
    fn send(&mut self, now: Moment, all: Vec<Vec<Vec<i64>>>) -> Result<Vec<Input>, StoreError> {
        self.write_walked()?;
        let wanted = all.into_iter().map(|parcels| {
            let new_key = Uuid::from_u128((self.chance)()).to_string();
            push::Wanted { parcels, new_key }
        });
        let (wanted, policy): (Vec<_>, _) = (wanted.collect(), self.policy);
        let frozen = self.keep(|c| push::freeze(c, &wanted, policy, now.wall))?;
        let mut known = Vec::new();
        for (push::Wanted { parcels, .. }, request) in wanted.into_iter().zip(frozen) {
            match request {
                Some(request) => {
                    let ask = Ask::send(&request);
                    self.put(Errand::Send { parcels }, Some(request), ask);
                }
                None => {
                    let sent = parcels.concat();
                    known.push(Input::Answered { sent, carried: Vec::new(), outcome: Outcome::Moot });
                }
            }
        }
        Ok(known)
    }

    fn put(&mut self, errand: Errand, request: Option<push::Request>, ask: Ask) {
        self.tickets += 1;
        self.asked.insert(self.tickets, Asked { errand, request, outdated: false });
        self.do_deed(Deed::Ask { ticket: self.tickets, ask });
    }

    fn do_deed(&mut self, deed: Deed) {
        match &mut self.outlet {
            Some(tell) => tell(deed),
            None => self.done.deeds.push(deed),
        }
    }

    /// Writes.
    fn keep<T>(&mut self, work: impl FnMut(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        // A trigger may have been made, or be gone.
        let schema = self.patiently(|c| open::schema_version(c))?;
        if self.schema != Some(schema) {
            self.patiently(|c| open::spare_triggers(c))?;
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
fn unless_full(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(error) if error.is_full() => {
            tracing::warn!(%error, "no room to write down how things stand");
            Ok(())
        }
        result => result,
    }
}
