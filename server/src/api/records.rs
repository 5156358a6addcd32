//! Listing, reading and writing records of every kind, the home's profile included. A write builds a command and hands
//! it to the home; nothing else here changes anything.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::envelope::Page;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::record::etag;
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::shape::Shape;
use crate::home::apply::{Outcome, Verdict, Writing, not_found};
use crate::home::cursor::ListCursor;
use crate::home::feed::unreadable;
use crate::http::call::Call;
use crate::http::query::Query;
use crate::http::reply::{Payload, Refusal, Reply, Wording};
use crate::random::fresh_id;
use crate::store::records::{self, Bounds, Direction, Image, Sort};
use crate::store::{Fault, Tx, homes};

/// Bytes of a record for which a page has room from the start.
const RECORD_USUAL: usize = 400;
/// Records on a page when nothing is said, and at most.
pub const PAGE: (usize, usize) = (50, 100);

/// `GET /v1/{collection}`.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let limit = call.query.limit(PAGE.0, PAGE.1)?;
    let shape = Shape::read(kind, &call.query, &call.principal)?;
    let home = call.principal.home_id();
    let place = place(kind, &call.query, home)?;
    let number = call.principal.key.home;
    // What the other order's filter leaves out is passed one by one.
    let passes = match place.cursor.sort {
        Sort::Created => place.cursor.updated_since.is_some(),
        Sort::Updated => place.cursor.created_since.is_some(),
    };
    let is_whole = shape.is_whole();
    let job = move |tx: &Tx<'_>| {
        let since = |sort, moment: Option<i64>| match moment {
            Some(moment) => records::first_since(tx, number, kind, sort, Timestamp::from_millis(moment)),
            None => Ok(0),
        };
        let bounds = Bounds {
            after: place.after,
            created_from: since(Sort::Created, place.cursor.created_since)?,
            changed_from: since(Sort::Updated, place.cursor.updated_since)?,
        };
        let order = (place.cursor.sort, place.cursor.direction);
        let mut page = Records { text: String::with_capacity((limit + 1) * RECORD_USUAL), ..Records::default() };
        records::show_page(tx, number, kind, order, bounds, limit + 1, |position, json| {
            if page.count == limit {
                page.has_more = true;
                return Ok(());
            }
            page.count += 1;
            page.last = position;
            page.text.push_str(if page.text.is_empty() { "" } else { "," });
            if is_whole {
                page.text.push_str(json);
            } else {
                page.text.push_str(&shape.apply(tx, number, kind, json.to_owned())?);
            }
            Ok(())
        })?;
        Ok((page, homes::load(tx, number)?.head))
    };
    let db = &call.app.db;
    // To pass other records by, or to take each apart, is too much for the threads that all requests share.
    let (page, as_of) = if passes || !is_whole { db.read(job).await? } else { db.glance(job).await? };
    let next_cursor = page.has_more.then(|| ListCursor { after: page.last, ..place.cursor }.write(home));
    let texts = if page.count == 0 { &[][..] } else { &[page.text] };
    let page = Page { has_more: page.has_more, next_cursor };
    Ok(call.wording.many(texts, &page, &as_of_meta(as_of)))
}

/// What stands on a page.
#[derive(Default)]
struct Records {
    /// The records, with commas between them.
    text: String,
    count: usize,
    /// The position of the last.
    last: i64,
    has_more: bool,
}

/// `GET /v1/{collection}/{id}` and `GET /v1/property`.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let shape = Shape::read(kind, &call.query, &call.principal)?;
    let id = if kind.is_singleton() { None } else { Some(call.record_id(kind)?) };
    let is_whole = shape.is_whole();
    let number = call.principal.key.home;
    let (image, as_of) = call
        .app
        .db
        .glance(move |tx| {
            let id = match id {
                Some(id) => id,
                None => homes::load(tx, number)?.id,
            };
            let (image, head) = records::image_and_head(tx, number, kind, id)?;
            let image = match image {
                Some(Image { rev, json }) => Some(Image { rev, json: shape.apply(tx, number, kind, json)? }),
                None => None,
            };
            Ok((image, head))
        })
        .await?;
    match (image, id) {
        (None, Some(id)) => Err(not_found(kind, id).into()),
        (None, None) => Ok(call.wording.one(200, "null", &as_of_meta(as_of))),
        (Some(image), _) if !is_whole => Ok(call.wording.one(200, &image.json, &as_of_meta(as_of))),
        (Some(image), _) if call.has_revision(image.rev) => {
            Ok(Reply { status: 304, headers: vec![("etag", etag(image.rev))], payload: Payload::Empty })
        }
        (Some(image), _) => Ok(call.wording.one(200, &image.json, &as_of_meta(as_of)).with("etag", etag(image.rev))),
    }
}

/// `POST /v1/{collection}`.
pub async fn create(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let body = check(kind, Intent::Create, &call.body);
    commit(call, Ok(Command::Create { kind, body })).await
}

