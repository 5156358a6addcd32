//! The pages of the live home for all people of a team (contract 19), made for a phone: find, look, tick, add, edit. They work
//! without a script. A write goes through the same function as a write of the API. Must not know SQL, nor the pages of owners.
//!
//! - `front`: the first page. `found`: a search. `lists`: all records of a kind. `record`: one record, with its `facts`.
//! - `ticks`: a task is done, or open again. `add`, `edit`: forms for items, from the inputs of `form`.
//! - `papers`: adds photos and papers to an item. `upload`: reads a form with files. `files`: the bytes of a file.
//! - `write`: how a form becomes a write. `live`: the home, its day and its currency. `rows`: records in lists. `words`: values as
//!   people read them. `assets`: style and script.

mod add;
pub(super) mod assets;
mod edit;
mod facts;
mod files;
mod form;
mod found;
mod front;
mod lists;
mod live;
mod papers;
mod record;
mod rows;
mod ticks;
mod upload;
mod words;
mod write;

pub(super) use add::{add, add_form};
pub(super) use edit::{edit, edit_form};
pub(super) use files::{file, small};
pub(super) use front::front;
pub(super) use lists::{documents, items, rooms, tasks, vehicles};
pub(super) use papers::{files, files_form};
pub(super) use record::{document, item, room, task, vehicle};
pub(super) use ticks::{done, reopen};
