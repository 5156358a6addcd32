//! The pages of people: list, invitation by a one-time link, role and removal. Must not know how a person is stored.

use askama::Template;

use super::page::{Frame, as_sentence, not_found, notice, qr_picture, refused, render};
use super::words::moment;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::operate::{self, people};
use crate::store::people::{Person, Role};
use crate::store::sessions::Session;

/// The list, as the target of links.
const LIST: (&str, &str) = ("/console/people", "To the people");

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage<'a> {
    frame: Frame,
    fault: Option<String>,
    name: &'a str,
    people: Vec<PersonRow>,
}

struct PersonRow {
    id: String,
    name: String,
    is_owner: bool,
    is_self: bool,
    since: String,
}

#[derive(Template)]
#[template(path = "invitation.html")]
struct InvitationPage {
    frame: Frame,
    url: String,
    /// The QR code of the link: an SVG picture in base64.
    picture: String,
    /// The name of the person. None: the person chooses.
    name: Option<String>,
    minutes: u64,
}

/// `GET /console/people`.
pub(super) async fn list(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    people_page(&request, &session, 200, None, "").await
}

/// `POST /console/people` (`name`, `role`): makes a one-time link for a new person, and shows it.
pub(super) async fn invite(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let form = request.form();
    let name = form.text("name").trim();
    let Some(role) = Role::parse(form.text("role")) else {
        let fault = "Choose what the person may do: owner or member.".to_owned();
        return people_page(&request, &session, 400, Some(fault), name).await;
    };
    if people::find_person(&request.app.db, name)
        .await
        .map_err(refused)?
        .is_some_and(|person| person.team == session.team)
    {
        let fault =
            "Your team has a person with this name. Choose another name, or make a link for a new password below.";
        return people_page(&request, &session, 409, Some(fault.to_owned()), name).await;
    }
    let named = Some(name.to_owned()).filter(|name| !name.is_empty());
    match link(&request, &session, role, named).await {
        Err(operate::Error::Refused(fault)) => {
            people_page(&request, &session, 409, Some(as_sentence(&fault)), name).await
        }
        Err(error) => Err(refused(error)),
        Ok(created) => invitation_page(&request, &session, created),
    }
}

/// `POST /console/people/{id}/link`: makes a one-time link that sets a new password.
pub(super) async fn new_password(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let person = own_person(&request, &session).await?;
    let created = link(&request, &session, person.role, Some(person.name)).await.map_err(refused)?;
    invitation_page(&request, &session, created)
}

/// `POST /console/people/{id}/role` (`role`).
pub(super) async fn change_role(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let person = own_person(&request, &session).await?;
    let Some(role) = Role::parse(request.form().text("role")) else {
        let text = "Choose what the person may do: owner or member.";
        return Ok(notice(400, Frame::of(&session, "Not changed"), text, Some(LIST)));
    };
    people::set_role(&request.app.db, &session.team, &person.id, role).await.map_err(refused)?;
    Ok(redirect(LIST.0.to_owned()))
}

/// `POST /console/people/{id}/remove`.
pub(super) async fn remove(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let person = own_person(&request, &session).await?;
    let app = &request.app;
    people::remove_person(&app.db, &app.clock, &session.team, &person.id).await.map_err(refused)?;
    Ok(redirect(LIST.0.to_owned()))
}

async fn link(
    request: &WebRequest,
    session: &Session,
    role: Role,
    name: Option<String>,
) -> Result<people::CreatedLink, operate::Error> {
    people::create_link(&request.app.db, &request.app.clock, session.team.clone(), role, name).await
}

/// The person in the path. Refused: the team has no such person.
async fn own_person(request: &WebRequest, session: &Session) -> Result<Person, Refusal> {
    let id = request.segment.as_deref().unwrap_or_default();
    let everyone = people::list_people(&request.app.db, &session.team).await.map_err(refused)?;
    everyone.into_iter().find(|person| person.id == id).ok_or_else(|| not_found(session, "person", LIST))
}

fn invitation_page(request: &WebRequest, session: &Session, created: people::CreatedLink) -> Result<Reply, Refusal> {
    let url = created.url(&request.app.base_url);
    let page = InvitationPage {
        frame: Frame::of(session, "One-time link"),
        picture: qr_picture(&url),
        url,
        name: created.link.name,
        minutes: people::LINK_TIME.as_secs() / 60,
    };
    render(200, &page)
}

async fn people_page(
    request: &WebRequest,
    session: &Session,
    status: u16,
    fault: Option<String>,
    name: &str,
) -> Result<Reply, Refusal> {
    let row = |person: Person| PersonRow {
        is_owner: person.role == Role::Owner,
        is_self: person.id == session.person,
        since: moment(person.created_at),
        id: person.id,
        name: person.name,
    };
    let everyone = people::list_people(&request.app.db, &session.team).await.map_err(refused)?;
    let people = everyone.into_iter().map(row).collect();
    render(status, &PeoplePage { frame: Frame::of(session, "People"), fault, name, people })
}
