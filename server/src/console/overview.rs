//! The first page of the console: the team's homes, keys and people in figures. Must not know how a figure is counted.

use askama::Template;
use hearth_contract::key::Environment;

use super::page::{Frame, refused, render};
use super::words::moment_or_never;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{self, Callers, people};
use crate::store::homes::{self, Home};
use crate::store::keys::CALLERS_MAX;
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    base_url: String,
    homes: Vec<HomeRow>,
    valid_keys: usize,
    flagged_keys: usize,
    people: usize,
    open_streams: usize,
    /// Keys and grants that are counted, where the team has more.
    counted: Option<usize>,
}

struct HomeRow {
    name: &'static str,
    id: String,
    /// The last event id.
    head: i64,
    last_change: String,
    size: String,
}

/// `GET /console`.
pub(super) async fn overview(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    let team = session.team.clone();
    let homes = app
        .db
        .read(move |tx| {
            let row = |environment, name| home_row(tx, &homes::home_of_team(tx, &team, environment)?, name);
            Ok(vec![row(Environment::Live, "Live home")?, row(Environment::Test, "Sandbox")?])
        })
        .await?;
    let Callers { keys: callers, is_cut } = operate::list_callers(&app.db, &session.team).await.map_err(refused)?;
    let now = app.clock.now();
    let valid = || callers.iter().filter(|key| key.client.is_none() && key.end_reason(now).is_none());
    let page = OverviewPage {
        frame: Frame::of(&session, "Overview"),
        base_url: app.base_url.to_string(),
        homes,
        valid_keys: valid().count(),
        flagged_keys: valid().filter(|key| key.flagged_at.is_some()).count(),
        people: people::list_people(&app.db, &session.team).await.map_err(refused)?.len(),
        counted: is_cut.then_some(CALLERS_MAX),
        open_streams: app.streams.count_of(|id| callers.iter().any(|key| key.id == id)),
    };
    render(200, &page)
}

fn home_row(tx: &Tx<'_>, home: &Home, name: &'static str) -> Result<HomeRow, StoreError> {
    let bytes = homes::used_bytes(tx, home.number)?;
    Ok(HomeRow {
        name,
        id: home.id.to_string(),
        head: home.head,
        last_change: moment_or_never(home.last_updated_at),
        size: format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0)),
    })
}
