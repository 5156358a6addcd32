//! Inputs of the core. Plain values; must not decide anything.

use super::link;
use super::push;
use super::reconcile;
use crate::model::Reconcile;

/// An input of the core.
#[derive(Debug)]
pub(crate) enum Event {
    /// The sync starts from the state on disk. `reconcile`: as interrupted. None: nothing to reconcile.
    Started { link: link::Start, reconcile: Option<Reconcile> },
    /// A person's requests were read from the database. `reconcile`: compare with the server; true accepts all deletions.
    /// `retry_now`: do not wait for the replica's own retry pauses.
    ControlChanged { is_paused: bool, reconcile: Option<bool>, retry_now: bool },
    /// A batch is applied up to `position`. `has_id_gap`: ids are missing in the batch, so the server was restored.
    /// `affects_edits`: unsent edits must be planned again. `confirms_edits`: events have confirmed edits.
    BatchApplied { cursor: Option<String>, position: i64, has_id_gap: bool, affects_edits: bool, confirms_edits: bool },
    /// For the link.
    Link(link::Input),
    /// For the push.
    Push(push::Input),
    /// For the reconcile.
    Reconcile(reconcile::Input),
}
