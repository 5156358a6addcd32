//! What an operator does beside serving: teams with their homes, and keys; [`copies`] saves and restores, [`check`]
//! looks whether all is sound. Works on the database, whether a server
//! runs or not. Must not know the command line.

pub mod check;
pub mod copies;

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::key::{Environment, HINT_END, HINT_START, holds_key, key_text};
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::chance::{fresh_id, random};
use crate::clock::Clock;
use crate::home::apply::HomeWriter;
use crate::home::sandbox;
use crate::http::scopes::SCOPES;
use crate::store::homes::{self, Plan, Team};
use crate::store::keys::{self, Key};
use crate::store::{Db, StoreError, Tx};
use crate::versions::{self, Version};

/// Why an operator's wish was not carried out. Texts are sentences for people.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be done as asked.
    #[error("{0}")]
    Refused(String),
    /// Something broke.
    #[error(transparent)]
    StoreError(#[from] StoreError),
}

/// What a new key is to be.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Id or name of its team.
    pub team: String,
    /// Which home it reaches.
    pub environment: Environment,
    /// What it may do; empty is everything.
    pub scopes: Vec<String>,
    /// What its owner calls it.
    pub name: Option<String>,
    /// Networks it may be used from; empty is everywhere.
    pub allowlist: Vec<IpNet>,
    /// The version that holds without a header; None: the current one.
    pub pinned: Option<String>,
    /// From when it is refused.
    pub expires_at: Option<Timestamp>,
}

/// A key just made. The only moment at which its text is known.
pub struct MadeKey {
    /// The key as stored.
    pub key: Key,
    /// Its text.
    pub secret: String,
}

/// The team that a first `serve` makes.
const FIRST_TEAM: &str = "My home";

/// Makes the first team on an empty database; gives it then.
pub async fn ensure_first_team(db: &Db, clock: &Clock) -> Result<Option<Team>, Error> {
    let now = clock.now();
    let run = db.epoch();
    // Who only looks waits for no other process that writes.
    if !db.read(homes::teams).await?.is_empty() {
        return Ok(None);
    }
    let made = db
        .write(move |tx| {
            if homes::teams(tx)?.is_empty() {
                make_team(tx, FIRST_TEAM, Plan::Paid, now, run).map(Some)
            } else {
                Ok(None)
            }
        })
        .await?;
    Ok(made)
}

/// What a team or a key may be called.
pub const NAME_RULE: &str = "a name must be one line that is not blank";

/// Whether a team or a key may be called so.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}

/// Makes a team, its live home and its sandbox, filled.
pub async fn create_team(db: &Db, clock: &Clock, name: String, plan: Plan) -> Result<Team, Error> {
    if !is_name(&name) {
        return Err(Error::Refused(NAME_RULE.to_owned()));
    }
    let (now, run) = (clock.now(), db.epoch());
    let made = db
        .write(move |tx| match homes::find_team(tx, &name)? {
            Some(_) => Ok(Err(name)),
            None => make_team(tx, &name, plan, now, run).map(Ok),
        })
        .await?;
    made.map_err(|name| Error::Refused(format!("there is a team `{name}` already; choose another name")))
}

fn make_team(tx: &Tx<'_>, name: &str, plan: Plan, now: Timestamp, run: i64) -> Result<Team, StoreError> {
    let mut id = || fresh_id(now);
    let team = Team { id: id().to_string(), name: name.to_owned(), plan, created_at: now };
    homes::create_team(tx, &team, id(), id())?;
    let sandbox = homes::home_of_team(tx, &team.id, Environment::Test)?;
    let mut writing = HomeWriter::begin(tx, sandbox.number, run, now, None)?;
    sandbox::fill(&mut writing, now, &mut id)?;
    writing.finish()?;
    Ok(team)
}

/// All teams, oldest first.
pub async fn teams(db: &Db) -> Result<Vec<Team>, Error> {
    Ok(db.read(homes::teams).await?)
}

