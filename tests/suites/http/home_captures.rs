//! The pages of drafts from photos and papers (contract 22), with a program in place of the reader: the second line of a file is its
//! reading. Must not know how a file is read.

use std::time::Instant;

use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::Server;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::captures::{PATIENCE, program_of, put};
use super::console::sign_up;
use super::home::{PAGE_MAX, has, hidden, lacks, make, next};

const PROGRAM: &str = r#"#!/bin/sh
read -r first
read -r second
case "$second" in
  refuse*) echo '{"error":"The picture has no pixels."}'; exit 1 ;;
esac
printf '%s' "$second"
"#;

/// A bar code of a thing.
const CODE: &str = "4006381333931";

async fn start() -> (TempDir, Server, Browser, Client) {
    let (dir, program) = program_of(PROGRAM);
    let server = Server::start_with(|config| config.reader = Some(program)).await;
    let mia = sign_up(&server, "My home", Role::Member, "Mia").await;
    let api = Client::new(&server.url, &server.live_key);
    (dir, server, mia, api)
}

/// A file in which lines of text and a bar code are read.
fn file(lines: &[&str], code: Option<&str>) -> Vec<u8> {
    let line = |(at, line): (usize, &&str)| {
        let word = |(place, word): (usize, &str)| json!({ "text": word, "area": [0.1 + 0.1 * place as f32, 0.05 + 0.04 * at as f32, 0.08, 0.03], "score": 0.99 });
        json!({ "words": line.split(' ').enumerate().map(word).collect::<Vec<_>>() })
    };
    let lines: Vec<Value> = lines.iter().enumerate().map(line).collect();
    let codes: Vec<Value> = code
        .map(|text| json!({ "format": "gtin", "text": text, "page": 0, "area": [0.2, 0.6, 0.5, 0.2], "proved": true }))
        .into_iter()
        .collect();
    let reading = json!({
        "pages": [{ "aspect": 0.7, "lines": lines }], "codes": codes, "taken_on": null, "invoice": null, "look": null,
        "text_source": "stored",
    });
    [b"%PDF-1.4\n", reading.to_string().as_bytes()].concat()
}

