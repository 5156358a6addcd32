//! The first page of the home: search, what is due, what ends soon, the rooms, and what was added last. Must not know the
//! other pages.

use askama::Template;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use time::{Date, Duration};

use super::found;
use super::live::{Live, read};
use super::rows::{Row, Rows, Section};
use super::ticks::{Told, told};
use super::words::list_path;
use crate::console::page::{Frame, render};
use crate::home::search::QUESTION;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::days::{Dated, Days, by_day};
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};
use hearth_exchange::ends::ENDS;

/// Days ahead whose tasks the page shows.
const DUE_DAYS: i64 = 30;
/// Days ahead within which something ends soon.
const ENDS_DAYS: i64 = 90;
/// Days for which the page still shows what has ended.
const ENDED_DAYS: i64 = 30;
/// Rows of each part, at most: the page has at most 30 KB.
const TASKS_MAX: usize = 10;
const ENDS_MAX: usize = 6;
const ROOMS_MAX: usize = 20;
const NEW_MAX: usize = 6;

#[derive(Template)]
#[template(path = "home/front.html")]
struct FrontPage {
    frame: Frame,
    question_max: usize,
    told: Option<Told>,
    /// Where a tick leads back to.
    back: &'static str,
    due: Section,
    ends: Section,
    rooms: Section,
    new: Section,
}

/// `GET /home?q=&cursor=&done=`: the first page, or with `q` a search.
pub(in crate::console) async fn front(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let fields = request.query_fields();
    if !fields.text("q").trim().is_empty() {
        return found::found(request, session).await;
    }
    let done = fields.text("done").to_owned();
    let page = read(&request, &session, move |tx, live| {
        Ok((told(tx, live, &done)?, due(tx, live)?, ends(tx, live)?, rooms(tx, live)?, new(tx, live)?))
    });
    let (told, due, ends, rooms, new) = page.await?;
    let frame = Frame::of(&session, "Home");
    render(200, &FrontPage { frame, question_max: QUESTION.1, told, back: "/home", due, ends, rooms, new })
}

/// The day so many days after another one; the other one itself where the calendar ends.
fn after(day: Date, days: i64) -> String {
    format_date(day.checked_add(Duration::days(days)).unwrap_or(day))
}

fn due(tx: &Tx<'_>, live: &Live) -> Result<Section, StoreError> {
    let found = by_day(tx, live.number, (Kind::Task, Days::Due), ("", 0), &after(live.today, DUE_DAYS), TASKS_MAX)?;
    let mut rows = Rows::new(tx, live);
    let rows = found.iter().map(|task| rows.row(Kind::Task, &task.json)).collect::<Result<_, _>>()?;
    let more = Some((list_path(Kind::Task).to_owned(), "All tasks".to_owned()));
    Ok(Section { title: "To do".to_owned(), rows, empty: "Nothing is due in the next 30 days.", more })
}

fn ends(tx: &Tx<'_>, live: &Live) -> Result<Section, StoreError> {
    let (first, last) = (after(live.today, -ENDED_DAYS), after(live.today, ENDS_DAYS));
    let mut kinds: Vec<Kind> = ENDS.map(|end| end.kind).to_vec();
    kinds.dedup();
    let mut found: Vec<(Kind, Dated)> = Vec::new();
    for kind in kinds {
        let of_kind = by_day(tx, live.number, (kind, Days::Ends), (&first, 0), &last, ENDS_MAX)?;
        found.extend(of_kind.into_iter().map(|dated| (kind, dated)));
    }
    found.sort_by(|(_, one), (_, other)| one.day.cmp(&other.day));
    found.truncate(ENDS_MAX);
    let rows = Rows::new(tx, live);
    let rows: Vec<Row> =
        found.iter().map(|(kind, one)| rows.row_of_end(*kind, &one.json, &one.day)).collect::<Result<_, _>>()?;
    Ok(Section { title: "Ends soon".to_owned(), rows, empty: "Nothing ends in the next 90 days.", more: None })
}

fn rooms(tx: &Tx<'_>, live: &Live) -> Result<Section, StoreError> {
    let rows = first_rows(tx, live, Kind::Room, Direction::Ascending, ROOMS_MAX)?;
    let more = Some((list_path(Kind::Room).to_owned(), "All rooms".to_owned()));
    Ok(Section { title: "Rooms".to_owned(), rows, empty: "The home has no rooms yet.", more })
}

fn new(tx: &Tx<'_>, live: &Live) -> Result<Section, StoreError> {
    let rows = first_rows(tx, live, Kind::Inventory, Direction::Descending, NEW_MAX)?;
    let more = Some((list_path(Kind::Inventory).to_owned(), "All items".to_owned()));
    Ok(Section { title: "Added last".to_owned(), rows, empty: "The home has no items yet.", more })
}

fn first_rows(
    tx: &Tx<'_>,
    live: &Live,
    kind: Kind,
    direction: Direction,
    limit: usize,
) -> Result<Vec<Row>, StoreError> {
    let order = (Sort::Created, direction);
    let list = List { home: live.number, kind, order, bounds: Bounds::default(), filters: Vec::new(), limit };
    let (mut rows, mut found, mut bytes) = (Rows::new(tx, live), Vec::new(), 0);
    lists::show(tx, &list, |json| {
        found.push(rows.row(kind, json)?);
        bytes += json.len();
        Ok(bytes)
    })?;
    Ok(found)
}
