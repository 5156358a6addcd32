//! Lists, reads and writes records of every kind, including the home's profile. A write becomes a command for the home;
//! the handlers change nothing themselves. Must not know the rules of a write.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::envelope::Page;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::record::etag;
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::filters::parse_filters;
use super::projection::Projection;
use super::refilling::write_refusal;
use crate::home::apply::{CLEARED_MAX, HomeWriter, WriteOutcome, WriteResult, not_found};
use crate::home::cursor::ListCursor;
use crate::home::feed::cursor_problem;
use crate::home::receipts::{ReceiptLookup, find_receipt};
use crate::http::call::Call;
use crate::http::parameters::RECORDS_PAGE;
use crate::http::query::Query;
use crate::http::reply::{Payload, Refusal, Reply, ResponseContext};
use crate::random::fresh_id;
use crate::store::lists::{self, List};
use crate::store::records::{self, Bounds, Direction, Image, Sort};
use crate::store::{StoreError, Tx, field_values, homes};

/// Typical size of a record in bytes, for the capacity of a page.
const RECORD_USUAL: usize = 400;

/// `GET /v1/{collection}`: a page of records.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let limit = call.query.limit(RECORDS_PAGE)?;
    let projection = Projection::parse(kind, &call.query, &call.principal)?;
    let home = call.principal.home_id();
    let start = list_start(kind, &call.query, home)?;
    let number = call.principal.key.home;
    // A filter by fields or on the other time column examines the excluded records too.
    let is_scan = !start.cursor.filters.is_empty()
        || match start.cursor.sort {
            Sort::Created => start.cursor.updated_since.is_some(),
            Sort::Updated => start.cursor.created_since.is_some(),
        };
    let is_whole = projection.is_whole();
    let job = move |tx: &Tx<'_>| {
        let since = |sort, moment: Option<i64>| match moment {
            Some(moment) => records::first_since(tx, number, kind, sort, Timestamp::from_millis(moment)),
            None => Ok(0),
        };
        let bounds = Bounds {
            after: start.after,
            created_from: since(Sort::Created, start.cursor.created_since)?,
            changed_from: since(Sort::Updated, start.cursor.updated_since)?,
        };
        let order = (start.cursor.sort, start.cursor.direction);
        let list = List { home: number, kind, order, bounds, filters: start.cursor.filters.clone(), limit };
        let mut text = String::with_capacity((limit + 1) * RECORD_USUAL);
        let next = lists::show(tx, &list, |json| {
            text.push_str(if text.is_empty() { "" } else { "," });
            if is_whole {
                text.push_str(json);
            } else {
                text.push_str(&projection.apply(tx, number, kind, json.to_owned())?);
            }
            Ok(text.len())
        })?;
        let next_cursor = next.map(|after| ListCursor { after, ..start.cursor }.encode(home));
        Ok((text, next_cursor, homes::load(tx, number)?.head))
    };
    let db = &call.app.db;
    // Such a scan, or a projection of each record, takes too long for the shared async threads.
    let (text, next_cursor, as_of) =
        if is_scan || !is_whole { db.read(job).await? } else { db.read_inline(job).await? };
    let texts = if text.is_empty() { &[][..] } else { &[text] };
    let page = Page { has_more: next_cursor.is_some(), next_cursor };
    Ok(call.context.list_reply(texts, &page, &as_of_meta(as_of)))
}

/// `GET /v1/{collection}/{id}` and `GET /v1/property`: one record.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let projection = Projection::parse(kind, &call.query, &call.principal)?;
    let id = if kind.is_singleton() { None } else { Some(call.record_id(kind)?) };
    let is_whole = projection.is_whole();
    let number = call.principal.key.home;
    let (image, as_of) = call
        .app
        .db
        .read_inline(move |tx| {
            let id = match id {
                Some(id) => id,
                None => homes::load(tx, number)?.id,
            };
            let (image, head) = records::image_and_head(tx, number, kind, id)?;
            let image = match image {
                Some(Image { rev, json }) => Some(Image { rev, json: projection.apply(tx, number, kind, json)? }),
                None => None,
            };
            Ok((image, head))
        })
        .await?;
    match (image, id) {
        (None, Some(id)) => Err(not_found(kind, id).into()),
        (None, None) => Ok(call.context.data_reply(200, "null", &as_of_meta(as_of))),
        (Some(image), _) if !is_whole => Ok(call.context.data_reply(200, &image.json, &as_of_meta(as_of))),
        (Some(image), _) if call.client_has_revision(image.rev) => {
            Ok(Reply { status: 304, headers: vec![("etag", etag(image.rev))], payload: Payload::Empty })
        }
        (Some(image), _) => {
            Ok(call.context.data_reply(200, &image.json, &as_of_meta(as_of)).with_header("etag", etag(image.rev)))
        }
    }
}

