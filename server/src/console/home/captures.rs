//! The list of jobs that make drafts of photos and papers, and the form that discards one. Must not know drafts beyond their titles.

use askama::Template;
use hearth_contract::formats::parse_id;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::capture::{LIST, find_job};
use super::live::{Live, read};
use super::rows::Row;
use super::words::{moment, short};
use super::write::commit_in;
use crate::console::page::{Frame, not_found, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::captures::{self, Capture, Purpose, Status};
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

/// Jobs of a page.
const ROWS: usize = 30;

#[derive(Template)]
#[template(path = "home/captures.html")]
struct CapturesPage {
    frame: Frame,
    /// Whether a job of the page changes by itself soon.
    is_waiting: bool,
    rows: Vec<Row>,
    /// The address of the next page.
    next: Option<String>,
    /// Where a tick leads back to. No row has one.
    back: &'static str,
}

/// `GET /home/captures?after=`.
pub(in crate::console) async fn captures(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let before = request.query_fields().text("after").parse::<i64>().ok();
    let (rows, is_waiting, next) = read(&request, &session, move |tx, live| page(tx, live, before)).await?;
    let next = next.map(|after| format!("{}?after={after}", LIST.0));
    render(200, &CapturesPage { frame: Frame::of(&session, "Drafts"), is_waiting, rows, next, back: LIST.0 })
}

type Rowed = (Vec<Row>, bool, Option<i64>);

/// Jobs of both purposes, the latest first.
fn page(tx: &Tx<'_>, live: &Live, before: Option<i64>) -> Result<Rowed, StoreError> {
    let mut jobs = Vec::new();
    for purpose in Purpose::ALL {
        jobs.extend(captures::page(tx, live.number, purpose, None, before, ROWS + 1)?);
    }
    jobs.sort_by_key(|job| std::cmp::Reverse(job.number));
    let has_more = jobs.len() > ROWS;
    jobs.truncate(ROWS);
    let is_waiting = jobs.iter().any(|job| matches!(job.status, Status::Queued | Status::Running));
    let next = jobs.last().filter(|_| has_more).map(|job| job.number);
    Ok((jobs.iter().map(|job| row(live, job)).collect(), is_waiting, next))
}

fn row(live: &Live, job: &Capture) -> Row {
    let when = moment(live.zone.as_deref(), job.created_at);
    let unnamed = match job.purpose {
        Purpose::SmartAdd => format!("Photos of {when}"),
        Purpose::Extract => format!("Papers of {when}"),
    };
    let state = match job.status {
        Status::Queued => "Waits to be read".to_owned(),
        Status::Running => "Is being read".to_owned(),
        Status::Ready => "Ready for you to look at".to_owned(),
        Status::Failed => {
            let why = job.error.as_ref().map(|why| short(&why.message)).unwrap_or_default();
            format!("Could not be read. {why}")
        }
        Status::Discarded => "Discarded".to_owned(),
        Status::Expired => "Expired".to_owned(),
        Status::Accepted => "Accepted".to_owned(),
    };
    Row {
        href: format!("{}/{}", LIST.0, job.id),
        title: title(job).unwrap_or(unnamed),
        about: format!("{state} · {when}"),
        is_late: job.status == Status::Failed,
        tick: None,
    }
}

/// The title of the first draft that has one.
fn title(job: &Capture) -> Option<String> {
    let drafts: Vec<Value> = serde_json::from_str(&job.drafts).ok()?;
    drafts.iter().find_map(|draft| {
        let kind = Kind::parse(draft["type"].as_str()?)?;
        Some(short(draft["fields"][resource(kind).title].as_str()?))
    })
}

/// `POST /home/captures/{id}/discard`.
pub(in crate::console) async fn discard(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let Some(id) = request.segment.as_deref().and_then(parse_id) else {
        return Err(not_found(&session, "draft", LIST));
    };
    let is_known = read(&request, &session, move |tx, live| Ok(find_job(tx, live.number, id)?.is_some())).await?;
    if !is_known {
        return Err(not_found(&session, "draft", LIST));
    }
    let done = commit_in(&request, &session, None, move |tx, home, _, now| {
        if let Some(job) = find_job(tx, home, id)?.filter(|job| job.status.is_open()) {
            captures::end(tx, &job, Status::Discarded, now)?;
        }
        Ok(Ok(LIST.0.to_owned()))
    });
    Ok(done.await??)
}
