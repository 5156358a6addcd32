//! The page of one record: its fields, and the records that belong to it. Must not know how a value is written for people.

use std::collections::BTreeSet;

use askama::Template;
use hearth_contract::formats::parse_id;
use hearth_contract::record::Record;
use hearth_contract::recurrence::is_done;
use hearth_contract::schema::Kind;

use super::facts::{Fact, facts};
use super::live::{Live, find, parse, read, text};
use super::rows::{Row, Rows, Section, href, title};
use super::ticks::{Told, told};
use super::words::{kind_words, list_path, moment, size};
use super::write::new_form_id;
use crate::console::page::{Frame, not_found, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::filter::Filter;
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::stored_files::{self, FileHash};
use crate::store::{StoreError, Tx};
use hearth_contract::media::MediaType;

/// Records of each part of the page; a list has the others.
const ROWS: usize = 20;

#[derive(Template)]
#[template(path = "home/record.html")]
struct RecordPage {
    frame: Frame,
    told: Option<Told>,
    /// The address of this page.
    back: String,
    /// The address and the words of the list of its kind.
    list: (&'static str, &'static str),
    /// What was just done with the record.
    said: Option<&'static str>,
    id: String,
    is_item: bool,
    is_room: bool,
    /// Whether the task is done. None: no task.
    is_done: Option<bool>,
    pictures: Vec<Picture>,
    /// The file of a document that is no picture.
    download: Option<Download>,
    /// The id of the form that lets the server read the file of a document. None: no file.
    read_form: Option<String>,
    facts: Vec<Fact>,
    sections: Vec<Section>,
    changed: String,
    author: String,
}

/// A picture of the record.
struct Picture {
    /// The address of the picture.
    href: String,
    /// What the picture is, for people who do not see it.
    title: String,
}

/// A file to keep.
struct Download {
    href: String,
    name: String,
    size: String,
}

/// `GET /home/items/{id}?said=&done=`.
pub(in crate::console) async fn item(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(request, session, Kind::Inventory).await
}

/// `GET /home/rooms/{id}`.
pub(in crate::console) async fn room(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(request, session, Kind::Room).await
}

/// `GET /home/documents/{id}`.
pub(in crate::console) async fn document(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(request, session, Kind::Document).await
}

/// `GET /home/vehicles/{id}`.
pub(in crate::console) async fn vehicle(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(request, session, Kind::Vehicle).await
}

/// `GET /home/tasks/{id}`.
pub(in crate::console) async fn task(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    page(request, session, Kind::Task).await
}

/// The record with what its page shows.
struct Found {
    record: Record,
    pictures: Vec<Picture>,
    download: Option<Download>,
    told: Option<Told>,
    facts: Vec<Fact>,
    sections: Vec<Section>,
    changed: String,
}

async fn page(request: WebRequest, session: Session, kind: Kind) -> Result<Reply, Refusal> {
    let (word, list) = (kind_words(kind).0, (list_path(kind), kind_words(kind).1));
    let fields = request.query_fields();
    let done = fields.text("done").to_owned();
    let found = match request.segment.as_deref().and_then(parse_id) {
        None => None,
        Some(id) => {
            let job = move |tx: &Tx<'_>, live: &Live| {
                let Some(record) = find(tx, live.number, kind, id)? else { return Ok(None) };
                let (facts, sections) = (facts(tx, live, &record)?, sections(tx, live, &record)?);
                let changed = moment(live.zone.as_deref(), record.updated_at);
                let (pictures, download) = files(tx, live, &record)?;
                let told = told(tx, live, &done)?;
                Ok(Some(Found { record, pictures, download, told, facts, sections, changed }))
            };
            read(&request, &session, job).await?
        }
    };
    let Some(Found { record, pictures, download, told, facts, sections, changed }) = found else {
        return Err(not_found(&session, &word.to_lowercase(), (list.0, list.1)));
    };
    let said = match fields.text("said") {
        "added" => Some("Added to the home."),
        "saved" => Some("Saved."),
        "files" => Some("The files were added."),
        _ => None,
    };
    let page = RecordPage {
        frame: Frame::of(&session, &title(&record)),
        told,
        back: href(&record),
        list,
        said,
        id: record.id.to_string(),
        is_item: kind == Kind::Inventory,
        is_room: kind == Kind::Room,
        is_done: (kind == Kind::Task).then(|| is_done(&record.fields)),
        read_form: (kind == Kind::Document && (download.is_some() || !pictures.is_empty()))
            .then(|| new_form_id(&request)),
        pictures,
        download,
        facts,
        sections,
        changed,
        author: record.updated_by,
    };
    render(200, &page)
}

