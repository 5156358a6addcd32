//! Photos and papers of an item: the form that adds them, and the documents that they become. Must not know how files are stored.

use askama::Template;
use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::formats::{Timestamp, parse_id};
use hearth_contract::problem::Problem;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::live::{find, read};
use super::rows::{href, title};
use super::upload::{Accepted, FILES_MAX, Sent, receive};
use super::words::{list_path, short};
use super::write::{FORM, commit, new_form_id, ticket};
use crate::console::page::{Frame, not_found, render};
use crate::home::apply::HomeWriter;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::random::fresh_id;
use crate::store::StoreError;
use crate::store::sessions::Session;
use hearth_contract::media::MediaType;

/// The list of items, as the target of a link.
const LIST: (&str, &str) = (list_path(Kind::Inventory), "To the items");
/// The begin of the title of a photo, and of the name of an item that has photos alone.
pub(super) const PHOTO: &str = "Photo of ";
/// What a file can be, with the category of its document.
const CATEGORIES: [(&str, &str); 6] = [
    ("other", "A photo"),
    ("receipt", "A receipt"),
    ("manual", "A manual"),
    ("warranty", "A warranty"),
    ("insurance", "An insurance paper"),
    ("contract", "A contract"),
];

#[derive(Template)]
#[template(path = "home/files.html")]
struct FilesPage {
    frame: Frame,
    fault: Option<String>,
    form_id: String,
    /// The address and the title of the item.
    href: String,
    title: String,
    categories: &'static [(&'static str, &'static str)],
    category: String,
    /// Files that an earlier form has brought.
    kept: Vec<Sent>,
    files_max: usize,
}

/// `GET /home/items/{id}/files`.
pub(in crate::console) async fn files_form(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let item = item(&request, &session).await?;
    show(&request, &session, (200, None), &item, Vec::new(), "other")
}

/// `POST /home/items/{id}/files` (`form`, `category`, and the files).
pub(in crate::console) async fn files(mut request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let item = item(&request, &session).await?;
    let form = receive(&mut request, &session, Accepted::PhotosAndPapers).await?;
    let category = form.fields.text("category").to_owned();
    if let Some((status, _)) = form.faults.first() {
        let fault = form.faults.iter().map(|(_, fault)| &**fault).collect::<Vec<_>>().join(" ");
        return show(&request, &session, (*status, Some(fault)), &item, form.files, &category);
    }
    if form.files.is_empty() {
        let fault = "Choose a photo or a PDF first.".to_owned();
        return show(&request, &session, (422, Some(fault)), &item, Vec::new(), &category);
    }
    let hashes: Vec<&str> = form.files.iter().map(|file| file.sha256.as_str()).collect();
    let ticket = ticket(&request, form.fields.text(FORM), &json!([category, hashes]));
    let (id, name, next) = (item.id, title(&item), format!("{}?said=files", href(&item)));
    let (files, chosen) = (form.files.clone(), category.clone());
    let written = commit(&request, &session, ticket, move |writing, now| {
        Ok(add_documents(writing, now, (id, &name), &chosen, &files)?.map(|()| next))
    });
    match written.await? {
        Ok(reply) => Ok(reply),
        Err(problem) => {
            let status = problem.kind.status();
            show(&request, &session, (status, Some(problem.message)), &item, form.files, &category)
        }
    }
}

/// Adds a document for each file, about an item. The first refusal is given back.
pub(super) fn add_documents(
    writing: &mut HomeWriter<'_, '_>,
    now: Timestamp,
    (item, name): (Uuid, &str),
    category: &str,
    files: &[Sent],
) -> Result<Result<(), Problem>, StoreError> {
    for file in files {
        let title = match (file.media, file.name.strip_suffix(".pdf").unwrap_or(&file.name)) {
            (MediaType::Pdf, title) if !title.trim().is_empty() => short(title),
            (MediaType::Pdf, _) => format!("Paper of {name}"),
            _ if category == "other" && name.starts_with(PHOTO) => name.to_owned(),
            _ if category == "other" => format!("{PHOTO}{name}"),
            _ => format!("{} of {name}", super::words::choice(category)),
        };
        let file_name = Some(&file.name).filter(|name| !name.is_empty());
        let body = json!({
            "title": title,
            "category": category,
            "subject_type": Kind::Inventory.as_str(),
            "subject_id": item.to_string(),
            "file_name": file_name,
            "content_type": file.media.as_str(),
            "size_bytes": file.size_bytes,
            "file_sha256": file.sha256.as_str(),
        });
        let body = check(Kind::Document, Intent::Create, &body);
        let outcome = writing.apply(Command::Create { kind: Kind::Document, body }, &mut || fresh_id(now))?;
        if let Err(problem) = outcome {
            return Ok(Err(problem));
        }
    }
    Ok(Ok(()))
}

async fn item(request: &WebRequest, session: &Session) -> Result<Record, Refusal> {
    let found = match request.segment.as_deref().and_then(parse_id) {
        Some(id) => read(request, session, move |tx, live| find(tx, live.number, Kind::Inventory, id)).await?,
        None => None,
    };
    found.ok_or_else(|| not_found(session, "item", LIST))
}

fn show(
    request: &WebRequest,
    session: &Session,
    (status, fault): (u16, Option<String>),
    item: &Record,
    kept: Vec<Sent>,
    category: &str,
) -> Result<Reply, Refusal> {
    let page = FilesPage {
        frame: Frame::of(session, "Add photos and papers"),
        fault,
        form_id: new_form_id(request),
        href: href(item),
        title: title(item),
        categories: &CATEGORIES,
        category: category.to_owned(),
        kept,
        files_max: FILES_MAX,
    };
    render(status, &page)
}
