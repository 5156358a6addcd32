//! Carries out actions of the core on the database. Must not decide anything.

use super::disk::ignore_disk_full;
use super::messages::{Command, Moment};
use super::state::Engine;
use crate::model::{FeedBatch, Phase};
use crate::store::edits::{answers, plan};
use crate::store::{StoreError, disk_reserve, feed, gate, log, reconcile, stream_finding, sync_state};
use crate::sync::core::{Action, Event, Identity, PushInput, ReconcileInput, Request, ServerInfo};
use crate::sync::page_buffer::UnwrittenPages;
use crate::sync::wire::HttpRequest;

/// Edits per plan, besides edits that the key may not write: more than all bulk calls in flight carry.
const PLAN_EDITS: usize = 2000;

/// The home of a key, as saved in the database.
pub(crate) fn stored_home(server: &str, identity: &Identity) -> sync_state::Home {
    sync_state::Home {
        server: server.to_owned(),
        id: identity.home_id.clone(),
        name: identity.home_name.clone(),
        environment: identity.environment.clone(),
    }
}

impl Engine {
    /// Carries an action out. Returns events for the core.
    pub(super) fn carry_out(&mut self, now: Moment, action: Action) -> Result<Vec<Event>, StoreError> {
        if !matches!(action, Action::SaveResponse { .. } | Action::Request(Request::Reconcile { .. })) {
            self.write_pages()?;
        }
        match action {
            Action::Request(request) => return self.send_request(request),
            Action::SendEdits { requests } => return self.send_edits(now, requests),
            Action::OpenStream { cursor } => self.command(Command::OpenStream(HttpRequest::stream(cursor.as_deref()))),
            Action::CloseStream => self.command(Command::CloseStream),
            Action::Finish(reason) => self.command(Command::End(reason)),
            Action::SaveContact(server) => self.save_contact(now, &server)?,
            Action::ApplyBatch { batch, phase, reason, transport, is_current } => {
                return self.apply_batch(batch, &feed::Proof { phase, reason, transport, is_current, now: now.wall });
            }
            Action::TouchContact { is_current } => {
                self.write(|c| sync_state::record_contact(c, is_current, now.wall))?
            }
            Action::SaveFinding { holds_streams_back } => {
                let (server, found_at) = (self.server.clone(), holds_streams_back.then_some(now.wall));
                self.write(|c| stream_finding::save(c, &server, found_at))?;
            }
            Action::PlanEdits => return self.plan_edits(),
            Action::SaveOutcomes { outcomes } => {
                self.write(|c| answers::record_outcomes(c, &outcomes, now.wall))?;
            }
            Action::ShowPhase { phase, blocked_by, reason, retry_at } => {
                let retry_at = retry_at.map(|at| now.wall.plus_millis(at - now.steady));
                self.log_phase(phase, reason.as_deref(), None)?;
                let saved =
                    self.write(|c| sync_state::set_phase(c, phase, blocked_by, reason.as_deref(), retry_at, now.wall));
                ignore_disk_full(saved)?;
            }
            Action::ReloadState => {
                // The reserve first: the next refused write needs the space for the status row.
                disk_reserve::allocate(&self.db)?;
                return Ok(self.initial_events(now)?.into());
            }
            Action::StartReconcile(cause) => {
                tracing::info!(cause = cause.as_str(), "reconciling with the server");
                let begun = self.write(|c| reconcile::begin(c, &cause))?;
                self.note_checkpoint()?;
                return Ok(vec![Event::Reconcile(ReconcileInput::Begun(begun))]);
            }
            Action::SaveResponse { query, found, next_step } => {
                let mut pages = self.unwritten_pages.take().map_or_else(Vec::new, |unwritten| unwritten.pages);
                pages.push((query, found));
                let unwritten = UnwrittenPages { pages, next_step };
                let may_wait = unwritten.may_wait();
                self.unwritten_pages = Some(unwritten);
                if !may_wait {
                    self.write_pages()?;
                }
            }
            Action::CompareEverything { next_step } => {
                self.write(|c| reconcile::compare_everything(c, &next_step))?;
            }
            Action::SaveStep(step) => self.write(|c| reconcile::set_step(c, &step))?,
            Action::ListMissing { kind } => {
                return Ok(vec![Event::Reconcile(ReconcileInput::MissingListed(
                    self.retry_busy(|c| reconcile::records_to_fetch(c, kind))?,
                ))]);
            }
            Action::Sweep { kind, as_of, next_step } => {
                let swept = self.write(|c| reconcile::sweep(c, kind, as_of, &next_step, now.wall))?;
                return Ok(vec![Event::Reconcile(ReconcileInput::Swept(swept))]);
            }
            Action::AskPerson(question) => self.write(|c| reconcile::ask_person(c, &question))?,
            Action::ClearReconcileRequest { accepted } => self.write(|c| reconcile::note_request(c, accepted))?,
            Action::FinishReconcile => {
                self.write(|c| reconcile::finish(c, now.wall))?;
                self.note_checkpoint()?;
            }
        }
        Ok(Vec::new())
    }

    fn save_contact(&mut self, now: Moment, server: &ServerInfo) -> Result<(), StoreError> {
        let greeting = sync_state::Greeting {
            home: stored_home(&self.server, &server.identity),
            head: server.feed_head.head,
            retention_seconds: server.feed_head.retention_seconds,
            accepted: self.accepted_edits.clone(),
            process: self.process,
        };
        self.write(|c| sync_state::record_greeting(c, &greeting, now.wall))
    }

    fn apply_batch(&mut self, batch: FeedBatch, proof: &feed::Proof) -> Result<Vec<Event>, StoreError> {
        let after = self.checkpoint;
        let applied = self.write(|c| feed::apply(c, &batch, after, proof))?;
        self.note_checkpoint()?;
        self.phase_log.transport(proof.transport);
        self.log_phase(proof.phase, proof.reason.as_deref(), batch.head())?;
        if applied.has_id_gap {
            self.mark_edit_requests_stale();
        }
        // A reconcile first: with a comparison open, the batch does not prove the present.
        let started = applied.reconcile.map(|reconcile| Event::Reconcile(ReconcileInput::Begun(Some(reconcile))));
        let batch_applied = Event::BatchApplied {
            cursor: batch.cursor,
            position: applied.position,
            has_id_gap: applied.has_id_gap,
            affects_edits: applied.affects_edits,
            confirms_edits: applied.confirms_edits,
        };
        Ok(started.into_iter().chain([batch_applied]).collect())
    }

    fn plan_edits(&mut self) -> Result<Vec<Event>, StoreError> {
        let forbidden = self.core.forbidden_kinds();
        let plan::Plan { ready, has_open_edits } = self.retry_busy(|c| plan::plan(c, PLAN_EDITS, &forbidden))?;
        Ok(vec![Event::Push(PushInput::Planned { ready, has_open_edits })])
    }

    /// Logs a change of the phase. `head`: the feed head, if just received.
    fn log_phase(&mut self, phase: Phase, reason: Option<&str>, head: Option<i64>) -> Result<(), StoreError> {
        match self.phase_log.phase(phase, reason, head) {
            Some((level, text)) => {
                ignore_disk_full(self.write(|c| gate::sync_tx_without_fsync(c, |tx| log(tx, level, &text))))
            }
            None => Ok(()),
        }
    }

    /// Writes the buffered answers of the reconcile.
    pub(super) fn write_pages(&mut self) -> Result<(), StoreError> {
        let Some(UnwrittenPages { pages, next_step }) = self.unwritten_pages.take() else { return Ok(()) };
        self.write(|c| reconcile::save_responses(c, &pages, &next_step))
    }
}
