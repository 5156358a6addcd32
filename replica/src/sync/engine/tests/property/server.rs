//! A small server in memory for the property test: rooms and items with revisions, events, receipts, a history that can
//! be trimmed, and a backup that can be restored. Must not know the replica.

mod reads;

use std::collections::{BTreeMap, HashMap, HashSet};

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::record::{complete, etag, parse_etag};
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};

use super::super::answer;
use crate::sync::wire::{HttpRequest, HttpResponse};

pub(super) type Fields = Map<String, Value>;
/// A record: its kind and its id.
pub(super) type Key = (Kind, String);

/// An event of the server. `fields`: the record after the event; None when the record was deleted.
#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) rev: i64,
    pub(super) record: Key,
    pub(super) fields: Option<Fields>,
    key: Option<String>,
}

/// One server. `problem` is the first rule that the replica has broken.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) changes: Vec<Change>,
    /// Histories that a restore has discarded.
    pub(super) discarded: Vec<Vec<Change>>,
    pub(super) problem: Option<String>,
    /// The next write is refused with 422.
    pub(super) refuses_next: bool,
    /// Each restore begins an epoch: the last position that both epochs contain, and whether the server tells it.
    forks: Vec<(i64, bool)>,
    pub(super) oldest: i64,
    ticks: i64,
    receipts: HashMap<String, (i64, HttpResponse)>,
    requests: HashMap<String, HttpRequest>,
    answered: HashSet<String>,
    /// True while a request that was never answered may be sent under one key only.
    pub(super) allows_new_keys: bool,
}

fn refusal(status: u16, error_type: &str) -> HttpResponse {
    answer(status, &json!({ "error": { "type": error_type, "message": "no", "details": {} } }))
}

fn kind_of(collection: &str) -> Option<Kind> {
    [Kind::Room, Kind::Inventory].into_iter().find(|kind| kind.collection() == collection)
}

/// The records of a history at a position.
pub(super) fn records_at(changes: &[Change], position: i64) -> BTreeMap<Key, Fields> {
    let mut records = BTreeMap::new();
    for change in changes.iter().take_while(|change| change.rev <= position) {
        match &change.fields {
            Some(fields) => records.insert(change.record.clone(), fields.clone()),
            None => records.remove(&change.record),
        };
    }
    records
}

impl Server {
    pub(super) fn head(&self) -> i64 {
        self.changes.last().map_or(0, |change| change.rev)
    }

    pub(super) fn records(&self) -> BTreeMap<Key, Fields> {
        records_at(&self.changes, i64::MAX)
    }

    pub(super) fn cursor(&self, position: i64) -> String {
        format!("e{}-{position}", self.forks.len())
    }

    /// True for a cursor since the last restore.
    pub(super) fn is_present_cursor(&self, cursor: &str) -> bool {
        cursor.starts_with(&format!("e{}-", self.forks.len()))
    }

    /// The position of a cursor, or the refusal of the cursor.
    pub(super) fn position_of(&self, cursor: &str) -> Result<i64, HttpResponse> {
        let expired = |reason: &str, resume: i64, fork: Option<i64>| {
            let details = json!({ "reason": reason, "resume_cursor": self.cursor(resume), "fork": fork });
            answer(410, &json!({ "error": { "type": "cursor_expired", "message": "no", "details": details } }))
        };
        if cursor == "start" {
            return Ok(0);
        }
        let (epoch, position) = cursor[1..].split_once('-').expect("a cursor of this server");
        let (epoch, position) = (epoch.parse::<usize>().unwrap(), position.parse::<i64>().unwrap());
        let later = &self.forks[epoch..];
        let fork = later.iter().map(|(fork, _)| *fork).min().unwrap_or(i64::MAX);
        let is_told = later.iter().all(|(_, is_told)| *is_told);
        // A position that both histories share is a position of the present history (contract 9.3).
        match position {
            position if position > fork => Err(expired("restored", self.head(), is_told.then_some(fork))),
            position if position < self.oldest => Err(expired("retention", self.head(), None)),
            position => Ok(position),
        }
    }

    /// The events after a position, at most `most`.
    pub(super) fn events_after(&self, position: i64, most: usize) -> Vec<Event> {
        self.changes.iter().filter(|change| change.rev > position).take(most).map(event).collect()
    }

    /// Events up to now are kept no longer.
    pub(super) fn trim(&mut self) {
        (self.oldest, self.allows_new_keys) = (self.head(), true);
    }

    pub(super) fn forget_keys(&mut self) {
        self.receipts.clear();
        self.allows_new_keys = true;
    }

    /// Restores the server to an earlier position. Later positions are used again.
    pub(super) fn restore(&mut self, fork: i64, is_told: bool) {
        self.discarded.push(self.changes.clone());
        self.changes.retain(|change| change.rev <= fork);
        self.receipts.retain(|_, (rev, _)| *rev <= fork);
        self.forks.push((fork, is_told));
        (self.oldest, self.allows_new_keys) = (self.oldest.min(fork), true);
    }

