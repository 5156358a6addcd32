//! API keys: create, list, rotate, revoke and unflag. Must not know the command line.

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::key::{Environment, hint_of, holds_key, key_text};
use hearth_contract::problem::nearest;
use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::error::Error;
use super::teams::{NAME_RULE, is_valid_name};
use crate::clock::Clock;
use crate::random::{fresh_id, random_bytes};
use crate::scopes::SCOPES;
use crate::store::keys::{self, Key, KeyUse};
use crate::store::{Db, StoreError, Tx, calendars, homes};
use crate::versions::{self, Version};

/// The properties of a new key.
#[derive(Debug, Clone)]
pub struct NewKey {
    /// Id or name of the team.
    pub team: String,
    /// The home that the key reaches.
    pub environment: Environment,
    /// Names of scopes, or `all`. Empty: all scopes.
    pub scopes: Vec<String>,
    /// The name for people. None: `test key` or `live key`.
    pub name: Option<String>,
    /// Networks from which the key is accepted. Empty: all networks.
    pub allowlist: Vec<IpNet>,
    /// API version of requests without a version header, such as `2026-06-01`. None: the current version.
    pub pinned: Option<String>,
    /// The time from which the key is refused. None: never.
    pub expires_at: Option<Timestamp>,
}

/// A new key. Only this value holds the secret text of the key.
pub struct CreatedKey {
    /// The key in its stored form.
    pub key: Key,
    /// The text that a client sends.
    pub secret: String,
}

/// Creates a key. Refused for an unknown team, scope or version, and for a name that is not valid.
pub async fn create_key(db: &Db, clock: &Clock, new: NewKey) -> Result<CreatedKey, Error> {
    if new.name.as_deref().is_some_and(|name| !is_valid_name(name)) {
        return Err(Error::Refused(NAME_RULE.to_owned()));
    }
    let scopes = parse_scopes(&new.scopes).map_err(Error::Refused)?;
    let now = clock.now();
    let pinned = match new.pinned {
        None => CURRENT_VERSION.to_owned(),
        Some(name) => parse_pin(&name, now).map_err(Error::Refused)?,
    };
    let Secret { secret, hint, hash } = generate_secret(new.environment);
    let key = db
        .write(move |tx| {
            let Some(team) = homes::find_team(tx, &new.team)? else { return Ok(Err(new.team)) };
            let home = homes::home_of_team(tx, &team.id, new.environment)?;
            let key = Key {
                id: fresh_id(now).to_string(),
                team: team.id,
                team_name: team.name,
                plan: team.plan,
                home: home.number,
                home_id: home.id,
                environment: new.environment,
                is_home_unfilled: new.environment == Environment::Test && home.filled_at.is_none(),
                name: new.name.unwrap_or_else(|| format!("{} key", new.environment.as_str())),
                hash,
                hint,
                scopes,
                allowlist: new.allowlist.iter().map(IpNet::to_string).collect(),
                pinned,
                created_at: now,
                last_used_at: None,
                expires_at: new.expires_at,
                revoked_at: None,
                flagged_at: None,
                is_device: false,
                client: None,
            };
            keys::insert(tx, &key)?;
            Ok(Ok(key))
        })
        .await?;
    match key {
        Ok(key) => Ok(CreatedKey { key, secret }),
        Err(team) => Err(Error::no_team(&team)),
    }
}

/// Ends a key (id or unique name) and creates a key with the same name, scopes, allowlist, version, expiry and team, in one
/// transaction. `keep_old`: the old key is refused only after this time; None: at once. Refused for a key that is not valid
/// any more.
pub async fn rotate_key(db: &Db, clock: &Clock, word: String, keep_old: Option<Duration>) -> Result<CreatedKey, Error> {
    let now = clock.now();
    let rotated = db
        .write(move |tx| {
            let old = match find_key(tx, &word, now)? {
                Ok(old) => old,
                Err(refusal) => return Ok(Err(refusal)),
            };
            if let Some(ended) = old.end_reason(now) {
                return Ok(Err(format!("key `{word}` is {ended}; create a new key with `hearth-server key create`")));
            }
            if old.client.is_some() {
                return Ok(Err(format!(
                    "`{word}` is a partner's grant, whose tokens change by themselves; revoke it, or let \
                                       the partner ask again"
                )));
            }
            let Secret { secret, hint, hash } = generate_secret(old.environment);
            match keep_old {
                None => keys::revoke(tx, &old.id, now)?,
                Some(time) => {
                    let end = now.plus_millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
                    keys::set_expiry(tx, &old.id, old.expires_at.map_or(end, |earlier| earlier.min(end)))?;
                }
            }
            let id = fresh_id(now).to_string();
            let old_id = old.id.clone();
            let key = Key { id, hash, hint, created_at: now, last_used_at: None, flagged_at: None, ..old };
            keys::insert(tx, &key)?;
            calendars::move_to_key(tx, &old_id, &key.id)?;
            Ok(Ok(CreatedKey { key, secret }))
        })
        .await?;
    rotated.map_err(Error::Refused)
}

