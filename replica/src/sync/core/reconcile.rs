//! The reconcile brings all collections in step by the server's lists: after a gap in the feed by what changed, after a server
//! restore or on a person's request by comparing everything. Decides the next request. The feed runs at the same time and never
//! waits. Must not know the link or the push, or how lists are stored: what it needs of the feed is an argument.
//!
//! Why the result is correct: the feed brings every change after the cursor at which the reconcile began. The lists bring
//! the rest. Of two versions of a record, the higher rev is newer, in whatever order they arrive. A record absent from the
//! whole id list, with a rev at or before the first page's position, was deleted before that page, or the feed brings the
//! delete. A list of all records is an id list too. Within one history, the changes and the deleted ids since the replica's
//! position show the same, and cost what changed (contract 18). The argument holds within one history only. A server may be
//! restored under a silent stream, so the last step checks that the server still knows the feed cursor.
//!
//! States, and what moves the reconcile from state to state. A test walks this table: whatever the table does not name leaves
//! state and actions as they are. The states that end with `due` are told apart by the step.
//!
//! ```text
//! state            input             next state       actions
//! any              begun             query due        -
//! any              ended             idle             -
//! idle             requested         same             StartReconcile
//! idle             accepted          same             StartReconcile
//! any              requested         same             ClearReconcileRequest
//! any              accepted          same             ClearReconcileRequest
//! question         requested         same             StartReconcile
//! question         accepted          sweep due        ClearReconcileRequest
//! query due        proceed           asked            Reconcile
//! list due         proceed           listing          ListMissing
//! sweep due        proceed           sweeping         Sweep
//! check due        proceed           checking cursor  CheckCursor
//! asked            answer            asked            Reconcile, SaveResponse
//! asked            answer ahead      ahead of feed    tell FeedWanted
//! asked            no answer         pausing          -
//! asked            key refused       pausing          -
//! asked            list forgotten    pausing          SaveStep
//! ahead of feed    feed caught up    asked            Reconcile, SaveResponse
//! listing          records listed    query due        -
//! listing          none listed       sweep due        SaveStep
//! sweeping         swept             query due        -
//! sweeping         ids not listed    query due        SaveStep
//! sweeping         too many          checking scopes  CheckScopes
//! checking scopes  scope held        question         AskPerson
//! checking scopes  scope missing     pausing          SaveStep
//! checking scopes  scopes unknown    sweep pausing    -
//! checking cursor  cursor known      idle             FinishReconcile, tell Compared
//! checking cursor  cursor refused    check due        tell CursorRefused
//! checking cursor  cursor unchecked  check pausing    -
//! asked            contact lost      query due        -
//! ahead of feed    contact lost      query due        -
//! checking scopes  contact lost      sweep due        -
//! checking cursor  contact lost      check due        -
//! asked            ids skipped       query due        -
//! ahead of feed    ids skipped       query due        -
//! checking scopes  ids skipped       sweep due        -
//! checking cursor  ids skipped       check due        -
//! asked            new key           query due        -
//! ahead of feed    new key           query due        -
//! checking scopes  new key           sweep due        -
//! checking cursor  new key           check due        -
//! listing          new key           list due         -
//! sweeping         new key           sweep due        -
//! pausing          new key           query due        -
//! query due        feed caught up    asked            Reconcile
//! list due         feed caught up    listing          ListMissing
//! sweep due        feed caught up    sweeping         Sweep
//! check due        feed caught up    checking cursor  CheckCursor
//! ```
//!
//! `state` holds the fields, `steps` has the order of the steps, and `answers` decides what an answer means.

mod answers;
mod state;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use self::state::Reconciler;
use self::state::{Running, Wait};
use self::steps::{query_of, step_after_sweep};
use super::action::{Action, Request};
use super::clock::Millis;
use super::identity::{Identity, Limits};
use super::outcome::Failure;
use super::turn::{Fact, Feed, Turn};
use crate::model::{Reconcile, ReconcileCause, ReconcileResponse, ReconcileScope, ReconcileStep, SweepOutcome};

/// An input of the reconcile, besides [`Reconciler::proceed`].
#[derive(Debug)]
pub(crate) enum Input {
    /// A reconcile was started, or read from the database. None: nothing to reconcile.
    Begun(Option<Reconcile>),
    /// A person requests a reconcile. `accepted`: the person accepts all deletions, also those already asked about.
    Requested { accepted: bool },
    /// A request has an answer.
    Answered { epoch: u64, answer: Answer },
    /// Ids of records that the server has in a newer version.
    MissingListed(Vec<String>),
    /// A collection was swept, or the sweep was refused.
    Swept(SweepOutcome),
}

