//! Sessions of signed-in people. Must not know cookies, nor what a page shows.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use hearth_contract::formats::Timestamp;
use sha2::{Digest, Sha256};

use super::error::Error;
use crate::clock::Clock;
use crate::random::random_bytes;
use crate::store::Db;
use crate::store::people::Person;
use crate::store::sessions::{self, Session};

/// A session ends when it was not used for this time.
pub const IDLE_TIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Precision of the stored last use.
const LAST_SEEN_PRECISION: Duration = Duration::from_secs(60);
/// Sessions of a person, at most. A further sign-in ends the one that was not used for the longest time.
const SESSIONS_MAX: i64 = 50;

/// Begins a session of a person. Gives the secret text of the session: 256 random bits in 43 characters. None: the password
/// of the person has changed since it was read, or the person was removed.
pub async fn begin_session(db: &Db, clock: &Clock, person: &Person) -> Result<Option<String>, Error> {
    let secret = BASE64URL_NOPAD.encode(&random_bytes::<32>());
    let (hash, now) = (hash_of(&secret), clock.now());
    let (id, password) = (person.id.clone(), person.password.clone());
    let begun =
        db.write(move |tx| sessions::insert(tx, &hash, (&id, &password), now, idle_since(now), SESSIONS_MAX)).await?;
    Ok(begun.then_some(secret))
}

/// The session with this secret text. None: it is unknown, has ended, or was idle for too long.
pub async fn find_session(db: &Db, clock: &Clock, secret: &str) -> Result<Option<Session>, Error> {
    let (hash, now) = (hash_of(secret), clock.now());
    let found = db.read(move |tx| sessions::find(tx, &hash)).await?;
    Ok(found.filter(|session| session.last_seen_at > idle_since(now)))
}

/// The sessions of a person (id), the latest use first.
pub async fn list_sessions(db: &Db, clock: &Clock, person: &str) -> Result<Vec<Session>, Error> {
    let (person, since) = (person.to_owned(), idle_since(clock.now()));
    Ok(db.read(move |tx| sessions::list(tx, &person, since)).await?)
}

/// Whether the stored last use of a session is older than its precision.
pub fn is_last_seen_due(session: &Session, now: Timestamp) -> bool {
    now.millis() - session.last_seen_at.millis() >= LAST_SEEN_PRECISION.as_millis() as i64
}

/// Stores the last use of a session.
pub async fn touch_session(db: &Db, session: &Session, now: Timestamp) -> Result<(), Error> {
    let hash = session.hash;
    Ok(db.write(move |tx| sessions::set_last_seen(tx, &hash, now)).await?)
}

/// Ends the session with this secret text, if there is one.
pub async fn end_session(db: &Db, secret: &str) -> Result<(), Error> {
    let hash = hash_of(secret);
    Ok(db.write(move |tx| sessions::end(tx, &hash)).await?)
}

/// Ends all sessions of a person (id). Gives their number.
pub async fn end_all_sessions(db: &Db, person: &str) -> Result<usize, Error> {
    let person = person.to_owned();
    Ok(db.write(move |tx| sessions::end_all(tx, &person)).await?)
}

/// The moment before which the last use of a session is too old.
fn idle_since(now: Timestamp) -> Timestamp {
    now.plus_millis(-(IDLE_TIME.as_millis() as i64))
}

fn hash_of(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
