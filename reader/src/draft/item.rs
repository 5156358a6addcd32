//! The draft of an item or vehicle from all files of a capture: a new record, or a patch of a known one. Must not know documents.

use hearth_contract::schema::Kind;
use serde_json::Value;

use super::build::Builder;
use super::known::FileFacts;
use super::model::{Confidence, Draft, Evidence, FileReading, Known, KnownRecord, Source};
use super::paper::Paper;
use super::purchase;
use super::serial::Found;
use super::vehicle::VehicleFacts;
use super::warranty::End;
use super::words::things::THINGS;

/// The rows that are read for the sort of a thing.
const ROWS_MAX: usize = 200;

/// The files of a capture as the rules understand them.
pub(super) struct Capture<'r, 'f> {
    /// The files.
    pub(super) files: &'f [FileReading],
    /// Their papers, in the same order.
    pub(super) papers: &'r [Paper<'f>],
    /// What they say of a thing.
    pub(super) facts: &'r [FileFacts],
    /// The last day that each file states, in the same order.
    pub(super) ends: &'r [Option<End>],
    /// What the home knows.
    pub(super) known: &'r Known,
}

/// The draft of a new item or vehicle.
pub(super) fn new(capture: &Capture<'_, '_>, kind: Kind) -> Draft {
    let mut draft = Builder::new(name_of(kind), kind, None);
    put_thing(&mut draft, capture, kind);
    put_name(&mut draft);
    put_purchases(&mut draft, capture, kind, "");
    draft.done()
}

/// The patch of a known record. A value that the record has is left out. None: nothing is to change.
pub(super) fn patch(capture: &Capture<'_, '_>, record: &KnownRecord) -> Option<Draft> {
    let mut draft = Builder::new(name_of(record.kind), record.kind, Some(&record.id));
    put_thing(&mut draft, capture, record.kind);
    let words: Vec<&str> = [Some(&record.name), record.make.as_ref(), record.model.as_ref()]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    put_purchases(&mut draft, capture, record.kind, &words.join(" "));
    for (field, value) in [
        ("make", &record.make),
        ("model", &record.model),
        ("serial_number", &record.serial),
        ("barcode", &record.barcode),
        ("license_plate", &record.plate),
        ("vin", &record.vin),
    ] {
        if value.is_some() {
            draft.remove(field);
        }
    }
    draft.remove("name");
    draft.remove("category");
    (!draft.is_empty()).then(|| draft.done())
}

fn name_of(kind: Kind) -> &'static str {
    if kind == Kind::Vehicle { "vehicle" } else { "item" }
}

fn put_thing(draft: &mut Builder, capture: &Capture<'_, '_>, kind: Kind) {
    for facts in capture.facts {
        if kind == Kind::Vehicle {
            facts.vehicle.iter().for_each(|vehicle| put_vehicle(draft, vehicle));
            continue;
        }
        let thing = &facts.thing;
        let fields = [
            ("make", &thing.make),
            ("model", &thing.model),
            ("serial_number", &thing.serial),
            ("barcode", &thing.barcode),
        ];
        for (field, found) in fields {
            put_found(draft, field, found.as_ref());
        }
    }
    if kind == Kind::Vehicle {
        put_insurance(draft, capture);
    } else {
        put_category(draft, capture);
        for end in capture.ends.iter().flatten().filter(|end| end.warranty) {
            draft.put("warranty_expires_on", end.day.clone(), end.evidence.clone());
        }
    }
}

fn put_vehicle(draft: &mut Builder, vehicle: &VehicleFacts) {
    put_found(draft, "vin", vehicle.vin.as_ref());
    put_found(draft, "license_plate", vehicle.plate.as_ref());
    put_found(draft, "make", vehicle.make.as_ref());
    put_found(draft, "model", vehicle.model.as_ref());
    put_found(draft, "color", vehicle.color.as_ref());
    put_found(draft, "fuel_type", vehicle.fuel.as_ref());
    put_found(draft, "insurance_policy_number", vehicle.policy.as_ref());
    if let Some((year, number)) = vehicle.year.as_ref().and_then(|year| Some((year, year.text.parse::<i64>().ok()?))) {
        draft.put("year", number, year.evidence.clone());
    }
}

