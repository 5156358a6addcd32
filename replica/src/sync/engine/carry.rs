//! What the core decided, carried out on the database and as questions to the server. Must not decide anything.

use uuid::Uuid;

use super::meaning::{self, Asked, moment, verdict};
use super::{Deed, Engine, Moment, unless_unwritten};
use crate::store::edits::{answers, plan, push};
use crate::store::{StoreError, disk_reserve, mirror, recovery, sync_log, sync_state};
use crate::sync::core::{Effect, Errand, Input, Outcome, Phase, Ready, Stretch, There};
use crate::sync::walked::Kept;
use crate::sync::wire::Ask;

/// Edits looked up at a time, beside those that the key may not write: more than all bulk calls that are under way beside
/// each other.
const PLAN_EDITS: usize = 2000;

impl Engine {
    pub(super) fn carry_out(&mut self, now: Moment, effect: Effect) -> Result<Vec<Input>, StoreError> {
        if !matches!(effect, Effect::Keep { .. } | Effect::Ask(Errand::Recover { .. })) {
            self.write_walked()?;
        }
        match effect {
            Effect::Ask(errand) => return self.ask(now, errand),
            Effect::OpenStream { cursor } => self.do_deed(Deed::OpenStream(Ask::stream(cursor.as_deref()))),
            Effect::CloseStream => self.do_deed(Deed::CloseStream),
            Effect::Finish(verdict) => self.do_deed(Deed::End(verdict)),
            Effect::Greet { identity, standing } => {
                let greeting = sync_state::Greeting {
                    home: meaning::home(&self.server, &identity),
                    head: standing.head,
                    retention_seconds: standing.retention_seconds,
                    accepted: self.accepted.clone(),
                    process: self.process,
                };
                self.keep(|c| sync_state::record_greeting(c, &greeting, now.wall))?;
            }
            Effect::Apply { stretch, phase, reason, polled, current } => {
                let Stretch { events, cursor, ready } = stretch;
                let batch = mirror::Batch { events, cursor, ready };
                let proof = mirror::Proof {
                    phase: phase.as_str(),
                    reason,
                    transport: if polled { "poll" } else { "stream" },
                    current,
                    now: now.wall,
                };
                let mirror::Applied { position: tail, touched_edits, found_edits, leapt, recovering } =
                    self.keep(|c| mirror::apply(c, &batch, &proof))?;
                self.telling.comes(polled);
                self.say(phase, proof.reason.as_deref(), ready)?;
                if leapt {
                    self.distrust();
                }
                // Known before it is applied: what is still to be compared is not the present yet.
                let recovering = recovering.map(|recovery| Input::Recovering(Some(recovery)));
                let applied = Input::Applied { cursor: batch.cursor, tail, leapt, touched_edits, found_edits };
                return Ok(recovering.into_iter().chain([applied]).collect());
            }
            Effect::Touch { current } => self.keep(|c| sync_state::record_contact(c, current, now.wall))?,
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
            Effect::Show { phase, blocked_by, reason, retry_at } => {
                let retry_at = retry_at.map(|at| moment(now, at));
                self.say(phase, reason.as_deref(), None)?;
                let shown =
                    self.keep(|c| sync_state::set_phase(c, phase, blocked_by, reason.as_deref(), retry_at, now.wall));
                unless_unwritten(shown)?;
            }
            Effect::Reload => {
                // First of all what is needed to say it, should there be no room again.
                disk_reserve::allocate(&self.db)?;
                return Ok(self.begun()?.into());
            }
            Effect::Recover(cause) => {
                tracing::info!(why = cause.why(), "everything is compared with the server");
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

    /// Says how it stands, if that is news.
    fn say(&mut self, phase: Phase, reason: Option<&str>, head: Option<i64>) -> Result<(), StoreError> {
        match self.telling.stands(phase, reason, head) {
            Some((level, text)) => unless_unwritten(self.keep(|c| sync_log::log_alone(c, level, &text))),
            None => Ok(()),
        }
    }

    /// Turns an errand into a question; what the question says is on disk first if it must be repeatable.
    fn ask(&mut self, now: Moment, errand: Errand) -> Result<Vec<Input>, StoreError> {
        let ask = match &errand {
            Errand::Me => {
                // Contact begins anew, for all that is under way.
                self.asked.values_mut().for_each(|asked| asked.outdated = true);
                Ask::me()
            }
            Errand::Scopes { .. } => Ask::me(),
            Errand::Feed => {
                self.accepted = self.patiently(|c| recovery::lost::accepted(c))?;
                Ask::feed()
            }
            Errand::Poll { cursor, goes_on } => {
                // On the way to the present answers would come too late each time.
                if !goes_on {
                    self.distrust();
                }
                Ask::poll(cursor.as_deref())
            }
            Errand::Recover { question, .. } => Ask::recover(question),
            Errand::Prove { cursor, .. } => Ask::is_good(cursor.as_deref()),
            Errand::Send { parcels } => return self.send(now, vec![parcels.clone()]),
            Errand::Look { edit } => match self.patiently(|c| answers::record_of(c, *edit))? {
                Some((kind, record)) => Ask::look(kind, &record),
                None => return Ok(vec![Input::Looked { edit: *edit, there: There::Other }]),
            },
        };
        self.put(errand, None, ask);
        Ok(Vec::new())
    }

    /// The feed is asked for anew. The server may have been put back to an older copy since it was asked for an edit, even
    /// where it still knows our cursor: what it says of it then is of a history that is gone.
    fn distrust(&mut self) {
        let of_edits = self.asked.values_mut().filter(|asked| asked.errand.is_of_edits());
        of_edits.for_each(|asked| asked.outdated = true);
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
    pub(super) fn send(&mut self, now: Moment, all: Vec<Vec<Vec<i64>>>) -> Result<Vec<Input>, StoreError> {
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
}
