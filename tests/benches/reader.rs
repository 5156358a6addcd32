//! How well photos and papers are read: `bench reader --data DIR`. Beside each file `NAME.jpg`, `.png`, `.webp`, `.gif`, `.pdf` or
//! `.txt` in DIR stands `NAME.json` with what a person reads there; each member may be absent:
//!
//! `{ "words": ["TOTAL", "21.54"], "date": "2026-03-14", "total": "21.54", "codes": ["4006381333931"], "fields": { "make": "Bosch" } }`
//!
//! `fields` are those of the thing in the photo.
//!
//! A word is right when the text has it between spaces, with all its marks; capital and small letters are one. Each word that was read
//! counts once, at any place. Beside it stands the share of the parts of words that are letters and digits, so `TOTAL:` and `TOTAL` are
//! one part, and `81200,JOHOR` is two: recognized text and texts written by hand differ most in marks and spaces.
//!
//! `reader_data.py` beside this file makes such directories.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use hearth_reader::draft::{Confidence, Draft, FileReading, Known, smart_add};
use hearth_reader::reading::{Code, Reading};
use hearth_tests::process::program;
use serde::Deserialize;

/// Time between two looks at the memory of the reading process.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Ticks of processor time a second, as Linux states it to programs.
const TICKS: f64 = 100.0;

/// What a person reads in a file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Expected {
    words: Vec<String>,
    date: Option<String>,
    total: Option<String>,
    codes: Vec<String>,
    fields: BTreeMap<String, String>,
}

/// How many of how many.
#[derive(Clone, Copy, Default)]
struct Share {
    right: usize,
    all: usize,
}

#[derive(Default)]
struct Sums {
    words: Share,
    parts: Share,
    dates: Share,
    totals: Share,
    /// Totals that are called certain, and how many of them are right.
    certain: Share,
    codes: Share,
    fields: Share,
    /// Codes that were found and are not there, and how many of them are called proved.
    wrong_codes: Share,
    seconds: f64,
    peak_mib: f64,
}

/// Reads all files of a directory and prints a line for each, and the sums.
pub(crate) fn reader(data: &Path, models: &Path) -> anyhow::Result<()> {
    let mut sums = Sums::default();
    let files = files(data)?;
    anyhow::ensure!(!files.is_empty(), "{}: there are no files with a .json beside them", data.display());
    for (file, expected) in &files {
        measure(file, expected, models, &mut sums).with_context(|| file.display().to_string())?;
    }
    let count = files.len() as f64;
    println!("words {}, their letters and digits {}", sums.words.text(), sums.parts.text());
    println!("dates {}, totals {}", sums.dates.text(), sums.totals.text());
    println!("certain totals {} right, of {} with a total", sums.certain.text(), sums.totals.all);
    println!(
        "codes {}, wrong ones {}, {} of them called proved",
        sums.codes.text(),
        sums.wrong_codes.all,
        sums.wrong_codes.right
    );
    println!("fields of things {}", sums.fields.text());
    println!("{:.1} CPU s for each file, at most {:.0} MiB", sums.seconds / count, sums.peak_mib);
    Ok(())
}

