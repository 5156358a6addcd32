//! Reads successful responses. Must not know how bytes travel, nor whether to try again.

use hearth_contract::envelope::{Feed, ListResponse, SingleResponse};
use hearth_contract::event::Event;
use hearth_contract::record::parse_etag;
use hearth_contract::record_limits::broken_limit;
use hearth_contract::schema::Kind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::message::HttpResponse;
use super::refusal::{edit_failure, failure, is_not_found, operation_refusal};
use crate::model::{ListedId, ReconcileQuery, ReconcileResponse};
use crate::sync::core::{BatchEnd, EditAnswers, Failure, FeedBatch, FeedHead, Identity, Limits};
use crate::sync::excerpt;

/// Why a response is no answer: it is not of a Hearth server.
pub(in crate::sync) const NOT_HEARTH: &str = "it does not answer as a Hearth server";

/// The owner, scopes and limits of a key, from the response to [`super::HttpRequest::identity`].
pub(in crate::sync) fn identity(response: &HttpResponse) -> Result<Identity, Failure> {
    #[derive(Deserialize)]
    struct Me {
        team: Team,
        home: Home,
        scopes: Vec<String>,
        rate_limits: Option<RateLimits>,
    }
    #[derive(Deserialize)]
    #[expect(clippy::struct_field_names, reason = "the contract's words")]
    struct RateLimits {
        reads_per_minute: Option<u32>,
        writes_per_minute: Option<u32>,
        bulk_per_minute: Option<u32>,
    }
    #[derive(Deserialize)]
    struct Team {
        name: String,
    }
    #[derive(Deserialize)]
    struct Home {
        id: String,
        environment: String,
        refilled_from: Option<String>,
    }
    let SingleResponse { data: Me { team, home, scopes, rate_limits }, .. } = success(response)?;
    let limits = rate_limits.and_then(|limits| {
        let (reads, writes) = (limits.reads_per_minute?, limits.writes_per_minute?);
        Some(Limits { reads, writes, bulk: limits.bulk_per_minute? })
    });
    let Home { id: home_id, environment, refilled_from } = home;
    Ok(Identity { home_id, home_name: team.name, environment, refilled_from, scopes, limits })
}

/// The feed head, from the response to [`super::HttpRequest::feed_head`].
pub(in crate::sync) fn feed_head(response: &HttpResponse) -> Result<FeedHead, Failure> {
    let page: ListResponse<Value> = success(response)?;
    let Some(Feed { head, retention_seconds, .. }) = page.meta.feed else { return Ok(FeedHead::default()) };
    let retention_seconds = retention_seconds.and_then(|seconds| i64::try_from(seconds).ok());
    Ok(FeedHead { head: Some(head), retention_seconds })
}

/// The events of a poll. A page without more events reaches the present; without a head in the response, the last event
/// is the head.
pub(in crate::sync) fn poll_batch(response: &HttpResponse) -> Result<FeedBatch, Failure> {
    let ListResponse { data: events, meta } = success::<ListResponse<Event>>(response)?;
    events.iter().try_for_each(check_event).map_err(Failure::NoAnswer)?;
    let cursor = meta.page.as_ref().and_then(|page| page.next_cursor.clone());
    let has_more = meta.page.is_some_and(|page| page.has_more);
    let last_event = events.last().map(|last| last.id);
    let end = match has_more {
        true => BatchEnd::More,
        false => BatchEnd::Present { head: meta.feed.map(|feed| feed.head).or(last_event) },
    };
    Ok(FeedBatch { events, cursor, end })
}

/// Err: a sentence which limit of the contract the record of an event breaks. Such a record is not stored: no later check
/// bounds it, and screens and queries would have to carry it.
pub(in crate::sync) fn check_event(event: &Event) -> Result<(), String> {
    let (Some(kind), Some(payload)) = (Kind::parse(&event.resource_type), &event.payload) else { return Ok(()) };
    let refused = |limit| format!("the server sent event {}, which breaks the contract: {limit}", event.id);
    broken_limit(kind, payload).map_or(Ok(()), |limit| Err(refused(limit)))
}

/// The same for records of a list.
fn check_records(kind: Kind, records: &[Map<String, Value>]) -> Result<(), Failure> {
    let refused =
        |limit| format!("the server sent a record of {}, which breaks the contract: {limit}", kind.collection());
    let broken = records.iter().find_map(|record| broken_limit(kind, record));
    broken.map_or(Ok(()), |limit| Err(Failure::NoAnswer(refused(limit))))
}

/// A deleted id as the server lists it (contract 18).
#[derive(Deserialize)]
struct Deletion {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    listed: ListedId,
}

