//! The work of an operator beside serving: teams, keys, backup, restore and check. Works on the database, with or without
//! a running server. Must not know the command line.
//!
//! - `teams`: teams with their homes and sandboxes.
//! - `keys`: API keys and scopes.
//! - [`people`]: people of a team and their one-time links. [`sessions`]: signed-in people.
//! - [`calendars`]: links for calendar programs.
//! - [`backup`]: saves all data to one file, and restores the data.
//! - [`check`]: verifies the database. [`clock`]: clocks of homes that are ahead.
//! - `shell`: a command as text to type. `error`: the error of all of these.

pub mod backup;
pub mod calendars;
pub mod check;
mod check_files;
pub mod clock;
mod error;
mod keys;
pub mod people;
pub mod sessions;
mod shell;
mod teams;

pub use error::Error;
pub use keys::{
    Callers, CreatedKey, KeyPage, NewKey, create_key, list_callers, list_keys, page_of_keys, parse_pin, parse_scopes,
    revoke_key, rotate_key, team_key, unflag_key,
};
pub use shell::shell_command;
pub use teams::{
    NAME_RULE, SandboxCount, count_sandbox, create_team, ensure_first_team, is_valid_name, reset_sandbox, set_plan,
    teams,
};