/// Removes the flag of repeated refusals from a key (id or unique name). Idempotent.
pub async fn unflag_key(db: &Db, clock: &Clock, word: String) -> Result<Key, Error> {
    let now = clock.now();
    let found = db
        .write(move |tx| {
            let found = find_key(tx, &word, now)?;
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

/// The key with this id, if it belongs to the team (id).
pub async fn team_key(db: &Db, team: &str, id: &str) -> Result<Option<Key>, Error> {
    let (team, id) = (team.to_owned(), id.to_owned());
    Ok(db.read(move |tx| keys::find_by_id(tx, &id)).await?.filter(|key| key.team == team))
}

/// The keys and the grants of one team (id or name) or of all teams, the oldest first.
pub async fn list_keys(db: &Db, team: Option<String>) -> Result<Vec<Key>, Error> {
    let found = db
        .read(move |tx| match team {
            None => keys::list_all(tx).map(Ok),
            Some(name) => match homes::find_team(tx, &name)? {
                Some(team) => keys::list(tx, &team.id).map(Ok),
                None => Ok(Err(name)),
            },
        })
        .await?;
    found.map_err(|team| Error::no_team(&team))
}

/// Who calls the API for a team.
#[derive(Debug)]
pub struct Callers {
    /// Keys, then grants of partners; of each those that are not revoked first, the newest first.
    pub keys: Vec<Key>,
    /// Whether the team has more than [`keys::CALLERS_MAX`] of one of them; the rest is left out.
    pub is_cut: bool,
}

/// The newest keys of a team (id), and the newest grants of its partners.
pub async fn list_callers(db: &Db, team: &str) -> Result<Callers, Error> {
    let team = team.to_owned();
    let (keys, is_cut) = db.read(move |tx| keys::callers(tx, &team)).await?;
    Ok(Callers { keys, is_cut })
}

/// A page of the keys or grants of a team (id).
#[derive(Debug)]
pub struct KeyPage {
    /// Those that are not revoked first, the newest first.
    pub keys: Vec<Key>,
    /// The id that leads to the next page. None: this page is the last.
    pub next: Option<String>,
}

/// A page of `count` keys or grants of a team (id). `after`: the id at the end of the page before; an unknown id begins at
/// the start.
pub async fn page_of_keys(
    db: &Db,
    team: &str,
    key_use: KeyUse,
    after: Option<String>,
    count: usize,
) -> Result<KeyPage, Error> {
    let team = team.to_owned();
    let found = db.read(move |tx| {
        let after = after.map(|id| keys::find_by_id(tx, &id)).transpose()?.flatten().filter(|key| key.team == team);
        keys::page(tx, &team, key_use, after.as_ref(), count + 1)
    });
    let mut keys = found.await?;
    let has_more = keys.len() > count;
    keys.truncate(count);
    let next = keys.last().filter(|_| has_more).map(|key| key.id.clone());
    Ok(KeyPage { keys, next })
}

/// Revokes a key or a grant (id or unique name). Idempotent.
pub async fn revoke_key(db: &Db, clock: &Clock, word: String) -> Result<Key, Error> {
    let now = clock.now();
    let found = db
        .write(move |tx| {
            let found = find_key(tx, &word, now)?;
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

/// Finds a key by id or name. A name prefers valid keys, then the newest of the keys that have ended. After a rotation with
/// overlap two valid keys have the name: the id is needed then. Err: a sentence that says why no single key was found.
fn find_key(tx: &Tx<'_>, word: &str, now: Timestamp) -> Result<Result<Key, String>, StoreError> {
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
            Err("that is the text of a key; use the id or name, see `hearth-server key list`".to_owned())
        }
        (None, _) => Err(format!("there is no key `{word}`; see `hearth-server key list`")),
        (_, more) => Err(format!("{} keys have the name `{word}`; use the id, see `hearth-server key list`", more + 1)),
    })
}

/// The name of a version that a key may be pinned to at a moment. Err: a sentence that lists these versions.
pub fn parse_pin(name: &str, now: Timestamp) -> Result<String, String> {
    if Version::find(name, now).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = versions::supported(now).map(|version| version.name).collect();
    Err(format!("version `{name}` is not supported; the versions are {}", names.join(", ")))
}

/// The secret text of a new key, and the parts that the database stores.
struct Secret {
    secret: String,
    /// First and last characters of the text.
    hint: String,
    /// SHA-256 of the text.
    hash: [u8; 32],
}

fn generate_secret(environment: Environment) -> Secret {
    let secret = key_text(environment, random_bytes());
    let hint = hint_of(&secret);
    let hash = Sha256::digest(secret.as_bytes()).into();
    Secret { secret, hint, hash }
}

/// The scopes with these names, in the order of the table of scopes. An empty list, or `all`: all scopes. Err: a sentence
/// about the first unknown name.
pub fn parse_scopes(names: &[String]) -> Result<Vec<String>, String> {
    if names.is_empty() || names.iter().any(|scope| scope == "all") {
        return Ok(SCOPES.map(str::to_owned).to_vec());
    }
    match names.iter().find(|scope| !SCOPES.contains(&scope.as_str())) {
        None => {
            Ok(SCOPES.iter().filter(|scope| names.iter().any(|name| name == *scope)).map(|s| (*s).to_owned()).collect())
        }
        Some(unknown) => {
            let hint = nearest(unknown, SCOPES).map_or_else(
                || format!("; the scopes are {}", SCOPES.join(", ")),
                |nearest| format!("; did you mean {nearest}?"),
            );
            Err(format!("there is no scope `{unknown}`{hint}"))
        }
    }
}
