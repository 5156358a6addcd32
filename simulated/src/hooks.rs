//! The hooks that a simulation installs for its own thread, and the planted fault of the process. Must not decide what
//! happens: the simulation decides.

use std::cell::RefCell;
use std::sync::LazyLock;

use crate::interruption::Interruption;
use crate::planted_fault::PlantedFault;

type InterruptionHook = Box<dyn FnMut(&'static str) -> Option<Interruption>>;
type RandomHook = Box<dyn FnMut(&mut [u8])>;

thread_local! {
    static INTERRUPTION_HOOK: RefCell<Option<InterruptionHook>> = const { RefCell::new(None) };
    static RANDOM_HOOK: RefCell<Option<RandomHook>> = const { RefCell::new(None) };
}

/// Installs the hook that decides at every interruption point of this thread. None removes the hook.
pub fn set_interruption_hook(hook: Option<InterruptionHook>) {
    INTERRUPTION_HOOK.with_borrow_mut(|installed| *installed = hook);
}

/// Installs the source of random bytes for this thread. None restores the randomness of the operating system.
pub fn set_random_hook(hook: Option<RandomHook>) {
    RANDOM_HOOK.with_borrow_mut(|installed| *installed = hook);
}

/// What the hook of this thread decides at the point; None without a hook.
pub(crate) fn interruption(point: &'static str) -> Option<Interruption> {
    INTERRUPTION_HOOK.with_borrow_mut(|hook| hook.as_mut().and_then(|hook| hook(point)))
}

/// Fills the bytes from the hook of this thread. False without a hook: the bytes are unchanged.
pub(crate) fn fill_random(bytes: &mut [u8]) -> bool {
    RANDOM_HOOK.with_borrow_mut(|hook| hook.as_mut().map(|hook| hook(bytes)).is_some())
}

/// The fault named by `HEARTH_PLANTED`; None when the variable is unset or names no fault.
static PLANTED_FAULT: LazyLock<Option<PlantedFault>> =
    LazyLock::new(|| std::env::var("HEARTH_PLANTED").ok().and_then(|name| PlantedFault::parse(&name)));

/// True when `fault` is the planted fault of this process.
pub(crate) fn planted(fault: PlantedFault) -> bool {
    *PLANTED_FAULT == Some(fault)
}
