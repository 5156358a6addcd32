//! A task is done, or open again; and the note about the task that was ticked last. Must not know the pages with tasks.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions};
use hearth_contract::formats::parse_id;
use hearth_contract::recurrence::{is_done, next_id};
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::live::{Live, find, text};
use super::rows::title;
use super::words::{day_text, list_path};
use super::write::commit;
use crate::console::page::{Frame, not_found, notice};
use crate::console::session::safe_next;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::random::fresh_id;
use crate::store::people::Role;
use crate::store::sessions::Session;
use crate::store::{StoreError, Tx};

/// The list of tasks, as the target of a link.
const LIST: (&str, &str) = (list_path(Kind::Task), "To the tasks");

/// The note about a task that was ticked.
pub(super) struct Told {
    /// The id of the task, for the button that opens it again.
    pub(super) id: String,
    /// The title of the task.
    pub(super) title: String,
    /// The due day of the next task of the series.
    pub(super) next: Option<String>,
}

/// The note about the task that the address of a page names. None: the text names no task that is done.
pub(super) fn told(tx: &Tx<'_>, live: &Live, id: &str) -> Result<Option<Told>, StoreError> {
    let Some(id) = parse_id(id) else { return Ok(None) };
    let Some(task) = find(tx, live.number, Kind::Task, id)?.filter(|task| is_done(&task.fields)) else {
        return Ok(None);
    };
    let next = find(tx, live.number, Kind::Task, next_id(id))?.filter(|next| !is_done(&next.fields));
    let next = next.map(|next| day_text(text(&next, "due_on"))).filter(|day| !day.is_empty());
    Ok(Some(Told { id: id.to_string(), title: title(&task), next }))
}

/// `POST /home/tasks/{id}/done` (`next`: the page to go back to).
pub(in crate::console) async fn done(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    set_status(request, session, "done", |next, id| {
        let mark = if next.contains('?') { '&' } else { '?' };
        format!("{next}{mark}done={id}")
    })
    .await
}

/// `POST /home/tasks/{id}/reopen` (`next`).
pub(in crate::console) async fn reopen(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    set_status(request, session, "open", |next, _| next).await
}

async fn set_status(
    request: WebRequest,
    session: Session,
    status: &'static str,
    and_then: impl FnOnce(String, Uuid) -> String + Send + 'static,
) -> Result<Reply, Refusal> {
    let Some(id) = request.segment.as_deref().and_then(parse_id) else { return Err(not_found(&session, "task", LIST)) };
    let next = safe_next(request.form().text("next"), Role::Member);
    let body = check(Kind::Task, Intent::Patch, &json!({ "status": status }));
    let preconditions = Preconditions::default();
    let command = Command::Update { kind: Kind::Task, id: Some(id), body, preconditions };
    let written = commit(&request, &session, None, move |writing, now| {
        let outcome = writing.apply(command, &mut || fresh_id(now))?;
        Ok(outcome.map(|_| and_then(next, id)))
    });
    match written.await? {
        Ok(reply) => Ok(reply),
        Err(problem) if problem.kind.status() == 404 => Err(not_found(&session, "task", LIST)),
        Err(problem) => {
            Err(notice(problem.kind.status(), Frame::of(&session, "Not possible"), &problem.message, Some(LIST)).into())
        }
    }
}
