//! Remembers that streams to a server's address are held back on the way, as a proxy does. The next process then begins with
//! polls. Must not know how this is found.

use hearth_contract::formats::Timestamp;
use rusqlite::Connection;

use super::{StoreError, gate};

/// How long a finding counts, in milliseconds: 7 days. The machine may be in another network by then.
const FINDING_LIFETIME: i64 = 7 * 86_400_000;

/// Saves that streams to `server` are held back, as found at `found_at`. None: a stream has come through.
pub(crate) fn save(connection: &mut Connection, server: &str, found_at: Option<Timestamp>) -> Result<(), StoreError> {
    let text = "UPDATE _sync SET streams_held_back_at = ?2, streams_held_back_by = ?1
         WHERE ?2 IS NOT NULL OR streams_held_back_by = ?1";
    gate::execute_without_fsync(connection, text, (origin(server), found_at.map(|at| at.to_string())))
}

/// Whether streams to `server` were found to be held back, at most [`FINDING_LIFETIME`] before `now`.
pub(crate) fn stands(connection: &Connection, server: &str, now: Timestamp) -> Result<bool, StoreError> {
    let oldest = now.plus_millis(-FINDING_LIFETIME).to_string();
    let text = "SELECT coalesce(streams_held_back_by = ?1 AND streams_held_back_at > ?2, 0) FROM _sync";
    Ok(connection.query_row(text, (origin(server), oldest), |row| row.get(0))?)
}

/// Scheme, host and port of an address, as typed. Other paths at the same host pass the same proxies.
fn origin(server: &str) -> &str {
    let host_at = server.find("://").map_or(0, |at| at + 3);
    let end = server[host_at..].find('/').map_or(server.len(), |at| host_at + at);
    &server[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn finding_counts_for_its_address_and_week() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = open::read_write(&directory.path().join("replica.db")).unwrap();
        let found_at = Timestamp::from_millis(1_780_272_000_000);
        let stands_after = |connection: &Connection, server: &str, days: i64| {
            stands(connection, server, found_at.plus_millis(days * 86_400_000)).unwrap()
        };
        assert!(!stands_after(&connection, "http://a:1", 0));
        save(&mut connection, "http://a:1/base", Some(found_at)).unwrap();
        assert!(stands_after(&connection, "http://a:1", 6) && stands_after(&connection, "http://a:1/", 0));
        assert!(!stands_after(&connection, "http://a:1", 7), "too old");
        for other in ["https://a:1", "http://a:2", "http://b:1"] {
            assert!(!stands_after(&connection, other, 0), "{other}");
            save(&mut connection, other, None).unwrap();
        }
        assert!(stands_after(&connection, "http://a:1", 0), "a stream of another address says nothing");
        save(&mut connection, "http://a:1", None).unwrap();
        assert!(!stands_after(&connection, "http://a:1", 0));
    }
}
