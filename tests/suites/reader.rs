//! The reading process of the built server: what it reads in photos and papers, and what harmful files can do to it (contract 22).

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use hearth_reader::reading::{CodeFormat, Reading, TextSource, Turn, look_distance};
use hearth_tests::process::{command, program};
use serde_json::Value;

/// The small set of pictures with what a person reads in them.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/reader");
/// One of the files of the models.
const DETECT_FILE: &str = "det.onnx";
/// Of all words of the small set, at least.
const WORDS_MIN: f64 = 0.97;
/// Damaged copies of each file.
const DAMAGED: usize = 8;

/// The models in `target/models`, where `packaging/models.sh target/models` puts them.
fn models() -> Option<PathBuf> {
    let found =
        program("hearth-server").ancestors().map(|dir| dir.join("models")).find(|dir| dir.join(DETECT_FILE).is_file());
    if found.is_none() {
        eprintln!("skipped: the models are missing; run `packaging/models.sh target/models`");
    }
    found
}

/// Exit code (None: ended by a signal) and standard output of the process.
fn run(bytes: &[u8], models: &Path) -> (Option<i32>, Vec<u8>) {
    let mut command = command("hearth-server", &["read-file", "--models"]);
    command.arg(models).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // The process may end before it has read all.
        scope.spawn(move || stdin.write_all(bytes));
        child.wait_with_output().unwrap()
    });
    (output.status.code(), output.stdout)
}

fn read(bytes: &[u8], models: &Path) -> Result<Reading, String> {
    let (code, output) = run(bytes, models);
    let json: Value = serde_json::from_slice(&output).unwrap_or_else(|error| panic!("{code:?}: {error}"));
    match code {
        Some(0) => Ok(serde_json::from_value(json).unwrap()),
        _ => Err(json["error"].as_str().unwrap().to_owned()),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(FIXTURES).join(name)).unwrap()
}

fn text(reading: &Reading) -> String {
    reading.pages.iter().map(|page| page.text()).collect::<Vec<_>>().join("\n")
}

#[test]
fn small_set_is_read() {
    let Some(models) = models() else { return };
    let (mut right, mut all) = (0, 0);
    for entry in std::fs::read_dir(FIXTURES).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "json") {
            continue;
        }
        let expected: Value = serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        let reading = read(&std::fs::read(&path).unwrap(), &models).unwrap();
        let text = text(&reading);
        let mut words: Vec<&str> = text.split_whitespace().collect();
        for word in expected["words"].as_array().unwrap() {
            all += 1;
            if let Some(index) = words.iter().position(|read| word == read) {
                words.swap_remove(index);
                right += 1;
            }
        }
        for code in expected["codes"].as_array().unwrap() {
            assert!(reading.codes.iter().any(|read| code == &read.text), "{}: {code}", path.display());
        }
    }
    assert!(f64::from(right) >= f64::from(all) * WORDS_MIN, "{right} of {all} words");
}

/// A page with much text, or a busy machine: what was read so far is kept.
#[test]
fn text_beyond_the_time_is_left_out() {
    let Some(models) = models() else { return };
    let photo = std::fs::File::open(Path::new(FIXTURES).join("receipt-en.jpg")).unwrap();
    let mut command = command("hearth-server", &["read-file", "--seconds", "0", "--models"]);
    let output = command.arg(models).stdin(photo).output().unwrap();
    let reading: Reading = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), reading.is_complete(), text(&reading).as_str()), (Some(0), false, ""));
    assert!(reading.look.is_some(), "what needs no time is there");
}

#[test]
fn turned_photo_has_lines_in_order_and_areas_of_the_shown_picture() {
    let Some(models) = models() else { return };
    let reading = read(&fixture("receipt-de-turned.jpg"), &models).unwrap();
    let page = &reading.pages[0];
    assert_eq!((page.turn, reading.text_source), (Turn::Right, TextSource::Recognized));
    assert!(page.text().starts_with("Elektro Müller GmbH\nKönigstraße 28\n"), "{}", page.text());
    let area = page.lines[0].area();
    assert!(area.h > area.w, "the first line runs upward: {area:?}");
    let upright = area.turned(page.turn);
    assert!(upright.w > upright.h && upright.y < 0.3, "{upright:?}");
}

