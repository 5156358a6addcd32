//! Listing, reading and writing records of every kind, the home's profile included. A write builds a command and hands
//! it to the home; nothing else here changes anything.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::envelope::Page;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType, nearest};
use hearth_contract::record::etag;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Kind};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::app::fresh_id;
use crate::home::apply::{Outcome, Verdict, Writing, not_found};
use crate::home::cursor::ListCursor;
use crate::home::feed::unreadable;
use crate::home::receipts::{self, Seen};
use crate::http::call::Call;
use crate::http::query::Query;
use crate::http::reply::{Payload, Refusal, Reply, Wording};
use crate::store::homes;
use crate::store::records::{self, Bounds, Direction, Image, Sort};

/// Records on a page when nothing is said, and at most.
const PAGE: (usize, usize) = (50, 100);

/// `GET /v1/{collection}`.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let limit = call.query.limit(PAGE.0, PAGE.1)?;
    let fields = selection(kind, &call.query)?;
    let home = Uuid::try_parse(&call.principal.key.home_id).unwrap_or_default();
    let (sort, direction, after) = place(kind, &call.query, home)?;
    let number = call.principal.key.home;
    let bounds = Bounds { after, from: 0 };
    let (mut rows, as_of) = call
        .app
        .db
        .read(move |tx| {
            let rows = records::page(tx, number, kind, (sort, direction), bounds, limit + 1)?;
            Ok((rows, homes::load(tx, number)?.head))
        })
        .await?;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| has_more).map(|(after, _)| {
        ListCursor { kind, sort, direction, created_since: None, updated_since: None, after: *after }.write(home)
    });
    let texts: Vec<String> = rows.into_iter().map(|(_, json)| select(json, fields.as_deref())).collect();
    Ok(call.wording.many(&texts, &Page { has_more, next_cursor }, &as_of_meta(as_of)))
}

/// `GET /v1/{collection}/{id}` and `GET /v1/property`.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let fields = selection(kind, &call.query)?;
    let id = if kind.is_singleton() { None } else { Some(call.record_id()?) };
    let number = call.principal.key.home;
    let (image, as_of) = call
        .app
        .db
        .read(move |tx| {
            let home = homes::load(tx, number)?;
            Ok((records::image(tx, number, kind, id.unwrap_or(home.id))?, home.head))
        })
        .await?;
    let Some(Image { rev, json }) = image else {
        return match id {
            Some(id) => Err(not_found(kind, id).into()),
            None => Ok(call.wording.one(200, "null", &as_of_meta(as_of))),
        };
    };
    if fields.is_some() {
        return Ok(call.wording.one(200, &select(json, fields.as_deref()), &as_of_meta(as_of)));
    }
    if call.has_revision(rev) {
        return Ok(Reply { status: 304, headers: vec![("etag", etag(rev))], payload: Payload::Empty });
    }
    Ok(call.wording.one(200, &json, &as_of_meta(as_of)).with("etag", etag(rev)))
}

/// `POST /v1/{collection}`.
pub async fn create(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let body = check(kind, Intent::Create, &call.body);
    commit(call, Command::Create { kind, body }).await
}

/// `PATCH /v1/{collection}/{id}` and `PATCH /v1/property`.
pub async fn update(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let id = if kind.is_singleton() { None } else { Some(call.record_id()?) };
    let body = check(kind, Intent::Patch, &call.body);
    let guard = call.guard();
    commit(call, Command::Update { kind, id, body, guard }).await
}

/// `DELETE /v1/{collection}/{id}`.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let (kind, id, guard) = (call.kind()?, call.record_id()?, call.guard());
    commit(call, Command::Delete { kind, id, guard }).await
}

