//! Warranties, contracts, invoices and known records: end days, categories, subjects and patches.

use hearth_contract::formats::parse_date;
use hearth_contract::schema::Kind;
use serde_json::json;

use super::{draft, field, file, sure};
use crate::draft::{Confidence, Draft, FileReading, Known, KnownRecord, Source, extract, keys, smart_add};
use crate::reading::{Area, Code, CodeFormat, Invoice, Position};

#[test]
fn papers_give_category_and_end() {
    for (text, category, end, how) in [
        (
            "Warranty Certificate\nDate of purchase: 2024-01-31\nWarranty period: 2 years",
            "warranty",
            "2026-01-31",
            "likely",
        ),
        ("Garantiekarte\nKaufdatum: 29.02.2024\n24 Monate Garantie", "warranty", "2026-02-28", "likely"),
        ("Garantieschein\nGarantie gültig bis 31.12.2027", "warranty", "2027-12-31", "likely"),
        ("Certificat de garantie\nDate d'achat : 15 mars 2024\nGarantie 2 ans", "warranty", "2026-03-15", "likely"),
        ("Garantie constructeur\nValable jusqu'au 31/12/2026", "warranty", "2026-12-31", "likely"),
        (
            "Certificado de garantía\nFecha de compra: 20/05/2024\nGarantía de 3 años",
            "warranty",
            "2027-05-20",
            "likely",
        ),
        ("Garantía válida hasta 30/06/2026", "warranty", "2026-06-30", "likely"),
        ("Garantiebewijs\nAankoopdatum: 20-05-2024\n2 jaar garantie", "warranty", "2026-05-20", "likely"),
        ("Garantie geldig tot 31-12-2025", "warranty", "2025-12-31", "likely"),
        ("Certificato di garanzia\nData acquisto: 20/05/2024\nGaranzia 24 mesi", "warranty", "2026-05-20", "likely"),
        ("Garanzia\nvalida fino al 31/12/2026", "warranty", "2026-12-31", "likely"),
        (
            "Limited warranty\nPurchase date: Jan 15, 2024\nTwelve month warranty\nValid until Jan 15, 2025",
            "warranty",
            "2025-01-15",
            "certain",
        ),
        (
            "Versicherungsschein\nHausratversicherung\nPolice Nr. 4711\nVersicherungsende 01.01.2026",
            "insurance",
            "2026-01-01",
            "likely",
        ),
        ("Mietvertrag\nVertragsnummer 12\nVertragsende 30.09.2025", "contract", "2025-09-30", "likely"),
        ("Service agreement\nContract number 8\nEnd date 12/2026", "contract", "2026-12-31", "likely"),
        ("Bedienungsanleitung\nGeschirrspüler\nSicherheitshinweise", "manual", "-", "-"),
        ("Controle technique\nValable jusqu'au 14/02/2026", "inspection", "2026-02-14", "likely"),
        ("Reisepass\nGültig bis 14.02.2031", "identification", "2031-02-14", "likely"),
        ("Building permit\nPermit number 55\nExpires on 03/04/2026", "permit", "2026-04-03", "guess"),
    ] {
        let draft = draft(text, "document");
        let read = (field(&draft, "category"), field(&draft, "expires_on"), sure(&draft, "expires_on"));
        assert_eq!(read, (category, end, how), "{text}");
    }
}

#[test]
fn ambiguous_date_is_guess_with_rival() {
    let today = parse_date("2024-12-01");
    let read = |text: &str, currency: Option<&str>| {
        let known = Known { currency: currency.map(str::to_owned), today, ..Known::default() };
        let drafts = smart_add(&[file("file", text)], &known);
        drafts.into_iter().find(|draft| draft.kind == "document").expect("a document")
    };
    let open = read("Shop Ltd\n03/04/2024\nTotal 12.00", Some("EUR"));
    assert_eq!((field(&open, "issued_on"), sure(&open, "issued_on")), ("2024-04-03", "guess"));
    assert_eq!(open.evidence["issued_on"].rivals, [json!("2024-03-04")]);
    let american = read("Shop Inc\n03/04/2024\nTotal $12.00", Some("USD"));
    assert_eq!((field(&american, "issued_on"), sure(&american, "issued_on")), ("2024-03-04", "guess"));
    let settled = read("Shop Ltd\nOrder date 25/03/2024\nDate 03/04/2024\nTotal 12.00", Some("EUR"));
    assert_eq!((field(&settled, "issued_on"), sure(&settled, "issued_on")), ("2024-04-03", "likely"));
    let points = read("Laden GmbH\n03.04.2024\nSumme 12,00", Some("EUR"));
    assert_eq!((field(&points, "issued_on"), sure(&points, "issued_on")), ("2024-04-03", "likely"));
    let future = read("Laden GmbH\nDatum 03.04.2025\nSumme 12,00", Some("EUR"));
    assert_eq!(field(&future, "issued_on"), "-", "a day after today is no day of a receipt");
}

