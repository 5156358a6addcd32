//! Sign-in and sign-out of a browser. Must not know how a cookie is written, nor how a password is checked.

use askama::Template;

use super::guard;
use super::page::{Frame, render};
use super::password::{self, Failure};
use super::session::{self, safe_next};
use crate::app::backoff::Guesser;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};

/// What a person does who cannot sign in.
const WRONG: &str = "The name or the password is wrong. An owner of your team, or the operator with `hearth-server console \
                     link`, can make a link that sets a new password.";

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
    let query = request.query_fields();
    if let Some(session) = session::current(&request).await? {
        return Ok(redirect(safe_next(query.text("next"), session.role)));
    }
    sign_in_page(200, None, "", query.text("next"))
}

/// `POST /console/sign-in` (`name`, `password`, `next`). An unknown name and a wrong password get the same sentence after the
/// same time.
pub(super) async fn sign_in(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_connection(&request)?;
    let form = request.form();
    let (name, typed, next) = (form.text("name"), form.text("password"), form.text("next"));
    let begun = match password::check(&request, name, typed, request.peer.map(Guesser::at)).await? {
        Ok(person) => session::begin(&request, &person, safe_next(next, person.role)).await?.ok_or(Failure::Wrong),
        Err(failure) => Err(failure),
    };
    match begun {
        Ok(reply) => Ok(reply),
        Err(failure) => {
            let page = sign_in_page(failure.status(), Some(failure.sentence(WRONG)), name, next)?;
            Ok(failure.with_wait(page))
        }
    }
}

/// `POST /console/sign-out`: ends the session of this browser.
pub(super) async fn sign_out(request: WebRequest) -> Result<Reply, Refusal> {
    session::end(&request).await?;
    Ok(session::signed_out(&request))
}