/// Changes what a team (id or name) pays for. A running server knows within a second.
pub async fn set_plan(db: &Db, team: String, plan: Plan) -> Result<Team, Error> {
    let found = db
        .write(move |tx| {
            let Some(found) = homes::find_team(tx, &team)? else { return Ok(Err(team)) };
            homes::set_plan(tx, &found.id, plan)?;
            Ok(Ok(Team { plan, ..found }))
        })
        .await?;
    found.map_err(no_team)
}

/// Deletes every record of a team's sandbox and makes the fixtures again, in one transaction; gives the team and the
/// number of records made (contract 11).
pub async fn reset_sandbox(db: &Db, clock: &Clock, team: String) -> Result<(Team, usize), Error> {
    let (now, run) = (clock.now(), db.epoch());
    let found = db
        .write(move |tx| {
            let Some(team) = homes::find_team(tx, &team)? else { return Ok(Err(team)) };
            let number = homes::home_of_team(tx, &team.id, Environment::Test)?.number;
            let mut writing = HomeWriter::begin(tx, number, run, now, None)?;
            let made = sandbox::reset(tx, number, &mut writing, now, &mut || fresh_id(now))?;
            writing.finish()?;
            Ok(Ok((team, made)))
        })
        .await?;
    found.map_err(no_team)
}

/// Makes a key.
pub async fn create_key(db: &Db, clock: &Clock, wish: NewKey) -> Result<MadeKey, Error> {
    let scopes = scopes(&wish.scopes).map_err(Error::Refused)?;
    let now = clock.now();
    let pinned = match wish.pinned {
        None => CURRENT_VERSION.to_owned(),
        Some(name) if Version::find(&name, now).is_some() => name,
        Some(name) => return Err(Error::Refused(unsupported_pin(&name, now))),
    };
    let Minted { secret, hint, hash } = mint(wish.environment);
    let key = db
        .write(move |tx| {
            let Some(team) = homes::find_team(tx, &wish.team)? else { return Ok(Err(wish.team)) };
            let home = homes::home_of_team(tx, &team.id, wish.environment)?;
            let key = Key {
                id: Uuid::new_v4().to_string(),
                team: team.id,
                team_name: team.name,
                plan: team.plan,
                home: home.number,
                home_id: home.id.to_string(),
                environment: wish.environment,
                name: wish.name.unwrap_or_else(|| format!("{} key", wish.environment.as_str())),
                hash,
                hint,
                scopes,
                allowlist: wish.allowlist.iter().map(IpNet::to_string).collect(),
                pinned,
                created_at: now,
                last_used_at: None,
                expires_at: wish.expires_at,
                revoked_at: None,
                flagged_at: None,
            };
            keys::insert(tx, &key)?;
            Ok(Ok(key))
        })
        .await?;
    match key {
        Ok(key) => Ok(MadeKey { key, secret }),
        Err(team) => Err(no_team(team)),
    }
}

