//! What each part of the screen holds and how keys change it: one file for what `view` draws with one. Pure, as `app` is, which
//! puts them together. Must not know how anything is drawn or carried out.

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