impl Share {
    fn add(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    fn plus(self, other: Share) -> Share {
        Share { right: self.right + other.right, all: self.all + other.all }
    }

    fn text(self) -> String {
        format!("{}/{} ({:.1} %)", self.right, self.all, self.right as f64 * 100.0 / self.all.max(1) as f64)
    }
}

fn files(data: &Path) -> anyhow::Result<Vec<(PathBuf, Expected)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(data).with_context(|| data.display().to_string())? {
        let path = entry?.path();
        let beside = path.with_extension("json");
        if path != beside && beside.is_file() {
            let expected = serde_json::from_reader(File::open(&beside)?);
            found.push((path, expected.with_context(|| beside.display().to_string())?));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

fn measure(file: &Path, expected: &Expected, models: &Path, sums: &mut Sums) -> anyhow::Result<()> {
    let (output, seconds, peak_mib) = run(file, models)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    sums.seconds += seconds;
    sums.peak_mib = sums.peak_mib.max(peak_mib);
    let reading = serde_json::from_slice::<Reading>(&output).unwrap_or_else(|_| {
        println!("{name}: not read: {}", String::from_utf8_lossy(&output));
        Reading::default()
    });
    let words = count_words(&reading, &expected.words, |word| vec![word.to_owned()]);
    sums.words = sums.words.plus(words);
    sums.parts = sums.parts.plus(count_words(&reading, &expected.words, parts));
    let is_code = |found: &Code, code: &String| found.text == *code || found.text == format!("0{code}");
    let mut codes = Share::default();
    expected.codes.iter().for_each(|code| codes.add(reading.codes.iter().any(|found| is_code(found, code))));
    sums.codes = sums.codes.plus(codes);
    if !expected.codes.is_empty() {
        let wrong = reading.codes.iter().filter(|found| !expected.codes.iter().any(|code| is_code(found, code)));
        wrong.for_each(|found| sums.wrong_codes.add(found.proved));
    }
    let file_reading = FileReading { sha256: String::new(), name: None, reading };
    let drafts = smart_add(&[file_reading], &Known::default());
    let document =
        drafts.iter().find(|draft| draft.fields.contains_key("issued_on") || draft.fields.contains_key("amount"));
    let (date, _) = value(document, "issued_on");
    let (total, confidence) = value(document, "amount");
    let thing = drafts.iter().find(|draft| draft.kind == "inventory");
    for (field, expected) in &expected.fields {
        let found = value(thing, field).0;
        sums.fields.add(found.as_ref() == Some(expected));
        if found.as_ref() != Some(expected) {
            println!("{name}: {field} {found:?} in place of {expected}");
        }
    }
    if let Some(expected) = &expected.date {
        sums.dates.add(date.as_ref() == Some(expected));
    }
    if let Some(expected) = &expected.total {
        let is_right = total.as_ref() == Some(expected);
        sums.totals.add(is_right);
        if confidence == Some(Confidence::Certain) {
            sums.certain.add(is_right);
        }
    }
    println!(
        "{name}: words {}, date {date:?}, total {total:?} {confidence:?}, codes {}, {seconds:.1} CPU s, {peak_mib:.0} MiB",
        words.text(),
        codes.text()
    );
    Ok(())
}

/// The value of a field, and how sure it is.
fn value(draft: Option<&Draft>, field: &str) -> (Option<String>, Option<Confidence>) {
    let value = draft
        .and_then(|draft| draft.fields.get(field))
        .map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
    (value, draft.and_then(|draft| draft.evidence.get(field)).map(|evidence| evidence.confidence))
}

/// How many of the expected words, or parts of them, were read, in any order; each one read counts once.
fn count_words(reading: &Reading, expected: &[String], parts: impl Fn(&str) -> Vec<String>) -> Share {
    let mut read: HashMap<String, usize> = HashMap::new();
    let words = reading.pages.iter().flat_map(|page| &page.lines).flat_map(|line| &line.words);
    for part in words.flat_map(|word| parts(&word.text.to_uppercase())) {
        *read.entry(part).or_default() += 1;
    }
    let mut share = Share::default();
    for part in expected.iter().flat_map(|word| parts(&word.to_uppercase())) {
        let left = read.get_mut(&part).filter(|left| **left > 0);
        share.add(left.map(|left| *left -= 1).is_some());
    }
    share
}

/// The letters and digits of a word, divided at other signs.
fn parts(word: &str) -> Vec<String> {
    word.split(|sign: char| !sign.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The output of the reading process, its processor time in seconds, and its memory at most, in MiB.
fn run(file: &Path, models: &Path) -> anyhow::Result<(Vec<u8>, f64, f64)> {
    let output = tempfile::tempfile()?;
    let mut command = Command::new(program("hearth-server"));
    command.arg("read-file").arg("--models").arg(models).stdin(File::open(file)?);
    let mut child = command.stdout(output.try_clone()?).stderr(Stdio::null()).spawn()?;
    let mut peak = 0.0_f64;
    // A process that has ended is kept by the system until `wait`, with its times.
    let seconds = loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.trim().parse().ok());
        peak = peak.max(memory.unwrap_or(0.0));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        let parts: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        if parts.first() == Some(&"Z") {
            // Own time, time in the system, and both of the programs that it started.
            let ticks = parts.get(11..15).unwrap_or_default().iter().filter_map(|ticks| ticks.parse::<f64>().ok());
            break ticks.sum::<f64>() / TICKS;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    child.wait()?;
    let mut bytes = Vec::new();
    let mut output = output;
    std::io::Seek::rewind(&mut output)?;
    std::io::Read::read_to_end(&mut output, &mut bytes)?;
    Ok((bytes, seconds, peak / 1024.0))
}
