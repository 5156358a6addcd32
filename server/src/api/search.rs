//! `GET /v1/search`: full-text search (contract 8). Must not know the index.

use std::time::{Duration, Instant};

use hearth_contract::envelope::Page;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::record::Record;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::records::as_of_meta;
use crate::home::cursor::SearchCursor;
use crate::home::feed::cursor_problem;
use crate::home::search::{shown, terms};
use crate::http::call::Call;
use crate::http::parameters::RECORDS_PAGE;
use crate::http::reply::{Refusal, Reply};
use crate::store::search::Hit;
use crate::store::stored_files::FileHash;
use crate::store::{HomeNumber, StoreError, Tx, homes, readings, search};

/// Finds records by the beginnings of their words.
pub async fn find(call: Call) -> Result<Reply, Refusal> {
    let Some(question) = call.query.get("q") else {
        return Err(Problem::parameter("q", "", None, "The parameter `q` says what to look for; it is missing.").into());
    };
    let terms = terms(question).map_err(|bad| Problem::parameter("q", question, None, bad.sentence("q")))?;
    let named = call.query.choices("types", &Kind::COLLECTIONS.map(|kind| (kind.as_str(), kind)))?;
    // In a fixed order, because the cursor is bound to the list of kinds.
    let mut kinds: Vec<Kind> = Kind::COLLECTIONS.into_iter().filter(|kind| named.contains(kind)).collect();
    let limit = call.query.limit(RECORDS_PAGE)?;
    let home = call.principal.home_id();
    let after = match call.query.get("cursor") {
        None => None,
        Some(text) => Some(SearchCursor::decode(text, home, &terms, &kinds).map_err(cursor_problem)?),
    };
    if kinds.is_empty() {
        kinds = after.as_ref().map_or(Kind::COLLECTIONS.to_vec(), |cursor| cursor.kinds.clone());
    }
    let number = call.principal.key.home;
    let (asked, among) = (terms.clone(), kinds.clone());
    let time_max = call.app.config.search_time_max;
    let deadline = Instant::now() + time_max;
    // Snippets are part of the read: they are made on its thread, and within its time.
    let found = call
        .app
        .db
        .read_until(deadline, move |tx| {
            let after = after.map(|SearchCursor { fit, row, .. }| (fit, row));
            let mut hits = search::find(tx, number, &asked, &among, after, limit + 1)?;
            let has_more = hits.len() > limit;
            hits.truncate(limit);
            let last = hits.last().filter(|_| has_more).map(|hit| (hit.fit, hit.row));
            let mut texts = Vec::with_capacity(hits.len());
            for hit in hits {
                if Instant::now() > deadline {
                    return Err(StoreError::TimeUp);
                }
                texts.push(hit_json(tx, number, &hit, &asked)?);
            }
            Ok((texts, last, homes::load(tx, number)?.head))
        })
        .await;
    let (texts, last, as_of) = match found {
        Err(StoreError::TimeUp) => return Err(time_limit_problem(time_max).into()),
        found => found?,
    };
    let has_more = last.is_some();
    let next_cursor = last.map(|(fit, row)| SearchCursor { fit, row, kinds }.encode(home, &terms));
    Ok(call.context.list_reply(&texts, &Page { has_more, next_cursor }, &as_of_meta(as_of)))
}

fn time_limit_problem(time_max: Duration) -> Problem {
    let message = format!("The search did not end within {} s.", time_max.as_secs_f32());
    Problem::new(ProblemType::Unavailable, message)
        .with("retry_after_seconds", 1)
        .with_fix("Ask for fewer or longer words, or send the request again after the seconds that Retry-After names.")
}

fn hit_json(tx: &Tx<'_>, home: HomeNumber, hit: &Hit, terms: &[String]) -> Result<String, StoreError> {
    let Hit { kind, json, fit, .. } = hit;
    let record = Record::from_json(*kind, json)
        .ok_or_else(|| StoreError::Corrupt(format!("image of a {kind} that was found")))?;
    let file = record.fields.get("file_sha256").and_then(Value::as_str).and_then(FileHash::parse);
    let read = || file.map(|hash| readings::beginning(tx, home, &hash)).transpose().map(Option::unwrap_or_default);
    let (title, snippet) = shown(&record, read, terms)?;
    let hit = json!({
        "type": kind.as_str(),
        "id": record.id,
        "title": title,
        "snippet": snippet,
        "score": fit.score(),
        "updated_at": record.updated_at.to_string(),
    });
    Ok(hit.to_string())
}
