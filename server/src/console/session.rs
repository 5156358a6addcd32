//! Who is signed in: cookies, and the role that a page requires. Must not know pages.

use axum::http::Method;

use super::guard;
use super::page::{Frame, notice, refused};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest, redirect};
use crate::operate::sessions;
use crate::store::people::{Person, Role};
use crate::store::sessions::Session;

/// The name of the cookie without TLS. Under TLS the prefix makes browsers accept it only over TLS and for one host.
const COOKIE: &str = "hearth";
const SECURE_COOKIE: &str = "__Host-hearth";
/// How long a browser keeps the cookie, in seconds: the longest time that browsers accept. The server ends sessions earlier.
const COOKIE_SECONDS: u32 = 400 * 24 * 3600;
/// The page for sign-in.
pub const SIGN_IN: &str = "/console/sign-in";
/// Longest address to which a sign-in leads back, in bytes.
const NEXT_BYTES_MAX: usize = 2000;

/// The session of a request, for a page of this role. Checks host and origin first. The refusal is a complete reply: a page,
/// or for a signed-out person the way to the sign-in page and back.
pub async fn require(request: &WebRequest, role: Role) -> Result<Session, Refusal> {
    guard::check(request)?;
    let Some(session) = current(request).await? else { return Err(to_sign_in(request).into()) };
    if session.role < role {
        let text = "This page is for owners of the team. Ask an owner for the role, if you need it.";
        return Err(notice(403, Frame::of(&session, "Owners only"), text, Some(("/home", "To the home"))).into());
    }
    Ok(session)
}

/// The session of a request. None: nobody is signed in. Does not check the request.
pub async fn current(request: &WebRequest) -> Result<Option<Session>, Refusal> {
    let Some(secret) = request.cookie(cookie_name(request)) else { return Ok(None) };
    let app = request.app.clone();
    let found = sessions::find_session(&app.db, &app.clock, secret).await.map_err(refused)?;
    let now = app.clock.now();
    if let Some(session) = found.clone().filter(|session| sessions::is_last_seen_due(session, now)) {
        // The page does not wait for the write.
        tokio::spawn(async move {
            if let Err(error) = sessions::touch_session(&app.db, &session, now).await {
                tracing::debug!(%error, "the last use of a session was not kept");
            }
        });
    }
    Ok(found)
}

/// Ends the session of the browser, if there is one, and begins a new one for a person: a session id from before the sign-in
/// gives no access. The reply leads to `next` with the new cookie. None: the password has just changed.
pub async fn begin(request: &WebRequest, person: &Person, next: String) -> Result<Option<Reply>, Refusal> {
    end(request).await?;
    let secret = sessions::begin_session(&request.app.db, &request.app.clock, person).await.map_err(refused)?;
    Ok(secret.map(|secret| redirect(next).with_header("set-cookie", cookie(request, &secret, COOKIE_SECONDS))))
}

/// Ends the session of the browser, if there is one.
pub async fn end(request: &WebRequest) -> Result<(), Refusal> {
    let (app, Some(secret)) = (&request.app, request.cookie(cookie_name(request))) else { return Ok(()) };
    // A read first: a stranger with a made-up cookie must not occupy the writer.
    match sessions::find_session(&app.db, &app.clock, secret).await.map_err(refused)? {
        Some(_) => sessions::end_session(&app.db, secret).await.map_err(refused),
        None => Ok(()),
    }
}

/// Leads to the sign-in page, and removes the cookie.
pub fn signed_out(request: &WebRequest) -> Reply {
    redirect(SIGN_IN.to_owned()).with_header("set-cookie", cookie(request, "", 0))
}

/// The address to which a sign-in leads: `next` if it is a path of this server, else the first page of the role.
pub fn safe_next(next: &str, role: Role) -> String {
    let is_path = next.starts_with('/') && !next.starts_with("//") && next.len() <= NEXT_BYTES_MAX;
    // Browsers read a backslash as a slash, and ignore control characters.
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match role {
        _ if is_path && is_plain => next.to_owned(),
        Role::Owner => "/console".to_owned(),
        Role::Member => "/home".to_owned(),
    }
}

/// Leads to the sign-in page and back to this page. A form cannot be repeated, so it leads back to the first page.
fn to_sign_in(request: &WebRequest) -> Reply {
    let next = match request.method {
        Method::GET => &*request.target,
        _ if request.path.starts_with("/home") => "/home",
        _ => "/console",
    };
    redirect(format!("{SIGN_IN}?{}", Fields(vec![("next".to_owned(), next.to_owned())]).to_query()))
}

fn cookie_name(request: &WebRequest) -> &'static str {
    if request.is_secure { SECURE_COOKIE } else { COOKIE }
}

fn cookie(request: &WebRequest, secret: &str, seconds: u32) -> String {
    let name = cookie_name(request);
    let secure = if request.is_secure { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_in_leads_to_paths_of_this_server_only() {
        for own in ["/console/keys", "/oauth/authorize?client_id=a&state=%2F%2F", "/home", "/"] {
            assert_eq!(safe_next(own, Role::Owner), own);
        }
        for foreign in [
            "",
            "console",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/a\r\nset-cookie: x",
            "/\u{a0}",
            &format!("/{}", "a".repeat(NEXT_BYTES_MAX)),
        ] {
            assert_eq!(safe_next(foreign, Role::Owner), "/console", "{foreign:?}");
        }
        assert_eq!(safe_next("", Role::Member), "/home");
    }
}