#[test]
fn without_models_codes_and_stored_texts_are_read() {
    let none = Path::new("/nonexistent");
    let codes = read(&fixture("codes.jpg"), none).unwrap();
    assert_eq!(codes.text_source, TextSource::NoModels);
    let gtin = codes.codes.iter().find(|code| code.format == CodeFormat::Gtin).unwrap();
    assert!(gtin.text == "4006381333931" && gtin.proved && gtin.area.w > 0.2, "{gtin:?}");
    let plate = read(&fixture("plate-bosch.jpg"), none).unwrap();
    assert!(look_distance(plate.look_bits().unwrap(), codes.look_bits().unwrap()) > 10);

    let invoice = read(&fixture("invoice.pdf"), none).unwrap();
    assert_eq!(invoice.text_source, TextSource::Stored);
    assert!(text(&invoice).contains("Gesamtbetrag 891,31 €"), "{}", text(&invoice));
    let exact = invoice.invoice.unwrap();
    assert_eq!((exact.total.as_deref(), exact.issued_on.as_deref()), (Some("891.31"), Some("2026-01-09")));
    assert_eq!(exact.positions[0].gtin.as_deref(), Some("4242005203574"));

    let plain = read("Total:   9,30 €\n".as_bytes(), none).unwrap();
    assert_eq!((text(&plain).as_str(), plain.text_source), ("Total: 9,30 €", TextSource::Stored));
}

#[test]
fn harmful_files_end_with_a_sentence() {
    let none = Path::new("/nonexistent");
    // The header of a GIF of 65,535 × 65,535 pixels.
    let gif = b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b";
    // 80 KB that become gigabytes: each byte pair repeats a byte 128 times, twice over.
    let packed = [&[0x81, 0x81][..]].concat().repeat(40_000);
    for (name, bytes) in [
        ("pixels", gif.to_vec()),
        ("packed", pdf(b"/Filter [/RunLengthDecode /RunLengthDecode /RunLengthDecode]", &packed, "[0 0 600 800]")),
        ("huge page", pdf(b"", b"0 0 m 1 1 l S", "[0 0 100000000 100000000]")),
        ("deep", pdf(b"", "[".repeat(20_000).as_bytes(), "[0 0 600 800]")),
        ("loop", b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 9/Kids[2 0 R 2 0 R]>>endobj\ntrailer<</Root 1 0 R>>".to_vec()),
        ("nothing", b"%PDF-1.4".to_vec()),
        ("zeros", vec![0; 1 << 20]),
        ("text", vec![b'a'; 3 << 20]),
    ] {
        let (code, output) = run(&bytes, none);
        match code {
            Some(0) => drop(serde_json::from_slice::<Reading>(&output).unwrap()),
            Some(1) => assert!(serde_json::from_slice::<Value>(&output).unwrap()["error"].is_string(), "{name}"),
            // The system has ended it at a limit.
            None => {}
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(read(gif, none).unwrap_err().contains("50 megapixels"));
    assert!(read(&[0; 100], none).unwrap_err().contains("JPEG, PNG"));
    assert!(read(b"%PDF-1.4", none).unwrap_err().contains("damaged"));
}

/// A PDF of one page with a stream of content.
fn pdf(filter: &[u8], content: &[u8], size: &str) -> Vec<u8> {
    let mut pdf = format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n\
         3 0 obj<</Type/Page/Parent 2 0 R/MediaBox {size}/Contents 4 0 R>>endobj\n4 0 obj<</Length {} ",
        content.len()
    )
    .into_bytes();
    pdf.extend([filter, b">>stream\n", content, b"\nendstream endobj\ntrailer<</Root 1 0 R>>\n%%EOF"].concat());
    pdf
}

#[test]
fn damaged_copies_end_in_order() {
    let none = Path::new("/nonexistent");
    // A fixed start: each run damages the same bytes.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for name in ["plate-miele-turned.jpg", "invoice.pdf"] {
        let whole = fixture(name);
        for copy in 0..DAMAGED {
            let mut bytes = whole.clone();
            for _ in 0..=copy {
                let place = next(bytes.len());
                bytes[place] = next(256) as u8;
            }
            if copy % 4 == 3 {
                bytes.truncate(next(bytes.len()));
            }
            let (code, _) = run(&bytes, none);
            assert!(matches!(code, Some(0 | 1) | None), "{name}, copy {copy}: {code:?}");
        }
    }
}
