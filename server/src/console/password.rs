//! Checks the password that a person types: guesses must wait, and so must people while many passwords are checked. Must not
//! know pages, nor sessions.

use std::time::Duration;

use super::page::refused;
use crate::app::backoff::Guesser;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::people;
use crate::passwords::Busy;
use crate::store::people::Person;

/// Characters of a name that count for failed checks. No real name is longer.
const GUESSED_NAME_MAX: usize = people::NAME_CHARACTERS_MAX;
/// After this time a person may try again when many passwords were checked.
const BUSY_TIME: Duration = Duration::from_secs(5);

/// Why a password was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The name or the password is wrong.
    Wrong,
    /// Too many checks have failed. The time until the next one.
    Guessing(Duration),
    /// Too many passwords wait for their check.
    Busy,
}

impl Failure {
    /// The status of the page that says so.
    pub(super) fn status(self) -> u16 {
        match self {
            Failure::Wrong => 403,
            Failure::Guessing(_) => 429,
            Failure::Busy => 503,
        }
    }

    /// What happened and what to do next. `wrong`: the sentence for a wrong password.
    pub(super) fn sentence(self, wrong: &str) -> String {
        match self {
            Failure::Wrong => wrong.to_owned(),
            Failure::Guessing(wait) => {
                format!("Too many sign-ins have failed. Try again in {} seconds.", whole_seconds(wait))
            }
            Failure::Busy => "Many people sign in now. Try again in a few seconds.".to_owned(),
        }
    }

    /// The page with the header that tells when to try again.
    pub(super) fn with_wait(self, page: Reply) -> Reply {
        match self {
            Failure::Wrong => page,
            Failure::Guessing(wait) => page.with_header("retry-after", whole_seconds(wait).to_string()),
            Failure::Busy => page.with_header("retry-after", BUSY_TIME.as_secs().to_string()),
        }
    }
}

fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + 1
}

/// The person with this name and password. An unknown name and a wrong password fail alike, after the same time. Failures
/// count for the name, and for `client` if there is one.
pub(super) async fn check(
    request: &WebRequest,
    name: &str,
    password: &str,
    client: Option<Guesser>,
) -> Result<Result<Person, Failure>, Refusal> {
    let sign_ins = &request.app.sign_ins;
    let guessed = Guesser::Name(people::folded(name).chars().take(GUESSED_NAME_MAX).collect());
    let guessers: Vec<Guesser> = client.iter().chain([&guessed]).cloned().collect();
    if let Err(wait) = sign_ins.begin(&guessers, request.app.clock.elapsed()) {
        return Ok(Err(Failure::Guessing(wait)));
    }
    let verified = verified(request, name, password).await;
    // Only a wrong password is a failure; neither a success nor a fault of the server.
    if !matches!(verified, Ok(Ok(None))) {
        guessers.iter().for_each(|guesser| sign_ins.take_back(guesser));
    }
    Ok(match verified? {
        Ok(Some(person)) => {
            sign_ins.forgive(&guessed);
            Ok(person)
        }
        Ok(None) => Err(Failure::Wrong),
        Err(Busy) => Err(Failure::Busy),
    })
}

/// The person with this name and password. None: the name or the password is wrong.
async fn verified(request: &WebRequest, name: &str, password: &str) -> Result<Result<Option<Person>, Busy>, Refusal> {
    let person = people::find_person(&request.app.db, name).await.map_err(refused)?;
    // No stored password is longer. A cut password is wrong, after the same time.
    let mut password = password.to_owned();
    let is_whole = password.len() <= people::PASSWORD_BYTES_MAX;
    if !is_whole {
        password.clear();
    }
    let stored = person.as_ref().map(|person| person.password.clone());
    let is_right = request.app.passwords.verify(password, stored).await;
    Ok(is_right.map(|is_right| person.filter(|_| is_right && is_whole)))
}
