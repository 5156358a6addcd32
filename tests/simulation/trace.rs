//! The trace of a run: one line for each step. Must not contain values that differ between two runs of one seed.

use std::collections::VecDeque;
use std::fmt::Arguments;

/// The lines of a run.
#[derive(Debug, Default)]
pub struct Trace {
    enabled: bool,
    lines: VecDeque<String>,
    /// FNV-1a hash of all lines, also of dropped ones.
    checksum: u64,
}

/// The most lines kept; the oldest are dropped first.
const LINES_MAX: usize = 100_000;

impl Trace {
    /// An empty trace. When `enabled` is false, the trace ignores every line and costs nothing.
    pub fn new(enabled: bool) -> Trace {
        Trace { enabled, lines: VecDeque::new(), checksum: 0xcbf2_9ce4_8422_2325 }
    }

    /// Adds a line. `now` is the simulated time in milliseconds.
    pub fn log(&mut self, now: i64, text: Arguments<'_>) {
        if !self.enabled {
            return;
        }
        let line = format!("{:>9}.{:03}  {text}", now / 1000, now % 1000);
        for byte in line.bytes() {
            self.checksum = (self.checksum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The kept lines, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// The hash of all lines. Two runs of one seed must have the same hash.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }
}
