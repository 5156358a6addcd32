//! Captures (contract 22): photos and papers from which the server makes drafts of records. Rows of the table `captures`, and the
//! edits that follow when a person accepts. Must not know how requests are sent.
//!
//! - [`table`]: reads rows. [`make`]: a new capture, with its files. [`accept`]: drafts become edits, or are thrown away.
//! - [`exchange`]: what the server does not know yet, and what it answers. [`listed`]: the server's list becomes rows.

pub(crate) mod accept;
pub(crate) mod exchange;
pub(crate) mod listed;
pub(crate) mod make;
pub(crate) mod table;
