//! The files with which every simulated server starts: one team, one home, and the keys of machines and API clients. Must
//! not run a server.

use std::path::Path;

use futures_util::FutureExt;
use hearth_contract::formats::Timestamp;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::key::{Environment, key_text};
use hearth_server::scopes::SCOPES;
use hearth_server::store::homes::{self, Plan, Team};
use hearth_server::store::keys::{self, Key};
use hearth_server::store::notifier::Notifier;
use hearth_server::store::{Db, HomeNumber};
use rusqlite::Connection;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// When every world begins: 2099-01-01T00:00:00Z. The moment is later than every real clock: `sync_status` compares the
/// last contact with SQLite's own `now`, which is the real clock.
pub const WORLD_START: Timestamp = Timestamp::from_millis(4_070_908_800_000);
/// The number of the simulated home, which is the empty live home.
pub const HOME: i64 = 1;
/// The number of keys: one for each machine, and the last for clients of the API.
pub const KEY_COUNT: usize = 5;

/// The text of the key with this number, as clients send the key.
pub(super) fn text_of_key(key: usize) -> String {
    key_text(Environment::Live, [key as u8; 32])
}

/// Creates the files of a server with one team and its keys, which are the same in each run. Every world starts with a
/// copy of these files.
pub fn create_template(data: &Path) -> Result<(), String> {
    let db = Db::open_unthreaded(data, Notifier::default(), 1).map_err(|error| error.to_string())?;
    let written = db.write(|tx| {
        let team =
            Team { id: "team".to_owned(), name: "My home".to_owned(), plan: Plan::Paid, created_at: WORLD_START };
        let [live, sandbox] = [1, 2].map(Uuid::from_u128);
        homes::create_team(tx, &team, live, sandbox)?;
        for key in 0..KEY_COUNT {
            keys::insert(tx, &key_row(key, live))?;
        }
        Ok(())
    });
    let written = written.now_or_never().expect("a database without threads does not wait");
    written.map_err(|error| error.to_string())?;
    drop(db);
    let conn = Connection::open(data.join("hearth.db")).map_err(|error| error.to_string())?;
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).map_err(|error| error.to_string())
}

fn key_row(key: usize, home: Uuid) -> Key {
    Key {
        id: format!("key-{key}"),
        team: "team".to_owned(),
        team_name: "My home".to_owned(),
        plan: Plan::Paid,
        home: HomeNumber(HOME),
        home_id: home,
        environment: Environment::Live,
        is_home_unfilled: false,
        name: format!("key {key}"),
        hash: Sha256::digest(text_of_key(key).as_bytes()).into(),
        hint: "svc_live_…".to_owned(),
        scopes: SCOPES.iter().map(|scope| (*scope).to_owned()).collect(),
        allowlist: Vec::new(),
        pinned: CURRENT_VERSION.to_owned(),
        created_at: WORLD_START,
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
        flagged_at: None,
        is_device: false,
        client: None,
    }
}
