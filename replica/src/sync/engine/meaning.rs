//! What an answer means to the core, and what the core says in the store's words. Must not decide anything.

use hearth_contract::formats::Timestamp;

use super::{Engine, Moment};
use crate::store::edits::{answers, push};
use crate::store::{StoreError, sync_state};
use crate::sync::core::{Ending, Errand, Failure, Identity, Input, Millis, Outcome, There, Word};
use crate::sync::wire::{self, Answer};

/// A question under way.
#[derive(Debug)]
pub(super) struct Asked {
    pub errand: Errand,
    /// The request that carries edits, if it does.
    pub request: Option<push::Request>,
    /// It was asked before the contact of now, or before the feed showed that the server was put back: perhaps of a history
    /// that is thrown away since.
    pub outdated: bool,
}

impl Engine {
    /// What an answer means.
    pub(super) fn answered(&mut self, asked: Asked, answer: Result<Answer, String>) -> Result<Input, StoreError> {
        // The same request finds out what the history of now has of an edit.
        let too_late = "its answer came too late to be believed";
        let answer = match answer {
            Ok(_) if asked.outdated && matches!(asked.errand, Errand::Look { .. }) => {
                Err(Failure::NoAnswer(too_late.to_owned()))
            }
            answer => answer.map_err(Failure::NoAnswer),
        };
        Ok(match asked.errand {
            Errand::Me => Input::Met(answer.and_then(|answer| wire::identity(&answer))),
            Errand::Feed => Input::FeedStands(answer.and_then(|answer| wire::standing(&answer))),
            Errand::Poll { .. } => Input::Polled(answer.and_then(|answer| wire::polled(&answer))),
            Errand::Recover { round, question } => {
                Input::Found { round, answer: answer.and_then(|answer| wire::found(&question, &answer)) }
            }
            Errand::Prove { round, .. } => {
                Input::Proven { round, answer: answer.and_then(|answer| wire::standing(&answer)).map(drop) }
            }
            Errand::Scopes { round } => {
                Input::Scopes { round, answer: answer.and_then(|answer| wire::identity(&answer)) }
            }
            Errand::Send { parcels } => {
                let edits = asked.request.as_ref().map_or(&[][..], |request| &request.edits);
                let outcome = match (answer, &asked.request) {
                    (Ok(_), _) if asked.outdated => Outcome::TooLate { reason: too_late.to_owned() },
                    (Ok(answer), Some(request)) if request.bulk => wire::outcomes(&answer, edits),
                    (Ok(answer), _) => match wire::outcome(&answer) {
                        Ok(Word::Refused(refusal)) if matches!(refusal.status, 401 | 403) => Outcome::Refused(refusal),
                        Ok(word) => Outcome::Told(
                            edits.iter().map(|(edit, _)| (*edit, word.clone())).collect::<Vec<(i64, Word)>>(),
                        ),
                        Err(reason) => Outcome::NoAnswer { reason },
                    },
                    (Err(failure), _) => Outcome::NoAnswer { reason: failure.to_string() },
                };
                let carried = edits.iter().map(|(edit, _)| *edit).collect();
                Input::Answered { sent: parcels.concat(), carried, outcome }
            }
            Errand::Look { edit } => {
                let there = match answer.and_then(|answer| wire::record(&answer)) {
                    Ok(Some(record)) => match self.patiently(|c| answers::compare(c, edit, &record))? {
                        Some(rev) => There::Same { rev },
                        None => There::Other,
                    },
                    Ok(None) => There::Other,
                    Err(failure) => There::Unknown(failure),
                };
                Input::Looked { edit, there }
            }
        })
    }
}

/// The home that a key reaches, as the database names it.
pub(crate) fn home(server: &str, identity: &Identity) -> sync_state::Home {
    sync_state::Home {
        server: server.to_owned(),
        id: identity.home_id.clone(),
        name: identity.home_name.clone(),
        environment: identity.environment.clone(),
    }
}

pub(super) fn verdict(now: Moment, ending: Ending) -> answers::Verdict {
    match ending {
        Ending::Sent { rev } => answers::Verdict::Sent { rev },
        Ending::There { rev } => answers::Verdict::There { rev },
        Ending::Later { at, reason } => answers::Verdict::Later { at: at.map(|at| moment(now, at)), reason },
        Ending::TurnedAway { reason } => answers::Verdict::TurnedAway { reason },
        Ending::Rejected { reason, problem } => answers::Verdict::Rejected { reason, problem },
        Ending::Overtaken => answers::Verdict::Overtaken,
        Ending::Apart => answers::Verdict::Apart,
        Ending::Conflict { reason, problem, gone } => answers::Verdict::Conflict { reason, problem, gone },
    }
}

/// A moment of the steady clock as people write it.
pub(super) fn moment(now: Moment, at: Millis) -> Timestamp {
    now.wall.plus_millis(at - now.steady)
}
