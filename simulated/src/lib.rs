//! What a simulation decides in place of the machine: where a process ends, when the disk is full, what is random, and
//! which fault is planted in the code to see whether it is found. Each thread has its own simulation, or none.
//!
//! Without the feature `simulation` every question has the answer of an ordinary day, known when the code is compiled:
//! nothing of this is left in the programs. Must not know who asks.

mod fault;
#[cfg(feature = "simulation")]
mod live;

pub use fault::Fault;

#[cfg(feature = "simulation")]
pub use live::{interrupt_by, random_by};

/// Something that happens to a process at one of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The process ends here. Whoever is told so gives up all it does; nothing it says is heard any more.
    Crash,
    /// The disk takes no more.
    DiskFull,
}

/// What happens to the running process at a point that is called so.
#[inline(always)]
pub fn interruption(point: &'static str) -> Option<Interruption> {
    #[cfg(feature = "simulation")]
    return live::interruption(point);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = point;
        None
    }
}

/// Fills bytes that have to be random. False: nothing is simulated, the machine must do it.
#[inline(always)]
pub fn random(bytes: &mut [u8]) -> bool {
    #[cfg(feature = "simulation")]
    return live::random(bytes);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = bytes;
        false
    }
}

/// True when this process runs with `fault` planted (`HEARTH_PLANTED`). Always false without the feature `simulation`.
#[inline(always)]
pub fn planted(fault: Fault) -> bool {
    #[cfg(feature = "simulation")]
    return live::planted(fault);
    #[cfg(not(feature = "simulation"))]
    {
        let _ = fault;
        false
    }
}
