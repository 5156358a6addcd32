//! HTTP requests and responses as plain values, and what responses mean. Must not know how bytes travel, nor whether to try
//! again.

mod message;
mod refusal;
mod request;
mod response;
#[cfg(test)]
mod tests;

pub use message::{HttpRequest, HttpResponse};
pub(super) use refusal::{edit_failure, refusal};
pub(super) use request::VERSION;
pub(super) use response::{
    NOT_HEARTH, bulk_answers, check_event, data, edit_answer, feed_head, identity, page, poll_batch,
    reconcile_response, record,
};
