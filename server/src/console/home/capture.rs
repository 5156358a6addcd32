//! The page of one job that makes drafts of photos and papers (contract 22): the files with boxes around what was read, the drafts as
//! a form, and why each value is proposed. Must not know how a draft is stored.

use askama::Template;
use hearth_contract::formats::parse_id;
use hearth_contract::media::MediaType;
use hearth_contract::schema::Kind;
use serde_json::Value;
use uuid::Uuid;

use super::evidence::{Paper, papers};
use super::form::Control;
use super::live::{Live, find, read};
use super::proposals::{Proposal, proposals};
use super::rows::{href, title};
use super::words::moment;
use super::write::new_form_id;
use crate::console::page::{Frame, not_found, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest};
use crate::store::captures::{self, Capture, Purpose, Status};
use crate::store::sessions::Session;
use crate::store::{HomeNumber, StoreError, Tx, stored_files};

/// The list of jobs, as the target of a link.
pub(super) const LIST: (&str, &str) = ("/home/captures", "To the drafts");

#[derive(Template)]
#[template(path = "home/capture.html")]
struct CapturePage {
    frame: Frame,
    fault: Option<String>,
    form_id: String,
    id: String,
    /// What happens with the job now.
    state: String,
    /// Whether the page changes by itself soon.
    is_waiting: bool,
    /// Whether the job can be discarded.
    is_open: bool,
    /// The address and the title of the record that was made of the drafts.
    made: Option<(String, String)>,
    papers: Vec<Paper>,
    proposals: Vec<Proposal>,
    left_out: usize,
    button: String,
    note: Option<String>,
}

/// A job with what its page shows.
pub(super) struct Shown {
    pub(super) job: Capture,
    pub(super) proposals: Vec<Proposal>,
    papers: Vec<Paper>,
    left_out: usize,
    made: Option<(String, String)>,
    created: String,
}

/// `GET /home/captures/{id}?to.{draft}=`: `to.` and the name of a draft names the record that the draft changes, or `new`.
pub(in crate::console) async fn capture(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let shown = load(&request, &session, request.query_fields()).await?;
    show(&request, &session, (200, None), shown)
}

/// The job in the address. `chosen`: the records that the drafts change.
pub(super) async fn load(request: &WebRequest, session: &Session, chosen: Fields) -> Result<Shown, Refusal> {
    let found = match request.segment.as_deref().and_then(parse_id) {
        Some(id) => read(request, session, move |tx, live| look_up(tx, live, id, &chosen)).await?,
        None => None,
    };
    found.ok_or_else(|| not_found(session, "draft", LIST))
}

/// A job of a home, of any purpose.
pub(super) fn find_job(tx: &Tx<'_>, home: HomeNumber, id: Uuid) -> Result<Option<Capture>, StoreError> {
    for purpose in Purpose::ALL {
        if let Some(job) = captures::find(tx, home, purpose, id)? {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

fn look_up(tx: &Tx<'_>, live: &Live, id: Uuid, chosen: &Fields) -> Result<Option<Shown>, StoreError> {
    let Some(job) = find_job(tx, live.number, id)? else { return Ok(None) };
    let facts: Value =
        serde_json::from_str(&job.facts).map_err(|_| StoreError::Corrupt(format!("the facts of the job {id}")))?;
    let files = job.files.iter().map(|hash| {
        let file = stored_files::find(tx, live.number, hash)?;
        Ok((hash.as_str().to_owned(), file.map(|file| MediaType::parse(&file.content_type))))
    });
    let mut papers = papers(&files.collect::<Result<Vec<_>, StoreError>>()?, &facts);
    let (proposals, left_out) = match job.status {
        Status::Ready => proposals(tx, live, &job, chosen, &mut papers)?,
        _ => (Vec::new(), 0),
    };
    let made = job.accepted.map(|(kind, id)| find(tx, live.number, kind, id)).transpose()?.flatten();
    let made = made.map(|record| (href(&record), title(&record)));
    let created = moment(live.zone.as_deref(), job.created_at);
    Ok(Some(Shown { job, proposals, papers, left_out, made, created }))
}

/// The page. `fault`: why the form that was sent stored nothing.
pub(super) fn show(
    request: &WebRequest,
    session: &Session,
    (status, fault): (u16, Option<String>),
    shown: Shown,
) -> Result<Reply, Refusal> {
    let Shown { job, proposals, papers, left_out, made, created } = shown;
    let heading = match job.purpose {
        Purpose::SmartAdd => format!("Photos of {created}"),
        Purpose::Extract => format!("Papers of {created}"),
    };
    let page = CapturePage {
        frame: Frame::of(session, &heading),
        fault,
        form_id: new_form_id(request),
        id: job.id.to_string(),
        state: state(&job),
        is_waiting: matches!(job.status, Status::Queued | Status::Running),
        is_open: job.status.is_open(),
        made,
        papers,
        button: button(&proposals),
        proposals,
        left_out,
        note: job.note,
    };
    render(status, &page)
}

/// What happens with a job, as a sentence.
pub(super) fn state(job: &Capture) -> String {
    match job.status {
        Status::Queued => "This waits for the reader of this server. Nothing leaves your home.".to_owned(),
        Status::Running => "This server is reading. Nothing leaves your home.".to_owned(),
        Status::Ready => "Nothing is stored yet. Look at each value, correct it, and mark what is right.".to_owned(),
        Status::Failed => job.error.as_ref().map_or_else(String::new, |why| why.message.clone()),
        Status::Discarded => "The drafts were discarded.".to_owned(),
        Status::Expired => "Nobody accepted the drafts in time, so they are gone.".to_owned(),
        Status::Accepted => "The drafts were accepted.".to_owned(),
    }
}

/// The words of the button that stores the drafts.
fn button(proposals: &[Proposal]) -> String {
    let thing = proposals.iter().find(|one| one.is_wanted && one.kind != Kind::Document);
    match thing.map(|thing| (&thing.word, thing.target.is_some())) {
        Some((word, false)) => format!("Add this {word}"),
        Some((word, true)) => format!("Change this {word}"),
        None => "Save the paper".to_owned(),
    }
}
