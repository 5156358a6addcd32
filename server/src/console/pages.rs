//! The table of all pages and forms of the console: each with the role that it requires. A page of a role gets the session, so
//! it cannot be reached without one. Must not know what a page shows.

use axum::http::Method;
use hearth_contract::problem::{Problem, ProblemType};

use super::page::{POLICY, with_headers};
use super::{
    account, assets, backups, calendars, feed, guard, home, keys, links, overview, partners, people, requests, sandbox,
    session, sign_in, usage, versions,
};
use crate::http::bodies::RequestBody;
use crate::http::reply::{Refusal, Reply};
use crate::http::route::HandlerFuture;
use crate::http::web::WebRequest;
use crate::store::people::Role;
use crate::store::sessions::Session;

/// Who reaches a page, and the function that answers.
#[derive(Clone, Copy)]
pub enum Entry {
    /// Everyone.
    Public(fn(WebRequest) -> HandlerFuture),
    /// People of any role.
    Member(fn(WebRequest, Session) -> HandlerFuture),
    /// Owners.
    Owner(fn(WebRequest, Session) -> HandlerFuture),
}

/// A page or a form of the console.
pub struct Page {
    /// GET or POST.
    pub method: Method,
    /// The path; `{id}` and `{token}` stand for one segment.
    pub path: &'static str,
    /// The name in the log and in metrics.
    pub operation: &'static str,
    /// The body of the request.
    pub body: RequestBody,
    /// Who reaches the page.
    pub entry: Entry,
}

impl Page {
    /// Whether the form takes files.
    pub fn takes_files(&self) -> bool {
        self.body == RequestBody::Multipart
    }

    /// The role that the page requires. None: no sign-in.
    pub fn role(&self) -> Option<Role> {
        match self.entry {
            Entry::Public(_) => None,
            Entry::Member(_) => Some(Role::Member),
            Entry::Owner(_) => Some(Role::Owner),
        }
    }
}

use self::Entry::{Member, Owner, Public};