/// The parts of the page: for a room its items, for what a document can be about its documents, for each its tasks.
fn sections(tx: &Tx<'_>, live: &Live, record: &Record) -> Result<Vec<Section>, StoreError> {
    let parts: &[(Kind, &str, &str)] = match record.kind {
        Kind::Room => &[(Kind::Inventory, "room_id", "room"), (Kind::Task, "subject_id", "about")],
        Kind::Inventory | Kind::Vehicle => {
            &[(Kind::Document, "subject_id", "about"), (Kind::Task, "subject_id", "about")]
        }
        Kind::Document | Kind::Task | Kind::Property => &[],
    };
    parts.iter().map(|(kind, field, parameter)| section(tx, live, record, *kind, field, parameter)).collect()
}

fn section(
    tx: &Tx<'_>,
    live: &Live,
    record: &Record,
    kind: Kind,
    field: &'static str,
    parameter: &str,
) -> Result<Section, StoreError> {
    let values = BTreeSet::from([Some(record.id.to_string())]);
    let (order, filters) = ((Sort::Created, Direction::Descending), vec![Filter { field, values }]);
    let list = List { home: live.number, kind, order, bounds: Bounds::default(), filters, limit: ROWS };
    let (mut rows, mut found, mut bytes) = (Rows::new(tx, live), Vec::<Row>::new(), 0);
    let next = lists::show(tx, &list, |json| {
        found.push(rows.row(kind, json)?);
        bytes += json.len();
        Ok(bytes)
    })?;
    let more = next.map(|_| (format!("{}?{parameter}={}", list_path(kind), record.id), "All of them".to_owned()));
    let empty = match kind {
        Kind::Inventory => "No items are in this room yet.",
        Kind::Document => "No documents yet.",
        _ => "No tasks.",
    };
    Ok(Section { title: kind_words(kind).1.to_owned(), rows: found, empty, more })
}

/// The pictures of an item, or the file of a document.
fn files(tx: &Tx<'_>, live: &Live, record: &Record) -> Result<(Vec<Picture>, Option<Download>), StoreError> {
    let (mut pictures, mut download) = (Vec::new(), None);
    let mut add = |document: &Record| {
        let Some(hash) = FileHash::parse(text(document, "file_sha256")) else { return Ok(()) };
        let Some(file) = stored_files::find(tx, live.number, &hash)? else { return Ok(()) };
        let href = format!("/home/files/{}", hash.as_str());
        if MediaType::parse(&file.content_type).is_image() {
            pictures.push(Picture { href, title: title(document) });
        } else {
            download =
                Some(Download { href, name: text(document, "file_name").to_owned(), size: size(file.size_bytes) });
        }
        Ok::<_, StoreError>(())
    };
    match record.kind {
        Kind::Document => add(record)?,
        Kind::Inventory | Kind::Vehicle => {
            let values = BTreeSet::from([Some(record.id.to_string())]);
            let filters = vec![Filter { field: "subject_id", values }];
            let (order, bounds) = ((Sort::Created, Direction::Ascending), Bounds::default());
            let list = List { home: live.number, kind: Kind::Document, order, bounds, filters, limit: ROWS };
            let mut bytes = 0;
            lists::show(tx, &list, |json| {
                add(&parse(Kind::Document, json)?)?;
                bytes += json.len();
                Ok(bytes)
            })?;
        }
        Kind::Task | Kind::Room | Kind::Property => (),
    }
    let download = download.filter(|_| record.kind == Kind::Document);
    Ok((pictures, download))
}
