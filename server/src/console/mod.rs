//! The console (contract 19): pages for people of a team, made on the server, usable without scripts. Changes go through the
//! functions that the operator's commands call. Must not know SQL, nor the form of the API.
//!
//! - [`pages`]: the table of all pages with their roles, and the way of a request through the checks to its page.
//! - [`session`]: who is signed in. [`guard`]: which hosts, origins and connections are accepted.
//! - [`page`]: a template as a reply with its headers; notices and refusals as pages.
//! - `sign_in`, `account`, `links`, `overview`, `keys`, `partners`, `people`, `home`, `feed`, `requests`, `usage`, `sandbox`, `versions`, `backups`:
//!   the pages. `assets`: style and script. `password`: the check of a password. `words`: moments as text.

mod account;
mod assets;
mod backups;
mod calendars;
mod feed;
pub mod guard;
mod home;
mod keys;
mod links;
mod overview;
pub mod page;
pub mod pages;
mod partners;
mod password;
mod people;
mod requests;
mod sandbox;
pub mod session;
mod sign_in;
mod usage;
mod versions;
mod words;
