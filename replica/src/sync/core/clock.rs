//! Time as the core counts time. Must not read a clock.

/// Milliseconds of a clock that never goes back. The zero is arbitrary, so only differences have a meaning.
pub type Millis = i64;
