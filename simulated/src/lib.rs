//! Hooks for the simulation: where a process crashes, when the disk is full, which bytes are random, and which fault is
//! planted in the code. Each thread has its own simulation, or none.
//!
//! Without the feature `simulation` every hook returns a constant that means "nothing is simulated". The compiler then
//! removes the hooks from the programs. Must not know which code calls a hook.

#[cfg(all(feature = "simulation", not(debug_assertions)))]
compile_error!(
    "A release build must not contain the hooks of the simulation, which can plant faults. Build without the tests, or use \
     `--profile simulation`."
);

#[cfg(feature = "simulation")]
mod hooks;
mod interruption;
mod planted_fault;

pub use interruption::Interruption;
pub use planted_fault::PlantedFault;

#[cfg(feature = "simulation")]
pub use hooks::{set_interruption_hook, set_random_hook};

/// Whether this build contains the hooks.
pub const IS_SIMULATED: bool = cfg!(feature = "simulation");

/// The version that the programs print. With the hooks, the version ends with `(simulation)`.
pub const VERSION: &str =
    if IS_SIMULATED { concat!(env!("CARGO_PKG_VERSION"), " (simulation)") } else { env!("CARGO_PKG_VERSION") };

/// Does nothing: this build contains no hooks. The function exists so that the callers compile in both builds.
#[cfg(not(feature = "simulation"))]
pub fn set_interruption_hook(_: Option<Box<dyn FnMut(&'static str) -> Option<Interruption>>>) {}

/// Does nothing: this build contains no hooks. The function exists so that the callers compile in both builds.
#[cfg(not(feature = "simulation"))]
#[expect(clippy::type_complexity, reason = "the form of the hook in a simulated build")]
pub fn set_random_hook(_: Option<Box<dyn FnMut(&mut [u8])>>) {}

/// The interruption of the running process at the named point in the code. None: the process continues.
#[inline(always)]
pub fn interruption(point: &'static str) -> Option<Interruption> {
    #[cfg(feature = "simulation")]
    return hooks::interruption(point);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = point;
        None
    }
}

/// Fills the bytes from the random source of a simulation. False: no simulation runs, and the caller must fill them.
#[inline(always)]
pub fn fill_random(bytes: &mut [u8]) -> bool {
    #[cfg(feature = "simulation")]
    return hooks::fill_random(bytes);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = bytes;
        false
    }
}

/// True when this process runs with `fault` planted (`HEARTH_PLANTED`). Always false without the feature `simulation`.
#[inline(always)]
pub fn planted(fault: PlantedFault) -> bool {
    #[cfg(feature = "simulation")]
    return hooks::planted(fault);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = fault;
        false
    }
}
