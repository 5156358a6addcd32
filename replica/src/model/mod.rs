//! Plain types that every layer of the replica shares. Must not know SQL, HTTP or any other module of the crate.

mod edit;
mod words;

pub use edit::{Conflict, Edit, Settled};
pub use words::{BlockCause, EditOutcome, EditProgress, EditState, Method, Origin, Phase, ReasonCode, Transport};
