//! The storage against the conformance suite of the protocol library, on real databases.

use std::sync::atomic::{AtomicUsize, Ordering};

use oauth_as::storage_conformance::StorageConformance;

use super::storage::{Lifetimes, PartnerStorage};
use crate::clock::Clock;
use crate::store::Db;
use crate::store::notifier::Notifier;

/// Runs of the suite, at most. On a busy machine its concurrent calls may run one after another, and the suite has to run again.
const RUNS_MAX: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_satisfies_the_conformance_suite() {
    let dir = tempfile::tempdir().unwrap();
    let made = AtomicUsize::new(0);
    let new_store = || {
        let data = dir.path().join(made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&data).unwrap();
        let db = Db::open(&data, Notifier::default(), 1).unwrap();
        async move { PartnerStorage::new(db, Clock::system(), Lifetimes::default()) }
    };
    let mut violations = Vec::new();
    for _ in 0..RUNS_MAX {
        violations = StorageConformance::new(new_store).with_spawn(|task| drop(tokio::spawn(task))).run().await;
        // A run with this fault alone says nothing about the storage.
        if violations.is_empty() || violations.iter().any(|found| found.check != "harness/race_setup") {
            break;
        }
    }
    assert!(violations.is_empty(), "{violations:#?}");
    assert!(made.load(Ordering::Relaxed) > 20, "the suite ran");
}
