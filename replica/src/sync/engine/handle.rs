//! The loop of the engine: driver events become core events, and actions of the core are carried out until none is left.
//! Must not decide what to do next.

use std::collections::VecDeque;
use std::time::Duration;

use super::disk::{block_cause, ignore_disk_full};
use super::messages::{Command, DriverEvent, Moment, StepOutput};
use super::state::{Asked, Engine, PendingRequest};
use crate::store::edits::{edit_ids, next_tasks};
use crate::store::{StoreError, connection, control, disk_reserve, marks, reconcile, stream_finding, sync_state};
use crate::sync::core::{Control, EndReason, Event, Failure, LinkInput, Millis, PushInput, Start, StreamEvent};
use crate::sync::wire;

/// The time between the first sign of an altered schema and its restore.
const RESTORE_DELAY: Millis = 2000;
/// The pause between two looks at a file that another program copies over the database.
const COPY_PAUSE: Duration = Duration::from_millis(100);

/// True for a report that brings no data: the restore of an altered schema waits for its delay.
fn is_deferrable(event: &DriverEvent) -> bool {
    matches!(event, DriverEvent::DatabaseChanged | DriverEvent::Timer | DriverEvent::StreamActive)
}

impl Engine {
    /// Starts from the state on disk, and saves `process` as the syncing process.
    pub fn start(&mut self, process: u32, now: Moment) -> Result<StepOutput, StoreError> {
        self.process = Some(process);
        ignore_disk_full(disk_reserve::allocate(&self.db))?;
        let mut disk_failure = None;
        if let Err(error) = self.write(|c| sync_state::set_daemon(c, Some(process), now.wall)) {
            disk_failure = Some(block_cause(&self.db, &error));
            ignore_disk_full(Err(error))?;
            // An earlier process may have ended on a full disk with the reserve in place. The reserve is for the status row,
            // so the WAL must not take the space first.
            connection::set_autocheckpoint(&self.connection, &self.db, false)?;
            disk_reserve::release(&self.db);
            ignore_disk_full(self.write(|c| sync_state::set_daemon(c, Some(process), now.wall)))?;
        }
        ignore_disk_full(self.retry_busy(edit_ids::repair))?;
        ignore_disk_full(self.write_due_next_tasks())?;
        self.phase_log.known_refusal = self.retry_busy(|c| sync_state::key_refusal(c))?;
        if let Some((cause, reason)) = disk_failure {
            let output = self.run(now, [Event::Link(LinkInput::WriteFailed { reason, cause })])?;
            connection::set_autocheckpoint(&self.connection, &self.db, true)?;
            return Ok(output);
        }
        let events = self.initial_events(now)?;
        self.run(now, events)
    }

    /// Takes a report of the driver. Returns the commands that follow.
    pub fn handle(&mut self, now: Moment, event: DriverEvent) -> Result<StepOutput, StoreError> {
        self.ensure_own_file()?;
        if !self.is_schema_altered()? {
            // Another program may have restored the objects.
            self.restore_at = None;
        } else {
            // A program that makes a table anew needs several statements. The restore waits for them, unless the engine
            // itself needs the tables.
            let restore_at = *self.restore_at.get_or_insert(now.steady + RESTORE_DELAY);
            if now.steady < restore_at && is_deferrable(&event) {
                return Ok(StepOutput::default());
            }
            self.restore_schema()?;
            self.restore_at = None;
            let control = self.control_event()?;
            let mut output = self.run(now, [control, Event::Push(PushInput::EditsChanged)])?;
            let more = self.handle(now, event)?;
            output.commands.extend(more.commands);
            output.has_written |= more.has_written;
            return Ok(output);
        }
        if self.is_content_replaced()? {
            let events = self.go_on_from_disk(now)?;
            return self.run(now, events);
        }
        let stream = |event| Event::Link(LinkInput::Stream(event));
        let event = match event {
            DriverEvent::DatabaseChanged => {
                // The notification also follows the engine's own commits.
                let data_version = self.retry_busy(|c| connection::data_version(c))?;
                if std::mem::replace(&mut self.data_version, data_version) == data_version {
                    return Ok(StepOutput::default());
                }
                // A script may have completed a task.
                ignore_disk_full(self.write_due_next_tasks())?;
                let control = self.control_event()?;
                return self.run(now, [control, Event::Push(PushInput::EditsChanged)]);
            }
            DriverEvent::Response { ticket, response } => match self.pending.remove(&ticket) {
                // A new contact sends its own requests.
                Some(PendingRequest { asked: Asked::Other(request), is_stale: true }) if request.is_of_contact() => {
                    return Ok(StepOutput::default());
                }
                Some(pending) => self.response_event(pending, response)?,
                None => return Ok(StepOutput::default()),
            },
            DriverEvent::StreamOpened => stream(StreamEvent::Opened),
            DriverEvent::StreamRefused(response) => {
                stream(StreamEvent::Ended(Failure::Refused(wire::refusal(&response))))
            }
            DriverEvent::StreamBatch(batch) => stream(StreamEvent::Batch(batch)),
            DriverEvent::StreamActive => stream(StreamEvent::Active),
            DriverEvent::StreamEnded { reason } => stream(StreamEvent::Ended(Failure::NoAnswer(reason))),
            DriverEvent::KeyChanged => {
                self.phase_log.key_changed();
                Event::Link(LinkInput::Control(Control::KeyChanged))
            }
            DriverEvent::Timer => Event::Link(LinkInput::Timer),
            DriverEvent::StopRequested => Event::Link(LinkInput::Control(Control::End(EndReason::Done))),
        };
        self.run(now, [event])
    }