/// The insurer and the end of the policy.
fn put_insurance(draft: &mut Builder, capture: &Capture<'_, '_>) {
    let policies = capture.papers.iter().zip(capture.ends).filter(|(paper, _)| super::category::is_policy(paper));
    for (paper, end) in policies {
        if let Some(vendor) = &paper.vendor {
            let evidence = paper.rows[vendor.row].evidence(capture.files, vendor.from, vendor.to, vendor.confidence);
            draft.put("insurance_provider", vendor.name.clone(), evidence);
        }
        if let Some(end) = end {
            draft.put("insurance_expires_on", end.day.clone(), end.evidence.clone());
        }
    }
}

fn put_found(draft: &mut Builder, field: &str, found: Option<&Found>) {
    if let Some(found) = found {
        draft.put(field, found.text.clone(), found.evidence.clone());
    }
}

/// The sort of the thing by its first word in the files. The words of a receipt speak of many things.
fn put_category(draft: &mut Builder, capture: &Capture<'_, '_>) {
    for paper in capture.papers.iter().filter(|paper| !super::category::is_purchase(paper)) {
        let rows = paper.rows.iter().take(ROWS_MAX);
        if let Some((row, hit)) =
            rows.filter_map(|row| THINGS.find(row).into_iter().next().map(|hit| (row, hit))).next()
        {
            let evidence = row.evidence(capture.files, hit.from, hit.to, Confidence::Guess);
            draft.put("category", hit.class, evidence);
        }
    }
}

/// Make and model name a thing better than the words of a receipt.
fn put_name(draft: &mut Builder) {
    let Some(model) = draft.evidence("model").cloned() else { return };
    let words: Vec<String> =
        ["make", "model"].iter().filter_map(|field| draft.text(field).map(str::to_owned)).collect();
    let repeats = words.len() == 2 && words[1].to_lowercase().starts_with(&words[0].to_lowercase());
    let name = if repeats { words[1].clone() } else { words.join(" ") };
    draft.put("name", Value::from(name), Evidence { confidence: Confidence::Likely, rivals: Vec::new(), ..model });
}

/// The receipts among the files. A vehicle has no field for the shop and the warranty.
fn put_purchases(draft: &mut Builder, capture: &Capture<'_, '_>, kind: Kind, words: &str) {
    let own: Vec<&str> = ["make", "model"].iter().filter_map(|field| draft.text(field)).collect();
    let words = format!("{words} {}", own.join(" "));
    for (number, paper) in capture.papers.iter().enumerate() {
        let invoice = paper.no_purchase.is_none() && capture.files[number].reading.invoice.is_some();
        let is_bought = match kind {
            Kind::Vehicle => super::category::is_sale_of_vehicle(paper),
            _ => invoice || super::category::is_purchase(paper),
        };
        if is_bought {
            purchase::put(draft, capture.files, number, paper, &words, capture.known);
        }
    }
    if kind == Kind::Vehicle {
        draft.remove("purchased_from");
        draft.remove("barcode");
    }
    if draft.evidence("purchase_date").is_none() {
        put_photo_day(draft, capture);
    }
}

/// The day of a photo of a receipt is no day of purchase: it is named as a guess only beside a price.
fn put_photo_day(draft: &mut Builder, capture: &Capture<'_, '_>) {
    let priced = draft.evidence("purchase_price").is_some();
    let taken = capture.files.iter().find_map(|file| file.reading.taken_on.as_ref().map(|day| (file, day)));
    if let Some((file, day)) = taken.filter(|_| priced) {
        let evidence = super::build::placeless(Source::Exif, Some(&file.sha256), day, Confidence::Guess);
        draft.put("purchase_date", day.clone(), evidence);
    }
}
