//! The page of calendar links: list, a new link with its QR code, and removal. An owner sees the links of the team, another person
//! the own ones. Must not know how a calendar is stored or written.

use askama::Template;
use hearth_contract::key::Environment;
use hearth_exchange::calendar::KINDS;

use super::page::{Frame, as_sentence, not_found, qr_picture, refused, render};
use super::words::{moment, moment_or_never};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate;
use crate::operate::calendars::{self, DEFAULT_NAME, Viewer};
use crate::store::calendars::{Calendar, Maker};
use crate::store::homes;
use crate::store::people::Role;
use crate::store::sessions::Session;

/// The list, as the target of links.
const LIST: (&str, &str) = ("/console/calendars", "To the calendars");

#[derive(Template)]
#[template(path = "calendars.html")]
struct CalendarsPage<'a> {
    frame: Frame,
    fault: Option<String>,
    name: &'a str,
    calendars: Vec<CalendarRow>,
}

struct CalendarRow {
    id: String,
    name: String,
    created: String,
    last_used: String,
    /// A program made the calendar with its key.
    is_of_key: bool,
}

#[derive(Template)]
#[template(path = "calendar_link.html")]
struct LinkPage {
    frame: Frame,
    url: String,
    /// The same address in the scheme that opens a calendar program.
    subscribe: String,
    /// The QR code of that address: an SVG picture in base64.
    picture: String,
}

/// `GET /console/calendars`.
pub(super) async fn list(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(&request, &session, 200, None, DEFAULT_NAME).await
}

/// `POST /console/calendars` (`name`): makes a link to the live home, and shows it.
pub(super) async fn create(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let form = request.form();
    let name = form.text("name").trim();
    let (app, team) = (&request.app, session.team.clone());
    let home = app.db.read(move |tx| homes::home_of_team(tx, &team, Environment::Live)).await?.number;
    let maker = Maker::Person(session.person.clone());
    match calendars::create(&app.db, app.clock.now(), home, name, KINDS.to_vec(), maker).await {
        Err(operate::Error::Refused(fault)) => page(&request, &session, 409, Some(as_sentence(&fault)), name).await,
        Err(error) => Err(refused(error)),
        Ok(created) => {
            let url = created.url(&app.base_url);
            let subscribe = webcal(&url);
            let frame = Frame::of(&session, "Calendar link");
            render(200, &LinkPage { frame, picture: qr_picture(&subscribe), subscribe, url })
        }
    }
}

/// `POST /console/calendars/{id}/remove`: the link ends at once.
pub(super) async fn remove(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let id = request.segment.clone().unwrap_or_default();
    match calendars::remove(&request.app.db, viewer(&session), id).await? {
        true => Ok(redirect(LIST.0.to_owned())),
        false => Err(not_found(&session, "calendar", LIST)),
    }
}

fn viewer(session: &Session) -> Viewer {
    match session.role {
        Role::Owner => Viewer::Owner(session.team.clone()),
        Role::Member => Viewer::Maker(Maker::Person(session.person.clone())),
    }
}

/// The address in the scheme on which phones offer to subscribe.
fn webcal(url: &str) -> String {
    url.split_once("://").map_or_else(String::new, |(_, rest)| format!("webcal://{rest}"))
}

async fn page(
    request: &WebRequest,
    session: &Session,
    status: u16,
    fault: Option<String>,
    name: &str,
) -> Result<Reply, Refusal> {
    let row = |calendar: Calendar| CalendarRow {
        id: calendar.id,
        name: calendar.name,
        created: moment(calendar.created_at),
        last_used: moment_or_never(calendar.last_used_at),
        is_of_key: matches!(calendar.maker, Maker::Key(_)),
    };
    let found = calendars::list(&request.app.db, viewer(session)).await?;
    let calendars = found.into_iter().map(row).collect();
    render(status, &CalendarsPage { frame: Frame::of(session, "Calendars"), fault, name, calendars })
}
