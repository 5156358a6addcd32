//! The pages of the sandbox: how many records it has, and its reset. Must not know the example data.

use askama::Template;

use super::page::{Frame, refused, render};
use super::words::moment;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate;
use crate::store::sessions::Session;

#[derive(Template)]
#[template(path = "sandbox.html")]
struct SandboxPage {
    frame: Frame,
    /// The word of each kind and the number of its records.
    counts: Vec<(&'static str, i64)>,
    /// The moment at which the sandbox got its example data. None: not yet.
    filled: Option<String>,
}

#[derive(Template)]
#[template(path = "sandbox_reset.html")]
struct ResetPage {
    frame: Frame,
}

/// `GET /console/sandbox`.
pub(super) async fn sandbox(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let found = operate::count_sandbox(&request.app.db, &session.team).await.map_err(refused)?;
    let counts = found.records.into_iter().map(|(kind, count)| (kind.as_str(), count)).collect();
    let filled = found.filled_at.map(moment);
    render(200, &SandboxPage { frame: Frame::of(&session, "Sandbox"), counts, filled })
}

/// `GET /console/sandbox/reset`: asks for a confirmation.
pub(super) async fn confirm(_: WebRequest, session: Session) -> Result<Reply, Refusal> {
    render(200, &ResetPage { frame: Frame::of(&session, "Reset the sandbox?") })
}

/// `POST /console/sandbox/reset`.
pub(super) async fn reset(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    // A clock that is far ahead would give the new records moments that no later write may fall below.
    app.clock_guard.now(&app.clock)?;
    operate::reset_sandbox(&app.db, &app.clock, session.team.clone()).await.map_err(refused)?;
    // The keys of the sandbox remember that it was not filled yet.
    app.keyring.forget();
    Ok(redirect("/console/sandbox".to_owned()))
}
