//! Partner authorization (contract 20): other programs get access that an owner has agreed to. The library `oauth-as`
//! speaks the protocol; this module stores its records, decides what it leaves open, and shows the pages for people. Must
//! not know records of a home.
//!
//! - [`storage`]: the library's storage on our database. `records`: values of the library as rows. `sealing`: what is
//!   stored cannot be read without the secret.

pub(crate) mod records;
mod sealing;
pub(crate) mod storage;
#[cfg(test)]
mod storage_tests;