#[test]
fn policy_drafts_vehicle_with_insurance() {
    let text = "Allianz Versicherungs-AG\nKfz-Versicherung\nVersicherungsschein Nr. AS-123456789\nAmtliches Kennzeichen: B-XY 1234\n\
        Fahrzeug: VW Golf\nFIN: WVWZZZ1KZ6W123456\nVersicherungsbeginn: 01.01.2024\nAblauf: 31.12.2024\nJahresbeitrag 512,34 €";
    let vehicle = draft(text, "vehicle");
    let names = ["license_plate", "insurance_provider", "insurance_policy_number", "insurance_expires_on"];
    let expected = ["B-XY 1234", "Allianz Versicherungs-AG", "AS-123456789", "2024-12-31"];
    assert_eq!(names.map(|name| field(&vehicle, name)), expected);
    assert_eq!(field(&draft(text, "document"), "issued_on"), "-", "the first day of a policy is no day of issue");
}

#[test]
fn receipt_drafts_item_with_price() {
    let text = "Coolblue B.V.\nFactuurdatum: 19 mei 2024\nWasmachine AEG L6FB   899,00\nGarantie 2 jaar\nTotaal   899,00\nPIN   899,00";
    let draft = draft(text, "inventory");
    let read = ["name", "category", "purchase_price", "purchase_date", "purchased_from", "warranty_expires_on"];
    let read = read.map(|name| field(&draft, name));
    assert_eq!(read, ["Wasmachine AEG L6FB", "appliance", "899.00", "2024-05-19", "Coolblue B.V.", "2026-05-19"]);
    assert_eq!(
        (sure(&draft, "purchase_price"), draft.evidence["warranty_expires_on"].from),
        ("certain", Source::Equation)
    );
}

#[test]
fn two_positions_give_unit_price_of_dearest() {
    let draft = draft(
        "Shop Ltd\n14/05/2024\nCable 3 x 5.00   15.00\nMonitor Dell 2 x 150.00   300.00\nTotal   315.00\nCash   315.00",
        "inventory",
    );
    assert_eq!((field(&draft, "purchase_price"), sure(&draft, "purchase_price")), ("150.00", "guess"));
    assert_eq!(field(&draft, "name"), "Monitor Dell");
    assert!(draft.evidence["purchase_price"].rivals.contains(&json!("315.00")));
}

#[test]
fn foreign_currency_is_guess_with_note() {
    let known = Known { currency: Some("USD".to_owned()), ..Known::default() };
    let drafts = smart_add(&[file("file", "SHOP SDN BHD\n14/05/2018\nTOTAL RM 12.00\nCASH RM 12.00")], &known);
    let document = drafts.iter().find(|draft| draft.kind == "document").expect("a document");
    assert_eq!((field(document, "amount"), sure(document, "amount")), ("12.00", "guess"));
    assert_eq!(field(document, "notes"), "The sum is 12.00 MYR.");
}

#[test]
fn code_of_till_settles_day_and_total() {
    let mut file = file("file", "Bäckerei Gruber\n03/04/2024\nSumme   7,45");
    let text = "_R1-AT1_BOX_4711_2024-04-03T08:41:04_0,00_7,45_0,00_0,00_0,00_abc".to_owned();
    file.reading.codes.push(Code { format: CodeFormat::Qr, text, page: 0, area: Area::default(), proved: true });
    let drafts = smart_add(&[file], &Known::default());
    let (document, item) = (of(&drafts, "document"), of(&drafts, "item"));
    for (draft, day, sum) in [(document, "issued_on", "amount"), (item, "purchase_date", "purchase_price")] {
        assert_eq!((field(draft, day), field(draft, sum)), ("2024-04-03", "7.45"));
        assert_eq!(sure(draft, day), "certain");
    }
    assert_eq!((sure(document, "amount"), document.evidence["amount"].from), ("certain", Source::Code));
}

