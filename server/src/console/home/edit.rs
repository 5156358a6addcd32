//! The form that changes an item. A change that somebody else has made meanwhile is shown, and nothing is lost. Must not know
//! how a typed text becomes a value.

use askama::Template;
use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions, RevMatch};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::ProblemType;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use super::add::rooms;
use super::form::{Control, Input, inputs, patch_body, show_faults};
use super::live::{Live, find, read, text};
use super::rows::{Rows, href, title};
use super::words::list_path;
use super::write::{FORM, commit, new_form_id, ticket};
use crate::console::page::{Frame, not_found, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::random::fresh_id;
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

/// The fields of the form.
const NAMES: [&str; 9] = [
    "name",
    "room_id",
    "location",
    "quantity",
    "purchase_price",
    "purchase_date",
    "warranty_expires_on",
    "serial_number",
    "notes",
];
/// The list of items, as the target of a link.
const LIST: (&str, &str) = (list_path(Kind::Inventory), "To the items");
/// The field with the revision that the form shows.
const REV: &str = "rev";

#[derive(Template)]
#[template(path = "home/edit.html")]
struct EditPage {
    frame: Frame,
    fault: Option<String>,
    form_id: String,
    inputs: Vec<Input>,
    /// The address of the item.
    href: String,
    title: String,
    rev: i64,
}

/// `GET /home/items/{id}/edit`.
pub(in crate::console) async fn edit_form(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (record, mut inputs) = item(&request, &session).await?;
    inputs.iter_mut().for_each(|input| input.take_stored(&record.fields));
    show(&request, &session, 200, None, &record, inputs)
}

/// `POST /home/items/{id}/edit` (`form`, `rev`, the fields of the item, and with `was.` their earlier texts).
pub(in crate::console) async fn edit(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let form = request.form();
    let (record, mut inputs) = item(&request, &session).await?;
    inputs.iter_mut().for_each(|input| input.take(&form));
    let next = href(&record);
    let (patch, rev) = (patch_body(&inputs), form.text(REV).parse::<i64>().unwrap_or_default());
    if patch.is_empty() {
        return Ok(redirect(next));
    }
    let patch = Value::Object(patch);
    let ticket = ticket(&request, form.text(FORM), &json!([rev, patch]));
    let preconditions = Preconditions { if_match: Some(RevMatch::OneOf(vec![rev])), if_none_match: None };
    let body = check(Kind::Inventory, Intent::Patch, &patch);
    let command = Command::Update { kind: Kind::Inventory, id: Some(record.id), body, preconditions };
    let written = commit(&request, &session, ticket, move |writing, now| {
        let outcome = writing.apply(command, &mut || fresh_id(now))?;
        Ok(outcome.map(|_| format!("{next}?said=saved")))
    });
    let problem = match written.await? {
        Ok(reply) => return Ok(reply),
        Err(problem) => problem,
    };
    // Read again: the record may have changed since this request began.
    let (record, _) = item(&request, &session).await?;
    inputs.iter_mut().for_each(|input| input.merge(&record.fields, &record.updated_by));
    let fault = match problem.kind {
        ProblemType::PreconditionFailed | ProblemType::IdempotencyKeyReused => format!(
            "{} has changed this item meanwhile. Nothing of yours is lost: look at the marked fields, and save again.",
            record.updated_by
        ),
        _ => show_faults(&mut inputs, &problem),
    };
    show(&request, &session, problem.kind.status(), Some(fault), &record, inputs)
}

/// The item in the address, and the inputs of the form without texts.
async fn item(request: &WebRequest, session: &Session) -> Result<(Record, Vec<Input>), Refusal> {
    let found = match request.segment.as_deref().and_then(parse_id) {
        Some(id) => read(request, session, move |tx, live| item_and_rooms(tx, live, id)).await?,
        None => None,
    };
    let (record, rooms) = found.ok_or_else(|| not_found(session, "item", LIST))?;
    Ok((record, inputs(&NAMES, &rooms)))
}

type ItemAndRooms = Option<(Record, Vec<(String, String)>)>;

fn item_and_rooms(tx: &Tx<'_>, live: &Live, id: Uuid) -> Result<ItemAndRooms, StoreError> {
    let Some(record) = find(tx, live.number, Kind::Inventory, id)? else { return Ok(None) };
    let mut rooms = rooms(tx, live)?;
    // The room of the item stays a choice in a home with very many rooms.
    let own = text(&record, "room_id");
    if !own.is_empty() && rooms.iter().all(|(id, _)| id != own) {
        rooms.push((own.to_owned(), Rows::new(tx, live).room_name(own)?));
    }
    Ok(Some((record, rooms)))
}

fn show(
    request: &WebRequest,
    session: &Session,
    status: u16,
    fault: Option<String>,
    record: &Record,
    inputs: Vec<Input>,
) -> Result<Reply, Refusal> {
    let page = EditPage {
        frame: Frame::of(session, "Edit"),
        fault,
        form_id: new_form_id(request),
        inputs,
        href: href(record),
        title: title(record),
        rev: record.rev,
    };
    render(status, &page)
}
