//! Calendars: create, list, delete, and the file that calendar programs read (contract 23). Must not know how a calendar is
//! written.

use hearth_contract::envelope::Page;
use hearth_contract::paths::CALENDAR_ENDING;
use hearth_contract::problem::{FaultCode, FieldFault, Problem, ProblemType, QUOTED_NAME_MAX, nearest, shorten};
use hearth_exchange::calendar::KINDS;
use ipnet::IpNet;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::once::once;
use crate::app::limits::RateClass;
use crate::home::calendar;
use crate::http::call::Call;
use crate::http::reply::{Payload, Refusal, Reply, ResponseContext};
use crate::http::web::{WebRequest, html};
use crate::operate::calendars::{self, CreatedCalendar, DEFAULT_NAME, Viewer};
use crate::operate::{NAME_RULE, is_valid_name};
use crate::random::random_bytes;
use crate::scopes::reading;
use crate::store::calendars::{Calendar, Maker, Scope, remove};
use crate::store::homes;

/// `POST /v1/calendars` (`name`): makes a calendar of the kinds that the key may read. The url is a secret: it stands in the first
/// answer alone. The stored answer has null in its place, and a repeated request gets that one.
pub async fn create(call: Call) -> Result<Reply, Refusal> {
    let name = parse_name(&call.body).map_err(|faults| Problem::validation(&faults))?;
    let context = call.context.clone();
    let (keep, made) = oneshot::channel();
    let answer = once(call, move |tx, call, home, now| {
        let key = &call.principal.key;
        let kinds = KINDS.into_iter().filter(|kind| key.scopes.contains(&reading(*kind))).collect();
        let new = CreatedCalendar::new(now, home, name, kinds, Maker::Key(key.id.clone()), random_bytes());
        if !new.insert(tx)? {
            let problem = too_many();
            return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        }
        let stored = call.context.data_reply(201, &calendar_json(&new.calendar, None).to_string(), "");
        // Without a receiver the client has left.
        let _ = keep.send(new);
        Ok((stored, None))
    });
    let answer = answer.await?;
    // A value: this request has made the calendar, and its transaction is committed if the answer says so.
    match made.await {
        Ok(new) if answer.status == 201 => {
            let url = new.url(&context.base_url);
            Ok(context.data_reply(201, &calendar_json(&new.calendar, Some(&url)).to_string(), ""))
        }
        _ => Ok(answer),
    }
}

/// `GET /v1/calendars`: the calendars that the key made, the oldest first.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let viewer = Viewer::Maker(Maker::Key(call.principal.key.id.clone()));
    let found = calendars::list(&call.app.db, viewer).await?;
    let texts: Vec<String> = found.iter().map(|calendar| calendar_json(calendar, None).to_string()).collect();
    Ok(call.context.list_reply(&texts, &Page { has_more: false, next_cursor: None }, ""))
}

/// `DELETE /v1/calendars/{id}`: ends a calendar that the key made. An unknown one succeeds too.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let text = call.id.clone().unwrap_or_default();
    let Some(id) = hearth_contract::formats::parse_id(&text) else {
        let message = format!("No calendar `{}`.", shorten(&text, QUOTED_NAME_MAX));
        return Err(Problem::new(ProblemType::NotFound, message)
            .with_fix("List the calendars to find their ids.")
            .into());
    };
    once(call, move |tx, call, _, _| {
        let maker = Maker::Key(call.principal.key.id.clone());
        remove(tx, Scope::Of(&maker), &id.to_string())?;
        Ok((call.context.data_reply(200, &json!({ "id": id, "deleted": true }).to_string(), ""), None))
    })
    .await
}