    /// An error when the path does not lead to the file that was opened, or when an older copy was put into it just now: its pages must
    /// not be read together with the log.
    fn ensure_own_file(&self) -> Result<(), StoreError> {
        if self.place.was_copied_over(|| std::thread::sleep(COPY_PAUSE)) && marks::has_older_content(&self.db) {
            return Err(StoreError::NotOfItsLog(self.db.clone()));
        }
        self.place.ensure_unmoved()
    }

    /// Makes the next tasks of recurring tasks that were completed with plain SQL.
    fn write_due_next_tasks(&mut self) -> Result<(), StoreError> {
        match self.retry_busy(|c| next_tasks::make::is_due(c))? {
            true => match self.write(next_tasks::make::make_due) {
                // A person's own index or trigger refuses the next task. The sync goes on.
                Err(error) if error.is_refused_by_user_object() => {
                    tracing::warn!(%error, "the next task of a completed task could not be made; hearth-replica doctor tells more");
                    Ok(())
                }
                written => written,
            },
            false => Ok(()),
        }
    }

    /// The events after another program has replaced the content of the database: the feed goes on from the position there.
    /// Requests that are on their way count no longer.
    fn go_on_from_disk(&mut self, now: Moment) -> Result<[Event; 2], StoreError> {
        tracing::warn!("{}; going on from its position", StoreError::ContentReplaced);
        (self.unwritten_pages, self.checkpoint) = (None, None);
        self.pending.clear();
        self.command(Command::CloseStream);
        // The mark that came with the content is an earlier one.
        self.mark_file(None);
        self.initial_events(now)
    }

    /// Saves that no process syncs any longer.
    pub fn close(&mut self, now: Moment) -> Result<(), StoreError> {
        ignore_disk_full(self.write(|c| sync_state::set_daemon(c, None, now.wall)))
    }

    /// The events to start from: the state on disk and people's requests.
    pub(super) fn initial_events(&mut self, now: Moment) -> Result<[Event; 2], StoreError> {
        let sync_state::SyncState { cursor, backfilled, home_id } = self.retry_busy(|c| sync_state::load_state(c))?;
        let server = self.server.clone();
        let holds_streams_back = self.retry_busy(|c| stream_finding::stands(c, &server, now.wall))?;
        let reconcile = self.retry_busy(|c| reconcile::load(c))?;
        let is_paused = self.retry_busy(|c| control::load_requests(c))?.paused;
        let link = Start { cursor, is_filled: backfilled, home_id, holds_streams_back, is_paused };
        let started = Event::Started { link, reconcile };
        Ok([started, self.control_event()?])
    }

    /// People's requests in the database. A retry-now request counts once.
    fn control_event(&mut self) -> Result<Event, StoreError> {
        let control::ControlRequests { paused, reconcile, retry_requests } =
            self.retry_busy(|c| control::load_requests(c))?;
        let retry_now = retry_requests > std::mem::replace(&mut self.retry_requests, retry_requests);
        Ok(Event::ControlChanged { is_paused: paused, reconcile, retry_now })
    }

    /// Passes events to the core and carries out the actions, until no event is left. A refused write drops the remaining
    /// actions and events, which depend on the write, and tells the core.
    pub(super) fn run<const N: usize>(&mut self, now: Moment, events: [Event; N]) -> Result<StepOutput, StoreError> {
        let mut events = VecDeque::from(events);
        let mut is_log_full = false;
        while let Some(event) = events.pop_front() {
            for action in self.core.handle(now.steady, event) {
                match self.carry_out(now, action) {
                    Ok(more) => events.extend(more),
                    Err(error)
                        if error.is_write_failure()
                            && hearth_simulated::planted(hearth_simulated::PlantedFault::DiskFullIsSuccess) => {}
                    Err(error) if error.is_write_failure() => {
                        tracing::warn!(%error, "a write has failed");
                        // The cause is found before space is freed.
                        let (cause, reason) = block_cause(&self.db, &error);
                        // The checkpoint may need space too; the reserve is for the status row.
                        is_log_full = connection::checkpoint_truncate(&self.connection).is_err();
                        disk_reserve::release(&self.db);
                        events = VecDeque::from([Event::Link(LinkInput::WriteFailed { reason, cause })]);
                        break;
                    }
                    Err(StoreError::ContentReplaced) => {
                        events = VecDeque::from(self.go_on_from_disk(now)?);
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if is_log_full && let Err(error) = connection::checkpoint_truncate(&self.connection) {
            tracing::warn!(%error, "the WAL could not be truncated");
        }
        Ok(std::mem::take(&mut self.output))
    }
}
