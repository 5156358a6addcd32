//! Prints the drafts of readings: each line of the standard input is the JSON of one file and its reading, each line of the output
//! the JSON of its drafts. Must not know how files are decoded.

use std::io::{BufRead, Write};

use hearth_reader::draft::{FileReading, Known, smart_add};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let file: FileReading = serde_json::from_str(&line?)?;
        writeln!(output, "{}", serde_json::to_string(&smart_add(&[file], &Known::default()))?)?;
    }
    Ok(())
}