/// Every page and form.
pub static PAGES: &[Page] = &[
    get("/console", "console_overview", Owner(|request, session| Box::pin(overview::overview(request, session)))),
    get("/home", "home", Member(|request, session| Box::pin(home::front(request, session)))),
    get("/home/style.css", "home_style", Public(|request| Box::pin(home::assets::style(request)))),
    get("/home/script.js", "home_script", Public(|request| Box::pin(home::assets::script(request)))),
    get("/home/items", "home_items", Member(|request, session| Box::pin(home::items(request, session)))),
    get("/home/items/{id}", "home_item", Member(|request, session| Box::pin(home::item(request, session)))),
    get("/home/rooms", "home_rooms", Member(|request, session| Box::pin(home::rooms(request, session)))),
    get("/home/rooms/{id}", "home_room", Member(|request, session| Box::pin(home::room(request, session)))),
    get("/home/documents", "home_documents", Member(|request, session| Box::pin(home::documents(request, session)))),
    get("/home/documents/{id}", "home_document", Member(|request, session| Box::pin(home::document(request, session)))),
    get("/home/vehicles", "home_vehicles", Member(|request, session| Box::pin(home::vehicles(request, session)))),
    get("/home/vehicles/{id}", "home_vehicle", Member(|request, session| Box::pin(home::vehicle(request, session)))),
    get("/home/tasks", "home_tasks", Member(|request, session| Box::pin(home::tasks(request, session)))),
    get("/home/tasks/{id}", "home_task", Member(|request, session| Box::pin(home::task(request, session)))),
    post("/home/tasks/{id}/done", "home_task_done", Member(|request, session| Box::pin(home::done(request, session)))),
    post(
        "/home/tasks/{id}/reopen",
        "home_task_reopen",
        Member(|request, session| Box::pin(home::reopen(request, session))),
    ),
    get("/home/add", "home_add_form", Member(|request, session| Box::pin(home::add_form(request, session)))),
    upload("/home/add", "home_add", Member(|request, session| Box::pin(home::add(request, session)))),
    get("/home/read", "home_read_form", Member(|request, session| Box::pin(home::read_form(request, session)))),
    upload("/home/read", "home_read", Member(|request, session| Box::pin(home::read_photos(request, session)))),
    post(
        "/home/documents/{id}/read",
        "home_read_paper",
        Member(|request, session| Box::pin(home::read_paper(request, session))),
    ),
    get("/home/captures", "home_captures", Member(|request, session| Box::pin(home::captures(request, session)))),
    get("/home/captures/{id}", "home_capture", Member(|request, session| Box::pin(home::capture(request, session)))),
    post(
        "/home/captures/{id}/accept",
        "home_accept_capture",
        Member(|request, session| Box::pin(home::accept(request, session))),
    ),
    post(
        "/home/captures/{id}/discard",
        "home_discard_capture",
        Member(|request, session| Box::pin(home::discard(request, session))),
    ),
    get(
        "/home/items/{id}/edit",
        "home_edit_form",
        Member(|request, session| Box::pin(home::edit_form(request, session))),
    ),
    post("/home/items/{id}/edit", "home_edit", Member(|request, session| Box::pin(home::edit(request, session)))),
    get(
        "/home/items/{id}/files",
        "home_files_form",
        Member(|request, session| Box::pin(home::files_form(request, session))),
    ),
    upload("/home/items/{id}/files", "home_files", Member(|request, session| Box::pin(home::files(request, session)))),
    get(
        "/home/files/{id}/small",
        "home_small_picture",
        Member(|request, session| Box::pin(home::small(request, session))),
    ),
    get("/home/files/{id}", "home_file", Member(|request, session| Box::pin(home::file(request, session)))),
    get("/console/style.css", "console_style", Public(|request| Box::pin(assets::style(request)))),
    get("/console/script.js", "console_script", Public(|request| Box::pin(assets::script(request)))),
    get("/console/link/{token}", "console_link", Public(|request| Box::pin(links::form(request)))),
    post("/console/link/{token}", "console_redeem", Public(|request| Box::pin(links::redeem(request)))),
    get("/console/sign-in", "console_sign_in_form", Public(|request| Box::pin(sign_in::form(request)))),
    post("/console/sign-in", "console_sign_in", Public(|request| Box::pin(sign_in::sign_in(request)))),
    post("/console/sign-out", "console_sign_out", Public(|request| Box::pin(sign_in::sign_out(request)))),
    get("/console/session", "console_session", Member(|request, session| Box::pin(account::show(request, session)))),
    post(
        "/console/sign-out-everywhere",
        "console_sign_out_everywhere",
        Member(|request, session| Box::pin(account::sign_out_everywhere(request, session))),
    ),
    post(
        "/console/password",
        "console_change_password",
        Member(|request, session| Box::pin(account::change_password(request, session))),
    ),
    get("/console/keys", "console_keys", Owner(|request, session| Box::pin(keys::list(request, session)))),
    post("/console/keys", "console_create_key", Owner(|request, session| Box::pin(keys::create(request, session)))),
    get("/console/keys/new", "console_new_key", Owner(|request, session| Box::pin(keys::new(request, session)))),
    get("/console/keys/{id}", "console_key", Owner(|request, session| Box::pin(keys::one(request, session)))),
    post(
        "/console/keys/{id}/rotate",
        "console_rotate_key",
        Owner(|request, session| Box::pin(keys::rotate(request, session))),
    ),
    post(
        "/console/keys/{id}/revoke",
        "console_revoke_key",
        Owner(|request, session| Box::pin(keys::revoke(request, session))),
    ),
    post(
        "/console/keys/{id}/unflag",
        "console_unflag_key",
        Owner(|request, session| Box::pin(keys::unflag(request, session))),
    ),
    get("/console/partners", "console_partners", Owner(|request, session| Box::pin(partners::list(request, session)))),
    post(
        "/console/partners/{id}/revoke",
        "console_revoke_grant",
        Owner(|request, session| Box::pin(partners::revoke(request, session))),
    ),
    get("/console/people", "console_people", Owner(|request, session| Box::pin(people::list(request, session)))),
    post("/console/people", "console_invite", Owner(|request, session| Box::pin(people::invite(request, session)))),
    post(
        "/console/people/{id}/link",
        "console_password_link",
        Owner(|request, session| Box::pin(people::new_password(request, session))),
    ),
    post(
        "/console/people/{id}/role",
        "console_change_role",
        Owner(|request, session| Box::pin(people::change_role(request, session))),
    ),
    post(
        "/console/people/{id}/remove",
        "console_remove_person",
        Owner(|request, session| Box::pin(people::remove(request, session))),
    ),
    get(
        "/console/calendars",
        "console_calendars",
        Member(|request, session| Box::pin(calendars::list(request, session))),
    ),
    post(
        "/console/calendars",
        "console_create_calendar",
        Member(|request, session| Box::pin(calendars::create(request, session))),
    ),
    post(
        "/console/calendars/{id}/remove",
        "console_remove_calendar",
        Member(|request, session| Box::pin(calendars::remove(request, session))),
    ),
    get("/console/feed", "console_feed", Owner(|request, session| Box::pin(feed::feed(request, session)))),
    get("/console/feed/tail", "console_feed_tail", Owner(|request, session| Box::pin(feed::tail(request, session)))),
    get(
        "/console/requests",
        "console_requests",
        Owner(|request, session| Box::pin(requests::requests(request, session))),
    ),
    get("/console/usage", "console_usage", Owner(|request, session| Box::pin(usage::usage(request, session)))),
    get("/console/sandbox", "console_sandbox", Owner(|request, session| Box::pin(sandbox::sandbox(request, session)))),
    get(
        "/console/sandbox/reset",
        "console_confirm_sandbox_reset",
        Owner(|request, session| Box::pin(sandbox::confirm(request, session))),
    ),
    post(
        "/console/sandbox/reset",
        "console_reset_sandbox",
        Owner(|request, session| Box::pin(sandbox::reset(request, session))),
    ),
    get(
        "/console/versions",
        "console_versions",
        Owner(|request, session| Box::pin(versions::versions(request, session))),
    ),
    get("/console/backups", "console_backups", Owner(|request, session| Box::pin(backups::backups(request, session)))),
    post("/console/check", "console_check", Owner(|request, session| Box::pin(backups::begin_check(request, session)))),
];

