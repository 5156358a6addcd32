//! The attacks of the workload `hostile`, as encoded requests. Must not know the normal client.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_tests::wire::Wire;
use serde_json::json;
use tokio::net::TcpStream;

use super::ATTACKERS;
use super::seed::{Seed, create_key, encode};
use crate::testbed::Scale;

/// Time between two checks whether the measurement is over.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Bytes of a path: close to the longest that the service reads.
const PATH_BYTES: usize = 8000;
/// Writes of one attacker.
const RENAMES: usize = 50;
/// A letter that folds to 18 others in search.
const LONG_LETTER: &str = "\u{fdfa}";

/// An attack, which goes on until the measurement is over.
pub(super) enum Attack {
    /// Each connection sends its requests over and over, and reads the answers.
    Flood(Vec<Vec<Vec<u8>>>),
    /// Connections that send nothing.
    Sockets(usize),
}

/// All attacks, each with keys of its own: rate limits of one attack do not end the next.
pub(super) fn all(seed: &Seed, data: &Path, scale: Scale) -> anyhow::Result<Vec<(&'static str, Attack)>> {
    let by_key = |requests: &dyn Fn(&str) -> Vec<Vec<u8>>| {
        Attack::Flood((0..ATTACKERS).map(|_| requests(&create_key(data, &seed.attackers))).collect())
    };
    let get = |target: &str, key: &str| encode("GET", target, key, "", "");
    let stranger = |request: Vec<u8>| Attack::Flood(vec![vec![request]; ATTACKERS]);
    let renames = |key: &str| {
        let rename = |number: usize| {
            let notes = format!("{}{number}", LONG_LETTER.repeat(1300));
            let body = json!({ "name": format!("{}{number}", LONG_LETTER.repeat(190)), "notes": notes });
            encode("PATCH", &format!("/v1/rooms/{}", seed.renamed), key, "", &body.to_string())
        };
        (0..RENAMES).map(rename).collect()
    };
    Ok(vec![
        ("search, 100 words", by_key(&|key| vec![get(&format!("/v1/search?q={}", words(100)), key)])),
        ("search, 16 words", by_key(&|key| vec![get(&format!("/v1/search?q={}&limit=100", words(16)), key)])),
        ("renames", by_key(&renames)),
        ("unknown paths", stranger(encode("GET", &format!("/{}", "x".repeat(PATH_BYTES)), "", "", ""))),
        ("static file", stranger(encode("GET", "/openapi/v1.yaml", "", "accept-encoding: br\r\n", ""))),
        ("long pages", by_key(&|key| vec![get("/v1/inventory?limit=100", key)])),
        (
            "long pages, compressed",
            by_key(&|key| vec![encode("GET", "/v1/inventory?limit=100", key, "accept-encoding: br\r\n", "")]),
        ),
        ("room delete", by_key(&|key| vec![encode("DELETE", &format!("/v1/rooms/{}", seed.full_room), key, "", "")])),
        ("idle sockets", Attack::Sockets(scale.sockets)),
    ])
}

/// `count` different words of one letter, in percent-encoding.
fn words(count: usize) -> String {
    // Greek, Cyrillic and Latin letters with different folds.
    let letters = ('a'..='z').chain('α'..='ω').chain('а'..='я').chain('ა'..='ჰ');
    let encoded = letters.take(count).map(|letter| {
        let mut bytes = [0; 4];
        letter.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()
    });
    encoded.collect::<Vec<_>>().join("+")
}

impl Attack {
    /// Attacks until `is_over`. Refused and broken connections are opened again.
    pub(super) async fn run(&self, address: &str, is_over: &AtomicBool) {
        let attacking = async {
            match self {
                Attack::Flood(clients) => {
                    let floods = clients.iter().map(|requests| flood(address, requests));
                    futures_util::future::join_all(floods).await;
                }
                Attack::Sockets(count) => {
                    let mut held = Vec::new();
                    for _ in 0..*count {
                        held.extend(TcpStream::connect(address).await.ok());
                    }
                    std::future::pending::<()>().await;
                }
            }
        };
        let over = async {
            while !is_over.load(Ordering::Relaxed) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            () = attacking => (),
            () = over => (),
        }
    }
}

/// Sends requests over and over on one connection, without end.
async fn flood(address: &str, requests: &[Vec<u8>]) {
    loop {
        let Ok(mut wire) = Wire::connect(address).await else {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        };
        for request in requests.iter().cycle() {
            if wire.send(request).await.is_err() {
                break;
            }
        }
    }
}
