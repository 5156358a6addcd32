//! What happened in a run, line by line, as far as it is wanted. Must not hold anything that differs between two runs
//! of one seed.

use std::collections::VecDeque;
use std::fmt::Arguments;

/// The lines of a run.
#[derive(Debug, Default)]
pub struct Trace {
    wanted: bool,
    lines: VecDeque<String>,
    /// A number that follows from all lines.
    sum: u64,
}

/// Lines kept of a run.
const LINES_MAX: usize = 100_000;

impl Trace {
    /// Keeps lines if they are wanted; otherwise it costs nothing.
    pub fn new(wanted: bool) -> Trace {
        Trace { wanted, lines: VecDeque::new(), sum: 0xcbf2_9ce4_8422_2325 }
    }

    /// Adds a line.
    pub fn say(&mut self, now: i64, text: Arguments<'_>) {
        if !self.wanted {
            return;
        }
        let line = format!("{:>9}.{:03}  {text}", now / 1000, now % 1000);
        for byte in line.bytes() {
            self.sum = (self.sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// The lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// A number that two runs share only if they said the same.
    pub fn sum(&self) -> u64 {
        self.sum
    }
}
