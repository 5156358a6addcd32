//! The work of drafts grows with the text, not with its square.

use std::time::Instant;

use super::file;
use crate::draft::{Known, smart_add};

/// The time of a text of so many lines of 100 letters, in seconds.
fn seconds(lines: usize) -> f64 {
    let samples = [
        "TOTAL AMOUNT 12.00 CASH 50.00 CHANGE 38.00 on 31.12.2024 and 01/02/2024 for the garantie of 24 Monate 2024",
        "Model: AB 1234 S/N: 99887766 warranty of two years from the date of purchase on 14.05.2024 for all parts",
        "TOTAL",
        "12.00",
    ];
    let text: Vec<&str> = (0..lines).map(|line| samples[line % samples.len()]).collect();
    let files = [file("file", &text.join("\n"))];
    let start = Instant::now();
    let drafts = smart_add(&files, &Known::default());
    assert!(!drafts.is_empty());
    start.elapsed().as_secs_f64()
}

#[test]
fn time_grows_with_the_text() {
    let (small, large) = (seconds(2_500), seconds(20_000));
    assert!(large < small * 24.0 + 0.5, "2,500 lines: {small:.3} s; 20,000 lines: {large:.3} s");
}