    pub(super) fn change(&mut self, record: Key, fields: Option<Fields>, key: Option<&str>) -> i64 {
        let rev = self.head() + 1;
        self.ticks += 1;
        let moment = Timestamp::from_millis(1_780_272_000_000 + self.ticks).to_string();
        let fields = fields.map(|mut fields| {
            complete(record.0, &mut fields);
            fields.entry("created_at").or_insert_with(|| moment.clone().into());
            let common = json!({ "id": record.1, "rev": rev, "updated_at": moment, "updated_by": "somebody" });
            fields.extend(common.as_object().cloned().unwrap());
            fields
        });
        self.changes.push(Change { rev, record, fields, key: key.map(str::to_owned) });
        rev
    }

    /// Deletes a record. Items in a deleted room lose their room first.
    pub(super) fn delete(&mut self, record: Key, key: Option<&str>) -> i64 {
        let inside = self.records().into_iter().filter(|(_, fields)| fields.get("room_id") == Some(&json!(record.1)));
        for (item, mut fields) in inside.collect::<Vec<_>>() {
            fields.insert("room_id".to_owned(), Value::Null);
            self.change(item, Some(fields), key);
        }
        self.change(record, None, key)
    }

    /// Answers a request. `arrives`: the replica gets the answer.
    pub(super) fn handle(&mut self, request: &HttpRequest, arrives: bool) -> HttpResponse {
        if request.method == "GET" {
            return self.read(&request.path);
        }
        let header = |name: &str| request.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        let key = header("idempotency-key").expect("each write has a key").clone();
        self.check_key(&key, request);
        if arrives {
            self.answered.insert(key.clone());
        }
        if let Some((_, response)) = self.receipts.get(&key) {
            return response.clone();
        }
        let if_match = header("if-match").and_then(|text| parse_etag(text));
        if request.method != "POST" && if_match.is_none() && self.discarded.is_empty() {
            self.problem = Some(format!("the change names no revision: {request:?}"));
        }
        let body = request.body.as_deref().map(|body| serde_json::from_str::<Fields>(body).unwrap());
        let response = self.write(request, body, &key, if_match);
        self.receipts.insert(key, (self.head(), response.clone()));
        response
    }

    /// A key belongs to one request, and a request that was never answered has one key.
    fn check_key(&mut self, key: &str, request: &HttpRequest) {
        if self.requests.get(key).is_some_and(|known| known != request) {
            self.problem = Some(format!("the key {key} belongs to another request: {request:?}"));
        }
        let is_same =
            |known: &HttpRequest| known.body.is_some() && (&known.path, &known.body) == (&request.path, &request.body);
        let mut others = self.requests.iter().filter(|(known, request)| *known != key && is_same(request));
        if !self.allows_new_keys && others.any(|(known, _)| !self.answered.contains(known)) {
            self.problem = Some(format!("the request was never answered, and has another key now: {request:?}"));
        }
        self.requests.insert(key.to_owned(), request.clone());
    }

    fn write(&mut self, request: &HttpRequest, body: Option<Fields>, key: &str, if_match: Option<i64>) -> HttpResponse {
        let mut parts = request.path.trim_start_matches("/v1/").splitn(2, '/');
        let (kind, rest) = (kind_of(parts.next().unwrap()).expect("a known collection"), parts.next());
        if rest == Some("bulk") {
            return refusal(413, "payload_too_large");
        }
        if std::mem::take(&mut self.refuses_next) {
            return refusal(422, "validation_failed");
        }
        let records = self.records();
        let room = body.as_ref().and_then(|body| body.get("room_id")).and_then(Value::as_str);
        if room.is_some_and(|room| !records.contains_key(&(Kind::Room, room.to_owned()))) {
            return refusal(422, "validation_failed");
        }
        let Some(id) = rest else {
            let fields = body.expect("a create has a body");
            let record = (kind, fields["id"].as_str().unwrap().to_owned());
            if self.changes.iter().any(|change| change.record == record) {
                return refusal(409, "already_exists");
            }
            self.change(record.clone(), Some(fields), Some(key));
            return self.written(201, &record);
        };
        let record = (kind, id.to_owned());
        let Some(found) = records.get(&record) else { return refusal(404, "not_found") };
        if if_match.is_some_and(|rev| json!(rev) != found["rev"]) {
            return refusal(412, "precondition_failed");
        }
        let Some(patch) = body else {
            let rev = self.delete(record, Some(key));
            return answer(200, &json!({ "data": { "id": id, "deleted": true }, "meta": { "as_of": rev } }));
        };
        let mut fields = found.clone();
        fields.extend(patch);
        if fields != *found {
            self.change(record.clone(), Some(fields), Some(key));
        }
        self.written(200, &record)
    }

    fn written(&self, status: u16, record: &Key) -> HttpResponse {
        let fields = &self.records()[record];
        let body = json!({ "data": fields, "meta": { "as_of": self.head() } });
        HttpResponse { etag: fields["rev"].as_i64().map(etag), ..answer(status, &body) }
    }
}

fn event(change: &Change) -> Event {
    serde_json::from_value(reads::event_json(change)).unwrap()
}
