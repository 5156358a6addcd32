//! Who is let into the console of the built server after a kill and after a restore (contract 17, 19).

use hearth_tests::browser::Browser;
use hearth_tests::client::Response;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::Process;
use serde_json::Value;

const PASSWORD: &str = "correct horse battery";
const NEW: &str = "another password";

/// The address of a new one-time link, printed by the operator's command beside the server.
fn link(home: &Home, name: &str) -> String {
    let text = home.stdout(&["console", "link", "--team", "Hill house", "--name", name, "--json"]);
    serde_json::from_str::<Value>(&text).unwrap()["url"].as_str().unwrap().to_owned()
}

fn serve(home: &Home) -> (Process, String) {
    let (server, client) = home.serve(&UNLIMITED);
    (server, client.url().to_owned())
}

async fn sign_up(home: &Home, url: &str, name: &str) -> Browser {
    let browser = Browser::new(url);
    assert_eq!(browser.submit(&link(home, name), &[("password", PASSWORD)]).await.status, 303);
    browser
}

/// The browser without its connections, which ended with the server.
fn reconnected(browser: &Browser, url: &str) -> Browser {
    let again = Browser::new(url);
    again.set_cookie("hearth", &browser.cookie("hearth"));
    again
}

async fn sign_in(browser: &Browser, name: &str, password: &str) -> Response {
    browser.submit("/console/sign-in", &[("name", name), ("password", password)]).await
}

#[tokio::test]
async fn answered_sign_in_survives_kill() {
    let home = Home::new();
    let (server, url) = serve(&home);
    let anna = sign_up(&home, &url, "Anna").await;
    server.kill();
    let (server, _) = serve(&home);
    let anna = reconnected(&anna, &url);
    assert_eq!(anna.open("/console").await.status, 200, "the link was redeemed and the session kept");
    let other = Browser::new(&url);
    assert_eq!(sign_in(&other, "Anna", PASSWORD).await.status, 303);
    server.kill();
    let (server, _) = serve(&home);
    let other = reconnected(&other, &url);
    assert_eq!(other.open("/console").await.status, 200);
    let changed = other.submit("/console/password", &[("old", PASSWORD), ("new", NEW)]).await;
    assert_eq!(changed.status, 303);
    server.kill();
    let (_server, _) = serve(&home);
    let (anna, other) = (reconnected(&anna, &url), reconnected(&other, &url));
    assert_eq!((other.open("/console").await.status, anna.open("/console").await.status), (200, 303));
    assert_eq!(sign_in(&anna, "Anna", PASSWORD).await.status, 403);
}

#[tokio::test]
async fn restore_gives_nobody_access_back() {
    let home = Home::new();
    let (server, url) = serve(&home);
    let anna = sign_up(&home, &url, "Anna").await;
    let ben = sign_up(&home, &url, "Ben").await;
    let early = link(&home, "Cleo");
    let backup = home.path("backup.db");
    home.stdout(&["backup", &backup]);
    let people = anna.open("/console/people").await.text;
    // Anna is the first in the list. Ben's forms name him.
    let id = people.split("/console/people/").filter_map(|rest| rest.split_once("/remove")).last();
    let id = id.expect("the form that removes Ben").0.to_owned();
    assert_eq!(anna.submit(&format!("/console/people/{id}/remove"), &[]).await.status, 303);
    assert_eq!(ben.open("/home").await.status, 303, "Ben was removed");
    assert_eq!(anna.submit("/console/password", &[("old", PASSWORD), ("new", NEW)]).await.status, 303);
    let dora = sign_up(&home, &url, "Dora").await;
    let late = link(&home, "Emil");
    server.terminate();
    home.stdout(&["restore", &backup]);

    let (_server, _) = serve(&home);
    for browser in [&anna, &ben, &dora] {
        assert_eq!(reconnected(browser, &url).open("/home").await.status, 303, "every session has ended");
    }
    for link in [early, late] {
        assert_eq!(Browser::new(&url).open(&link).await.status, 410, "every link has ended");
    }
    let browser = Browser::new(&url);
    assert_eq!(sign_in(&browser, "Ben", PASSWORD).await.status, 403, "a removed person stays removed");
    assert_eq!(sign_in(&browser, "Anna", PASSWORD).await.status, 403, "a replaced password stays replaced");
    assert_eq!(sign_in(&browser, "Dora", PASSWORD).await.status, 403, "nobody knows people of the lost history");
    assert_eq!(sign_in(&browser, "Anna", NEW).await.status, 303);
    let people = browser.open("/console/people").await.text;
    assert!(people.contains("Anna") && !people.contains("Ben") && !people.contains("Dora"), "{people}");
}
