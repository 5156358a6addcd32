//! The pages of API keys: list, one key, new, rotate, revoke and unflag. The secret of a key stands in the answer that makes
//! the key, and nowhere else. Must not know how a key is stored.

mod changes;
mod forms;

pub(super) use self::changes::{create, revoke, rotate, unflag};
pub(super) use self::forms::new;

use askama::Template;
use hearth_contract::formats::Timestamp;

use super::page::{Frame, not_found, refused, render};
use super::words::{moment, moment_or_never};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate;
use crate::store::keys::Key;
use crate::store::sessions::Session;

/// The list, as the target of links.
pub(super) const LIST: (&str, &str) = ("/console/keys", "To the keys");

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyRow>,
}

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    frame: Frame,
    key: KeyRow,
}

/// A key, or the grant of a partner, as the pages show it.
pub(super) struct KeyRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) environment: &'static str,
    pub(super) hint: String,
    /// `good`, `flagged`, `expired` or `revoked`.
    pub(super) state: &'static str,
    pub(super) is_valid: bool,
    pub(super) is_flagged: bool,
    pub(super) scopes: Vec<String>,
    pub(super) networks: Vec<String>,
    pub(super) pinned: String,
    pub(super) created: String,
    pub(super) last_used: String,
    pub(super) expires: String,
}

impl KeyRow {
    pub(super) fn new(key: Key, now: Timestamp) -> KeyRow {
        let ended = key.end_reason(now);
        let is_flagged = key.flagged_at.is_some() && ended.is_none();
        KeyRow {
            state: ended.unwrap_or(if is_flagged { "flagged" } else { "good" }),
            is_valid: ended.is_none(),
            is_flagged,
            environment: key.environment.as_str(),
            created: moment(key.created_at),
            last_used: moment_or_never(key.last_used_at),
            expires: moment_or_never(key.expires_at),
            id: key.id,
            name: key.name,
            hint: key.hint,
            scopes: key.scopes,
            networks: key.allowlist,
            pinned: key.pinned,
        }
    }
}

/// `GET /console/keys`: the valid keys, and then the keys that have ended; the newest first.
pub(super) async fn list(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    let found = operate::list_keys(&app.db, Some(session.team.clone())).await.map_err(refused)?;
    let now = app.clock.now();
    let mut keys: Vec<KeyRow> = found.into_iter().rev().map(|key| KeyRow::new(key, now)).collect();
    keys.sort_by_key(|key| !key.is_valid);
    render(200, &KeysPage { frame: Frame::of(&session, "API keys"), keys })
}

/// `GET /console/keys/{id}`: one key with everything that may be done to it.
pub(super) async fn one(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let key = own_key(&request, &session).await?;
    let key = KeyRow::new(key, request.app.clock.now());
    render(200, &KeyPage { frame: Frame::of(&session, &key.name), key })
}

/// The key in the path. Refused: the team has no such key.
async fn own_key(request: &WebRequest, session: &Session) -> Result<Key, Refusal> {
    let id = request.segment.as_deref().unwrap_or_default();
    let found = operate::team_key(&request.app.db, &session.team, id).await.map_err(refused)?;
    found.ok_or_else(|| not_found(session, "key", LIST))
}
