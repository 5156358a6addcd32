//! The pages of the live home for all people of a team (contract 19), made for a phone: find, look, tick, add, edit. They work
//! without a script. A write goes through the same function as a write of the API. Must not know SQL, nor the pages of owners.
//!
//! - `front`: the first page. `found`: a search. `lists`: all records of a kind. `record`: one record, with its `facts`.
//! - `ticks`: a task is done, or open again. `add`, `edit`: forms for items, from the inputs of `form`.
//! - `papers`: adds photos and papers to an item. `upload`: reads a form with files. `files`: the bytes of a file.
//! - `asks`: forms that let the server read photos and papers. `captures`: the list of what was read, `capture`: the drafts of one job,
//!   from `proposals` and their `evidence`. `accept`: stores what a person has marked.
//! - `write`: how a form becomes a write. `live`: the home, its day and its currency. `rows`: records in lists. `words`: values as
//!   people read them. `assets`: style and script.

mod accept;
mod add;
mod asks;
pub(super) mod assets;
mod capture;
mod captures;
mod edit;
mod evidence;
mod facts;
mod files;
mod form;
mod found;
mod front;
mod lists;
mod live;
mod papers;
mod proposals;
mod record;
mod rows;
mod ticks;
mod upload;
mod words;
mod write;

pub(super) use accept::accept;
pub(super) use add::{add, add_form};
pub(super) use asks::{read_form, read_paper, read_photos};
pub(super) use capture::capture;
pub(super) use captures::{captures, discard};
pub(super) use edit::{edit, edit_form};
pub(super) use files::{file, small};
pub(super) use front::front;
pub(super) use lists::{documents, items, rooms, tasks, vehicles};
pub(super) use papers::{files, files_form};
pub(super) use record::{document, item, room, task, vehicle};
pub(super) use ticks::{done, reopen};
