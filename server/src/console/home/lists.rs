//! All records of a kind, page by page: items, rooms, documents, vehicles, tasks. Must not know what a row shows.

use std::collections::BTreeSet;

use askama::Template;
use hearth_contract::formats::parse_id;
use hearth_contract::schema::Kind;

use super::live::{Live, find, read};
use super::rows::{Row, Rows, href, title};
use super::ticks::{Told, told};
use super::words::{kind_words, list_path};
use crate::console::page::{Frame, notice, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest};
use crate::store::days::{Days, by_day};
use crate::store::filter::Filter;
use crate::store::lists::{self, List};
use crate::store::records::{Bounds, Direction, Sort};
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

/// Records on a page.
const ROWS: usize = 30;
/// A day after all days.
const LAST_DAY: &str = "9999-12-31";

#[derive(Template)]
#[template(path = "home/list.html")]
struct ListPage {
    frame: Frame,
    told: Option<Told>,
    /// The address of this page, for the way back after a tick.
    back: String,
    /// Address, words and presence of the parts of the list of tasks; else empty.
    parts: Vec<(&'static str, &'static str, bool)>,
    /// The address and the title of the record whose records are shown. None: all records.
    about: Option<(String, String)>,
    rows: Vec<Row>,
    empty: &'static str,
    /// The address of the next page.
    next: Option<String>,
}

/// `GET /home/items?room=&after=`.
pub(in crate::console) async fn items(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let choice =
        Choice { field: Some(("room", "room_id")), ..Choice::all(Kind::Inventory, "There are no items here yet.") };
    list(request, session, choice).await
}

/// `GET /home/rooms?after=`.
pub(in crate::console) async fn rooms(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let order = (Sort::Created, Direction::Ascending);
    list(request, session, Choice { order, ..Choice::all(Kind::Room, "The home has no rooms yet.") }).await
}

/// `GET /home/documents?about=&after=`.
pub(in crate::console) async fn documents(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let choice = Choice {
        field: Some(("about", "subject_id")),
        ..Choice::all(Kind::Document, "There are no documents here yet.")
    };
    list(request, session, choice).await
}

/// `GET /home/vehicles?after=`.
pub(in crate::console) async fn vehicles(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    list(request, session, Choice::all(Kind::Vehicle, "The home has no vehicles yet.")).await
}

/// `GET /home/tasks?show=days|open|done&about=&after=`: open tasks by their days, open tasks without a day, done tasks, or the
/// tasks about a record.
pub(in crate::console) async fn tasks(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let fields = request.query_fields();
    let all = Choice::all(Kind::Task, "There are no tasks here yet.");
    let choice = match fields.text("show") {
        _ if !fields.text("about").is_empty() => Choice { field: Some(("about", "subject_id")), ..all },
        "done" => {
            let filters = vec![filter("status", &[Some("done")])];
            Choice {
                show: "done",
                filters,
                order: (Sort::Updated, Direction::Descending),
                empty: "No task is done yet.",
                ..all
            }
        }
        "open" => {
            let filters = vec![filter("due_on", &[None]), filter("status", &[Some("open"), Some("in_progress")])];
            Choice { show: "open", filters, empty: "Every open task has a day.", ..all }
        }
        _ => Choice { show: "days", empty: "No open task has a day.", ..all },
    };
    list(request, session, choice).await
}

/// Which records of a kind a list shows.
struct Choice {
    kind: Kind,
    /// The part of the list of tasks; "" elsewhere.
    show: &'static str,
    /// A parameter with the id of another record, and the field that must name it.
    field: Option<(&'static str, &'static str)>,
    filters: Vec<Filter>,
    order: (Sort, Direction),
    empty: &'static str,
}

impl Choice {
    fn all(kind: Kind, empty: &'static str) -> Choice {
        let order = (Sort::Created, Direction::Descending);
        Choice { kind, show: "", field: None, filters: Vec::new(), order, empty }
    }
}

fn filter(field: &'static str, values: &[Option<&str>]) -> Filter {
    Filter { field, values: values.iter().map(|value| value.map(str::to_owned)).collect::<BTreeSet<_>>() }
}

/// What a page shows: the rows, and the place after which the next page begins.
struct Shown {
    told: Option<Told>,
    about: Option<(String, String)>,
    rows: Vec<Row>,
    next: Option<String>,
}

