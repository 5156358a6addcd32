//! What the consent page and the device page share. Must not know what they ask.

use serde_json::Value;

use crate::config::origin;
use crate::console::page::{Frame, POLICY, notice, with_headers};
use crate::http::reply::{Payload, Refusal, Reply};
use crate::http::route::HandlerFuture;
use crate::http::web::{Fields, WebRequest};

/// The owner's decision in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Give access.
    Allow,
    /// Give no access.
    Deny,
}

impl Outcome {
    /// Reads the field `decision`. None: it holds neither word.
    pub(super) fn read(form: &Fields) -> Option<Outcome> {
        match form.text("decision") {
            "allow" => Some(Outcome::Allow),
            "deny" => Some(Outcome::Deny),
            _ => None,
        }
    }
}

/// A refusal as a page.
pub(super) fn notice_page(status: u16, title: &str, text: &str) -> Refusal {
    notice(status, Frame::public(title), text, None).into()
}

/// Turns a refusal for programs into a page, and refuses a server without a console, on which nobody can sign in.
pub(super) fn admitted(admitted: Result<(), Reply>, request: &WebRequest) -> Result<(), Refusal> {
    if let Err(reply) = admitted {
        let about = match &reply.payload {
            Payload::Json(text) => serde_json::from_str::<Value>(text).unwrap_or_default(),
            _ => Value::Null,
        };
        let text = about["error_description"].as_str().unwrap_or_default();
        let page = notice(reply.status, Frame::public("No access"), text, None);
        let retry = reply.header("retry-after").map(str::to_owned);
        return Err(retry.into_iter().fold(page, |page, seconds| page.with_header("retry-after", seconds)).into());
    }
    if request.app.config.has_console {
        return Ok(());
    }
    let text =
        "This server has no console, so no owner can sign in to agree. The operator can start it with --console on.";
    Err(notice_page(404, "No console", text))
}

/// Adds the headers of every page to the answer of a page.
pub fn with_page_headers(answer: impl Future<Output = Result<Reply, Refusal>> + Send + 'static) -> HandlerFuture {
    Box::pin(async move {
        match answer.await {
            Ok(reply) => Ok(with_headers(reply, POLICY)),
            Err(Refusal::Reply(reply)) => Err(with_headers(*reply, POLICY).into()),
            Err(other) => Err(other),
        }
    })
}

/// The origin of a redirect address, as a Content-Security-Policy names it: `https://app.example` or
/// `http://127.0.0.1:5000`.
pub(super) fn redirect_origin(redirect_uri: &str) -> String {
    let origin = origin(redirect_uri).unwrap_or_default();
    let usual = if origin.starts_with("https:") { ":443" } else { ":80" };
    origin.strip_suffix(usual).unwrap_or(&origin).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_origin_has_no_usual_port() {
        assert_eq!(redirect_origin("https://App.example/cb?x='self'"), "https://app.example");
        assert_eq!(redirect_origin("http://127.0.0.1:5000/cb"), "http://127.0.0.1:5000");
        assert_eq!(redirect_origin("http://localhost/cb"), "http://localhost");
    }
}
