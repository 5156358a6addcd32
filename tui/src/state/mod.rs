//! The state of each part of the screen and its reaction to keys. `app` puts the parts together. Pure: must not know
//! how a part is drawn or a write carried out.

pub mod columns;
pub mod confirm;
pub mod conflict;
pub mod detail;
pub mod editor;
pub mod edits;
pub mod form;
pub mod home;
pub mod input;
pub mod list;
pub mod palette;
pub mod quick;
pub mod results;
pub mod search;
pub mod session;
pub mod type_ahead;