/// Ends a key at once and makes another with the same name, scopes, allowlist, version, end and team.
pub async fn rotate_key(db: &Db, clock: &Clock, word: String) -> Result<MadeKey, Error> {
    let now = clock.now();
    let rotated = db
        .write(move |tx| {
            let old = match named(tx, &word, now)? {
                Ok(old) => old,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if let Some(ended) = old.end_reason(now) {
                return Ok(Err(format!("key `{word}` is {ended}; make a new one with `hearth-server key create`")));
            }
            let Minted { secret, hint, hash } = mint(old.environment);
            keys::revoke(tx, &old.id, now)?;
            let id = Uuid::new_v4().to_string();
            let key = Key { id, hash, hint, created_at: now, last_used_at: None, flagged_at: None, ..old };
            keys::insert(tx, &key)?;
            Ok(Ok(MadeKey { key, secret }))
        })
        .await?;
    rotated.map_err(Error::Refused)
}

/// Takes the mark of repeated refusals from a key. Doing so twice is the same as once.
pub async fn unflag_key(db: &Db, clock: &Clock, word: String) -> Result<Key, Error> {
    let now = clock.now();
    let found = db
        .write(move |tx| {
            let found = named(tx, &word, now)?;
            Ok(match found {
                Ok(key) => {
                    keys::unflag(tx, &key.id)?;
                    Ok(Key { flagged_at: None, ..key })
                }
                refusal => refusal,
            })
        })
        .await?;
    found.map_err(Error::Refused)
}

/// Keys of one team (id or name) or of all, oldest first.
pub async fn list_keys(db: &Db, team: Option<String>) -> Result<Vec<Key>, Error> {
    let found = db
        .read(move |tx| match team {
            None => keys::list(tx, None).map(Ok),
            Some(name) => match homes::find_team(tx, &name)? {
                Some(team) => keys::list(tx, Some(&team.id)).map(Ok),
                None => Ok(Err(name)),
            },
        })
        .await?;
    found.map_err(no_team)
}

/// Ends a key, by id or unique name. Ending it twice is the same as once.
pub async fn revoke_key(db: &Db, clock: &Clock, word: String) -> Result<Key, Error> {
    let now = clock.now();
    let found = db
        .write(move |tx| {
            let found = named(tx, &word, now)?;
            Ok(match found {
                Ok(key) => {
                    keys::revoke(tx, &key.id, now)?;
                    Ok(Key { revoked_at: key.revoked_at.or(Some(now)), ..key })
                }
                refusal => refusal,
            })
        })
        .await?;
    found.map_err(Error::Refused)
}

/// The one key that a word names, or why there is none: the one with this id, else the one with this name that is good,
/// else of those that have ended the one made last. So a name stays unique when its key is rotated and when it ends.
fn named(tx: &Tx<'_>, word: &str, now: Timestamp) -> Result<Result<Key, String>, StoreError> {
    let mut found = keys::find_by_id_or_name(tx, word)?;
    if found.iter().any(|key| key.id == word) {
        found.retain(|key| key.id == word);
    } else if found.iter().any(|key| key.end_reason(now).is_none()) {
        found.retain(|key| key.end_reason(now).is_none());
    } else {
        found = found.into_iter().max_by_key(|key| key.created_at).into_iter().collect();
    }
    Ok(match (found.pop(), found.len()) {
        (Some(key), 0) => Ok(key),
        (None, _) if holds_key(word) => {
            Err("that is the text of a key; name it by its id or name, see `hearth-server key list`".to_owned())
        }
        (None, _) => Err(format!("there is no key `{word}`; see `hearth-server key list`")),
        (_, more) => Err(format!("{} keys are named `{word}`; use the id, see `hearth-server key list`", more + 1)),
    })
}

fn unsupported_pin(name: &str, now: Timestamp) -> String {
    let names: Vec<&str> = versions::supported(now).map(|version| version.name).collect();
    format!("version `{name}` is not in service; the versions are {}", names.join(", "))
}

fn no_team(team: String) -> Error {
    let named = if holds_key(&team) {
        "the text of a key names no team".to_owned()
    } else {
        format!("there is no team `{team}`")
    };
    Error::Refused(format!("{named}; see `hearth-server team list`"))
}

/// A new key's text with what is kept of it.
struct Minted {
    secret: String,
    hint: String,
    hash: [u8; 32],
}

fn mint(environment: Environment) -> Minted {
    let secret = key_text(environment, random());
    let hint = format!("{}…{}", &secret[..HINT_START], &secret[secret.len() - HINT_END..]);
    let hash = Sha256::digest(secret.as_bytes()).into();
    Minted { secret, hint, hash }
}

/// The scopes that these words name, in the table's order; `all` or none at all: every one. Err: a sentence about the
/// first that does not exist.
pub fn scopes(wished: &[String]) -> Result<Vec<String>, String> {
    if wished.is_empty() || wished.iter().any(|scope| scope == "all") {
        return Ok(SCOPES.map(str::to_owned).to_vec());
    }
    let unknown = wished.iter().find(|scope| !SCOPES.contains(&scope.as_str()));
    match unknown {
        None => Ok(SCOPES.iter().filter(|scope| wished.iter().any(|w| w == *scope)).map(|s| (*s).to_owned()).collect()),
        Some(scope) => {
            let nearest =
                hearth_contract::problem::nearest(scope, SCOPES).map(|near| format!("; did you mean {near}?"));
            let hint = nearest.unwrap_or_else(|| format!("; the scopes are {}", SCOPES.join(", ")));
            Err(format!("there is no scope `{scope}`{hint}"))
        }
    }
}