/// Carries a command out once, in one transaction with its receipt, and words what came of it there, so that a retry
/// gets the same bytes.
async fn commit(call: Call, command: Command) -> Result<Reply, Refusal> {
    let now = call.app.clock.now();
    let since = now.plus_millis(-(call.app.config.idempotency_ttl.as_millis() as i64));
    let (number, run) = (call.principal.key.home, call.app.db.run());
    let Call { app, ticket, wording, kind, .. } = call;
    let reply = app
        .db
        .write(move |tx| {
            if let Some(ticket) = &ticket {
                match receipts::look_up(tx, number, ticket, since)? {
                    Seen::Never => (),
                    Seen::Answered(receipt) => return Ok(Reply::replay(receipt)),
                    Seen::Differently(problem) => return Ok(wording.problem(&problem)),
                }
            }
            let key = ticket.as_ref().map(|ticket| ticket.key.clone());
            let mut writing = Writing::begin(tx, number, run, now, key)?;
            let verdict = writing.apply(command, &mut || fresh_id(now))?;
            let refused = verdict.as_ref().err().map(|problem| problem.kind);
            let reply = word(&wording, kind, verdict, writing.as_of());
            writing.finish()?;
            if let Some(ticket) = ticket.filter(|_| receipts::is_final(refused)) {
                crate::store::receipts::keep(tx, number, &ticket.key, &reply.to_receipt(ticket.fingerprint, now))?;
            }
            Ok(reply)
        })
        .await?;
    Ok(reply)
}

fn word(wording: &Wording, kind: Option<Kind>, verdict: Verdict, as_of: i64) -> Reply {
    let meta = as_of_meta(as_of);
    match verdict {
        Err(problem) => wording.problem(&problem),
        Ok(Outcome::Created(id, image)) => {
            let location = kind.map(|kind| paths::record(kind, id)).unwrap_or_default();
            wording.one(201, &image.json, &meta).with("etag", etag(image.rev)).with("location", location)
        }
        Ok(Outcome::Stands(Some(image))) => wording.one(200, &image.json, &meta).with("etag", etag(image.rev)),
        Ok(Outcome::Stands(None)) => wording.one(200, "null", &meta),
        Ok(Outcome::Gone(id)) => wording.one(200, &json!({ "id": id, "deleted": true }).to_string(), &meta),
    }
}

/// Where a page begins: what the cursor says, which the other parameters may repeat but not contradict.
fn place(kind: Kind, query: &Query, home: Uuid) -> Result<(Sort, Direction, Option<i64>), Problem> {
    let sort = query.choice("sort", &[("created_at", Sort::Created), ("updated_at", Sort::Updated)])?;
    let order = query.choice("order", &[("asc", Direction::Ascending), ("desc", Direction::Descending)])?;
    let Some(text) = query.get("cursor") else {
        return Ok((sort.unwrap_or(Sort::Created), order.unwrap_or(Direction::Descending), None));
    };
    let cursor = ListCursor::read(text, home).map_err(unreadable)?;
    let contradicted = [
        ("the collection", cursor.kind != kind),
        ("sort", sort.is_some_and(|sort| sort != cursor.sort)),
        ("order", order.is_some_and(|order| order != cursor.direction)),
    ];
    if let Some((what, _)) = contradicted.iter().find(|(_, differs)| *differs) {
        let message = format!("The cursor was given out for another value of {what}.");
        return Err(Problem::new(ProblemType::InvalidCursor, message).with("parameter", "cursor"));
    }
    Ok((cursor.sort, cursor.direction, Some(cursor.after)))
}

/// The members that `fields` names; None: all.
fn selection(kind: Kind, query: &Query) -> Result<Option<Vec<String>>, Problem> {
    let Some(list) = query.get("fields") else { return Ok(None) };
    let known = || COMMON.into_iter().chain(resource(kind).fields.iter().map(|field| field.name));
    let mut names = vec!["id".to_owned()];
    for name in list.split(',') {
        if !known().any(|known| known == name) {
            let message = format!("{kind} has no field `{name}`.");
            return Err(Problem::parameter("fields", name, nearest(name, known()), message));
        }
        names.push(name.to_owned());
    }
    Ok(Some(names))
}

fn select(json: String, names: Option<&[String]>) -> String {
    let Some(names) = names else { return json };
    let mut members: Map<String, Value> = serde_json::from_str(&json).unwrap_or_default();
    members.retain(|name, _| names.contains(name));
    Value::Object(members).to_string()
}

fn as_of_meta(position: i64) -> String {
    format!(r#""as_of":{position}"#)
}
