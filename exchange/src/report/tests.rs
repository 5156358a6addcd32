//! Tests of whole reports.

use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::super::{PHOTO_BYTES_MAX, RECORDS_MAX, TooLarge};
use super::*;

fn report(records: &[(Kind, &str, Value)]) -> Report {
    let mut report = Report::default();
    for (kind, id, fields) in records {
        report.add(*kind, id, fields.as_object().unwrap()).unwrap();
    }
    report
}

fn html(report: &Report, photo: &mut dyn FnMut(&str) -> Option<Photo>) -> String {
    let facts = Facts { home: "Mill <Lane>".to_owned(), day: "2026-06-01".to_owned() };
    let mut out = Vec::new();
    write(report, &facts, photo, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn photo_paper(subject: &str, sha256: &str) -> Value {
    json!({ "title": "Photo", "category": "other", "content_type": "image/jpeg", "file_sha256": sha256,
        "subject_type": "inventory", "subject_id": subject })
}

#[test]
fn sums_count_quantities_and_are_exact() {
    // The room comes last, as the order of records is free.
    let report = report(&[
        (
            Kind::Inventory,
            "a",
            json!({ "name": "Chair", "quantity": 3, "purchase_price": "0.10", "room_id": "r",
            "category": "furniture" }),
        ),
        (
            Kind::Inventory,
            "b",
            json!({ "name": "Desk", "quantity": 1, "purchase_price": "999999999999.99",
            "current_value": "20.20", "room_id": "r" }),
        ),
        (Kind::Vehicle, "c", json!({ "name": "Car", "current_value": "5000.00", "vin": "1HGCM82633A004352" })),
        (Kind::Inventory, "d", json!({ "name": "Gift", "quantity": 2 })),
        (Kind::Room, "r", json!({ "name": "Study" })),
        (Kind::Property, "p", json!({ "address": "12 Mill Lane", "city": "Springfield", "currency": "EUR" })),
    ]);
    let html = html(&report, &mut |_| None);
    for part in [
        "Study",
        "Without a room",
        "Vehicles",
        "1,000,000,000,000.29",
        "5,020.50",
        "EUR",
        "12 Mill Lane",
        "Mill &#60;Lane&#62;",
        "0.30",
        "1HGCM82633A004352",
        "2026-06-01",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("<script") && !html.contains("http://") && !html.contains("https://"));
}

#[test]
fn texts_of_records_are_escaped() {
    let evil = "<img src=x onerror=\"alert('x')\">";
    let report = report(&[
        (Kind::Inventory, "a", json!({ "name": evil, "make": evil, "category": evil, "room_id": "r" })),
        (Kind::Room, "r", json!({ "name": evil })),
        (Kind::Document, "d", json!({ "title": evil, "subject_id": "a" })),
        (Kind::Document, "e", json!({ "title": evil })),
        (Kind::Property, "p", json!({ "address": evil, "currency": evil })),
    ]);
    assert!(!html(&report, &mut |_| None).contains("<img"));
}

#[test]
fn photos_are_data_uris_within_the_limit() {
    let report = report(&[
        (Kind::Inventory, "a", json!({ "name": "A" })),
        (Kind::Inventory, "b", json!({ "name": "B" })),
        (Kind::Inventory, "c", json!({ "name": "C" })),
        (Kind::Document, "1", photo_paper("a", "s1")),
        (Kind::Document, "2", photo_paper("b", "s2")),
        (Kind::Document, "3", photo_paper("c", "s3")),
    ]);
    let mut asked = Vec::new();
    let html = html(&report, &mut |sha256| {
        asked.push(sha256.to_owned());
        let size = if sha256 == "s2" { PHOTO_BYTES_MAX } else { 3 };
        Some(Photo { media: "image/jpeg", bytes: vec![0xff; size] })
    });
    assert_eq!(html.matches("src=\"data:image/jpeg;base64,////\"").count(), 2);
    assert!(html.contains("1 photo is missing"), "{html}");
    assert_eq!(asked, ["s1", "s2", "s3"]);
}

#[test]
fn report_has_a_limit_and_may_be_empty() {
    let mut full = Report::default();
    let room = json!({ "name": "Room" });
    for number in 0..RECORDS_MAX {
        full.add(Kind::Room, &number.to_string(), room.as_object().unwrap()).unwrap();
    }
    assert_eq!(full.add(Kind::Room, "one", room.as_object().unwrap()), Err(TooLarge));
    assert!(html(&Report::default(), &mut |_| None).contains("no things"));
}
