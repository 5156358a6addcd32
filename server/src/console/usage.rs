//! The pages of usage: requests by window, for each key and each day. Must not know how requests are counted.

use std::collections::BTreeMap;

use askama::Template;

use super::page::{Frame, not_found, refused, render};
use super::words::day;
use crate::app::usage::{DAYS_KEPT, start_of_day};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{self, Callers};
use crate::store::keys::CALLERS_MAX;
use crate::store::sessions::Session;
use crate::store::usage::Counts;

/// Keys that the page shows: those with the most requests.
const KEYS_SHOWN: usize = 60;
/// The page, as the target of links.
const PAGE: (&str, &str) = ("/console/usage", "To the usage of all keys");

#[derive(Template)]
#[template(path = "usage.html")]
struct UsagePage {
    frame: Frame,
    /// The name of the key whose days are shown. None: all keys.
    of_key: Option<String>,
    /// Id, name and sums of each key; empty on the page of one key.
    keys: Vec<(String, String, Counts)>,
    /// Keys with requests that are not shown.
    keys_left: usize,
    /// Keys and grants that are counted, where the team has more.
    counted: Option<usize>,
    /// The days with requests, the latest first.
    days: Vec<(String, Counts)>,
    days_kept: i64,
}

/// `GET /console/usage?key=`: the keys and the days, or the days of one key (id).
pub(super) async fn usage(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, fields) = (&request.app, request.query_fields());
    let wanted = Some(fields.text("key")).filter(|id| !id.is_empty());
    let (known, is_cut) = match wanted {
        Some(id) => {
            let found = operate::team_key(&app.db, &session.team, id).await.map_err(refused)?;
            (vec![found.ok_or_else(|| not_found(&session, "key", PAGE))?], false)
        }
        None => {
            let Callers { keys, is_cut } = operate::list_callers(&app.db, &session.team).await.map_err(refused)?;
            (keys, is_cut)
        }
    };
    let of_key = known.first().filter(|_| wanted.is_some()).map(|key| key.name.clone());
    let ids = known.iter().map(|key| key.id.clone()).collect();
    let (mut by_key, mut by_day) = (BTreeMap::<String, Counts>::new(), BTreeMap::<i64, Counts>::new());
    for row in app.usage.of_keys(&app.db, ids, app.clock.now()).await? {
        *by_day.entry(row.day).or_default() += row.counts;
        *by_key.entry(row.key).or_default() += row.counts;
    }
    let mut keys: Vec<_> = known
        .into_iter()
        .filter(|_| wanted.is_none())
        .filter_map(|key| by_key.get(&key.id).map(|counts| (key.id, key.name, *counts)))
        .collect();
    keys.sort_by_key(|(_, _, counts)| std::cmp::Reverse(counts.reads + counts.writes + counts.bulk + counts.refused));
    let keys_left = keys.len().saturating_sub(KEYS_SHOWN);
    keys.truncate(KEYS_SHOWN);
    let days = by_day.into_iter().rev().map(|(number, counts)| (day(start_of_day(number)), counts)).collect();
    let title = of_key.as_ref().map_or_else(|| "Usage".to_owned(), |name| format!("Usage of {name}"));
    let frame = Frame::of(&session, &title);
    render(
        200,
        &UsagePage {
            frame,
            of_key,
            keys,
            keys_left,
            counted: is_cut.then_some(CALLERS_MAX),
            days,
            days_kept: DAYS_KEPT,
        },
    )
}
