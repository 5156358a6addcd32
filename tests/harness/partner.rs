//! A partner's program and the browser of an owner, for tests of partner authorization (contract 20). Must not know the
//! tests.

use data_encoding::BASE64URL_NOPAD;
use hearth_server::clock::Clock;
use hearth_server::operate::{people, sessions};
use hearth_server::store::Db;
use hearth_server::store::people::Role;
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::client::{Client, Response};

/// The secret of PKCE that each program here uses.
pub const VERIFIER: &str = "a-verifier-of-a-test-with-more-than-43-characters";
/// Where the program waits for its code.
pub const REDIRECT: &str = "http://127.0.0.1:7777/callback";
/// The name of the owner that [`Partner::new`] makes.
const OWNER: &str = "Olive Owner";

/// A registered program, and an owner who is signed in.
#[derive(Clone)]
pub struct Partner {
    http: reqwest::Client,
    /// The base URL of the service.
    pub url: String,
    /// The client id of the program.
    pub client_id: String,
    cookie: String,
}

/// Tokens of a grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// `svc_oat_…`.
    pub access: String,
    /// `svc_ort_…`.
    pub refresh: String,
}

impl Tokens {
    /// The tokens in an answer.
    pub fn of(answer: &Response) -> Tokens {
        assert_eq!(answer.status, 200, "{}", answer.text);
        let member = |name: &str| answer.json[name].as_str().unwrap_or_default().to_owned();
        Tokens { access: member("access_token"), refresh: member("refresh_token") }
    }
}

/// The secret cookie of a new session of an owner of a team (id or name).
pub async fn sign_in(db: &Db, team: &str, name: &str) -> String {
    let clock = Clock::system();
    let link =
        people::create_link(db, &clock, team.to_owned(), Role::Owner, Some(name.to_owned())).await.expect("a link");
    let person = people::redeem_link(db, &clock, &link.token, name.to_owned(), "no password".to_owned()).await;
    let session = sessions::begin_session(db, &clock, &person.expect("a person")).await.expect("a session");
    format!("hearth={}", session.expect("a session"))
}

/// The challenge of PKCE for [`VERIFIER`].
pub fn challenge() -> String {
    BASE64URL_NOPAD.encode(&Sha256::digest(VERIFIER))
}

/// A parameter in the query of an address; "" when absent.
pub fn query(address: &str, name: &str) -> String {
    let address = reqwest::Url::parse(address).expect("an address");
    address.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
}

impl Partner {
    /// Signs an owner of the first team in, and registers a program.
    pub async fn new(db: &Db, url: &str) -> Partner {
        let cookie = sign_in(db, "My home", OWNER).await;
        Partner::of_owner(cookie, url).await
    }

    /// Registers a program, for the owner with this cookie.
    pub async fn of_owner(cookie: String, url: &str) -> Partner {
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().expect("a client");
        let mut partner = Partner { http, url: url.to_owned(), client_id: String::new(), cookie };
        let grants = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];
        let about = json!({ "client_name": "Shelf <b>App</b>", "redirect_uris": [REDIRECT], "grant_types": grants });
        let registered = partner.register(&about).await;
        assert_eq!(registered.status, 201, "{}", registered.text);
        partner.client_id = registered.json["client_id"].as_str().expect("an id").to_owned();
        partner
    }

    /// Sends a request and reads the answer, without following redirects.
    pub async fn send(&self, request: RequestBuilder) -> Response {
        Client::new(&self.url, "").send(request).await
    }

    /// Registers another program.
    pub async fn register(&self, about: &Value) -> Response {
        self.send(self.http.post(format!("{}/oauth/register", self.url)).json(about)).await
    }

    /// Sends a form of the program.
    pub async fn post(&self, path: &str, form: &[(&str, &str)]) -> Response {
        self.send(self.http.post(format!("{}{path}", self.url)).form(form)).await
    }

    /// A request of the owner's browser.
    pub fn browse(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).header("cookie", &self.cookie)
    }

    /// A form that the owner sends from a page of the service.
    pub async fn submit(&self, path: &str, form: &[(&str, &str)]) -> Response {
        let request = self.browse(Method::POST, path).header("sec-fetch-site", "same-origin").form(form);
        self.send(request).await
    }

    /// The parameters of an authorization request, with some changed: "" leaves one out.
    pub fn request<'p>(&'p self, challenge: &'p str, changed: &[(&'p str, &'p str)]) -> Vec<(&'p str, &'p str)> {
        let mut form = vec![
            ("response_type", "code"),
            ("client_id", &*self.client_id),
            ("redirect_uri", REDIRECT),
            ("state", "a state"),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256"),
        ];
        for (name, value) in changed {
            form.retain(|(known, _)| known != name);
            form.push((name, value));
        }
        form.retain(|(_, value)| !value.is_empty());
        form
    }

    /// The owner opens the consent page. None: of nobody who is signed in.
    pub async fn open(&self, changed: &[(&str, &str)], is_signed_in: bool) -> Response {
        let challenge = challenge();
        let mut request = self.http.get(format!("{}/oauth/authorize", self.url));
        if is_signed_in {
            request = self.browse(Method::GET, "/oauth/authorize");
        }
        self.send(request.query(&self.request(&challenge, changed))).await
    }

    /// The owner agrees to a request. Gives the address to which the browser is sent.
    pub async fn agree(&self, changed: &[(&str, &str)]) -> Response {
        let challenge = challenge();
        let mut form = self.request(&challenge, changed);
        let choices =
            [("decision", "allow"), ("environment", "test"), ("days", "until-revoked"), ("grant", "rooms:read")];
        let is_chosen = |name: &str| changed.iter().any(|(known, _)| *known == name);
        form.extend(choices.into_iter().filter(|(name, _)| !is_chosen(name)));
        if !is_chosen("grant") {
            form.push(("grant", "events:read"));
        }
        self.submit("/oauth/authorize", &form).await
    }

    /// A code for the program.
    pub async fn code(&self) -> String {
        let agreed = self.agree(&[]).await;
        assert_eq!(agreed.status, 303, "{}", agreed.text);
        query(agreed.header("location"), "code")
    }

    /// Redeems a code.
    pub async fn redeem(&self, code: &str, changed: &[(&str, &str)]) -> Response {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("client_id", &*self.client_id),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("code", code),
        ];
        for (name, value) in changed {
            form.retain(|(known, _)| known != name);
            form.push((name, value));
        }
        form.retain(|(_, value)| !value.is_empty());
        self.post("/oauth/token", &form).await
    }

    /// New tokens for a refresh token.
    pub async fn refresh(&self, token: &str) -> Response {
        let form = [("grant_type", "refresh_token"), ("client_id", &*self.client_id), ("refresh_token", token)];
        self.post("/oauth/token", &form).await
    }

    /// As [`Partner::refresh`], for a server that may be killed meanwhile: nobody reads the answer.
    pub async fn try_refresh(&self, token: &str) {
        let form = [("grant_type", "refresh_token"), ("client_id", &*self.client_id), ("refresh_token", token)];
        let _ = self.http.post(format!("{}/oauth/token", self.url)).form(&form).send().await;
    }

    /// The tokens of a new grant, for the sandbox, with `rooms:read` and `events:read`.
    pub async fn tokens(&self) -> Tokens {
        let code = self.code().await;
        Tokens::of(&self.redeem(&code, &[]).await)
    }

    /// A client of the API with a token.
    pub fn api(&self, token: &str) -> Client {
        Client::new(&self.url, token)
    }
}
