//! The demo, in one process: a server with a sandbox home on a free loopback port, a replica, and a second device that
//! edits the same home. Only this folder may import the server.
//!
//! - `home`: the server, the home and the devices.
//! - `family`: the edits of the second device.
//! - `tour`: the tour as text, with timings.

mod family;
mod home;
mod tour;

use std::time::Duration;

use hearth_replica::{address, profile};

use crate::config::Config;
use crate::run::{UiOptions, run_ui};
use home::DemoHome;

/// The time between two edits of the second device, long enough to see each arrive.
const FAMILY_EVERY: Duration = Duration::from_secs(4);

/// Runs the demo: the terminal UI on a home that changes, or with `plain` the tour as text.
///
/// # Errors
/// When the server or a replica cannot start; in the tour also when server and replica differ at the end.
pub fn run(plain: bool, config: Config) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let home = runtime.block_on(DemoHome::start())?;
    if plain {
        return runtime.block_on(tour::print_tour(home));
    }
    let phone = runtime.block_on(home.start_second_device())?;
    family::attach_receipt(&phone, &home.directory().join("receipt.txt"))?;
    let family = runtime.spawn(family::edit_forever(phone, FAMILY_EVERY));
    let db = home.db();
    let ui = UiOptions {
        flags: address::home_flags(profile::DEFAULT, Some(&db)),
        db,
        sync: Some(home.sync_config()),
        keyless: None,
        another_key: None,
        title: Some("demo".to_owned()),
        profile: None,
        config,
    };
    let result = run_ui(ui);
    family.abort();
    runtime.block_on(home.shut_down());
    result
}
