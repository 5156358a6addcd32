//! The forms that let the server read photos and papers: new photos, and the file of a document. Must not know what is read.

use askama::Template;
use hearth_contract::formats::parse_id;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::json;
use uuid::Uuid;

use super::add::rooms;
use super::capture::LIST;
use super::live::{find, read, text};
use super::upload::{Accepted, Form, Sent, receive};
use super::words::list_path;
use super::write::{FORM, commit_in, new_form_id, ticket};
use crate::api::captures::{Asked, FILES, NOTE_MAX, queue};
use crate::console::page::{Frame, not_found, notice, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::captures::Purpose;
use crate::store::sessions::Session;
use crate::store::stored_files::FileHash;

#[derive(Template)]
#[template(path = "home/read.html")]
struct ReadPage {
    frame: Frame,
    fault: Option<String>,
    form_id: String,
    rooms: Vec<(String, String)>,
    room: String,
    note: String,
    note_max: usize,
    /// Files that an earlier form has brought.
    kept: Vec<Sent>,
    files_max: usize,
}

/// `GET /home/read?room=`.
pub(in crate::console) async fn read_form(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let room = request.query_fields().text("room").to_owned();
    show(&request, &session, (200, None), (room, String::new()), Vec::new()).await
}

/// `POST /home/read` (`form`, `room_id`, `note`, and files): lets the server read photos and papers of one thing.
pub(in crate::console) async fn read_photos(mut request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let Form { fields, files, faults, .. } = receive(&mut request, &session, Accepted::PhotosAndPapers).await?;
    let (room, note) = (fields.text("room_id").to_owned(), fields.text("note").replace("\r\n", "\n").trim().to_owned());
    let mut files: Vec<Sent> = files;
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.sha256.as_str().to_owned()));
    let mut refused = faults.first().map(|(status, _)| *status);
    let mut sentences: Vec<String> = faults.into_iter().map(|(_, fault)| fault).collect();
    if sentences.is_empty() && !FILES.contains(&files.len()) {
        refused = Some(422);
        sentences.push(match files.len() {
            0 => "Choose a photo or a PDF first.".to_owned(),
            _ => format!("Choose {} files at most that show the same thing.", FILES.end()),
        });
        files.truncate(*FILES.end());
    }
    if note.chars().count() > NOTE_MAX {
        refused = refused.or(Some(422));
        sentences.push(format!("The note must have {NOTE_MAX} characters at most."));
    }
    if let Some(status) = refused {
        return show(&request, &session, (status, Some(sentences.join(" "))), (room, note), files).await;
    }
    let asked = Asked {
        files: files.iter().map(|file| file.sha256.clone()).collect(),
        room: parse_id(&room),
        note: Some(note.clone()).filter(|note| !note.is_empty()),
        subject: None,
    };
    let id = fields.text(FORM).to_owned();
    match begin(&request, &session, &id, Purpose::SmartAdd, asked).await? {
        Ok(reply) => Ok(reply),
        Err(problem) => {
            let fault = sentence(&problem);
            show(&request, &session, (problem.kind.status(), Some(fault)), (room, note), files).await
        }
    }
}

/// `POST /home/documents/{id}/read`: lets the server read the file of a document.
pub(in crate::console) async fn read_paper(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let list = (list_path(Kind::Document), "To the documents");
    let found = match request.segment.as_deref().and_then(parse_id) {
        Some(id) => read(&request, &session, move |tx, live| find(tx, live.number, Kind::Document, id)).await?,
        None => None,
    };
    let document = found.ok_or_else(|| not_found(&session, "document", list))?;
    let Some(file) = FileHash::parse(text(&document, "file_sha256")) else {
        let words = "This document has no file that could be read. Add a photo or a PDF first.";
        return Ok(notice(409, Frame::of(&session, "Nothing to read"), words, Some(list)));
    };
    let kind = Kind::parse(text(&document, SUBJECT_TYPE)).filter(|kind| *kind != Kind::Property);
    let subject: Option<(Kind, Uuid)> = kind.zip(parse_id(text(&document, SUBJECT_ID)));
    let form = request.form().text(FORM).to_owned();
    let asked = Asked { files: vec![file], room: None, note: None, subject };
    match begin(&request, &session, &form, Purpose::Extract, asked).await? {
        Ok(reply) => Ok(reply),
        Err(problem) => {
            let frame = Frame::of(&session, "Not possible now");
            Ok(notice(problem.kind.status(), frame, &sentence(&problem), Some(list)))
        }
    }
}

/// Queues a job. Leads to its page.
async fn begin(
    request: &WebRequest,
    session: &Session,
    form: &str,
    purpose: Purpose,
    asked: Asked,
) -> Result<Result<Reply, Problem>, Refusal> {
    let hashes: Vec<&str> = asked.files.iter().map(FileHash::as_str).collect();
    let ticket = ticket(request, form, &json!([hashes, asked.room, asked.note]));
    let limit = request.app.config.home_bytes_max;
    let begun = commit_in(request, session, ticket, move |tx, home, _, now| {
        let queued = queue(tx, home, purpose, asked, now, limit)?;
        Ok(queued.map(|id| format!("{}/{id}", LIST.0)))
    });
    let begun = begun.await?;
    request.app.new_capture.notify_one();
    Ok(begun)
}

fn sentence(problem: &Problem) -> String {
    match problem.kind {
        ProblemType::TooManyJobs => {
            "This server still reads other photos of your home. Wait until they are done, and send this again."
                .to_owned()
        }
        ProblemType::IdempotencyKeyReused => "This form was sent before, with other files. Send it again.".to_owned(),
        _ => format!("{} {}", problem.message, problem.fix.as_deref().unwrap_or(problem.kind.fix())),
    }
}

async fn show(
    request: &WebRequest,
    session: &Session,
    (status, fault): (u16, Option<String>),
    (room, note): (String, String),
    kept: Vec<Sent>,
) -> Result<Reply, Refusal> {
    let rooms = read(request, session, rooms).await?;
    let frame = Frame::of(session, "Read photos");
    let (form_id, files_max) = (new_form_id(request), *FILES.end());
    render(status, &ReadPage { frame, fault, form_id, rooms, room, note, note_max: NOTE_MAX, kept, files_max })
}