const fn get(path: &'static str, operation: &'static str, entry: Entry) -> Page {
    Page { method: Method::GET, path, operation, body: RequestBody::None, entry }
}

const fn post(path: &'static str, operation: &'static str, entry: Entry) -> Page {
    Page { method: Method::POST, path, operation, body: RequestBody::Form, entry }
}

/// A form with files.
const fn upload(path: &'static str, operation: &'static str, entry: Entry) -> Page {
    Page { method: Method::POST, path, operation, body: RequestBody::Multipart, entry }
}

/// Answers a request to a page of the table.
pub fn answer(request: WebRequest) -> HandlerFuture {
    Box::pin(async move {
        match visit(request).await {
            Ok(reply) => Ok(with_headers(reply, POLICY)),
            Err(Refusal::Reply(reply)) => Ok(with_headers(*reply, POLICY)),
            Err(other) => Err(other),
        }
    })
}

async fn visit(request: WebRequest) -> Result<Reply, Refusal> {
    let is_asked = |page: &&Page| page.path == request.path && page.method == request.method;
    let Some(page) = PAGES.iter().find(is_asked) else {
        return Err(Problem::new(ProblemType::RouteNotFound, "There is no such page.").into());
    };
    match page.entry {
        Entry::Public(answer) => {
            guard::check(&request)?;
            answer(request).await
        }
        Entry::Member(answer) => {
            let session = session::require(&request, Role::Member).await?;
            answer(request, session).await
        }
        Entry::Owner(answer) => {
            let session = session::require(&request, Role::Owner).await?;
            answer(request, session).await
        }
    }
}