async fn list(request: WebRequest, session: Session, choice: Choice) -> Result<Reply, Refusal> {
    let fields = request.query_fields();
    let Choice { kind, show, field, mut filters, order, empty } = choice;
    let (after, done) = (fields.text("after").to_owned(), fields.text("done").to_owned());
    let mut kept = Vec::new();
    if !show.is_empty() && show != "days" {
        kept.push(("show".to_owned(), show.to_owned()));
    }
    let other = field.and_then(|(parameter, name)| Some((parameter, name, parse_id(fields.text(parameter))?)));
    if let Some((parameter, name, id)) = other {
        let id = id.to_string();
        kept.push((parameter.to_owned(), id.clone()));
        filters.push(filter(name, &[Some(&id)]));
    }
    let shown = read(&request, &session, move |tx, live| {
        let told = told(tx, live, &done)?;
        let about = match other {
            Some((_, _, id)) => [Kind::Inventory, Kind::Vehicle, Kind::Room]
                .into_iter()
                .find_map(|kind| find(tx, live.number, kind, id).transpose()),
            None => None,
        };
        let about = about.transpose()?.map(|record| (href(&record), title(&record)));
        let page = match show {
            "days" => by_days(tx, live, &after)?,
            _ => in_order(tx, live, (kind, order), filters, &after)?,
        };
        Ok(page.map(|(rows, next)| Shown { told, about, rows, next }))
    });
    let list_address = list_path(kind);
    let Some(Shown { told, about, rows, next }) = shown.await? else {
        let text = "This address is no page of the list. Open the list from its beginning.";
        let back = Some((list_address, "To the beginning of the list"));
        return Err(notice(400, Frame::of(&session, "No such page"), text, back).into());
    };
    let address = |more: Option<String>| {
        let pairs: Vec<_> = kept.iter().cloned().chain(more.map(|after| ("after".to_owned(), after))).collect();
        if pairs.is_empty() { list_address.to_owned() } else { format!("{list_address}?{}", Fields(pairs).to_query()) }
    };
    let parts = match show {
        "" => Vec::new(),
        _ => vec![
            ("/home/tasks", "With a day", show == "days"),
            ("/home/tasks?show=open", "Without a day", show == "open"),
            ("/home/tasks?show=done", "Done", show == "done"),
        ],
    };
    let (back, next) = (address(None), next.map(|after| address(Some(after))));
    let frame = Frame::of(&session, kind_words(kind).1);
    render(200, &ListPage { frame, told, back, parts, about, rows, empty, next })
}

type Rowed = Option<(Vec<Row>, Option<String>)>;

/// A page in the order of creation or change. None: `after` is no place of a list.
fn in_order(
    tx: &Tx<'_>,
    live: &Live,
    (kind, order): (Kind, (Sort, Direction)),
    filters: Vec<Filter>,
    after: &str,
) -> Result<Rowed, StoreError> {
    let after = match after {
        "" => None,
        text => match text.parse::<i64>() {
            Ok(after) => Some(after),
            Err(_) => return Ok(None),
        },
    };
    let bounds = Bounds { after, ..Bounds::default() };
    let list = List { home: live.number, kind, order, bounds, filters, limit: ROWS };
    let (mut rows, mut found, mut bytes) = (Rows::new(tx, live), Vec::new(), 0);
    let next = lists::show(tx, &list, |json| {
        found.push(rows.row(kind, json)?);
        bytes += json.len();
        Ok(bytes)
    })?;
    Ok(Some((found, next.map(|after| after.to_string()))))
}

/// A page of the open tasks by their days. None: `after` is no place of the list.
fn by_days(tx: &Tx<'_>, live: &Live, after: &str) -> Result<Rowed, StoreError> {
    let place = match after {
        "" => Some(("", 0)),
        text => text.split_once('_').and_then(|(day, created)| Some((day, created.parse().ok()?))),
    };
    let Some(place) = place else { return Ok(None) };
    let mut found = by_day(tx, live.number, (Kind::Task, Days::Due), place, LAST_DAY, ROWS + 1)?;
    let has_more = found.len() > ROWS;
    found.truncate(ROWS);
    let next = found.last().filter(|_| has_more).map(|last| format!("{}_{}", last.day, last.created));
    let mut rows = Rows::new(tx, live);
    let rows = found.iter().map(|task| rows.row(Kind::Task, &task.json)).collect::<Result<_, _>>()?;
    Ok(Some((rows, next)))
}
