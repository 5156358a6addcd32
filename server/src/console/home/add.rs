//! The form that adds an item, by its name, by photos, or both. Must not know how a typed text becomes a value.

use askama::Template;
use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::form::{Control, Input, create_body, inputs, show_faults};
use super::live::{Live, read};
use super::papers::{PHOTO, add_documents};
use super::rows::title;
use super::upload::{Accepted, FILES_MAX, Form, Sent, receive};
use super::words::{list_path, moment, short};
use super::write::{FORM, commit, new_form_id, ticket};
use crate::console::page::{Frame, render};
use crate::home::apply::WriteOutcome;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::random::fresh_id;
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

/// The fields of the form.
const NAMES: [&str; 5] = ["name", "room_id", "location", "quantity", "notes"];
/// Rooms to choose from, at most.
const ROOMS_MAX: usize = 200;
/// What a person reads after a form was sent twice with different values.
const SENT_BEFORE: &str =
    "This form was sent before, with other values, and has added an item. To add one more, press Add again.";

#[derive(Template)]
#[template(path = "home/add.html")]
struct AddPage {
    frame: Frame,
    fault: Option<String>,
    form_id: String,
    inputs: Vec<Input>,
    /// Photos that an earlier form has brought.
    kept: Vec<Sent>,
    files_max: usize,
}

/// `GET /home/add?room=`.
pub(in crate::console) async fn add_form(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let mut inputs = inputs(&NAMES, &read(&request, &session, rooms).await?);
    let room = request.query_fields().text("room").to_owned();
    if let Some(input) = inputs.iter_mut().find(|input| input.options.iter().any(|(id, _)| *id == room)) {
        input.text = room;
    }
    show(&request, &session, (200, None), inputs, Vec::new())
}

/// `POST /home/add` (`form`, the fields of the item, and photos). Without a name the item is called by its photos.
pub(in crate::console) async fn add(mut request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let Form { fields, files, faults, .. } = receive(&mut request, &session, Accepted::Photos).await?;
    let now = request.app.clock.now();
    let (rooms, called) = read(&request, &session, move |tx, live| {
        Ok((rooms(tx, live)?, format!("{PHOTO}{}", moment(live.zone.as_deref(), now))))
    })
    .await?;
    let mut inputs = inputs(&NAMES, &rooms);
    inputs.iter_mut().for_each(|input| input.take(&fields));
    if let Some((status, _)) = faults.first() {
        let fault = faults.iter().map(|(_, fault)| &**fault).collect::<Vec<_>>().join(" ");
        return show(&request, &session, (*status, Some(fault)), inputs, files);
    }
    let mut body = create_body(&inputs);
    let hashes: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
    let ticket = ticket(&request, fields.text(FORM), &json!([body, hashes]));
    if !files.is_empty() {
        body.entry("name").or_insert_with(|| called.into());
    }
    let name = body.get("name").and_then(Value::as_str).map(short).unwrap_or_default();
    let body = check(Kind::Inventory, Intent::Create, &Value::Object(body));
    let (command, photos) = (Command::Create { kind: Kind::Inventory, body }, files.clone());
    let written = commit(&request, &session, ticket, move |writing, now| {
        let id = match writing.apply(command, &mut || fresh_id(now))? {
            Ok(WriteOutcome::Created(id, _)) => id,
            Ok(_) => return Ok(Ok("/home".to_owned())),
            Err(problem) => return Ok(Err(problem)),
        };
        let added = add_documents(writing, now, (id, &name), "other", &photos)?;
        Ok(added.map(|()| format!("{}/{id}?said=added", list_path(Kind::Inventory))))
    });
    match written.await? {
        Ok(reply) => Ok(reply),
        Err(problem) => {
            let fault = refusal(&mut inputs, &problem);
            show(&request, &session, (problem.kind.status(), Some(fault)), inputs, files)
        }
    }
}

fn refusal(inputs: &mut [Input], problem: &Problem) -> String {
    match problem.kind {
        ProblemType::IdempotencyKeyReused => SENT_BEFORE.to_owned(),
        _ => show_faults(inputs, problem),
    }
}

fn show(
    request: &WebRequest,
    session: &Session,
    (status, fault): (u16, Option<String>),
    inputs: Vec<Input>,
    kept: Vec<Sent>,
) -> Result<Reply, Refusal> {
    let frame = Frame::of(session, "Add an item");
    render(status, &AddPage { frame, fault, form_id: new_form_id(request), inputs, kept, files_max: FILES_MAX })
}

/// Ids and names of the rooms to choose from, by name.
pub(super) fn rooms(tx: &Tx<'_>, live: &Live) -> Result<Vec<(String, String)>, StoreError> {
    let (order, bounds) = ((Sort::Created, Direction::Ascending), Bounds::default());
    let list = List { home: live.number, kind: Kind::Room, order, bounds, filters: Vec::new(), limit: ROOMS_MAX };
    let (mut rooms, mut bytes) = (Vec::new(), 0);
    lists::show(tx, &list, |json| {
        let room = super::live::parse(Kind::Room, json)?;
        rooms.push((room.id.to_string(), title(&room)));
        bytes += json.len();
        Ok(bytes)
    })?;
    rooms.sort_by_cached_key(|(_, name)| name.to_lowercase());
    Ok(rooms)
}
