//! The page of the live home for people: search, the next tasks, and the rooms. Reads only. Must not know how records change.

use std::time::Instant;

use askama::Template;
use hearth_contract::check::Fields;
use hearth_contract::key::Environment;
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use hearth_contract::search_text::title_and_rest;
use serde_json::Value;

use super::page::{Frame, render};
use crate::home::search::{QUESTION, terms};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::filter::Filter;
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::{HomeNumber, StoreError, Tx, homes, search};

/// Records that a search shows, at most.
const HITS_MAX: usize = 30;
/// Tasks that the page shows, at most: those with the earliest due days among [`TASKS_READ_MAX`].
const TASKS_MAX: usize = 30;
/// Open tasks that the page reads, at most.
const TASKS_READ_MAX: usize = 1000;
/// Rooms that the page shows, at most.
const ROOMS_MAX: usize = 100;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    fault: Option<String>,
    question: String,
    /// The hits of the question. None: nothing was asked.
    hits: Option<Vec<Row>>,
    tasks: Vec<Row>,
    rooms: Vec<Row>,
    question_max: usize,
}

/// A record: its title, and what it is or when it is due.
struct Row {
    title: String,
    about: String,
}

/// `GET /home?q=`.
pub(super) async fn home(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let question = request.query_fields().text("q").trim().to_owned();
    let (words, fault) = match terms(&question) {
        _ if question.is_empty() => (None, None),
        Ok(words) => (Some(words), None),
        Err(problem) => (None, Some(problem.message.replacen("q ", "The question ", 1))),
    };
    let team = session.team.clone();
    let deadline = Instant::now() + request.app.config.search_time_max;
    let read = request.app.db.read_until(deadline, move |tx| {
        let number = homes::home_of_team(tx, &team, Environment::Live)?.number;
        let hits = words.map(|words| found(tx, number, &words)).transpose()?;
        Ok((hits, next_tasks(tx, number)?, rooms(tx, number)?))
    });
    let (hits, tasks, rooms) = read.await?;
    let status = if fault.is_some() { 400 } else { 200 };
    let frame = Frame::of(&session, "Home");
    render(status, &HomePage { frame, fault, question, hits, tasks, rooms, question_max: QUESTION.1 })
}

fn found(tx: &Tx<'_>, home: HomeNumber, words: &[String]) -> Result<Vec<Row>, StoreError> {
    let hits = search::find(tx, home, words, &Kind::COLLECTIONS, None, HITS_MAX)?;
    hits.iter().map(|hit| row(hit.kind, &hit.json, hit.kind.as_str().to_owned())).collect()
}

/// The tasks that are not done, the earliest due day first.
fn next_tasks(tx: &Tx<'_>, home: HomeNumber) -> Result<Vec<Row>, StoreError> {
    let open = ["open", "in_progress"].into_iter().map(|word| Some(word.to_owned())).collect();
    let filters = vec![Filter { field: "status", values: open }];
    let mut tasks = records(tx, home, Kind::Task, filters, TASKS_READ_MAX, |fields| {
        fields.get("due_on").and_then(Value::as_str).unwrap_or_default().to_owned()
    })?;
    tasks.retain(|task| !task.about.is_empty());
    tasks.sort_by(|one, other| one.about.cmp(&other.about));
    tasks.truncate(TASKS_MAX);
    Ok(tasks)
}

fn rooms(tx: &Tx<'_>, home: HomeNumber) -> Result<Vec<Row>, StoreError> {
    records(tx, home, Kind::Room, Vec::new(), ROOMS_MAX, |fields| {
        fields.get("notes").and_then(Value::as_str).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
    })
}

/// Records of a kind, the oldest first. `about`: the second text of a row.
fn records(
    tx: &Tx<'_>,
    home: HomeNumber,
    kind: Kind,
    filters: Vec<Filter>,
    limit: usize,
    about: impl Fn(&Fields) -> String,
) -> Result<Vec<Row>, StoreError> {
    let order = (Sort::Created, Direction::Ascending);
    let list = List { home, kind, order, bounds: Bounds::default(), filters, limit };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    lists::show(tx, &list, |json| {
        let record = parsed(kind, json)?;
        let (title, _) = title_and_rest(kind, &record.fields);
        rows.push(Row { title: title.to_owned(), about: about(&record.fields) });
        bytes += json.len();
        Ok(bytes)
    })?;
    Ok(rows)
}

fn row(kind: Kind, json: &str, about: String) -> Result<Row, StoreError> {
    let record = parsed(kind, json)?;
    let (title, _) = title_and_rest(kind, &record.fields);
    Ok(Row { title: title.to_owned(), about })
}

fn parsed(kind: Kind, json: &str) -> Result<Record, StoreError> {
    Record::from_json(kind, json).ok_or_else(|| StoreError::Corrupt(format!("image of a {kind} that is shown")))
}
