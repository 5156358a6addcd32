//! Every route of the table with every kind of credential (contract 11). The routes come from the table, so none is left out.

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::console::pages::PAGES;
use hearth_server::http::bodies::RequestBody;
use hearth_server::http::route::{Access, Route};
use hearth_server::operate::{self, NewKey};
use hearth_server::routes::ROUTES;
use hearth_server::routes::partners::PARTNERS;
use hearth_server::routes::web::CALENDAR;
use hearth_server::scopes::SCOPES;
use hearth_server::store::homes::Plan;
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, new_key};
use reqwest::Method;
use serde_json::json;

use super::console::sign_up;

/// A credential with its name for messages.
struct Credential {
    name: String,
    secret: String,
    client: Client,
}

/// Credentials that no route with a key accepts, each with status and error type.
async fn refused(server: &Server) -> Vec<(Credential, u16, &'static str)> {
    let (db, clock) = (&server.running.app.db, Clock::system());
    operate::create_team(db, &clock, "Free".to_owned(), Plan::Free).await.unwrap();
    let revoked = operate::create_key(db, &clock, new_key("My home", Environment::Live)).await.unwrap();
    operate::revoke_key(db, &clock, revoked.key.id).await.unwrap();
    let expired = NewKey { expires_at: Some(clock.now()), ..new_key("My home", Environment::Live) };
    let far = NewKey { allowlist: vec!["203.0.113.0/24".parse().unwrap()], ..new_key("My home", Environment::Test) };
    let make = async |key: NewKey| operate::create_key(db, &clock, key).await.unwrap().secret;
    let mut all = Vec::new();
    for (name, secret, status, error) in [
        ("malformed", "svc_live_nonsense".to_owned(), 401, "invalid_api_key"),
        ("revoked", revoked.secret, 401, "invalid_api_key"),
        ("expired", make(expired).await, 401, "invalid_api_key"),
        ("live on the free plan", make(new_key("Free", Environment::Live)).await, 403, "plan_required"),
        ("foreign address", make(far).await, 403, "ip_not_allowed"),
    ] {
        all.push((
            Credential { name: name.to_owned(), client: Client::new(&server.url, &secret), secret },
            status,
            error,
        ));
    }
    all
}

/// A request to a route, with a body that no handler accepts where one is needed: the test is about access alone.
async fn visit(client: &Client, route: &Route, method: Method) -> Response {
    let path = route
        .path
        .replace("{id}", "none")
        .replace("{name}", "none")
        .replace("{guide}", "none")
        .replace("{type}", "none")
        .replace("{section}", "none");
    let request = client.request(method, &path);
    client.send(if route.request_body == RequestBody::None { request } else { request.json(&json!([])) }).await
}

/// HEAD in place of GET, because an accepted stream has no end.
fn without_body(route: &Route) -> Method {
    if route.method == Method::GET { Method::HEAD } else { route.method.clone() }
}

#[tokio::test]
async fn every_route_refuses_every_bad_credential() {
    let server = Server::start().await;
    let nobody = reqwest::Client::builder().no_proxy().build().unwrap();
    let refused = refused(&server).await;
    for route in ROUTES.iter() {
        let about = format!("{} {}", route.method, route.path);
        let path = route.path.replace("{id}", "none").replace("{name}", "none");
        let request = nobody.request(route.method.clone(), format!("{}{path}", server.url)).json(&json!([]));
        let unknown = refused[0].0.client.send(request).await;
        if route.access != Access::Open {
            assert_eq!((unknown.status, unknown.error()), (401, "authentication_required"), "{about}");
        }
        for (credential, status, error) in &refused {
            let reply = visit(&credential.client, route, route.method.clone()).await;
            match route.access {
                // Nobody looks at the key.
                Access::Open => assert_eq!(reply.status, unknown.status, "{about}: {}", credential.name),
                _ => assert_eq!((reply.status, reply.error()), (*status, *error), "{about}: {}", credential.name),
            }
        }
    }
}

/// The scopes of a route; none for a route of any key or of none.
fn scopes(route: &Route) -> Vec<&str> {
    if let Access::Scope(scopes) = &route.access { scopes.split(' ').collect() } else { Vec::new() }
}

