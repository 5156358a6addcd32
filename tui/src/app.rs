//! The application: the state of the whole screen ([`App`]) and how a message changes the state. Pure: must not read a
//! clock, the database or the terminal.
//! [`App::update`] is in `update`, the state in `model`. `type_ahead` decides when a key is handled. `act`, `screens`,
//! `records`, `decisions`, `layers`, `typing` and `mouse` carry out keys and clicks; `requests` asks for data;
//! `answers` and `writes` take answers. `attach` opens and attaches files; `import` brings in the rows of a table. `ending` takes the answers after the last picture; `sessions` restores and
//! saves the session.

mod act;
mod answers;
mod attach;
mod decisions;
mod ending;
mod import;
mod inbox;
mod layers;
mod model;
mod mouse;
mod records;
mod requests;
mod screens;
mod scrolling;
mod sessions;
#[cfg(test)]
mod tests;
mod type_ahead;
mod typing;
mod update;
mod writes;

pub use crate::state::columns::ColumnChoice;
pub use crate::state::confirm::{Confirm, Then};
pub use crate::state::edits::Edits;
pub use crate::state::quick::QuickLine;
pub use crate::state::results::Results;
pub use model::{App, Layer, Notice, Setup, TABS};
