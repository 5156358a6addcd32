//! A device that a person approves in a browser: `hearth-replica init` and the connect form of the terminal UI,
//! against a server whose answers of the sign-in are played.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use hearth_server::app::App;
use hearth_server::interceptor::{Handle, Interceptor};
use hearth_server::store::keys::Key;
use hearth_tests::server::Server;
use hearth_tests::terminal::Terminal;
use serde_json::{Value, json};

/// Plays the endpoints of the sign-in.
struct SignIn {
    key: String,
    url: String,
    is_approved: Arc<AtomicBool>,
}

impl Interceptor<App> for SignIn {
    fn intercept<'a>(
        &'a self,
        _: &'a Arc<App>,
        request: Request<Body>,
        handle: Handle<'a>,
    ) -> BoxFuture<'a, Response<Body>> {
        let (status, body) = match request.uri().path() {
            "/oauth/device_authorization" => (
                200,
                json!({
                    "device_code": "secret", "user_code": "BCDF-GHJK", "expires_in": 600, "interval": 1,
                    "verification_uri": format!("{}/oauth/device", self.url),
                }),
            ),
            "/oauth/token" if self.is_approved.load(Ordering::SeqCst) => {
                (200, json!({ "access_token": self.key, "token_type": "Bearer" }))
            }
            "/oauth/token" => (400, json!({ "error": "authorization_pending" })),
            _ => return handle(request),
        };
        let response = Response::builder().status(status).body(Body::from(body.to_string()));
        Box::pin(async move { response.expect("a response") })
    }

    fn describe(&self, _: &Key) -> Value {
        Value::Null
    }
}

/// A server with the sign-in, and the switch that approves every device.
async fn server() -> (Server, Arc<AtomicBool>) {
    let (server, is_approved) = (Server::start().await, Arc::new(AtomicBool::new(false)));
    let sign_in = SignIn { key: server.test_key.clone(), url: server.url.clone(), is_approved: is_approved.clone() };
    assert!(server.running.app.interceptor.set(Box::new(sign_in)).is_ok());
    (server, is_approved)
}

fn init(server: &Server, directory: &std::path::Path) -> Terminal {
    Terminal::start("hearth-replica", &["init", "--server", &server.url], directory, (100, 45))
}

#[tokio::test(flavor = "multi_thread")]
async fn init_gets_key_by_approval() {
    let (server, is_approved) = server().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("BCDF-GHJK");
    terminal.wait_for_text("Ctrl-C ends");
    let text = terminal.text();
    assert!(text.contains("/oauth/device") && text.contains('▀') && !text.contains("secret"), "{text}");
    is_approved.store(true, Ordering::SeqCst);
    terminal.wait_for_text("next: hearth-replica sync");
    assert!(terminal.wait_for_exit());
    let text = terminal.text();
    let file = text.lines().find_map(|line| line.strip_prefix("key       ")).expect("the file of the key");
    let key = std::fs::read_to_string(file.trim()).unwrap();
    assert_eq!(key.trim(), server.test_key);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_waiting_for_approval() {
    let (server, _) = server().await;
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
    let home = tempfile::tempdir().unwrap();
    let mut terminal = init(&server, home.path());
    terminal.wait_for_text("approves no devices");
    terminal.wait_for_text("API key (not shown)");
    terminal.type_keys(&format!("{}\r", server.test_key));
    terminal.wait_for_text("next: hearth-replica sync");
    assert!(terminal.wait_for_exit());
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_form_gets_key_by_approval() {
    let (server, is_approved) = server().await;
    let home = tempfile::tempdir().unwrap();
    let mut terminal = Terminal::start("hearth", &[], home.path(), (100, 40));
    terminal.wait_for_text("Connect to a server");
    terminal.type_keys("2");
    terminal.wait_for_text("Leave the key empty");
    terminal.type_keys(&format!("{}\r", server.url));
    terminal.type_keys("\r");
    terminal.wait_for_text("BCDF-GHJK");
    terminal.type_keys("\u{1b}");
    terminal.wait_until_gone("BCDF-GHJK");
    terminal.type_keys("\r");
    terminal.wait_for_text("BCDF-GHJK");
    is_approved.store(true, Ordering::SeqCst);
    terminal.wait_until_gone("Approve this device");
    terminal.wait_for_text("My home");
    terminal.kill();
}