#[tokio::test]
async fn every_route_asks_for_its_scope_alone() {
    let server = Server::start().await;
    let db = &server.running.app.db;
    let with = async |scopes: Vec<String>, environment| {
        let key = NewKey { scopes, ..new_key("My home", environment) };
        Client::new(&server.url, &operate::create_key(db, &Clock::system(), key).await.unwrap().secret)
    };
    // A key with all other scopes stands for each other single scope: were one of them enough, the route would accept it.
    for scope in SCOPES {
        let only = with(vec![scope.to_owned()], Environment::Live).await;
        let others = SCOPES.iter().filter(|other| **other != scope).map(|other| (*other).to_owned()).collect();
        let others = with(others, Environment::Live).await;
        for route in ROUTES.iter().filter(|route| scopes(route).contains(&scope)) {
            let about = format!("{} {} with {scope}", route.method, route.path);
            if scopes(route).len() > 1 {
                let refused = visit(&only, route, route.method.clone()).await;
                assert_eq!((refused.status, refused.error()), (403, "insufficient_scope"), "{about} alone");
                assert_eq!(visit(&others, route, route.method.clone()).await.status, 403, "{about} missing");
                continue;
            }
            let accepted = visit(&only, route, without_body(route)).await;
            assert!(!matches!(accepted.status, 401 | 403), "{about} alone: {} {}", accepted.status, accepted.text);
            let reply = visit(&others, route, route.method.clone()).await;
            assert_eq!((reply.status, reply.error()), (403, "insufficient_scope"), "{about} missing: {}", reply.text);
            assert_eq!(reply.json["error"]["details"]["required_scope"], scope, "{about}");
        }
        let me = only.get("/v1/me").await;
        assert_eq!((me.status, &me.data()["scopes"]), (200, &json!([scope])));
    }
    for environment in [Environment::Live, Environment::Test] {
        let all = with(Vec::new(), environment).await;
        for route in ROUTES.iter() {
            let reply = visit(&all, route, without_body(route)).await;
            let about = format!("{} {} with all scopes", route.method, route.path);
            assert!(!matches!(reply.status, 401 | 403), "{about}: {} {}", reply.status, reply.text);
        }
    }
    let used: Vec<&Access> = ROUTES.iter().map(|route| &route.access).collect();
    for scope in SCOPES {
        assert!(used.contains(&&Access::Scope(scope.to_owned())), "no route asks for {scope}");
    }
}

#[tokio::test]
async fn no_key_opens_a_page_of_the_console() {
    let server = Server::start().await;
    let browser = Browser::new(&server.url);
    for page in PAGES {
        let path = page.path.replace("{id}", "none").replace("{token}", "none");
        let request = || browser.request(page.method.clone(), &path).header("sec-fetch-site", "same-origin");
        let nobody = browser.send(request()).await;
        let key = browser.send(request().bearer_auth(&server.live_key)).await;
        let told = (key.status, key.header("location"));
        assert_eq!(told, (nobody.status, nobody.header("location")), "{} {}", page.method, page.path);
        assert!(page.role().is_none() || key.status == 303, "{} {}", page.method, page.path);
    }
}

#[tokio::test]
async fn no_key_counts_outside_of_the_api() {
    let server = Server::start().await;
    let mut keys: Vec<(String, String)> = Vec::new();
    for (credential, ..) in refused(&server).await {
        keys.push((credential.name, credential.secret));
    }
    keys.push(("live".to_owned(), server.live_key.clone()));
    keys.push(("test".to_owned(), server.test_key.clone()));
    let browser = Browser::new(&server.url);
    for route in PARTNERS.iter().chain(CALENDAR.iter()) {
        let path = route.path.replace("{token}", "none");
        let request = || browser.request(route.method.clone(), &path).header("sec-fetch-site", "same-origin");
        let request = || match route.request_body {
            RequestBody::None => request(),
            RequestBody::WebJson => request().json(&json!([])),
            _ => request().form(&[("token", "none")]),
        };
        let nobody = browser.send(request()).await;
        let expected = match &*route.operation {
            "oauth_device" | "oauth_decide" | "oauth_decide_device" => 303,
            "oauth_introspect" => 401,
            "calendar_file" => 404,
            operation if operation.starts_with("get_") => 200,
            _ => 400,
        };
        assert_eq!(nobody.status, expected, "{} {}: {}", route.method, route.path, nobody.text);
        for (name, key) in &keys {
            let reply = browser.send(request().bearer_auth(key)).await;
            let about = format!("{} {} with a key that is {name}", route.method, route.path);
            assert_eq!((reply.status, reply.header("location")), (nobody.status, nobody.header("location")), "{about}");
            assert_eq!(reply.text.replace(key, ""), nobody.text, "{about}");
        }
    }
}

/// The status of a route of partners for a browser.
async fn visit_as(browser: &Browser, route: &Route) -> u16 {
    match route.method == Method::POST {
        true => browser.submit(&route.path, &[("decision", "allow")]).await.status,
        false => browser.open(&route.path).await.status,
    }
}

#[tokio::test]
async fn pages_of_partners_are_for_owners() {
    let server = Server::start().await;
    let owner = sign_up(&server, "My home", Role::Owner, "Olga").await;
    let member = sign_up(&server, "My home", Role::Member, "Mia").await;
    for route in PARTNERS.iter() {
        let (of_owner, of_member) = match &*route.operation {
            "oauth_device" => (200, 403),
            "oauth_decide_device" => (404, 403),
            "oauth_decide" => (400, 403),
            // The request names no program, so nobody is asked.
            "oauth_authorize" => (400, 400),
            // Programs call the others: a session counts for nothing there.
            _ => {
                let nobody = visit_as(&Browser::new(&server.url), route).await;
                (nobody, nobody)
            }
        };
        let found = (visit_as(&owner, route).await, visit_as(&member, route).await);
        assert_eq!(found, (of_owner, of_member), "{} {}", route.method, route.path);
    }
}
