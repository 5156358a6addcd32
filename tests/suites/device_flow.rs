//! A device that a person approves in a browser (contract 20): `hearth-replica init` and the connect form of the terminal UI.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use hearth_replica::sync::machine_name;
use hearth_server::app::App;
use hearth_server::interceptor::{Handle, Interceptor};
use hearth_server::operate;
use hearth_server::store::keys::Key;
use hearth_tests::partner::Partner;
use hearth_tests::server::Server;
use hearth_tests::terminal::Terminal;
use reqwest::Method;
use serde_json::Value;

/// Plays a server without the sign-in.
struct WithoutApproval;

impl Interceptor<App> for WithoutApproval {
    fn intercept<'a>(
        &'a self,
        _: &'a Arc<App>,
        request: Request<Body>,
        handle: Handle<'a>,
    ) -> BoxFuture<'a, Response<Body>> {
        if !request.uri().path().starts_with("/oauth/") {
            return handle(request);
        }
        let response = Response::builder().status(404).body(Body::empty());
        Box::pin(async move { response.expect("a response") })
    }

    fn describe(&self, _: &Key) -> Value {
        Value::Null
    }
}

/// The code on the screen, as in `BCDF-GHJK`.
fn code(terminal: &Terminal) -> String {
    let is_code = |word: &&str| word.len() == 9 && word.split('-').all(|part| part.len() == 4);
    let found = |text: &str| text.split_whitespace().find(is_code).map(str::to_owned);
    terminal.wait_until("a code", |text| found(text).is_some());
    found(&terminal.text()).expect("a code")
}

/// An owner of the first team approves the device with this code, for the sandbox.
async fn approve(server: &Server, code: &str) {
    let owner = Partner::new(&server.running.app.db, &server.url).await;
    let page = owner.send(owner.browse(Method::GET, "/oauth/device").query(&[("user_code", code)])).await;
    let scopes: Vec<&str> =
        page.text.split("name=\"grant\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(!scopes.is_empty(), "{}", page.text);
    let form = [("user_code", code), ("decision", "allow"), ("environment", "test"), ("days", "until-revoked")];
    let form: Vec<(&str, &str)> = form.into_iter().chain(scopes.into_iter().map(|scope| ("grant", scope))).collect();
    let done = owner.submit("/oauth/device", &form).await;
    assert_eq!(done.status, 200, "{}", done.text);
}

fn init(server: &Server, directory: &std::path::Path) -> Terminal {
    Terminal::start("hearth-replica", &["init", "--server", &server.url], directory, (100, 45))
}

#[tokio::test(flavor = "multi_thread")]
async fn init_gets_key_by_approval() {
    let server = Server::start().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("Ctrl-C ends");
    let text = terminal.text();
    assert!(text.contains("/oauth/device") && text.contains('▀'), "{text}");
    approve(&server, &code(&terminal)).await;
    terminal.wait_for_text("next: hearth-replica sync");
    assert!(terminal.wait_for_exit());
    let text = terminal.text();
    let file = text.lines().find_map(|line| line.strip_prefix("key       ")).expect("the file of the key");
    let key = std::fs::read_to_string(file.trim()).unwrap();
    assert!(key.starts_with("svc_test_") && !text.contains(key.trim()), "{text}");
    let keys = operate::list_keys(&server.running.app.db, None).await.unwrap();
    assert!(keys.iter().any(|key| key.name == machine_name()), "named after the machine");
    let mut sync = Terminal::start("hearth-replica", &["sync"], home.path(), (100, 20));
    assert!(sync.wait_for_exit(), "{}", sync.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_waiting_for_approval() {
    let server = Server::start().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("Ctrl-C ends");
    terminal.type_keys("\u{3}");
    terminal.wait_for_text("told to stop");
    assert!(!terminal.wait_for_exit());
}

#[tokio::test(flavor = "multi_thread")]
async fn server_without_approval_gets_key_prompt() {
    let server = Server::start().await;
    assert!(server.running.app.interceptor.set(Box::new(WithoutApproval)).is_ok());
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("approves no devices");
    terminal.wait_for_text("API key (not shown)");
    terminal.type_keys(&format!("{}\r", server.test_key));
    terminal.wait_for_text("next: hearth-replica sync");
    assert!(terminal.wait_for_exit());
}

#[tokio::test(flavor = "multi_thread")]
async fn init_says_why_no_device_is_approved() {
    let server = Server::start_with(|config| config.has_console = false).await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("This server has no console");
    terminal.wait_for_text("API key (not shown)");
    terminal.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_form_gets_key_by_approval() {
    let server = Server::start().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start("hearth", &[], home.path(), (100, 40));
    terminal.wait_for_text("Connect to a server");
    terminal.type_keys("2");
    terminal.wait_for_text("Leave the key empty");
    terminal.type_keys(&format!("{}\r", server.url));
    terminal.type_keys("\r");
    terminal.wait_for_text("Approve this device");
    terminal.type_keys("\u{1b}");
    terminal.wait_until_gone("Approve this device");
    terminal.type_keys("\r");
    terminal.wait_for_text("Approve this device");
    approve(&server, &code(&terminal)).await;
    terminal.wait_until_gone("Approve this device");
    terminal.wait_for_text("My home");
    terminal.kill();
}
