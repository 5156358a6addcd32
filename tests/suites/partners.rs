//! Partner authorization with the built server (contract 20): what a kill and a restore leave. Must not know how tokens are
//! stored.

use std::path::Path;
use std::time::Duration;

use hearth_server::store::Db;
use hearth_server::store::notifier::Notifier;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::partner::{Partner, Tokens, sign_in};
use reqwest::Method;

/// Kills between a rotation and its answer.
const KILLS: u64 = 6;

/// Signs an owner in beside the running server, and registers a program.
async fn partner(home: &Home, url: &str, owner: &str) -> Partner {
    let db = Db::open(Path::new(&home.data()), Notifier::default(), 1).unwrap();
    let cookie = sign_in(&db, "Hill house", owner).await;
    db.close().await;
    Partner::of_owner(cookie, url).await
}

async fn status(partner: &Partner, token: &str) -> u16 {
    partner.api(token).get("/v1/rooms").await.status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_answers_the_same_refresh_again() {
    let home = Home::new();
    let (mut server, client) = home.serve(&UNLIMITED);
    let partner = partner(&home, client.url(), "Olive Owner").await;
    let mut tokens = partner.tokens().await;
    for round in 0..KILLS {
        let (lost, refresh) = (partner.clone(), tokens.refresh.clone());
        // The answer may or may not be sent before the kill. The program did not read it.
        let asked = tokio::spawn(async move { lost.try_refresh(&refresh).await });
        tokio::time::sleep(Duration::from_millis(round * 4)).await;
        server.kill();
        asked.abort();
        server = home.serve(&UNLIMITED).0;
        let again = Tokens::of(&partner.refresh(&tokens.refresh).await);
        assert_eq!(Tokens::of(&partner.refresh(&tokens.refresh).await), again, "the exact retry");
        assert_eq!(status(&partner, &again.access).await, 200);
        tokens = partner.tokens().await;
    }
}

#[tokio::test]
async fn restore_ends_grants_and_sessions_made_after_the_backup() {
    let home = Home::new();
    let backup = home.path("backup.db");
    let (server, client) = home.serve(&UNLIMITED);
    let before = partner(&home, client.url(), "Early Owner").await;
    let (kept, revoked) = (before.tokens().await, before.tokens().await);
    home.stdout(&["backup", &backup]);
    let after = partner(&home, client.url(), "Late Owner").await;
    let lost = after.tokens().await;
    let grant = before.api(&revoked.access).get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    home.stdout(&["key", "revoke", &grant]);
    assert_eq!(server.terminate().code(), Some(0));
    home.stdout(&["restore", &backup]);

    let (_server, _) = home.serve(&UNLIMITED);
    assert_eq!(status(&before, &kept.access).await, 200);
    assert_ne!(Tokens::of(&before.refresh(&kept.refresh).await).refresh, kept.refresh);
    assert_eq!(status(&before, &revoked.access).await, 401, "a revocation survives the restore");
    assert_eq!(before.refresh(&revoked.refresh).await.json["error"], "invalid_grant");
    assert_eq!(status(&after, &lost.access).await, 401);
    assert_ne!(after.refresh(&lost.refresh).await.status, 200);
    // A restore ends all sessions: nobody can tell which of them were ended since the backup.
    for browser in [&before, &after] {
        assert_eq!(browser.send(browser.browse(Method::GET, "/oauth/device")).await.status, 303);
    }
}
