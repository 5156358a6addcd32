//! The page of the latest requests. Shows no query, no body and no secret. Must not know how requests are remembered.

use askama::Template;

use super::page::{Frame, refused, render};
use super::words::moment_to_second;
use crate::app::recent::{REQUESTS_MAX, Request};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate;
use crate::store::keys::Key;
use crate::store::sessions::Session;

/// Requests on one page.
const PAGE: usize = 60;

#[derive(Template)]
#[template(path = "requests.html")]
struct RequestsPage {
    frame: Frame,
    requests: Vec<RequestRow>,
    /// The number that leads to the older requests. None: there are none.
    older: Option<u64>,
    is_first: bool,
    /// Whether requests without a valid key are shown.
    has_strangers: bool,
    requests_max: usize,
}

struct RequestRow {
    at: String,
    method: Box<str>,
    path: Box<str>,
    status: u16,
    is_refused: bool,
    ms: String,
    /// The id of the key. None: no valid key, or a grant, which has no page of this kind.
    key: Option<String>,
    /// The hint of the key; of a grant its name.
    hint: Option<String>,
    id: Box<str>,
}

/// `GET /console/requests?before=`: the latest requests of the team's keys. Requests without a valid key belong to no team, so
/// they are shown only where the server has one team.
pub(super) async fn requests(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let app = &request.app;
    let before = request.query_fields().text("before").parse().ok();
    let has_strangers = operate::teams(&app.db).await.map_err(refused)?.len() == 1;
    let teams = [Some(&*session.team), None];
    let teams = if has_strangers { &teams[..] } else { &teams[..1] };
    let (found, has_more) = app.recent.page(teams, before.unwrap_or(u64::MAX), PAGE);
    let keys = operate::list_callers(&app.db, &session.team).await.map_err(refused)?.keys;
    let page = RequestsPage {
        frame: Frame::of(&session, "Requests"),
        older: found.last().filter(|_| has_more).map(|request| request.number),
        is_first: before.is_none(),
        requests: found.into_iter().map(|one| row(one.request, &keys)).collect(),
        has_strangers,
        requests_max: REQUESTS_MAX,
    };
    render(200, &page)
}

fn row(request: Request, keys: &[Key]) -> RequestRow {
    let key = request.key.and_then(|id| keys.iter().find(|key| *key.id == *id));
    RequestRow {
        at: moment_to_second(request.at),
        method: request.method,
        path: request.path,
        status: request.status,
        is_refused: request.status >= 400,
        ms: format!("{:.1}", request.took.as_secs_f64() * 1000.0),
        key: key.filter(|key| key.client.is_none()).map(|key| key.id.clone()),
        hint: key.map(|key| if key.client.is_none() { key.hint.clone() } else { key.name.clone() }),
        id: request.request_id,
    }
}
