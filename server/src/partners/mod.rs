//! Partner authorization (contract 20): other programs get access that an owner has agreed to. The library `oauth-as`
//! speaks the protocol; this module stores its records, decides what it leaves open, and shows the pages for people. Must
//! not know records of a home.
//!
//! - [`consent`], [`device`]: the pages on which owners agree. `grants`: what they give. [`pages`]: what the pages share.
//! - [`endpoints`]: what programs call with forms. [`registration`]: how a program becomes a client. [`metadata`]: how it
//!   finds the endpoints. `documents`: clients that a web address describes.
//! - `service`: the library with our settings. [`wire`]: between its tokens and forms and those that clients see.
//! - [`storage`]: the library's storage on our database. `records`: values of the library as rows. `sealing`: what is
//!   stored cannot be read without the secret.

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
