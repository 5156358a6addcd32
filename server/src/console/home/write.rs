//! How a form of the home becomes a write: the same function as for the API, once for each form, under the name of the person.
//! Must not know what a form contains.

use hearth_contract::formats::{Timestamp, parse_id};
use hearth_contract::key::Environment;
use hearth_contract::problem::Problem;
use serde_json::Value;

use crate::api::once::{Answer, once_in_home};
use crate::home::apply::HomeWriter;
use crate::home::receipts::Ticket;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::random::fresh_id;
use crate::store::sessions::Session;
use crate::store::{StoreError, homes};

/// The name of the field with the id of a form.
pub(super) const FORM: &str = "form";

/// The id of a new form. A form that is sent twice writes once.
pub(super) fn new_form_id(request: &WebRequest) -> String {
    fresh_id(request.app.clock.now()).to_string()
}

/// The identity of a form that was sent: its id and its values. None: the form has no id, so each sending writes.
pub(super) fn ticket(request: &WebRequest, id: &str, values: &Value) -> Option<Ticket> {
    parse_id(id).map(|id| Ticket::new(&id.to_string(), "POST", &request.target, values, ""))
}

/// Carries out a write to the live home of the person. `work` gives the address of the next page, or the refusal, after which
/// nothing is written. The inner error is that refusal, or one of the write itself.
pub(super) async fn commit(
    request: &WebRequest,
    session: &Session,
    ticket: Option<Ticket>,
    work: impl FnOnce(&mut HomeWriter<'_, '_>, Timestamp) -> Result<Result<String, Problem>, StoreError> + Send + 'static,
) -> Result<Result<Reply, Problem>, Refusal> {
    let (app, team, author) = (&request.app, session.team.clone(), session.name.clone());
    let number = app.db.read_inline(move |tx| Ok(homes::home_of_team(tx, &team, Environment::Live)?.number)).await?;
    let (epoch, key) = (app.db.epoch(), ticket.as_ref().map(|ticket| ticket.key.clone()));
    let written = once_in_home(app, number, None, ticket, move |tx, now| {
        let mut writing = HomeWriter::begin(tx, number, epoch, now, author, key)?;
        let next = work(&mut writing, now)?;
        writing.finish()?;
        Ok(match next {
            Ok(next) => Answer::Reply { reply: redirect(next), is_stored: true },
            Err(problem) => Answer::Refused(problem),
        })
    });
    // A stored reply is sent again as the browser got it first.
    Ok(written.await?.map(|reply| redirect(reply.header("location").unwrap_or("/home").to_owned())))
}