/// `POST /v1/{collection}`: creates a record.
pub async fn create(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let body = check(kind, Intent::Create, &call.body);
    commit(call, Ok(Command::Create { kind, body })).await
}

/// `PATCH /v1/{collection}/{id}` and `PATCH /v1/property`: changes fields of a record.
pub async fn update(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let id = if kind.is_singleton() { Ok(None) } else { call.record_id(kind).map(Some) };
    let body = check(kind, Intent::Patch, &call.body);
    let preconditions = call.preconditions();
    commit(call, id.map(|id| Command::Update { kind, id, body, preconditions })).await
}

/// `DELETE /v1/{collection}/{id}`: deletes a record.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let (kind, preconditions) = (call.kind()?, call.preconditions());
    let id = call.record_id(kind);
    if let Ok(id) = id {
        clear_most_references(&call, kind, id, &preconditions).await?;
    }
    commit(call, id.map(|id| Command::Delete { kind, id, preconditions })).await
}

/// How often references to a record are listed that other requests have added while a delete cleared the earlier ones.
const CLEAR_ROUNDS_MAX: usize = 10;

/// Clears the references to a record in transactions of bounded size, when the delete itself cannot clear them all. A retry
/// after a failure continues. Nothing is cleared for a request that was answered before.
async fn clear_most_references(
    call: &Call,
    kind: Kind,
    id: Uuid,
    preconditions: &Preconditions,
) -> Result<(), Refusal> {
    let number = call.principal.key.home;
    let sources = move |limit| move |tx: &Tx<'_>| field_values::sources(tx, number, id, limit);
    for _ in 0..CLEAR_ROUNDS_MAX {
        if call.app.db.read_inline(sources(CLEARED_MAX + 1)).await?.len() <= CLEARED_MAX {
            break;
        }
        // Listed once for all steps: each step would list them all again, to keep their order.
        let sources = call.app.db.read(sources(usize::MAX)).await?;
        if !clear_in_steps(call, kind, id, preconditions, &sources).await? {
            break;
        }
    }
    Ok(())
}

