//! Rating plates, boxes and papers of vehicles: what each says of a thing.

use serde_json::json;

use super::{draft, draft_of, field, file, sure, turned};
use crate::draft::{Confidence, FileReading, Known, Source, keys, smart_add};
use crate::reading::{Area, Code, CodeFormat};

/// Each plate begins with `=== make | model | serial number`.
const PLATES: &str = include_str!("plates.txt");

/// Each paper begins with `=== VIN | how sure | plate | make | model | year | fuel`.
const VEHICLES: &str = include_str!("vehicles.txt");

fn blocks(texts: &'static str) -> Vec<(Vec<&'static str>, &'static str)> {
    let blocks = texts.split("=== ").filter(|block| block.contains('|'));
    let parts = blocks.map(|block| block.split_once('\n').expect("a head"));
    parts.map(|(head, text)| (head.split('|').map(str::trim).collect(), text)).collect()
}

#[test]
fn plates_give_make_model_and_serial() {
    let mut wrong = Vec::new();
    let all = blocks(PLATES);
    assert!(all.len() >= 25, "{} plates", all.len());
    for (expected, text) in all {
        let draft = draft(text, "inventory");
        let read = ["make", "model", "serial_number"].map(|name| field(&draft, name));
        if read[..] != expected[..] {
            wrong.push(format!("expected {}\nread     {}", expected.join(" | "), read.join(" | ")));
        }
        assert_ne!(sure(&draft, "serial_number"), "certain", "text alone proves no serial number:\n{text}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A photo may be turned; columns are columns then, too.
#[test]
fn turned_plates_give_the_same() {
    let mut wrong = Vec::new();
    for (expected, text) in blocks(PLATES) {
        let mut photo = file("plate", text);
        for turns in 1..4 {
            photo = turned(photo);
            let draft = draft_of(photo.clone(), "inventory");
            let read = ["make", "model", "serial_number"].map(|name| field(&draft, name).to_owned());
            if read[..] != expected[..] {
                wrong.push(format!("{turns} quarters: expected {}\nread {}", expected.join(" | "), read.join(" | ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn vehicle_papers_give_vin_plate_and_make() {
    let mut wrong = Vec::new();
    for (expected, text) in blocks(VEHICLES) {
        let draft = draft(text, "vehicle");
        let year = draft.fields.get("year").map_or("-".to_owned(), ToString::to_string);
        let read = [
            field(&draft, "vin"),
            sure(&draft, "vin"),
            field(&draft, "license_plate"),
            field(&draft, "make"),
            field(&draft, "model"),
            &year,
            field(&draft, "fuel_type"),
        ];
        if read[..] != expected[..] {
            wrong.push(format!("expected {}\nread     {}", expected.join(" | "), read.join(" | ")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn with_code(text: &str, format: CodeFormat, code: &str) -> FileReading {
    let mut file = file("file", text);
    let area = Area { x: 0.1, y: 0.8, w: 0.3, h: 0.1 };
    file.reading.codes.push(Code { format, text: code.to_owned(), page: 0, area, proved: true });
    file
}

#[test]
fn code_proves_serial_and_barcode() {
    let plate = with_code("Samsung\nModel: RB34\nS/N: OA7B4GAK5O0123X", CodeFormat::Linear, "0A7B4GAK500123X");
    let drafts = smart_add(&[plate], &Known::default());
    assert_eq!((field(&drafts[0], "serial_number"), sure(&drafts[0], "serial_number")), ("0A7B4GAK500123X", "certain"));
    assert_eq!(drafts[0].evidence["serial_number"].from, Source::Code);

    let other = with_code("Samsung\nModel: RB34\nS/N: 0A7B4GAK500123X", CodeFormat::Linear, "0A7B4GAK500124X");
    assert_eq!(sure(&smart_add(&[other], &Known::default())[0], "serial_number"), "likely");

    let boxed = with_code("Bosch", CodeFormat::Gtin, "4242005192427");
    let drafts = smart_add(&[boxed], &Known::default());
    assert_eq!((field(&drafts[0], "barcode"), sure(&drafts[0], "barcode")), ("4242005192427", "certain"));
}

#[test]
fn badly_read_serial_names_rivals() {
    let mut plate = file("file", "Miele\nModel: WDB 030\nSerial No. 5O123B78");
    let well = smart_add(std::slice::from_ref(&plate), &Known::default());
    let rivals = &well[0].evidence["serial_number"].rivals;
    assert_eq!(rivals[0], json!("50123B78"), "a run of digits is the likeliest: {rivals:?}");
    for word in plate.reading.pages[0].lines.iter_mut().flat_map(|line| &mut line.words) {
        word.score = 0.5;
    }
    let badly = smart_add(&[plate.clone()], &Known::default());
    let evidence = &badly[0].evidence["serial_number"];
    assert_eq!(evidence.confidence, Confidence::Guess);
    assert!(evidence.rivals.contains(&json!("5O123878")), "{:?}", evidence.rivals);
    let keys = keys(&[plate]);
    assert!(keys.serials.contains("5O123B78") && keys.serials.contains("50123B78"));
    assert!(keys.models.contains("WDB 030"));
}
