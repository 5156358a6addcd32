//! The page of the change feed: head and horizon, how far each reader has come, and the latest events. A part of the page is
//! also sent alone, so that the script can renew it. Reads only. Must not know cursors or transport.

use askama::Template;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;

use super::page::{Frame, refused, render};
use super::words::{moment_to_second, span_until};
use crate::app::App;
use crate::app::readers::{Progress, Way};
use crate::home::lag::{CursorEnd, Lag, lag_of};
use crate::home::latest::{LatestEvent, latest_events};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate;
use crate::store::homes::Home;
use crate::store::keys::Key;
use crate::store::sessions::Session;
use crate::store::{events, homes};

/// Events that the page shows, the newest first.
const EVENTS_SHOWN: usize = 40;
/// Readers that the page shows: those that are furthest behind.
const READERS_SHOWN: usize = 40;

#[derive(Template)]
#[template(path = "feed.html")]
struct FeedPage {
    frame: Frame,
    state: State,
}

/// The part of the page that the script renews.
#[derive(Template)]
#[template(path = "feed_state.html")]
struct FeedPart {
    state: State,
}

/// The feed of a home at one moment.
struct State {
    environment: &'static str,
    head: i64,
    /// The lowest event id in the log. None: the log is empty.
    oldest: Option<i64>,
    /// The position up to which events are older than retention.
    horizon: i64,
    /// How long events are kept. None: forever.
    retention: Option<String>,
    readers: Vec<ReaderRow>,
    /// Readers that are not shown.
    readers_left: usize,
    events: Vec<EventRow>,
}

struct ReaderRow {
    /// The id of the key. None: a grant, which has no page of this kind.
    key: Option<String>,
    name: String,
    way: &'static str,
    position: i64,
    events: i64,
    behind: String,
    end: String,
    is_ended: bool,
    served: String,
}

struct EventRow {
    id: i64,
    at: String,
    what: &'static str,
    kind: &'static str,
    title: Option<String>,
    record: String,
    by: Option<String>,
}

/// `GET /console/feed?home=live|test`.
pub(super) async fn feed(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let state = state(&request, &session).await?;
    render(200, &FeedPage { frame: Frame::of(&session, "Change feed"), state })
}

/// `GET /console/feed/tail?home=live|test`: the changing part of the page.
pub(super) async fn tail(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    render(200, &FeedPart { state: state(&request, &session).await? })
}

async fn state(request: &WebRequest, session: &Session) -> Result<State, Refusal> {
    let app = &request.app;
    let environment = Environment::parse(request.query_fields().text("home")).unwrap_or(Environment::Live);
    let mut keys = operate::list_callers(&app.db, &session.team).await.map_err(refused)?.keys;
    keys.retain(|key| key.environment == environment);
    let now = app.clock.now();
    let mut readers = app.readers.of_keys(|id| keys.iter().any(|key| key.id == id), now);
    readers.sort_by(|one, other| (one.position, &one.key).cmp(&(other.position, &other.key)));
    let readers_left = readers.len().saturating_sub(READERS_SHOWN);
    readers.truncate(READERS_SHOWN);
    let (home, oldest, latest, lags, readers) = read(app, session, environment, readers, now).await?;
    Ok(State {
        environment: environment.as_str(),
        head: home.head,
        oldest,
        horizon: home.retention_pos,
        retention: app.config.retention.map(|kept| span_until(now, now.plus_millis(kept.as_millis() as i64))),
        readers: readers.iter().zip(lags).map(|(reader, lag)| reader_row(reader, lag, &keys, now)).collect(),
        readers_left,
        events: latest.into_iter().map(event_row).collect(),
    })
}

type Found = (Home, Option<i64>, Vec<LatestEvent>, Vec<Lag>, Vec<Progress>);

async fn read(
    app: &App,
    session: &Session,
    environment: Environment,
    readers: Vec<Progress>,
    now: Timestamp,
) -> Result<Found, Refusal> {
    let (team, retention) = (session.team.clone(), app.config.retention);
    let found = app.db.read(move |tx| {
        let home = homes::home_of_team(tx, &team, environment)?;
        let lag = |reader: &Progress| lag_of(tx, &home, reader.position, reader.is_backfill, now, retention);
        let lags = readers.iter().map(lag).collect::<Result<_, _>>()?;
        let latest = latest_events(tx, home.number, EVENTS_SHOWN)?;
        Ok((home.clone(), events::oldest_id(tx, home.number)?, latest, lags, readers))
    });
    Ok(found.await?)
}

fn reader_row(reader: &Progress, lag: Lag, keys: &[Key], now: Timestamp) -> ReaderRow {
    let key = keys.iter().find(|key| key.id == reader.key);
    ReaderRow {
        key: key.filter(|key| key.client.is_none()).map(|key| key.id.clone()),
        name: key.map(|key| key.name.clone()).unwrap_or_default(),
        way: match (reader.way, reader.is_open) {
            (Way::Poll, _) => "poll",
            (Way::Stream, true) => "stream",
            (Way::Stream, false) => "stream, closed",
        },
        position: reader.position,
        events: lag.events,
        behind: lag.since.map_or_else(|| "up to date".to_owned(), |since| span_until(since, now)),
        end: match lag.end {
            CursorEnd::Never => "never".to_owned(),
            CursorEnd::NotInBackfill => "not during its first download".to_owned(),
            CursorEnd::Already => "already".to_owned(),
            CursorEnd::NotBefore(at) if at <= now => "at any moment".to_owned(),
            CursorEnd::NotBefore(at) => format!("in {}", span_until(now, at)),
        },
        is_ended: lag.end == CursorEnd::Already,
        served: moment_to_second(reader.at),
    }
}

fn event_row(event: LatestEvent) -> EventRow {
    EventRow {
        id: event.id,
        at: moment_to_second(event.at),
        what: event.event_type.as_str(),
        kind: event.kind.as_str(),
        title: event.title,
        record: event.record.to_string(),
        by: event.by,
    }
}