/// `GET /calendar/{token}.ics`: the calendar for programs that subscribe to it.
pub async fn file(request: WebRequest) -> Result<Reply, Refusal> {
    let app = &request.app;
    let token = request.segment.as_deref().and_then(|segment| segment.strip_suffix(CALENDAR_ENDING));
    let now = app.clock.now();
    let found = calendars::find(&app.db, token.unwrap_or_default(), now).await?;
    let Some((calendar, networks)) = found else { return Err(unknown().into()) };
    let networks = networks.iter().filter_map(|network| network.parse::<IpNet>().ok()).collect::<Vec<_>>();
    if !networks.is_empty() && !request.peer.is_some_and(|peer| networks.iter().any(|one| one.contains(&peer))) {
        return Err(unknown().into());
    }
    let counted = app.calendar_limits.count_call(&calendar.id, RateClass::Read, app.clock.elapsed());
    if let Some(window) = counted.filter(|window| window.is_refused) {
        let message = format!("The calendar was read {} times in this minute.", window.limit);
        let problem = Problem::new(ProblemType::RateLimited, message);
        return Err(problem.with("retry_after_seconds", window.retry_after_seconds()).into());
    }
    keep_last_use(&request, &calendar);
    let known = request.header("if-none-match").unwrap_or_default();
    let (home, name, kinds) = (calendar.home, calendar.name, calendar.kinds);
    let read = app.db.read(move |tx| {
        let home = homes::load(tx, home)?;
        // The text depends on the records alone: the position names it, in the epoch that wrote last.
        let etag = format!("\"{}-{}\"", home.epoch.unwrap_or_default(), home.head);
        let is_known = known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag);
        let text = if is_known { None } else { Some(calendar::text(tx, home.number, &name, &kinds)?) };
        Ok((etag, text))
    });
    let (etag, text) = read.await?;
    let reply = match text {
        None => Reply { status: 304, headers: Vec::new(), payload: Payload::Empty },
        Some(text) => {
            let reply =
                Reply { status: 200, headers: Vec::new(), payload: Payload::Text("text/calendar", text.into()) };
            reply
                .with_header("content-type", "text/calendar; charset=utf-8")
                .with_header("content-disposition", "inline; filename=\"hearth.ics\"")
        }
    };
    Ok(with_headers(reply.with_header("etag", etag)))
}

/// Writes a refusal of the file as one line of text: people read it in the log of their calendar program.
pub fn refuse(context: &ResponseContext, problem: &Problem) -> Reply {
    let text = format!("{} {}\n", problem.message, problem.fix.as_deref().unwrap_or(problem.kind.fix()));
    let page = html(problem.kind.status(), text).with_header("content-type", "text/plain; charset=utf-8");
    let headers = context.problem_reply(problem).headers;
    let kept = headers.into_iter().filter(|(name, _)| matches!(*name, "allow" | "retry-after"));
    with_headers(kept.fold(page, |page, (name, value)| page.with_header(name, value)))
}

fn with_headers(reply: Reply) -> Reply {
    reply.with_header("cache-control", "no-store").with_header("x-content-type-options", "nosniff")
}

/// The reader does not wait for the write.
fn keep_last_use(request: &WebRequest, calendar: &Calendar) {
    let now = request.app.clock.now();
    if !calendars::is_last_use_due(calendar, now) {
        return;
    }
    let (app, id) = (request.app.clone(), calendar.id.clone());
    tokio::spawn(async move {
        if let Err(error) = calendars::touch(&app.db, id, now).await {
            tracing::debug!(%error, "the last use of a calendar was not kept");
        }
    });
}

fn unknown() -> Problem {
    Problem::new(ProblemType::NotFound, "There is no calendar at this address; it may have been removed.")
        .with_fix("Make a new one on the page Calendars of the console, or with `hearth-replica calendar`.")
}

fn too_many() -> Problem {
    let message = format!("This home has {} calendars, the most it may have.", calendars::CALENDARS_MAX);
    Problem::new(ProblemType::RateLimited, message)
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Delete a calendar that no program reads any more: its place is free at once.")
}

/// Retry-After of the refusal over the limit of calendars, in seconds.
const RETRY_SECONDS: u64 = 60;

fn calendar_json(calendar: &Calendar, url: Option<&str>) -> Value {
    json!({
        "id": calendar.id,
        "name": calendar.name,
        "url": url,
        "created_at": calendar.created_at,
        "last_used_at": calendar.last_used_at,
    })
}

/// The name in the body; without one, a default. Errors: all field faults.
fn parse_name(body: &Value) -> Result<String, Vec<FieldFault>> {
    let Value::Object(members) = body else {
        return Err(vec![FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.")]);
    };
    let (mut name, mut faults) = (DEFAULT_NAME.to_owned(), Vec::new());
    for (member, value) in members {
        match (member.as_str(), value) {
            ("name", Value::Null) => (),
            ("name", Value::String(text)) if is_valid_name(text) => name.clone_from(text),
            ("name", Value::String(_)) => {
                faults.push(FieldFault::new("name", FaultCode::InvalidFormat, format!("Wrong name: {NAME_RULE}.")));
            }
            ("name", _) => faults.push(FieldFault::new("name", FaultCode::WrongType, "name must be a string.")),
            _ => {
                let near = nearest(member, ["name"]).map(|near| format!("; did you mean {near}?"));
                let member = shorten(member, QUOTED_NAME_MAX);
                let message = format!("A calendar has no field {member}{}", near.as_deref().unwrap_or("."));
                faults.push(FieldFault::new(member, FaultCode::UnknownField, message));
            }
        }
        if faults.len() == hearth_contract::problem::FAULTS_MAX {
            break;
        }
    }
    if faults.is_empty() { Ok(name) } else { Err(faults) }
}
