//! The page of partners: which programs of others reach the homes of the team, and the end of their access (contract 20). Must
//! not know the protocol by which a program gets access.

use askama::Template;
use hearth_contract::formats::Timestamp;

use super::keys::{KeyRow, page_of};
use super::page::{Frame, not_found, refused, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate;
use crate::scopes::scope_about;
use crate::store::keys::{Key, KeyUse};
use crate::store::sessions::Session;

/// The list, as the target of links.
const LIST: (&str, &str) = ("/console/partners", "To the partners");

#[derive(Template)]
#[template(path = "partners.html")]
struct PartnersPage {
    frame: Frame,
    grants: Vec<GrantRow>,
    /// The grant that leads to the next page. None: this page is the last.
    next: Option<String>,
    is_first: bool,
    /// The word of `serve --partners`: which programs may ask.
    access: &'static str,
}

/// A grant as the page shows it.
struct GrantRow {
    key: KeyRow,
    /// The client id of the program.
    client: String,
    /// What the program may do, in words.
    scopes: Vec<String>,
}

impl GrantRow {
    /// None: the key is no grant.
    fn new(key: Key, now: Timestamp) -> Option<GrantRow> {
        let client = key.client.clone()?;
        let scopes = key.scopes.iter().map(|scope| scope_about(scope)).collect();
        Some(GrantRow { client, scopes, key: KeyRow::new(key, now) })
    }
}

/// `GET /console/partners?after=`.
pub(super) async fn list(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, now) = (&request.app, request.app.clock.now());
    let (found, is_first) = page_of(&request, &session, KeyUse::Grant).await?;
    let grants = found.keys.into_iter().filter_map(|grant| GrantRow::new(grant, now)).collect();
    let access = app.config.partners.as_str();
    let frame = Frame::of(&session, "Partners");
    render(200, &PartnersPage { frame, grants, next: found.next, is_first, access })
}

/// `POST /console/partners/{id}/revoke`: ends the grant, its tokens and its streams.
pub(super) async fn revoke(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, id) = (&request.app, request.segment.as_deref().unwrap_or_default());
    let found = operate::team_key(&app.db, &session.team, id).await.map_err(refused)?;
    let Some(grant) = found.filter(|key| key.client.is_some()) else {
        return Err(not_found(&session, "grant", LIST));
    };
    operate::revoke_key(&app.db, &app.clock, grant.id).await.map_err(refused)?;
    app.keys_changed();
    Ok(redirect(LIST.0.to_owned()))
}
