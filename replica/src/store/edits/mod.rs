//! Local changes: how they are made, sent, confirmed, settled and decided about.
//!
//! - Making: [`write`](mod@write). Reading: [`list`], [`history`], [`names`].
//! - Sending: [`plan`] chooses the edits ([`readiness`] decides, [`create_deps`] prevents circles), [`prepare`] merges an edit
//!   with the server's version ([`next_step`] decides, [`adapt`], [`coalesce`]), and [`push`] freezes the request in the [`outbox`].
//! - Confirming: [`answers`] records responses ([`completion_time`]: one refusal needs no person), [`acked`]
//!   what the server has, [`already_applied`] what it had before,
//!   [`missed_events`] what may have been applied without a response, and [`settle`] ends edits.
//! - [`next_tasks`]: the tasks that follow completed recurring tasks, shown before the server makes them.
//! - Deciding: [`decide`], [`resolve`] and [`undo`], several in one transaction ([`decisions`]); [`recheck`] ends conflicts
//!   that no longer need a decision.

pub(crate) mod acked;
pub(crate) mod adapt;
mod already_applied;
pub(crate) mod answers;
mod coalesce;
mod completion_time;
mod create_deps;
pub(crate) mod decide;
pub(crate) mod decisions;
pub(crate) mod edit_ids;
mod error;
pub(crate) mod frozen_request;
pub(crate) mod history;
mod list;
pub(crate) mod missed_events;
mod names;
mod next_step;
pub(crate) mod next_tasks;
pub(crate) mod outbox;
mod parts;
mod pending;
pub(crate) mod plan;
mod prepare;
pub(crate) mod push;
mod readiness;
pub(crate) mod reason;
pub(crate) mod recheck;
pub(crate) mod resolve;
mod revert;
pub(super) mod settle;
pub(crate) mod undo;
mod write;

pub use self::error::EditError;
pub(crate) use self::list::{list, of_record};
pub use self::pending::Decided;
pub(crate) use self::write::{
    create, create_in, delete, delete_in, fresh_id, profile_id, update, update_in, update_seen,
};
