//! Carries out actions of the core on the database. Must not decide anything.

use super::conversion::{edit_verdict, stored_home, wall_time};
use super::disk::ignore_disk_full;
use super::messages::{Command, Moment};
use super::state::Engine;
use crate::model::{Phase, Transport};
use crate::store::edits::{answers, plan};
use crate::store::{StoreError, disk_reserve, feed, reconcile, sync_log, sync_state};
use crate::sync::core::{Action, BatchEnd, Event, FeedBatch, ReadyEdits, Request, ServerInfo};
use crate::sync::page_buffer::PageAnswer;
use crate::sync::wire::HttpRequest;

/// Edits per plan, besides edits that the key may not write: more than all bulk calls in flight carry.
const PLAN_EDITS: usize = 2000;

impl Engine {
    /// Carries an action out. Returns events for the core.
    pub(super) fn carry_out(&mut self, now: Moment, action: Action) -> Result<Vec<Event>, StoreError> {
        if !matches!(action, Action::SaveAnswer { .. } | Action::Request(Request::Reconcile { .. })) {
            self.write_pages()?;
        }
        match action {
            Action::Request(request) => return self.send_request(now, request),
            Action::OpenStream { cursor } => self.command(Command::OpenStream(HttpRequest::stream(cursor.as_deref()))),
            Action::CloseStream => self.command(Command::CloseStream),
            Action::Finish(reason) => self.command(Command::End(reason)),
            Action::SaveContact(server) => self.save_contact(now, &server)?,
            Action::ApplyBatch { batch, phase, reason, transport, is_current } => {
                let proof = feed::Proof {
                    phase: phase.as_str(),
                    reason,
                    transport: transport.as_str(),
                    current: is_current,
                    now: now.wall,
                };
                return self.apply_batch(batch, phase, transport, &proof);
            }
            Action::TouchContact { is_current } => {
                self.write(|c| sync_state::record_contact(c, is_current, now.wall))?
            }
            Action::PlanEdits => return self.plan_edits(),
            Action::SaveOutcomes { outcomes } => {
                let verdicts: Vec<_> =
                    outcomes.into_iter().map(|(edit, outcome)| (edit, edit_verdict(now, outcome))).collect();
                self.write(|c| answers::record_outcomes(c, &verdicts, now.wall))?;
            }
            Action::ShowPhase { phase, blocked_by, reason, retry_at } => {
                let retry_at = retry_at.map(|at| wall_time(now, at));
                self.log_phase(phase, reason.as_deref(), None)?;
                let saved =
                    self.write(|c| sync_state::set_phase(c, phase, blocked_by, reason.as_deref(), retry_at, now.wall));
                ignore_disk_full(saved)?;
            }
            Action::ReloadState => {
                // The reserve first: the next refused write needs the space for the status row.
                disk_reserve::allocate(&self.db)?;
                return Ok(self.initial_events()?.into());
            }
            Action::StartReconcile(cause) => {
                tracing::info!(why = cause.why(), "comparing all records with the server");
                return Ok(vec![Event::ReconcileStarted(self.write(|c| reconcile::begin(c, &cause))?)]);
            }
            Action::SaveAnswer { question, found, next_step } => {
                self.save_answer(PageAnswer { question, found, next_step })?;
            }
            Action::SaveStep(step) => self.write(|c| reconcile::set_step(c, &step))?,
            Action::ListMissing { kind } => {
                return Ok(vec![Event::MissingListed(self.retry_busy(|c| reconcile::records_to_fetch(c, kind))?)]);
            }
            Action::Sweep { kind, as_of, next_step } => {
                let swept = self.write(|c| reconcile::sweep(c, kind, as_of, &next_step, now.wall))?;
                return Ok(vec![Event::Swept { kind, swept }]);
            }
            Action::AskPerson(question) => self.write(|c| reconcile::ask_person(c, &question))?,
            Action::ClearReconcileRequest { accepted } => self.write(|c| reconcile::note_wish(c, accepted))?,
            Action::FinishReconcile => self.write(|c| reconcile::finish(c, now.wall))?,
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

    fn apply_batch(
        &mut self,
        batch: FeedBatch,
        phase: Phase,
        transport: Transport,
        proof: &feed::Proof,
    ) -> Result<Vec<Event>, StoreError> {
        let head = batch.head();
        // The store takes 0 for an unknown head.
        let ready = match batch.end {
            BatchEnd::More => None,
            BatchEnd::Present { head } => Some(head.unwrap_or(0)),
        };
        let batch = feed::Batch { events: batch.events, cursor: batch.cursor, ready };
        let applied = self.write(|c| feed::apply(c, &batch, proof))?;
        self.phase_log.transport(transport);
        self.log_phase(phase, proof.reason.as_deref(), head)?;
        if applied.leapt {
            self.mark_edit_requests_stale();
        }
        // A reconcile first: with a comparison open, the batch does not prove the present.
        let started = applied.recovering.map(|recovery| Event::ReconcileStarted(Some(recovery)));
        let batch_applied = Event::BatchApplied {
            cursor: batch.cursor,
            position: applied.position,
            has_id_gap: applied.leapt,
            affects_edits: applied.touched_edits,
            confirms_edits: applied.found_edits,
        };
        Ok(started.into_iter().chain([batch_applied]).collect())
    }

    fn plan_edits(&mut self) -> Result<Vec<Event>, StoreError> {
        let forbidden = self.core.forbidden_kinds();
        let plan::Plan { ready, open } = self.retry_busy(|c| plan::plan(c, PLAN_EDITS, &forbidden))?;
        let ready = ready.into_iter().map(|plan::Ready { edits, kind, frozen, bytes }| ReadyEdits {
            edits,
            kind,
            is_frozen: frozen,
            bytes,
        });
        Ok(vec![Event::EditsPlanned { ready: ready.collect(), has_open_edits: open }])
    }

    /// Logs a change of the phase. `head`: the feed head, if just received.
    fn log_phase(&mut self, phase: Phase, reason: Option<&str>, head: Option<i64>) -> Result<(), StoreError> {
        match self.phase_log.phase(phase, reason, head) {
            Some((level, text)) => ignore_disk_full(self.write(|c| sync_log::log_alone(c, level, &text))),
            None => Ok(()),
        }
    }

    /// Writes an answer of the reconcile, or buffers the answer to write several pages in one transaction.
    fn save_answer(&mut self, answer: PageAnswer) -> Result<(), StoreError> {
        match &mut self.unwritten_pages {
            Some(before) => before.extend(answer),
            before => *before = Some(answer),
        }
        match &self.unwritten_pages {
            Some(pages) if pages.may_wait() => Ok(()),
            _ => self.write_pages(),
        }
    }

    /// Writes the buffered pages.
    pub(super) fn write_pages(&mut self) -> Result<(), StoreError> {
        let Some(PageAnswer { question, found, next_step }) = self.unwritten_pages.take() else { return Ok(()) };
        self.write(|c| reconcile::save_response(c, &question, &found, &next_step))
    }
}