/// Clears the references of these records in steps. False: the delete will be refused, or was answered before.
async fn clear_in_steps(
    call: &Call,
    kind: Kind,
    id: Uuid,
    preconditions: &Preconditions,
    sources: &[(Kind, Uuid)],
) -> Result<bool, Refusal> {
    let (app, number, now) = (&call.app, call.principal.key.home, call.app.clock_guard.now(&call.app.clock)?);
    for some in sources.chunks(CLEARED_MAX).map(<[_]>::to_vec) {
        let (epoch, ticket, preconditions) = (app.db.epoch(), call.ticket.clone(), preconditions.clone());
        let (author, writer) = (call.author(), call.principal.key.id.clone());
        let since = app.config.receipts_since(now);
        let step = move |tx: &Tx<'_>| {
            if let Some(ticket) = &ticket
                && find_receipt(tx, number, ticket, since)? != ReceiptLookup::Absent
            {
                return Ok(false);
            }
            if write_refusal(tx, number, Some(&writer), now)?.is_some() {
                return Ok(false);
            }
            let mut writing = HomeWriter::begin(tx, number, epoch, now, author, ticket.map(|ticket| ticket.key))?;
            let is_deletable = writing.clear_references_to(kind, id, &preconditions, some)?;
            writing.finish()?;
            Ok(is_deletable)
        };
        if !app.db.write_for(number, step).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Carries out a command once. The reply to a malformed id comes after the look-up of the receipt, because a stored
/// reply takes precedence (contract 6.4).
async fn commit(call: Call, command: Result<Command, Problem>) -> Result<Reply, Refusal> {
    let (kind, now) = (call.kind, call.app.clock.now());
    write_once(call, move |writing, context| {
        let verdict = match command {
            Ok(command) => writing.apply(command, &mut || fresh_id(now))?,
            Err(problem) => Err(problem),
        };
        let refused = verdict.as_ref().err().map(|problem| problem.kind);
        Ok((write_reply(context, kind, verdict, writing.as_of()), refused))
    })
    .await
}

/// Carries out a write to records once, and builds the reply inside the transaction, because a repeated request must
/// get the same bytes. `work` returns the reply, and the error type if the reply is a refusal.
pub(super) async fn write_once(
    call: Call,
    work: impl FnOnce(&mut HomeWriter<'_, '_>, &ResponseContext) -> Result<(Reply, Option<ProblemType>), StoreError>
    + Send
    + 'static,
) -> Result<Reply, Refusal> {
    super::once::once(call, move |tx, call, number, now| {
        let key = call.ticket.as_ref().map(|ticket| ticket.key.clone());
        let mut writing = HomeWriter::begin(tx, number, call.app.db.epoch(), now, call.author(), key)?;
        let answered = work(&mut writing, &call.context)?;
        writing.finish()?;
        Ok(answered)
    })
    .await
}

fn write_reply(context: &ResponseContext, kind: Option<Kind>, verdict: WriteResult, as_of: i64) -> Reply {
    let meta = as_of_meta(as_of);
    match verdict {
        Err(problem) => context.problem_reply(&problem),
        Ok(WriteOutcome::Created(id, image)) => {
            let location = kind.map(|kind| paths::record(kind, id)).unwrap_or_default();
            context
                .data_reply(201, &image.json, &meta)
                .with_header("etag", etag(image.rev))
                .with_header("location", location)
        }
        Ok(WriteOutcome::Current(Some(image))) => {
            context.data_reply(200, &image.json, &meta).with_header("etag", etag(image.rev))
        }
        Ok(WriteOutcome::Current(None)) => context.data_reply(200, "null", &meta),
        Ok(WriteOutcome::Deleted(id)) => {
            context.data_reply(200, &json!({ "id": id, "deleted": true }).to_string(), &meta)
        }
    }
}

/// The start of a page, with the order and filters of the whole list.
struct ListStart {
    cursor: ListCursor,
    after: Option<i64>,
}

/// Reads order, filters and start from the cursor or the parameters. With a cursor, the parameters may repeat its
/// values but not contradict them.
fn list_start(kind: Kind, query: &Query, home: Uuid) -> Result<ListStart, Problem> {
    let sort = query.choice("sort", &[("created_at", Sort::Created), ("updated_at", Sort::Updated)])?;
    let direction = query.choice("order", &[("asc", Direction::Ascending), ("desc", Direction::Descending)])?;
    let created_since = query.moment("created_since")?.map(Timestamp::millis);
    let updated_since = query.moment("updated_since")?.map(Timestamp::millis);
    let filters = parse_filters(kind, query)?;
    let Some(text) = query.get("cursor") else {
        let (sort, direction) = (sort.unwrap_or(Sort::Created), direction.unwrap_or(Direction::Descending));
        let cursor = ListCursor { kind, sort, direction, created_since, updated_since, filters, after: 0 };
        return Ok(ListStart { cursor, after: None });
    };
    let cursor = ListCursor::decode(text, home).map_err(cursor_problem)?;
    if cursor.kind != kind {
        let fix = "Use the cursor with the collection that it was given out for.";
        return Err(contradiction("the collection", fix));
    }
    let parameters = [
        ("sort", sort.is_some_and(|sort| sort != cursor.sort)),
        ("order", direction.is_some_and(|direction| direction != cursor.direction)),
        ("created_since", created_since.is_some_and(|since| Some(since) != cursor.created_since)),
        ("updated_since", updated_since.is_some_and(|since| Some(since) != cursor.updated_since)),
    ];
    let fields = filters.iter().map(|filter| (filter.field, !cursor.filters.contains(filter)));
    if let Some((name, _)) = parameters.into_iter().chain(fields).find(|(_, differs)| *differs) {
        let fix = format!("Leave {name} out, or send it as for the first page; or start again without cursor.");
        return Err(contradiction(name, &fix));
    }
    let after = Some(cursor.after);
    Ok(ListStart { cursor, after })
}

/// The refusal of a cursor that belongs to another list. `value` names the value that differs.
pub(super) fn contradiction(value: &str, fix: &str) -> Problem {
    let message = format!("The cursor was given out for another value of {value}.");
    Problem::new(ProblemType::InvalidCursor, message).with("parameter", "cursor").with_fix(fix)
}

/// The member `as_of` of `meta`: the home's position at the time of the read, an event id.
pub(super) fn as_of_meta(position: i64) -> String {
    format!(r#""as_of":{position}"#)
}
