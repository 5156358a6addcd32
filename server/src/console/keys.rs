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
use crate::store::keys::{Key, KeyUse};
use crate::store::sessions::Session;

/// Keys, or grants of partners, on one page.
pub(super) const PAGE: usize = 50;
/// The list, as the target of links.
pub(super) const LIST: (&str, &str) = ("/console/keys", "To the keys");

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    keys: Vec<KeyRow>,
    /// The key that leads to the next page. None: this page is the last.
    next: Option<String>,
    is_first: bool,
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

/// `GET /console/keys?after=`: the keys that are not revoked, and then the revoked ones; the newest first.
pub(super) async fn list(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (found, is_first) = page_of(&request, &session, KeyUse::Ordinary).await?;
    let now = request.app.clock.now();
    let keys = found.keys.into_iter().map(|key| KeyRow::new(key, now)).collect();
    render(200, &KeysPage { frame: Frame::of(&session, "API keys"), keys, next: found.next, is_first })
}

/// The page of keys or grants that a request asks for with `after`, and whether the page is the first.
pub(super) async fn page_of(
    request: &WebRequest,
    session: &Session,
    key_use: KeyUse,
) -> Result<(operate::KeyPage, bool), Refusal> {
    let query = request.query_fields();
    let after = Some(query.text("after").to_owned()).filter(|id| !id.is_empty());
    let is_first = after.is_none();
    let found = operate::page_of_keys(&request.app.db, &session.team, key_use, after, PAGE).await.map_err(refused)?;
    Ok((found, is_first))
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