/// The response to a query of a reconcile.
pub(in crate::sync) fn reconcile_response(
    query: &ReconcileQuery,
    response: &HttpResponse,
) -> Result<ReconcileResponse, Failure> {
    let (found, meta) = match query {
        ReconcileQuery::List { kind, .. } => {
            let ListResponse { data: records, meta } = success::<ListResponse<Map<String, Value>>>(response)?;
            check_records(*kind, &records)?;
            (ReconcileResponse { records, ..ReconcileResponse::default() }, meta)
        }
        // A home has many ids, so they are not read as records.
        ReconcileQuery::Ids { .. } => {
            let ListResponse { data: ids, meta } = success::<ListResponse<ListedId>>(response)?;
            (ReconcileResponse { ids, ..ReconcileResponse::default() }, meta)
        }
        ReconcileQuery::Deletions { .. } => {
            let ListResponse { data, meta } = success::<ListResponse<Deletion>>(response)?;
            // A newer server may have kinds that this version has no table for.
            let known = |deletion: Deletion| Some((Kind::parse(&deletion.kind)?, deletion.listed));
            let deletions = data.into_iter().filter_map(known).collect();
            (ReconcileResponse { deletions, ..ReconcileResponse::default() }, meta)
        }
        // The feed brings the delete with its position.
        ReconcileQuery::Record { .. } if is_not_found(response) => return Ok(ReconcileResponse::default()),
        ReconcileQuery::Property | ReconcileQuery::Record { .. } => {
            let SingleResponse { data, meta } = success::<SingleResponse<Option<Map<String, Value>>>>(response)?;
            let kind = if let ReconcileQuery::Record { kind, .. } = query { *kind } else { Kind::Property };
            let records: Vec<_> = data.into_iter().collect();
            check_records(kind, &records)?;
            (ReconcileResponse { records, ..ReconcileResponse::default() }, meta)
        }
    };
    let as_of = meta.as_of.ok_or_else(|| Failure::NoAnswer("the list does not name its position".to_owned()))?;
    let next_cursor = meta.page.filter(|page| page.has_more).and_then(|page| page.next_cursor);
    Ok(ReconcileResponse { as_of, next_cursor, ..found })
}

/// The answer to a single edit: the position of its write, if the response tells.
pub(in crate::sync) fn edit_answer(response: &HttpResponse) -> Result<Option<i64>, Failure> {
    if response.status >= 500 && hearth_simulated::planted(hearth_simulated::PlantedFault::ServerErrorIsSuccess) {
        return Ok(None);
    }
    if !(200..300).contains(&response.status) {
        return Err(edit_failure(response));
    }
    let etag_rev = response.etag.as_deref().and_then(parse_etag);
    match success::<SingleResponse<Option<Map<String, Value>>>>(response) {
        // Responses to a delete and to an empty change have no rev. Then the position of the response serves: the feed
        // passes the position later.
        Ok(SingleResponse { data, meta }) => {
            let body_rev = || data?.get("rev")?.as_i64();
            Ok(etag_rev.or_else(body_rev).or(meta.as_of))
        }
        // The status proves the write, and the ETag tells the position. A complete page of a proxy may have a numeric ETag
        // too, so only a cut body is accepted.
        Err(_) if response.is_cut && etag_rev.is_some() => Ok(etag_rev),
        Err(failure) => Err(failure),
    }
}

/// The answers to a bulk call. `edits`: edit ids with their record ids, by which the response names results (contract 7).
pub(in crate::sync) fn bulk_answers(response: &HttpResponse, edits: &[(i64, String)]) -> Result<EditAnswers, Failure> {
    #[derive(Deserialize)]
    struct Operation {
        status: u16,
        id: Option<String>,
        data: Option<Data>,
        #[serde(default)]
        error: Value,
    }
    #[derive(Deserialize)]
    struct Data {
        rev: Option<i64>,
    }
    if !(200..300).contains(&response.status) {
        return Err(edit_failure(response));
    }
    let SingleResponse { data: operations, meta } = success::<SingleResponse<Vec<Operation>>>(response)?;
    let answer = |(index, (edit, record)): (usize, &(i64, String))| {
        // Results are in the order of the edits, unless edits were settled since.
        let mut candidates = operations.get(index).into_iter().chain(&operations);
        let operation = candidates.find(|operation| operation.id.as_ref() == Some(record));
        let Operation { status, data, error, .. } = operation
            .ok_or_else(|| Failure::NoAnswer(format!("the response has no result for the record {record}")))?;
        let answer = match status {
            200..300 => Ok(data.as_ref().and_then(|data| data.rev).or(meta.as_of)),
            status => Err(operation_refusal(*status, error.clone())),
        };
        Ok((*edit, answer))
    };
    edits.iter().enumerate().map(answer).collect()
}

/// A record. None: the server has no record with the id.
pub(in crate::sync) fn record(response: &HttpResponse) -> Result<Option<Map<String, Value>>, Failure> {
    if is_not_found(response) {
        return Ok(None);
    }
    success::<SingleResponse<Map<String, Value>>>(response).map(|one| Some(one.data))
}

/// The entries of a list page, and whether there are more.
pub(in crate::sync) fn page(response: &HttpResponse) -> Result<(Vec<Value>, bool), Failure> {
    let page: ListResponse<Value> = success(response)?;
    Ok((page.data, page.meta.page.is_some_and(|page| page.has_more)))
}

/// The data of a successful response.
pub(in crate::sync) fn data<T: DeserializeOwned>(response: &HttpResponse) -> Result<T, Failure> {
    /// `{ data, meta }`.
    #[derive(Deserialize)]
    struct Body<T> {
        data: T,
    }
    Ok(success::<Body<T>>(response)?.data)
}

fn success<T: DeserializeOwned>(response: &HttpResponse) -> Result<T, Failure> {
    if !(200..300).contains(&response.status) {
        return Err(failure(response));
    }
    serde_json::from_slice(&response.body).map_err(|error| {
        let why = match error.classify() {
            Category::Syntax => "the answer is no JSON".to_owned(),
            Category::Eof => "the answer ends too early".to_owned(),
            Category::Io | Category::Data => error.to_string(),
        };
        Failure::NoAnswer(excerpt::sentence(&format!("{NOT_HEARTH}: {why}")))
    })
}
