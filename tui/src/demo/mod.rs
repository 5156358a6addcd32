//! All of Hearth in one process: a server with its sandbox home on a free loopback port, a replica of it, and another
//! family member's device that edits the same home. The only place of this crate that knows the server.
//!
//! - [`household`]: setting these up.
//! - [`family`]: what the other family member does.
//! - [`story`]: the tour in sentences, with figures.

mod family;
mod household;
mod story;

use std::time::Duration;

use hearth_replica::{address, profile};

use crate::config::Config;
use crate::{UiOptions, run_ui};
use household::Household;

/// Between two changes of the other family member, long enough to see each arrive.
const FAMILY_EVERY: Duration = Duration::from_secs(4);

/// Runs the demo: the terminal UI on a home that lives, or with `plain` the tour in sentences.
///
/// # Errors
/// When the machine does not let it run; and from the tour, when the two sides are not equal in the end.
pub fn run(plain: bool, config: Config) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let household = runtime.block_on(Household::move_in())?;
    if plain {
        return runtime.block_on(story::tell(household));
    }
    let phone = runtime.block_on(household.another_device())?;
    let family = runtime.spawn(family::live(phone, FAMILY_EVERY));
    let db = household.db();
    let ui = UiOptions {
        flags: address::home_flags(profile::DEFAULT, Some(&db)),
        db,
        sync: Some(household.sync()),
        keyless: None,
        another_key: None,
        title: Some("demo".to_owned()),
        config,
    };
    let shown = run_ui(ui);
    family.abort();
    runtime.block_on(household.move_out());
    shown
}
