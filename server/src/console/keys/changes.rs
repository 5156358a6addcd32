//! The changes of keys that forms ask for. Each calls the function of the operator's command. Must not know how a key is stored.

use std::time::Duration;

use askama::Template;

use super::forms;
use super::{KeyRow, LIST, own_key};
use crate::console::page::{Frame, as_sentence, notice, refused, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate::{self, CreatedKey};
use crate::store::homes::Plan;
use crate::store::sessions::Session;

/// How long the old key works after a rotation with overlap.
const OVERLAP: Duration = Duration::from_secs(24 * 3600);

#[derive(Template)]
#[template(path = "key_secret.html")]
struct SecretPage {
    frame: Frame,
    secret: String,
    key: KeyRow,
    base_url: String,
    /// The key is refused, because live keys need the paid plan.
    needs_plan: bool,
    /// The old key of a rotation works for some hours. None: it has ended, or there is none.
    overlap_hours: Option<u64>,
}

/// `POST /console/keys` (`name`, `environment`, `scopes`, `expires`, `networks`): makes a key and shows its secret.
pub(in crate::console) async fn create(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, form) = (&request.app, request.form());
    let new = match forms::read(&form, &session.team, app.clock.now()) {
        Ok(new) => new,
        Err(fault) => return forms::form(&session, 400, Some(fault), &form),
    };
    match operate::create_key(&app.db, &app.clock, new).await {
        Ok(created) => secret_page(&request, &session, created, None),
        Err(operate::Error::Refused(fault)) => forms::form(&session, 400, Some(as_sentence(&fault)), &form),
        Err(error) => Err(refused(error)),
    }
}

/// `POST /console/keys/{id}/rotate` (`old`: `now` or `later`): makes a key with the same properties and shows its secret. The
/// old key ends now, or after 24 hours.
pub(in crate::console) async fn rotate(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let key = own_key(&request, &session).await?;
    let keep_old = match request.form().text("old") {
        "now" => None,
        "later" => Some(OVERLAP),
        _ => {
            let text = "Choose when the old key ends: now, or in 24 hours.";
            return Ok(notice(400, Frame::of(&session, "Not rotated"), text, Some(LIST)));
        }
    };
    let app = &request.app;
    let created = operate::rotate_key(&app.db, &app.clock, key.id, keep_old).await.map_err(refused)?;
    app.keys_changed();
    secret_page(&request, &session, created, keep_old)
}

/// `POST /console/keys/{id}/revoke`.
pub(in crate::console) async fn revoke(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let key = own_key(&request, &session).await?;
    let app = &request.app;
    operate::revoke_key(&app.db, &app.clock, key.id).await.map_err(refused)?;
    app.keys_changed();
    Ok(redirect(LIST.0.to_owned()))
}

/// `POST /console/keys/{id}/unflag`.
pub(in crate::console) async fn unflag(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let key = own_key(&request, &session).await?;
    let app = &request.app;
    operate::unflag_key(&app.db, &app.clock, key.id.clone()).await.map_err(refused)?;
    app.keys_changed();
    Ok(redirect(format!("{}/{}", LIST.0, key.id)))
}

fn secret_page(
    request: &WebRequest,
    session: &Session,
    created: CreatedKey,
    keep_old: Option<Duration>,
) -> Result<Reply, Refusal> {
    let CreatedKey { key, secret } = created;
    let page = SecretPage {
        frame: Frame::of(session, "Your new API key"),
        secret,
        base_url: request.app.base_url.to_string(),
        needs_plan: key.environment == hearth_contract::key::Environment::Live && key.plan == Plan::Free,
        overlap_hours: keep_old.map(|time| time.as_secs() / 3600),
        key: KeyRow::new(key, request.app.clock.now()),
    };
    render(200, &page)
}
