//! The page of a person's own sign-ins and password. Must not know how a cookie is written, nor how a password is checked.

use askama::Template;

use super::page::{Frame, as_sentence, refused, render};
use super::session;
use super::words::moment;
use super::{guard, password};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{self, people, sessions};
use crate::store::people::Role;
use crate::store::sessions::Session;

/// The page after a change of the password.
const CHANGED: &str = "/console/session?changed=password";
/// What a person does who does not know the old password.
const WRONG: &str = "The old password is wrong. An owner of your team, or the operator with `hearth-server console link`, can \
                     make a link that sets a new password.";

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    fault: Option<String>,
    /// The password was changed just now.
    is_changed: bool,
    name: String,
    team: String,
    role: &'static str,
    sessions: Vec<SessionRow>,
    password_min: usize,
}

struct SessionRow {
    is_this: bool,
    began: String,
    last_seen: String,
}

/// `GET /console/session`: the person, the browsers in which the person is signed in, and the form of a new password.
pub(super) async fn show(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(&request, &session, 200, None).await
}

/// `POST /console/sign-out-everywhere`: ends all sessions of the person.
pub(super) async fn sign_out_everywhere(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    sessions::end_all_sessions(&request.app.db, &session.person).await.map_err(refused)?;
    Ok(session::signed_out(&request))
}

/// `POST /console/password` (`old`, `new`): changes the person's own password, ends all sessions of the person, and begins a
/// new one for this browser. The old password is asked for, because somebody else may use a browser that was left open.
pub(super) async fn change_password(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    let form = request.form();
    let (old, new) = (form.text("old"), form.text("new"));
    if let Err(operate::Error::Refused(fault)) = people::check_password(new) {
        return page(&request, &session, 400, Some(as_sentence(&fault))).await;
    }
    let person = match password::check(&request, &session.name, old, None).await? {
        Ok(person) => person,
        Err(failure) => {
            let page = page(&request, &session, failure.status(), Some(failure.sentence(WRONG))).await?;
            return Ok(failure.with_wait(page));
        }
    };
    let Ok(stored) = request.app.passwords.hash(new.to_owned()).await else {
        let busy = password::Failure::Busy;
        let page = page(&request, &session, busy.status(), Some(busy.sentence(WRONG))).await?;
        return Ok(busy.with_wait(page));
    };
    let person = people::change_password(&request.app.db, person, stored).await.map_err(refused)?;
    let begun = session::begin(&request, &person, CHANGED.to_owned()).await?;
    Ok(begun.unwrap_or_else(|| session::signed_out(&request)))
}

async fn page(request: &WebRequest, session: &Session, status: u16, fault: Option<String>) -> Result<Reply, Refusal> {
    let app = &request.app;
    let all = sessions::list_sessions(&app.db, &app.clock, &session.person).await.map_err(refused)?;
    let row = |one: Session| SessionRow {
        is_this: one.hash == session.hash,
        began: moment(one.created_at),
        last_seen: moment(one.last_seen_at),
    };
    let page = SessionPage {
        frame: Frame::of(session, "Your sign-ins"),
        is_changed: fault.is_none() && request.query_fields().text("changed") == "password",
        fault,
        name: session.name.clone(),
        team: session.team_name.clone(),
        role: if session.role == Role::Owner { "owner" } else { "member" },
        sessions: all.into_iter().map(row).collect(),
        password_min: people::PASSWORD_CHARACTERS_MIN,
    };
    render(status, &page)
}
