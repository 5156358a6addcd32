//! Sign-in and sign-out, and the page of a person's own sessions. Must not know how a cookie is written.

use askama::Template;

use super::guard;
use super::page::{Frame, refused, render};
use super::session::{self, safe_next};
use super::words::moment;
use crate::app::backoff::Guesser;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{people, sessions};
use crate::passwords::Busy;
use crate::store::people::{Person, Role};
use crate::store::sessions::Session;

/// Characters of a name that count for failed sign-ins. No real name is longer.
const GUESSED_NAME_MAX: usize = people::NAME_CHARACTERS_MAX;

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    frame: Frame,
    fault: Option<String>,
    name: &'a str,
    next: &'a str,
}

fn sign_in_page(status: u16, fault: Option<String>, name: &str, next: &str) -> Result<Reply, Refusal> {
    render(status, &SignInPage { frame: Frame::public("Sign in"), fault, name, next })
}

/// `GET /console/sign-in`: the form. A person who is signed in goes on.
pub(super) async fn form(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    sign_in_page(200, None, "", request.query_fields().text("next"))
}

/// `POST /console/sign-in` (`name`, `password`, `next`). An unknown name and a wrong password get the same sentence after the
/// same time.
pub(super) async fn sign_in(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    let form = request.form();
    let (name, password, next) = (form.text("name"), form.text("password"), form.text("next"));
    let guessed = Guesser::Name(people::folded(name).chars().take(GUESSED_NAME_MAX).collect());
    let client = request.peer.map(Guesser::at);
    let guessers: Vec<Guesser> = client.iter().chain([&guessed]).cloned().collect();
    if let Err(wait) = request.app.sign_ins.begin(&guessers, request.app.clock.elapsed()) {
        let seconds = wait.as_secs() + 1;
        let fault = format!("Too many sign-ins have failed. Try again in {seconds} seconds.");
        let page = sign_in_page(429, Some(fault), name, next)?;
        return Ok(page.with_header("retry-after", seconds.to_string()));
    }
    let person = match verified(&request, name, password).await? {
        Ok(person) => person,
        Err(Busy) => {
            client.iter().for_each(|client| request.app.sign_ins.take_back(client));
            request.app.sign_ins.take_back(&guessed);
            let fault = "Many people sign in now. Try again in a few seconds.".to_owned();
            return Ok(sign_in_page(503, Some(fault), name, next)?.with_header("retry-after", "5"));
        }
    };
    let begun = match &person {
        Some(person) => session::begin(&request, person, safe_next(next, person.role)).await?,
        None => None,
    };
    let Some(reply) = begun else {
        let fault = "The name or the password is wrong. An owner of your team, or the operator with `hearth-server console \
                     link`, can make a link that sets a new password.";
        return sign_in_page(403, Some(fault.to_owned()), name, next);
    };
    client.iter().for_each(|client| request.app.sign_ins.take_back(client));
    request.app.sign_ins.forgive(&guessed);
    Ok(reply)
}

/// The person with this name and password. None: the name or the password is wrong.
async fn verified(request: &WebRequest, name: &str, password: &str) -> Result<Result<Option<Person>, Busy>, Refusal> {
    let person = people::find_person(&request.app.db, name).await.map_err(refused)?;
    // No stored password is longer. A cut password is wrong, after the same time.
    let mut password = password.to_owned();
    let is_whole = password.len() <= people::PASSWORD_BYTES_MAX;
    if !is_whole {
        password.clear();
    }
    let stored = person.as_ref().map(|person| person.password.clone());
    let is_right = request.app.passwords.verify(password, stored).await;
    Ok(is_right.map(|is_right| person.filter(|_| is_right && is_whole)))
}

/// `POST /console/sign-out`: ends the session of this browser.
pub(super) async fn sign_out(request: WebRequest) -> Result<Reply, Refusal> {
    session::end(&request).await?;
    Ok(session::signed_out(&request))
}

/// `POST /console/sign-out-everywhere`: ends all sessions of the person.
pub(super) async fn sign_out_everywhere(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    sessions::end_all_sessions(&request.app.db, &session.person).await.map_err(refused)?;
    Ok(session::signed_out(&request))
}

#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    name: String,
    team: String,
    role: &'static str,
    sessions: Vec<SessionRow>,
}

struct SessionRow {
    is_this: bool,
    began: String,
    last_seen: String,
}

/// `GET /console/session`: the person and the browsers in which the person is signed in.
pub(super) async fn own_sessions(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    let all = sessions::list_sessions(&app.db, &app.clock, &session.person).await.map_err(refused)?;
    let row = |one: Session| SessionRow {
        is_this: one.hash == session.hash,
        began: moment(one.created_at),
        last_seen: moment(one.last_seen_at),
    };
    let role = if session.role == Role::Owner { "owner" } else { "member" };
    let frame = Frame::of(&session, "Your sign-ins");
    let sessions = all.into_iter().map(row).collect();
    render(200, &SessionPage { frame, name: session.name.clone(), team: session.team_name.clone(), role, sessions })
}