/// The page of a job, once its files were read.
async fn read(browser: &Browser, path: &str) -> Response {
    let since = Instant::now();
    loop {
        let page = browser.open(path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        if !page.text.contains("data-wait") {
            assert!(page.text.len() < PAGE_MAX, "{} bytes", page.text.len());
            return page;
        }
        assert!(since.elapsed() < PATIENCE, "{}", page.text);
        tokio::task::yield_now().await;
    }
}

/// Sends files to be read, and gives the address of their job.
async fn send(mia: &Browser, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> String {
    let form = hidden(&mia.open("/home/read").await, "form");
    let fields = [("form", &*form)].into_iter().chain(fields.iter().copied()).collect::<Vec<_>>();
    let sent = next(&mia.submit_files("/home/read", &fields, files).await);
    assert_eq!(next(&mia.submit_files("/home/read", &fields, files).await), sent, "the form was sent twice");
    sent
}

#[tokio::test]
async fn photo_becomes_an_item_field_by_field() {
    let (_dir, _server, mia, api) = start().await;
    let cellar = make(&api, "/v1/rooms", json!({ "name": "Cellar" })).await;
    let none = mia.submit_files("/home/read", &[("note", "<b>")], &[]).await;
    assert_eq!(none.status, 422);
    has(&none, &["Choose a photo or a PDF first", "&#60;b&#62;"]);
    let plate = file(&["Model WAN28232", "Serial No. 81552118"], Some(CODE));
    let job = send(&mia, &[("room_id", &cellar), ("note", "next to the boiler")], &[("plate.pdf", &plate)]).await;
    let page = read(&mia, &job).await;
    has(&page, &["<svg viewBox", "<rect x=\"0.194\"", "Certain: why?", CODE, "Add this item", "next to the boiler"]);
    has(
        &page,
        &[&format!("<option value=\"{cellar}\" selected>Cellar"), "name=\"take\" value=\"item.barcode\" checked"],
    );
    lacks(&page, &[" style=\"", "Which item is it"]);
    assert!(api.get("/v1/inventory").await.data().as_array().unwrap().is_empty(), "nothing is stored yet");
    has(&mia.open("/home/captures").await, &["Ready for you to look at"]);
    // What is refused comes back with what was typed.
    let id = hidden(&page, "form");
    let (accept, typed) = (format!("{job}/accept"), |name| {
        [
            ("form", &*id),
            ("with", "item"),
            ("with", "document"),
            ("to.item", "new"),
            ("to.document", "new"),
            ("item.name", name),
            ("take", "item.barcode"),
            ("item.barcode", CODE),
            ("item.serial_number", "wrong"),
            ("document.title", "Plate"),
        ]
        .to_vec()
    });
    let refused = mia.submit(&accept, &typed("")).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    has(&refused, &["Name is required", "value=\"Plate\""]);
    has(&mia.submit(&accept, &[("form", &*id)]).await, &["Mark at least one draft"]);
    let first = next(&mia.submit(&accept, &typed("Washer")).await);
    assert_eq!(next(&mia.submit(&accept, &typed("Washer")).await), job, "the job has ended");
    has(&mia.open(&first).await, &["Added to the home", "Washer"]);
    let items = api.get("/v1/inventory").await;
    let [item] = &items.data().as_array().unwrap()[..] else { panic!("{}", items.text) };
    let stored = ["name", "barcode", "serial_number", "updated_by"].map(|name| item[name].clone());
    assert_eq!(json!(stored), json!(["Washer", CODE, null, "Mia"]), "what is not marked is not stored");
    let documents = api.get("/v1/documents").await;
    let [document] = &documents.data().as_array().unwrap()[..] else { panic!("{}", documents.text) };
    assert_eq!((&document["title"], &document["subject_id"]), (&json!("Plate"), &item["id"]));
    has(&mia.open(&job).await, &["The drafts were accepted", "Washer"]);
    let shown = api.get(&job.replace("/home/captures", "/v1/smart-add")).await;
    assert_eq!((&shown.data()["status"], &shown.data()["accepted"]["id"]), (&json!("accepted"), &item["id"]));
}

#[tokio::test]
async fn match_is_changed_instead() {
    let (_dir, _server, mia, api) = start().await;
    let kettle = make(&api, "/v1/inventory", json!({ "name": "Kettle", "barcode": CODE, "model": "old" })).await;
    let job = send(&mia, &[], &[("a.pdf", &file(&["Model WAN28232"], Some(CODE)))]).await;
    has(&read(&mia, &job).await, &["Same bar code as: Kettle", "It is a new item"]);
    let chosen = read(&mia, &format!("{job}?to.item={kettle}")).await;
    has(&chosen, &["Change: Kettle", "Replace old", "Change this item"]);
    lacks(&chosen, &["value=\"item.model\" checked"]);
    let rev = api.get(&format!("/v1/inventory/{kettle}")).await.data()["rev"].to_string();
    api.patch(&format!("/v1/inventory/{kettle}"), &json!({ "notes": "blue" })).await;
    let form = hidden(&chosen, "form");
    let fields = |rev| {
        [
            ("form", &*form),
            ("with", "item"),
            ("to.item", &*kettle),
            ("rev.item", rev),
            ("take", "item.model"),
            ("item.model", "WAN28232"),
            ("item.name", "Other"),
        ]
        .to_vec()
    };
    let late = mia.submit(&format!("{job}/accept"), &fields(&rev)).await;
    assert_eq!(late.status, 412, "{}", late.text);
    has(&late, &["Nothing was stored", "value=\"WAN28232\""]);
    let rev = hidden(&late, "rev.item");
    let saved = next(&mia.submit(&format!("{job}/accept"), &fields(&rev)).await);
    assert_eq!(saved, format!("/home/items/{kettle}?said=saved"));
    let record = api.get(&format!("/v1/inventory/{kettle}")).await;
    let stored = ["name", "model", "notes"].map(|name| record.data()[name].clone());
    assert_eq!(json!(stored), json!(["Kettle", "WAN28232", "blue"]));
}

#[tokio::test]
async fn only_values_with_evidence_are_marked() {
    let (_dir, _server, mia, api) = start().await;
    let job = send(&mia, &[], &[("a.pdf", &file(&["Model WAN28232"], None))]).await;
    read(&mia, &job).await;
    let drafts = job.replace("/home/captures", "/v1/smart-add");
    let body = json!({
        "type": "inventory", "fields": { "name": "Washer", "make": "Bosch", "model": "WAN28232" },
        "evidence": { "make": { "text": "Bosch", "confidence": "likely" } },
    });
    assert_eq!(put(&api, &format!("{drafts}/drafts/helper"), &body).await.status, 200);
    let page = read(&mia, &job).await;
    has(&page, &["name=\"take\" value=\"helper.make\" checked", "name=\"take\" value=\"helper.model\""]);
    lacks(&page, &["value=\"helper.model\" checked"]);
    // A contract is no thing: the empty item is offered, and not marked.
    let contract = file(&["Mietvertrag", "Vertragsnummer 12", "Vertragsende 30.09.2027"], None);
    let page = read(&mia, &send(&mia, &[], &[("b.pdf", &contract)]).await).await;
    has(&page, &["name=\"with\" value=\"document\" checked", "name=\"with\" value=\"item\""]);
    lacks(&page, &["name=\"with\" value=\"item\" checked"]);
}

#[tokio::test]
async fn paper_of_a_document_is_read() {
    let (_dir, _server, mia, api) = start().await;
    let oven = make(&api, "/v1/inventory", json!({ "name": "Oven" })).await;
    let add = format!("/home/items/{oven}/files");
    let bill = file(&["Rechnung", "Datum: 03.02.2026", "Summe 1.149,00 EUR"], None);
    let form = hidden(&mia.open(&add).await, "form");
    mia.submit_files(&add, &[("form", &form), ("category", "other")], &[("bill.pdf", &bill)]).await;
    let document = api.get("/v1/documents").await.data()[0]["id"].as_str().unwrap().to_owned();
    let page = mia.open(&format!("/home/documents/{document}")).await;
    has(&page, &["Read this paper"]);
    let path = format!("/home/documents/{document}/read");
    let job = next(&mia.submit(&path, &[("form", &hidden(&page, "form"))]).await);
    let drafts = read(&mia, &job).await;
    has(&drafts, &["Same file as: bill", "Change: bill"]);
    let (form, rev) = (hidden(&drafts, "form"), hidden(&drafts, "rev.document"));
    let fields = [
        ("form", &*form),
        ("with", "document"),
        ("to.document", &*document),
        ("rev.document", &*rev),
        ("take", "document.issued_on"),
        ("document.issued_on", "2026-02-03"),
    ];
    let saved = next(&mia.submit(&format!("{job}/accept"), &fields).await);
    assert_eq!(saved, format!("/home/documents/{document}?said=saved"));
    let record = api.get(&format!("/v1/documents/{document}")).await.data().clone();
    assert_eq!(
        (&record["issued_on"], &record["category"], &record["subject_id"]),
        (&json!("2026-02-03"), &json!("other"), &json!(oven))
    );
    // A file that cannot be read fails its job with a sentence, and the job can be discarded.
    let job = send(&mia, &[], &[("x.pdf", b"%PDF-1.4\nrefuse")]).await;
    has(&read(&mia, &job).await, &["The picture has no pixels", "Add an item by hand", "Discard"]);
    has(&mia.open("/home/captures").await, &["Could not be read", "Accepted"]);
    assert_eq!(next(&mia.submit(&format!("{job}/discard"), &[]).await), "/home/captures");
    has(&mia.open(&job).await, &["The drafts were discarded"]);
    for path in ["/home/captures/none", "/home/captures/01970000-0000-7000-8000-000000000001"] {
        assert_eq!(mia.open(path).await.status, 404);
        assert_eq!(mia.submit(&format!("{path}/accept"), &[]).await.status, 404);
    }
}