/// The answer to a request of the reconcile.
#[derive(Debug)]
pub(crate) enum Answer {
    /// To a query.
    Query(Result<ReconcileResponse, Failure>),
    /// The scopes of the key.
    Scopes(Result<Identity, Failure>),
    /// The final check of the feed cursor.
    Cursor(Result<(), Failure>),
}

impl Reconciler {
    /// Takes an input. The next step follows with [`Reconciler::proceed`].
    pub(super) fn handle(&mut self, turn: &mut Turn, input: Input, feed: Feed<'_>) {
        match input {
            Input::Begun(progress) => self.begin(progress),
            Input::Requested { accepted } => self.requested(turn, accepted),
            Input::Answered { epoch, answer } if epoch == self.epoch => self.answered(turn, answer, feed),
            Input::Answered { .. } => {}
            Input::MissingListed(ids) => self.missing_listed(turn, ids),
            Input::Swept(swept) => self.swept(turn, swept),
        }
    }

    /// Takes a fact that another machine tells.
    pub(super) fn hear(&mut self, fact: &Fact) {
        match fact {
            Fact::ContactBegan(limits) => self.reads.set_limit(limits.map(|limits| Limits::share(limits.reads))),
            // Answers under way may belong to a discarded history.
            Fact::IdsSkipped => self.discard_answers(),
            Fact::KeyChanged => {
                let progress = self.running.take().map(|running| running.progress);
                self.begin(progress);
            }
            _ => {}
        }
    }

    /// Takes the progress, new or interrupted. Pending answers are discarded.
    fn begin(&mut self, progress: Option<Reconcile>) {
        self.epoch += 1;
        self.running = progress.map(Running::new);
    }

    /// Discards pending answers and asks again.
    fn discard_answers(&mut self) {
        if let Some(running) = &mut self.running
            && !matches!(running.wait, Wait::Until(_) | Wait::Database)
        {
            self.epoch += 1;
            running.wait = Wait::Until(Millis::MIN);
        }
    }

    fn requested(&mut self, turn: &mut Turn, accepted: bool) {
        match &mut self.running {
            Some(Running { progress, .. }) if accepted => {
                (progress.accepted, progress.question) = (true, None);
                turn.act(Action::ClearReconcileRequest { accepted });
            }
            Some(Running {
                progress: Reconcile { question: None, scope: ReconcileScope::Everything { .. }, .. },
                ..
            }) => {
                turn.act(Action::ClearReconcileRequest { accepted });
            }
            // While a question is open, a second request starts over: the server may list the records again by now. A
            // person's request compares everything.
            running => {
                running.iter_mut().for_each(|running| running.wait = Wait::Database);
                turn.act(Action::StartReconcile(ReconcileCause::Asked { accepted }));
            }
        }
    }

    /// Does the next step, if due.
    pub(super) fn proceed(&mut self, turn: &mut Turn, feed: Feed<'_>) {
        if !feed.in_contact {
            // The server may be restored before the next contact.
            return self.discard_answers();
        }
        let Some(running) = &mut self.running else { return };
        match running.wait {
            Wait::Feed(_, ref found) if found.as_of <= running.position(feed) => return self.caught_up(turn, feed),
            Wait::Until(at) if at <= turn.now && running.progress.question.is_none() => {}
            _ => return,
        }
        match running.progress.step {
            ReconcileStep::Sweep { kind, as_of } => {
                let next_step = step_after_sweep(&running.progress.scope, kind, as_of);
                turn.act(Action::Sweep { kind, as_of, next_step });
                running.wait = Wait::Database;
            }
            ReconcileStep::Records { kind, .. } if running.missing.is_empty() => {
                turn.act(Action::ListMissing { kind });
                running.wait = Wait::Database;
            }
            _ => self.ask_next(turn, feed),
        }
    }

    /// Sends the next query, or the final check of the cursor, within the read limit.
    fn ask_next(&mut self, turn: &mut Turn, feed: Feed<'_>) {
        let (epoch, free_at) = (self.epoch, self.reads.free_at(turn.now));
        let Some(running) = &mut self.running else { return };
        if free_at > turn.now {
            running.wait = Wait::Until(free_at);
            return;
        }
        self.reads.take(turn.now);
        let (wait, request) = match query_of(&running.progress, running.missing.last()) {
            Some(query) => (Wait::Query(query.clone()), Request::Reconcile { epoch, query }),
            None => (Wait::Cursor, Request::CheckCursor { epoch, cursor: feed.cursor.cloned() }),
        };
        running.wait = wait;
        turn.act(Action::Request(request));
    }
}
