//! The command for the clocks of homes. Must not know how the library does the work.

use clap::Subcommand;
use hearth_server::clock::Clock;
use hearth_server::operate::clock::{HomeClock, clocks};
use hearth_server::store::Db;
use serde_json::{Value, json};
use uuid::Uuid;

use super::output::{print_line, print_note, print_table};

#[derive(Subcommand)]
pub(super) enum HomeCommand {
    /// List the latest moment of each home, or set a clock back that is ahead
    ///
    /// A home whose clock was ahead once gives all later records the same moment, and keeps its history until then. First
    /// set the clock of the machine. A reset writes records with such moments anew, and compacts the history.
    Clock {
        /// Set the clocks back that are ahead of the machine's clock
        #[arg(long)]
        reset: bool,
        /// Id of a home: only this home
        #[arg(long, value_name = "ID")]
        home: Option<Uuid>,
    },
}

pub(super) async fn home(command: HomeCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    let HomeCommand::Clock { reset, home } = command;
    let clocks = clocks(db, &Clock::system(), home, reset).await?;
    if as_json {
        return print_line(Value::Array(clocks.iter().map(clock_json).collect()));
    }
    if reset {
        for clock in &clocks {
            match clock.corrected {
                Some(records) => {
                    print_note(format_args!("set the clock of home {} back: {records} records", clock.home))
                }
                None => print_note(format_args!("the clock of home {} is right", clock.home)),
            }
        }
        return Ok(());
    }
    print_table(["HOME", "LAST MOMENT", "STATE"], clocks.iter().map(clock_row))
}

fn clock_row(clock: &HomeClock) -> [String; 3] {
    let last = clock.last_updated_at.map_or_else(|| "never".to_owned(), |last| last.to_string());
    [clock.home.to_string(), last, if clock.is_ahead { "ahead" } else { "right" }.to_owned()]
}

fn clock_json(clock: &HomeClock) -> Value {
    json!({
        "home": clock.home,
        "last_updated_at": clock.last_updated_at,
        "ahead": clock.is_ahead,
        "corrected_records": clock.corrected,
    })
}
