//! The page of API versions: their dates, and which keys are pinned to them. Must not know what a version changes.

use askama::Template;
use hearth_contract::formats::format_date;

use super::page::{Frame, refused, render};
use super::words::moment_or_never;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::operate::{self, Callers};
use crate::store::keys::{CALLERS_MAX, Key};
use crate::store::sessions::Session;
use crate::versions::{VERSIONS, Version};

/// Keys that the page shows: those with the oldest pin.
const KEYS_SHOWN: usize = 80;

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage {
    frame: Frame,
    versions: Vec<VersionRow>,
    keys: Vec<PinRow>,
    /// Keys that are not shown.
    keys_left: usize,
    /// Keys and grants that are counted, where the team has more.
    counted: Option<usize>,
}

struct VersionRow {
    name: &'static str,
    status: &'static str,
    released: String,
    deprecated: String,
    sunset: String,
    keys: usize,
}

/// A key or a grant, with its pin.
struct PinRow {
    /// The id of the key. None: a grant, which has no page of this kind.
    id: Option<String>,
    name: String,
    pinned: String,
    /// The version that answers requests without a version header.
    answers: &'static str,
    sunset: String,
    last_used: String,
}

/// `GET /console/versions`.
pub(super) async fn versions(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let (app, now) = (&request.app, request.app.clock.now());
    let Callers { mut keys, is_cut } = operate::list_callers(&app.db, &session.team).await.map_err(refused)?;
    keys.retain(|key| key.end_reason(now).is_none());
    keys.sort_by(|one, other| one.pinned.cmp(&other.pinned));
    let versions = VERSIONS.iter().rev().map(|version| version_row(version, &keys)).collect();
    let keys_left = keys.len().saturating_sub(KEYS_SHOWN);
    let row = |key: Key| {
        let answers = Version::from_pin(&key.pinned, now);
        PinRow {
            id: key.client.is_none().then_some(key.id),
            name: key.name,
            pinned: key.pinned,
            answers: answers.name,
            sunset: sunset(answers),
            last_used: moment_or_never(key.last_used_at),
        }
    };
    let keys = keys.into_iter().take(KEYS_SHOWN).map(row).collect();
    let (frame, counted) = (Frame::of(&session, "API versions"), is_cut.then_some(CALLERS_MAX));
    render(200, &VersionsPage { frame, versions, keys, keys_left, counted })
}

fn version_row(version: &'static Version, keys: &[Key]) -> VersionRow {
    let past = version.past.as_ref();
    VersionRow {
        name: version.name,
        status: version.status(),
        released: format_date(version.released_on),
        deprecated: past.map_or_else(|| "–".to_owned(), |past| format_date(past.deprecated_on)),
        sunset: sunset(version),
        keys: keys.iter().filter(|key| key.pinned == version.name).count(),
    }
}

/// The first day on which a version is refused.
fn sunset(version: &Version) -> String {
    version.past.as_ref().map_or_else(|| "not planned".to_owned(), |past| format_date(past.sunset_on))
}
