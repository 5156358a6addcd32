//! One-time links: the form with which a person sets a password. Must not know who made the link.

use askama::Template;

use super::guard;
use super::page::{Frame, as_sentence, notice, refused, render};
use super::password::Failure;
use super::session::{self, safe_next};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{self, people};
use crate::store::homes;
use crate::store::people::Link;

#[derive(Template)]
#[template(path = "link.html")]
struct LinkPage<'a> {
    frame: Frame,
    fault: Option<String>,
    team: String,
    /// The name that the link gives. None: the person chooses.
    fixed_name: Option<String>,
    name: &'a str,
    password_min: usize,
}

/// `GET /console/link/{token}`: the form. Never uses the link, because chat programs read links for a preview.
pub(super) async fn form(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    let link = usable(&request).await?;
    link_page(&request, 200, link, None, "").await
}

/// `POST /console/link/{token}` (`name`, `password`): sets the password and signs in.
pub(super) async fn redeem(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    let link = usable(&request).await?;
    let form = request.form();
    let (name, password) = (form.text("name"), form.text("password"));
    if let Err(operate::Error::Refused(fault)) = people::check_password(password) {
        return link_page(&request, 400, link, Some(as_sentence(&fault)), name).await;
    }
    let app = &request.app;
    let Ok(stored) = app.passwords.hash(password.to_owned()).await else {
        let page = link_page(&request, Failure::Busy.status(), link, Some(Failure::Busy.sentence("")), name).await?;
        return Ok(Failure::Busy.with_wait(page));
    };
    let token = request.segment.as_deref().unwrap_or_default();
    let person = match people::redeem_link(&app.db, &app.clock, token, name.to_owned(), stored).await {
        Ok(person) => person,
        Err(operate::Error::Refused(fault)) => {
            return link_page(&request, 409, link, Some(as_sentence(&fault)), name).await;
        }
        Err(error) => return Err(refused(error)),
    };
    let reply = session::begin(&request, &person, safe_next("", person.role)).await?;
    reply.ok_or_else(|| ended().into())
}

/// The link of the request. Refused: it is unknown, used or expired.
async fn usable(request: &WebRequest) -> Result<Link, Refusal> {
    let token = request.segment.as_deref().unwrap_or_default();
    let found = people::find_link(&request.app.db, &request.app.clock, token).await.map_err(refused)?;
    found.ok_or_else(|| ended().into())
}

fn ended() -> Reply {
    let text = "A link works once, within ten minutes. Ask an owner of your team for a new one, or the operator, who prints one \
                with `hearth-server console link`.";
    notice(410, Frame::public("This link has ended"), text, Some(("/console/sign-in", "To the sign-in")))
}

async fn link_page(
    request: &WebRequest,
    status: u16,
    link: Link,
    fault: Option<String>,
    name: &str,
) -> Result<Reply, Refusal> {
    let id = link.team;
    let team = request.app.db.read(move |tx| homes::find_team(tx, &id)).await?;
    let page = LinkPage {
        frame: Frame::public("Set your password"),
        fault,
        team: team.map(|team| team.name).unwrap_or_default(),
        fixed_name: link.name,
        name,
        password_min: people::PASSWORD_CHARACTERS_MIN,
    };
    render(status, &page)
}
