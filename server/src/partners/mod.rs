//! Partner authorization (contract 20): an owner gives a program of another party access to a home. The library `oauth-as`
//! speaks the protocol. This folder stores the library's records, sets its policies and shows pages to owners. Must not know
//! records of a home.
//!
//! - [`consent`], [`device`]: the pages on which owners agree. `grants`: the choices of an owner. [`pages`]: parts of both pages.
//! - [`endpoints`]: token, device, pushed request, revocation and introspection. [`registration`]: makes a program a client.
//!   [`metadata`]: the addresses of the endpoints. `documents`: clients that are described by a document at a web address.
//! - `service`: the library with the settings of this server. [`wire`]: translates tokens and forms between library and clients.
//! - [`storage`]: the library's storage on the server's database. `records`: the library's values as rows. `sealing`: encrypts a
//!   stored record under the secret that names the record.

pub mod consent;
pub mod device;
mod documents;
pub mod endpoints;
mod grants;
pub mod metadata;
pub mod pages;
pub(crate) mod records;
pub mod registration;
mod sealing;
pub(crate) mod service;
pub(crate) mod storage;
#[cfg(test)]
mod storage_tests;
pub mod wire;
