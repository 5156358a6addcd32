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
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::{HomeNumber, StoreError, Tx, field_values, homes, search};

/// Records that a search shows, at most.
const HITS_MAX: usize = 30;
/// Tasks that the page shows, at most.
const TASKS_MAX: usize = 30;
/// Rooms that the page shows, at most.
const ROOMS_MAX: usize = 100;
/// What a person does after a search that took too long.
const SLOW: &str = "The search took too long. Ask for fewer or longer words.";

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
        Err(bad) => (None, Some((400, bad.sentence("The question")))),
    };
    let (team, db) = (session.team.clone(), &request.app.db);
    let read = db.read(move |tx| {
        let number = homes::home_of_team(tx, &team, Environment::Live)?.number;
        Ok((number, next_tasks(tx, number)?, rooms(tx, number)?))
    });
    let (number, tasks, rooms) = read.await?;
    let deadline = Instant::now() + request.app.config.search_time_max;
    let (hits, fault) = match words {
        None => (None, fault),
        Some(words) => match db.read_until(deadline, move |tx| found(tx, number, &words)).await {
            Err(StoreError::TimeUp) => (None, Some((503, SLOW.to_owned()))),
            hits => (Some(hits?), fault),
        },
    };
    let (status, fault) = fault.map_or((200, None), |(status, fault)| (status, Some(fault)));
    let frame = Frame::of(&session, "Home");
    render(status, &HomePage { frame, fault, question, hits, tasks, rooms, question_max: QUESTION.1 })
}

fn found(tx: &Tx<'_>, home: HomeNumber, words: &[String]) -> Result<Vec<Row>, StoreError> {
    let hits = search::find(tx, home, words, &Kind::COLLECTIONS, None, HITS_MAX)?;
    hits.iter().map(|hit| row(hit.kind, &hit.json, |_| hit.kind.as_str())).collect()
}

/// The tasks that are not done and have a due day, the earliest day first.
fn next_tasks(tx: &Tx<'_>, home: HomeNumber) -> Result<Vec<Row>, StoreError> {
    let tasks = field_values::next_tasks(tx, home, TASKS_MAX)?;
    tasks.iter().map(|json| row(Kind::Task, json, |fields| text(fields, "due_on"))).collect()
}

/// The rooms, the oldest first.
fn rooms(tx: &Tx<'_>, home: HomeNumber) -> Result<Vec<Row>, StoreError> {
    let order = (Sort::Created, Direction::Ascending);
    let list = List { home, kind: Kind::Room, order, bounds: Bounds::default(), filters: Vec::new(), limit: ROOMS_MAX };
    let (mut rows, mut bytes) = (Vec::new(), 0);
    lists::show(tx, &list, |json| {
        rows.push(row(Kind::Room, json, |fields| text(fields, "notes").lines().next().unwrap_or_default())?);
        bytes += json.len();
        Ok(bytes)
    })?;
    Ok(rows)
}

/// The text of a field; "" when the field is null.
fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// `about`: the second text of the row.
fn row(kind: Kind, json: &str, about: impl FnOnce(&Fields) -> &str) -> Result<Row, StoreError> {
    let record =
        Record::from_json(kind, json).ok_or_else(|| StoreError::Corrupt(format!("image of a {kind} that is shown")))?;
    let (title, _) = title_and_rest(kind, &record.fields);
    Ok(Row { title: title.to_owned(), about: about(&record.fields).to_owned() })
}
