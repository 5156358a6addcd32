//! Links under which calendar programs read a home's days. Must not know HTTP, nor the form of a calendar.

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::key::{TokenKind, parse_token, token_text};
use hearth_contract::paths::calendar_file;
use hearth_contract::schema::Kind;
use sha2::{Digest, Sha256};

use super::error::Error;
use super::teams::{NAME_RULE, is_valid_name};
use crate::random::{fresh_id, random_bytes};
use crate::store::calendars::{self, Calendar, Maker, Scope};
use crate::store::{Db, HomeNumber, StoreError, Tx};

/// Calendars of a home, at most.
pub const CALENDARS_MAX: usize = 100;
/// The name of a calendar that its maker does not name.
pub const DEFAULT_NAME: &str = "Hearth";
/// Precision of the stored last use.
const LAST_USED_PRECISION: Duration = Duration::from_secs(60);

/// A new calendar. Only this value holds its secret.
pub struct CreatedCalendar {
    /// The calendar in its stored form.
    pub calendar: Calendar,
    token: String,
}

impl CreatedCalendar {
    /// The address of the calendar. `base_url`: where clients reach the server, without a slash at the end.
    pub fn url(&self, base_url: &str) -> String {
        format!("{}{}", base_url, calendar_file(&self.token))
    }
}

impl CreatedCalendar {
    /// A new calendar that is not stored yet. `token`: random bytes of its secret.
    pub fn new(
        now: Timestamp,
        home: HomeNumber,
        name: String,
        kinds: Vec<Kind>,
        maker: Maker,
        token: [u8; 32],
    ) -> CreatedCalendar {
        let token = token_text(TokenKind::Calendar, token);
        let (id, hash) = (fresh_id(now).to_string(), hash_of(&token));
        let calendar = Calendar { id, hash, home, name, kinds, maker, created_at: now, last_used_at: None };
        CreatedCalendar { calendar, token }
    }

    /// Stores the calendar. False: its home has [`CALENDARS_MAX`].
    pub fn insert(&self, tx: &Tx<'_>) -> Result<bool, StoreError> {
        if calendars::count(tx, self.calendar.home)? >= CALENDARS_MAX {
            return Ok(false);
        }
        calendars::insert(tx, &self.calendar)?;
        Ok(true)
    }
}

/// Makes a calendar. Refused: the name is no name, or the home has [`CALENDARS_MAX`].
pub async fn create(
    db: &Db,
    now: Timestamp,
    home: HomeNumber,
    name: &str,
    kinds: Vec<Kind>,
    maker: Maker,
) -> Result<CreatedCalendar, Error> {
    if !is_valid_name(name) {
        return Err(Error::Refused(NAME_RULE.to_owned()));
    }
    let calendar = CreatedCalendar::new(now, home, name.to_owned(), kinds, maker, random_bytes());
    let made = db.write_for(home, move |tx| Ok(calendar.insert(tx)?.then_some(calendar)));
    match made.await? {
        Some(calendar) => Ok(calendar),
        None => Err(Error::Refused(format!("the home has {CALENDARS_MAX} calendars; remove one that nobody reads"))),
    }
}

/// The calendar with this secret part, and the networks from which it may be read; empty: all. None: it is unknown, was removed, or
/// its maker lost the access.
pub async fn find(db: &Db, token: &str, now: Timestamp) -> Result<Option<(Calendar, Vec<String>)>, StoreError> {
    if parse_token(TokenKind::Calendar, token).is_none() {
        return Ok(None);
    }
    let hash = hash_of(token);
    db.read_inline(move |tx| calendars::find(tx, &hash, now)).await
}

/// Whether the stored last use of a calendar is older than its precision.
pub fn is_last_use_due(calendar: &Calendar, now: Timestamp) -> bool {
    let age = |at: Timestamp| now.millis() - at.millis();
    calendar.last_used_at.is_none_or(|at| age(at) >= LAST_USED_PRECISION.as_millis() as i64)
}

/// Stores the last use of a calendar.
pub async fn touch(db: &Db, id: String, now: Timestamp) -> Result<(), StoreError> {
    db.write(move |tx| calendars::set_last_used(tx, &id, now)).await
}

/// The calendars that a person sees, the oldest first: an owner sees those of the team (id), another person the own ones.
pub async fn list(db: &Db, viewer: Viewer) -> Result<Vec<Calendar>, StoreError> {
    db.read(move |tx| calendars::list(tx, viewer.scope())).await
}

/// Removes a calendar that a person sees. False: there is no such calendar.
pub async fn remove(db: &Db, viewer: Viewer, id: String) -> Result<bool, StoreError> {
    db.write(move |tx| calendars::remove(tx, viewer.scope(), &id)).await
}

/// Whose calendars a caller sees.
#[derive(Debug, Clone)]
pub enum Viewer {
    /// Those of one maker.
    Maker(Maker),
    /// Those of a team (id).
    Owner(String),
}

impl Viewer {
    fn scope(&self) -> Scope<'_> {
        match self {
            Viewer::Maker(maker) => Scope::Of(maker),
            Viewer::Owner(team) => Scope::Team(team),
        }
    }
}

fn hash_of(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
