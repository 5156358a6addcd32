//! The results of a search in the home, page by page. Must not know how a search works.

use std::time::Instant;

use askama::Template;
use hearth_contract::schema::Kind;

use super::live::Live;
use super::rows::{Row, Rows};
use crate::console::page::{Frame, render};
use crate::home::cursor::SearchCursor;
use crate::home::search::{QUESTION, terms};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest};
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx, search};

/// Records on a page.
const HITS: usize = 25;
/// What a person does after a search that took too long.
const SLOW: &str = "The search took too long. Ask for fewer or longer words.";
/// What a person does with an address of a page that the search does not have.
const ALTERED: &str = "This address is no page of the search. Search again.";

#[derive(Template)]
#[template(path = "home/found.html")]
struct FoundPage {
    frame: Frame,
    question_max: usize,
    question: String,
    fault: Option<String>,
    rows: Vec<Row>,
    /// The address of the next page.
    next: Option<String>,
}

/// `GET /home?q=&cursor=`.
pub(super) async fn found(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let fields = request.query_fields();
    let (question, cursor) = (fields.text("q").trim().to_owned(), fields.text("cursor").to_owned());
    let show = |status: u16, fault: Option<&str>, rows: Vec<Row>, next: Option<String>| {
        let (frame, question) = (Frame::of(&session, "Search"), question.clone());
        let fault = fault.map(str::to_owned);
        render(status, &FoundPage { frame, question_max: QUESTION.1, question, fault, rows, next })
    };
    let words = match terms(&question) {
        Ok(words) => words,
        Err(bad) => return show(400, Some(&bad.sentence("The question")), Vec::new(), None),
    };
    let (team, now, db) = (session.team.clone(), request.app.clock.now(), &request.app.db);
    let deadline = Instant::now() + request.app.config.search_time_max;
    let hits = db.read_until(deadline, move |tx| {
        let live = Live::load(tx, &team, now)?;
        find(tx, &live, &words, &cursor)
    });
    match hits.await {
        Err(StoreError::TimeUp) => show(503, Some(SLOW), Vec::new(), None),
        Err(fault) => Err(fault.into()),
        Ok(None) => show(400, Some(ALTERED), Vec::new(), None),
        Ok(Some((rows, next))) => {
            let next = next.map(|cursor| {
                let pairs = vec![("q".to_owned(), question.clone()), ("cursor".to_owned(), cursor)];
                format!("/home?{}", Fields(pairs).to_query())
            });
            show(200, None, rows, next)
        }
    }
}

type Hits = (Vec<Row>, Option<String>);

/// The rows of a page, and the cursor of the next page. None: the cursor belongs to no page of this search.
fn find(tx: &Tx<'_>, live: &Live, words: &[String], cursor: &str) -> Result<Option<Hits>, StoreError> {
    let kinds = Kind::COLLECTIONS;
    let after = match cursor {
        "" => None,
        text => match SearchCursor::decode(text, live.id, words, &[]) {
            Ok(SearchCursor { fit, row, .. }) => Some((fit, row)),
            Err(_) => return Ok(None),
        },
    };
    let mut hits = search::find(tx, live.number, words, &kinds, after, HITS + 1)?;
    let has_more = hits.len() > HITS;
    hits.truncate(HITS);
    let next = hits.last().filter(|_| has_more).map(|hit| {
        let kinds = Vec::new();
        SearchCursor { fit: hit.fit, row: hit.row, kinds }.encode(live.id, words)
    });
    let mut rows = Rows::new(tx, live);
    let rows = hits.iter().map(|hit| rows.row_with_kind(hit.kind, &hit.json)).collect::<Result<_, _>>()?;
    Ok(Some((rows, next)))
}
