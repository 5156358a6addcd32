//! The reads of the server in memory: identity, feed, lists, deletions and records. Must not change the server.

use serde_json::{Value, json};

use super::super::super::{HOME, answer};
use super::{Change, Server, kind_of, refusal};
use crate::sync::wire::HttpResponse;

impl Server {
    pub(super) fn read(&self, path: &str) -> HttpResponse {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parameter = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
        let list = |data: Vec<Value>, has_more: bool, cursor: Option<String>| {
            let feed = json!({ "head": self.head(), "oldest": self.oldest + 1, "retention_seconds": null });
            let page = json!({ "has_more": has_more, "next_cursor": cursor });
            answer(200, &json!({ "data": data, "meta": { "as_of": self.head(), "page": page, "feed": feed } }))
        };
        match path.trim_start_matches("/v1/") {
            "me" => {
                let home = json!({ "id": HOME, "environment": "test" });
                let me = json!({ "team": { "name": "Home" }, "home": home, "scopes": [], "rate_limits": null });
                answer(200, &json!({ "data": me, "meta": {} }))
            }
            "property" => answer(200, &json!({ "data": null, "meta": { "as_of": self.head() } })),
            "events" => match parameter("cursor").map_or(Ok(0), |cursor| self.position_of(cursor)) {
                Err(refused) => refused,
                Ok(position) => {
                    let most = parameter("limit").map_or(100, |limit| limit.parse().unwrap());
                    let changes = self.changes.iter().filter(|change| change.rev > position);
                    let changes: Vec<&Change> = changes.take(most).collect();
                    let last = changes.last().map_or(position, |change| change.rev);
                    list(changes.into_iter().map(event_json).collect(), last < self.head(), Some(self.cursor(last)))
                }
            },
            "deletions" => {
                let since: i64 = parameter("since").unwrap().parse().unwrap();
                let deleted = self.changes.iter().filter(|change| change.fields.is_none() && change.rev > since);
                let entry = |change: &Change| json!({ "type": change.record.0.to_string(), "id": change.record.1, "rev": change.rev });
                list(deleted.map(entry).collect(), false, None)
            }
            path => match path.split_once('/') {
                Some((collection, id)) => match kind_of(collection).map(|kind| (kind, id.to_owned())) {
                    Some(record) if self.records().contains_key(&record) => self.written(200, &record),
                    _ => refusal(404, "not_found"),
                },
                None => {
                    let since = parameter("updated_since").unwrap_or_default();
                    let kind = kind_of(path);
                    let records = self.records().into_iter().filter(|((of, _), fields)| {
                        Some(*of) == kind && fields["updated_at"].as_str().unwrap() >= since
                    });
                    list(records.map(|(_, fields)| Value::Object(fields)).collect(), false, None)
                }
            },
        }
    }
}

pub(super) fn event_json(change: &Change) -> Value {
    json!({
        "id": change.rev, "type": if change.fields.is_some() { "updated" } else { "deleted" },
        "resource_type": change.record.0.to_string(), "resource_id": change.record.1, "payload": change.fields,
        "created_at": change.fields.as_ref().map_or(json!("2026-06-01T00:00:00.000Z"), |all| all["updated_at"].clone()),
        "idempotency_key": change.key,
    })
}
