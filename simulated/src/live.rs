//! The simulation of this thread. Must not decide anything itself: whoever simulates says what happens.

use std::cell::RefCell;
use std::sync::LazyLock;

use crate::{Fault, Interruption};

type Interrupting = Box<dyn FnMut(&'static str) -> Option<Interruption>>;
type Randomness = Box<dyn FnMut(&mut [u8])>;

thread_local! {
    static INTERRUPTING: RefCell<Option<Interrupting>> = const { RefCell::new(None) };
    static RANDOMNESS: RefCell<Option<Randomness>> = const { RefCell::new(None) };
}

/// Asks `decide` at every point of this thread from now on; None: nothing happens any more.
pub fn interrupt_by(decide: Option<Interrupting>) {
    INTERRUPTING.with_borrow_mut(|known| *known = decide);
}

/// Takes what is random on this thread from `fill`; None: from the machine again.
pub fn random_by(fill: Option<Randomness>) {
    RANDOMNESS.with_borrow_mut(|known| *known = fill);
}

pub(crate) fn interruption(point: &'static str) -> Option<Interruption> {
    INTERRUPTING.with_borrow_mut(|decide| decide.as_mut().and_then(|decide| decide(point)))
}

pub(crate) fn random(bytes: &mut [u8]) -> bool {
    RANDOMNESS.with_borrow_mut(|fill| fill.as_mut().map(|fill| fill(bytes)).is_some())
}

/// The fault in this program.
static PLANTED: LazyLock<Option<Fault>> =
    LazyLock::new(|| std::env::var("HEARTH_PLANTED").ok().and_then(|name| Fault::parse(&name)));

pub(crate) fn planted(fault: Fault) -> bool {
    *PLANTED == Some(fault)
}
