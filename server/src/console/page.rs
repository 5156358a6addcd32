//! A template as a reply, with the headers of every page; notices and refusals as pages. Must not know what a page is for.

use askama::Template;
use data_encoding::BASE64;
use hearth_contract::problem::{Problem, ProblemType};
use qrcode::QrCode;
use qrcode::render::svg;

use crate::http::reply::{Refusal, Reply, ResponseContext};
use crate::http::web;
use crate::operate;
use crate::store::StoreError;
use crate::store::people::Role;
use crate::store::sessions::Session;

/// Content-Security-Policy of a page: only files of the service, and forms to the service.
pub const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                          form-action 'self'; frame-ancestors 'none'; base-uri 'none'; connect-src 'self'";

/// The parts of a page around its content.
pub struct Frame {
    /// The title, also the main heading.
    pub title: String,
    /// The person who is signed in. None: nobody.
    pub visitor: Option<Visitor>,
}

/// The person in the head of a page.
pub struct Visitor {
    /// The name of the person.
    pub name: String,
    /// The name of the team.
    pub team: String,
    /// Whether the person sees the pages of owners.
    pub is_owner: bool,
}

impl Frame {
    /// The frame of a page for a signed-in person.
    pub fn of(session: &Session, title: &str) -> Frame {
        let (name, team) = (session.name.clone(), session.team_name.clone());
        let visitor = Some(Visitor { name, team, is_owner: session.role == Role::Owner });
        Frame { title: title.to_owned(), visitor }
    }

    /// The frame of a page without a person.
    pub fn public(title: &str) -> Frame {
        Frame { title: title.to_owned(), visitor: None }
    }
}

/// A page without content of its own: a heading, a sentence, and where to go next.
#[derive(Template)]
#[template(path = "notice.html")]
struct Notice<'a> {
    frame: Frame,
    text: &'a str,
    /// The address and the words of the next page.
    next: Option<(&'a str, &'a str)>,
}

/// The width of a QR code in pixels of the picture, at least.
const QR_WIDTH_MIN: u32 = 220;

/// The QR code of a link: an SVG picture in base64.
pub fn qr_picture(url: &str) -> String {
    let picture = QrCode::new(url.as_bytes())
        .map(|code| code.render::<svg::Color<'_>>().min_dimensions(QR_WIDTH_MIN, QR_WIDTH_MIN).build())
        .unwrap_or_default();
    BASE64.encode(picture.as_bytes())
}

/// A template as a page. Error: the template failed, which is a fault of the program.
pub fn render(status: u16, template: &impl Template) -> Result<Reply, Refusal> {
    let text = template.render().map_err(|error| StoreError::Corrupt(format!("a template failed: {error}")))?;
    Ok(web::html(status, text))
}

/// A page that says one thing. `next`: the address and the words of a link.
pub fn notice(status: u16, frame: Frame, text: &str, next: Option<(&str, &str)>) -> Reply {
    let notice = Notice { frame, text, next };
    // A notice has no part that can fail.
    web::html(status, notice.render().unwrap_or_default())
}

/// The failure of an operator's function: its sentence as a page, or a fault of the server.
pub fn refused(error: operate::Error) -> Refusal {
    match error {
        operate::Error::StoreError(fault) => fault.into(),
        operate::Error::Refused(sentence) => {
            notice(409, Frame::public("Not possible"), &as_sentence(&sentence), Some(("/console", "To the console")))
                .into()
        }
    }
}

/// A thing that does not exist, or belongs to another team.
pub fn not_found(session: &Session, what: &str, list: (&str, &str)) -> Refusal {
    let text = format!("There is no such {what} in your team. It may have been removed.");
    notice(404, Frame::of(session, "Not found"), &text, Some(list)).into()
}

/// Writes a refusal of the server's own checks as a page.
pub fn refuse(context: &ResponseContext, problem: &Problem) -> Reply {
    let title = match problem.kind {
        ProblemType::MethodNotAllowed => "This address takes no such request",
        ProblemType::PayloadTooLarge => "The form is too large",
        ProblemType::InternalError => "Something went wrong",
        ProblemType::Unavailable => "Not available now",
        _ => "The request was refused",
    };
    let next = problem.fix.as_deref().unwrap_or(problem.kind.fix());
    let text = format!("{} {next} (Request {})", problem.message, context.request_id);
    let page = notice(problem.kind.status(), Frame::public(title), &text, Some(("/console", "To the console")));
    // The headers that the error type requires, such as Allow and Retry-After.
    let headers = context.problem_reply(problem).headers;
    let kept = headers.into_iter().filter(|(name, _)| matches!(*name, "allow" | "retry-after"));
    with_headers(kept.fold(page, |page, (name, value)| page.with_header(name, value)), POLICY)
}

/// Adds the headers of every page, unless the reply has them. `policy`: the Content-Security-Policy.
pub fn with_headers(reply: Reply, policy: &str) -> Reply {
    let all = [
        ("content-security-policy", policy),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    all.into_iter().fold(reply, |reply, (name, value)| match reply.header(name) {
        Some(_) => reply,
        None => reply.with_header(name, value),
    })
}

/// A clause of an operator's message as a sentence: with a capital letter and a full stop.
pub fn as_sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if clause.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
