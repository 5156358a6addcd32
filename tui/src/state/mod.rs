//! The state of each part of the screen and its reaction to keys. `app` puts the parts together. Pure: must not know
//! how a part is drawn or a write carried out.

pub mod attach;
pub mod columns;
pub mod confirm;
pub mod conflict;
pub mod detail;
pub mod editor;
pub mod edits;
pub mod form;
pub mod home;
pub mod import;
pub mod import_file;
pub mod inbox;
pub mod input;
pub mod list;
mod notes;
pub mod palette;
pub mod picker;
pub mod quick;
pub mod results;
pub mod search;
pub mod session;
pub mod spelling;
pub mod type_ahead;
pub mod typed_value;