/// `PATCH /v1/{collection}/{id}` and `PATCH /v1/property`.
pub async fn update(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let id = if kind.is_singleton() { Ok(None) } else { call.record_id(kind).map(Some) };
    let body = check(kind, Intent::Patch, &call.body);
    let guard = call.guard();
    commit(call, id.map(|id| Command::Update { kind, id, body, guard })).await
}

/// `DELETE /v1/{collection}/{id}`.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let (kind, guard) = (call.kind()?, call.guard());
    let id = call.record_id(kind);
    commit(call, id.map(|id| Command::Delete { kind, id, guard })).await
}

/// Carries a command out once. What names no record is refused only there: a retry's first answer goes before existence
/// (contract 6.4).
async fn commit(call: Call, command: Result<Command, Problem>) -> Result<Reply, Refusal> {
    let (kind, now) = (call.kind, call.app.clock.now());
    once(call, move |writing, wording| {
        let verdict = match command {
            Ok(command) => writing.apply(command, &mut || fresh_id(now))?,
            Err(problem) => Err(problem),
        };
        let refused = verdict.as_ref().err().map(|problem| problem.kind);
        Ok((word(wording, kind, verdict, writing.as_of()), refused))
    })
    .await
}

/// Does a write to records once, and words what came of it in its transaction, so that a retry gets the same bytes. The
/// work gives its answer, and the refusal if the whole of it is one.
pub(super) async fn once(
    call: Call,
    work: impl FnOnce(&mut Writing<'_, '_>, &Wording) -> Result<(Reply, Option<ProblemType>), Fault> + Send + 'static,
) -> Result<Reply, Refusal> {
    let now = call.app.clock.now();
    super::once::once(call, now, move |tx, call, number| {
        let key = call.ticket.as_ref().map(|ticket| ticket.key.clone());
        let mut writing = Writing::begin(tx, number, call.app.db.run(), now, key)?;
        let answered = work(&mut writing, &call.wording)?;
        writing.finish()?;
        Ok(answered)
    })
    .await
}

fn word(wording: &Wording, kind: Option<Kind>, verdict: Verdict, as_of: i64) -> Reply {
    let meta = as_of_meta(as_of);
    match verdict {
        Err(problem) => wording.problem(&problem),
        Ok(Outcome::Created(id, image)) => {
            let location = kind.map(|kind| wording.place(&paths::record(kind, id))).unwrap_or_default();
            wording.one(201, &image.json, &meta).with("etag", etag(image.rev)).with("location", location)
        }
        Ok(Outcome::Stands(Some(image))) => wording.one(200, &image.json, &meta).with("etag", etag(image.rev)),
        Ok(Outcome::Stands(None)) => wording.one(200, "null", &meta),
        Ok(Outcome::Gone(id)) => wording.one(200, &json!({ "id": id, "deleted": true }).to_string(), &meta),
    }
}

/// Where a page begins, and all that decides what comes next.
#[derive(Clone, Copy)]
struct Place {
    cursor: ListCursor,
    after: Option<i64>,
}

/// What the cursor says, which the other parameters may repeat but not contradict.
fn place(kind: Kind, query: &Query, home: Uuid) -> Result<Place, Problem> {
    let sort = query.choice("sort", &[("created_at", Sort::Created), ("updated_at", Sort::Updated)])?;
    let direction = query.choice("order", &[("asc", Direction::Ascending), ("desc", Direction::Descending)])?;
    let created_since = query.since("created_since")?.map(Timestamp::millis);
    let updated_since = query.since("updated_since")?.map(Timestamp::millis);
    let Some(text) = query.get("cursor") else {
        let (sort, direction) = (sort.unwrap_or(Sort::Created), direction.unwrap_or(Direction::Descending));
        let cursor = ListCursor { kind, sort, direction, created_since, updated_since, after: 0 };
        return Ok(Place { cursor, after: None });
    };
    let cursor = ListCursor::read(text, home).map_err(unreadable)?;
    let contradicted = [
        ("the collection", cursor.kind != kind),
        ("sort", sort.is_some_and(|sort| sort != cursor.sort)),
        ("order", direction.is_some_and(|direction| direction != cursor.direction)),
        ("created_since", created_since.is_some_and(|since| Some(since) != cursor.created_since)),
        ("updated_since", updated_since.is_some_and(|since| Some(since) != cursor.updated_since)),
    ];
    if let Some((what, _)) = contradicted.iter().find(|(_, differs)| *differs) {
        let message = format!("The cursor was given out for another value of {what}.");
        let fix = match *what {
            "the collection" => "Use the cursor with the collection that it was given out for.".to_owned(),
            what => format!("Leave {what} out, or send it as for the first page; or start again without cursor."),
        };
        return Err(Problem::new(ProblemType::InvalidCursor, message).with("parameter", "cursor").fixed_by(fix));
    }
    Ok(Place { cursor, after: Some(cursor.after) })
}

pub(super) fn as_of_meta(position: i64) -> String {
    format!(r#""as_of":{position}"#)
}