fn washer() -> KnownRecord {
    KnownRecord {
        kind: Kind::Inventory,
        id: "0190b5a0-0000-7000-8000-000000000001".to_owned(),
        name: "Waschmaschine".to_owned(),
        make: Some("Miele".to_owned()),
        model: None,
        serial: Some("47/123456789".to_owned()),
        barcode: None,
        plate: None,
        vin: None,
    }
}

fn of<'d>(drafts: &'d [Draft], name: &str) -> &'d Draft {
    drafts.iter().find(|draft| draft.name == name).unwrap_or_else(|| panic!("no {name}: {drafts:?}"))
}

#[test]
fn serial_of_home_names_subject_and_patch() {
    let known = Known { records: vec![washer()], ..Known::default() };
    let invoice = file(
        "file",
        "Händler GmbH\nRechnungsdatum 14.05.2024\nMiele WDB 030\nModell: WDB 030\nFabr.-Nr. 47/123456789\nWaschmaschine  899,00\nGesamtbetrag  899,00\nBar  899,00",
    );
    let drafts = extract(&[invoice], None, &known);
    let (document, item) = (of(&drafts, "document"), of(&drafts, "item"));
    assert_eq!((field(document, "subject_type"), field(document, "subject_id")), ("inventory", washer().id.as_str()));
    assert_eq!(document.evidence["subject_id"].from, Source::Home);
    assert_eq!(item.id.as_deref(), Some(washer().id.as_str()));
    let read =
        ["purchase_price", "purchase_date", "model", "make", "serial_number", "name"].map(|name| field(item, name));
    assert_eq!(read, ["899.00", "2024-05-14", "WDB 030", "-", "-", "-"]);
}

#[test]
fn code_of_home_names_subject() {
    let known = Known { records: vec![washer()], ..Known::default() };
    let mut photo = file("file", "Kundendienst");
    let text = "47/123456789".to_owned();
    photo.reading.codes.push(Code { format: CodeFormat::Linear, text, page: 0, area: Area::default(), proved: true });
    assert!(keys(std::slice::from_ref(&photo)).codes.contains("47/123456789"));
    let drafts = extract(&[photo], None, &known);
    assert_eq!(field(of(&drafts, "document"), "subject_id"), washer().id);
}

#[test]
fn given_subject_picks_its_position() {
    let text = "Markt GmbH\n14.05.2024\nFernseher Sony   1.299,00\nWaschmaschine Miele   899,00\nSumme   2.198,00";
    let drafts = extract(&[file("file", text)], Some(&washer()), &Known::default());
    assert_eq!(field(of(&drafts, "item"), "purchase_price"), "899.00");
    assert_eq!(field(of(&drafts, "document"), "amount"), "2198.00");
}

#[test]
fn electronic_invoice_is_certain() {
    let invoice = Invoice {
        number: Some("R-1".to_owned()),
        issued_on: Some("2024-05-14".to_owned()),
        seller: Some("Händler GmbH".to_owned()),
        total: Some("119.00".to_owned()),
        currency: Some("EUR".to_owned()),
        is_credit: false,
        positions: vec![Position {
            name: "Bohrmaschine".to_owned(),
            unit_price: Some("100.00".to_owned()),
            quantity: Some("1.00".to_owned()),
            gtin: Some("4006381333931".to_owned()),
        }],
    };
    let mut file: FileReading = file("file", "Händler GmbH\nRechnung\nSumme 119,00");
    file.reading.invoice = Some(invoice);
    let drafts = smart_add(&[file], &Known::default());
    let (document, item) = (of(&drafts, "document"), of(&drafts, "item"));
    for name in ["issued_on", "issuer", "amount", "category"] {
        assert_eq!(document.evidence[name].confidence, Confidence::Certain, "{name}");
    }
    let read = ["name", "purchase_price", "purchase_date", "barcode"].map(|name| field(item, name));
    assert_eq!(read, ["Bohrmaschine", "119.00", "2024-05-14", "4006381333931"]);
}
