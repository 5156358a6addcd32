//! The pages of the home for people (contract 19): search, lists, ticks, adding and editing. Must not know the terminal.

use hearth_contract::paths;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock};
use serde_json::{Value, json};

use super::console::sign_up;

/// The largest page, in bytes.
pub(super) const PAGE_MAX: usize = 30 * 1024;

/// A server at noon of 26 November 2026 with a member, and a client of the live home.
async fn start() -> (Server, Browser, Client) {
    let server = Server::start_at(TestClock::at("2026-11-26T12:00:00Z").clock(), |_| ()).await;
    let mia = sign_up(&server, "My home", Role::Member, "Mia").await;
    let api = Client::new(&server.url, &server.live_key);
    (server, mia, api)
}

pub(super) async fn make(api: &Client, path: &str, fields: Value) -> String {
    let made = api.post(path, &fields).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.id()
}

/// The value of a hidden input.
pub(super) fn hidden(page: &Response, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let value = page.text.split_once(&start).unwrap_or_else(|| panic!("{name} in {}", page.text)).1;
    value.split_once('"').expect("a quote").0.to_owned()
}

/// The address to which a reply leads.
pub(super) fn next(reply: &Response) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text);
    reply.header("location").to_owned()
}

pub(super) fn has(page: &Response, parts: &[&str]) {
    for part in parts {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
}

pub(super) fn lacks(page: &Response, parts: &[&str]) {
    for part in parts {
        assert!(!page.text.contains(part), "{part}: {}", page.text);
    }
}

#[tokio::test]
async fn front_page_shows_what_needs_attention() {
    let (_server, mia, api) = start().await;
    has(&mia.open("/home").await, &["no rooms yet", "no items yet", "Nothing is due", "Nothing ends"]);
    let attic = make(&api, "/v1/rooms", json!({ "name": "<i>Attic</i>" })).await;
    for (title, due_on, status) in [
        ("later", "2026-12-20", "open"),
        ("soon", "2026-11-27", "in_progress"),
        ("missed", "2026-11-20", "open"),
        ("past", "2026-11-01", "done"),
        ("far", "2027-11-01", "open"),
    ] {
        make(&api, "/v1/tasks", json!({ "title": title, "due_on": due_on, "status": status })).await;
    }
    make(&api, "/v1/inventory", json!({ "name": "Fridge", "room_id": attic, "warranty_expires_on": "2026-12-06" }))
        .await;
    make(&api, "/v1/documents", json!({ "title": "Passport", "expires_on": "2026-11-16" })).await;
    make(&api, "/v1/documents", json!({ "title": "Deed", "expires_on": "2030-01-01" })).await;
    let day = "2027-01-05";
    let car = json!({ "name": "Car", "insurance_expires_on": day, "registration_expires_on": day });
    make(&api, "/v1/vehicles", car).await;
    let page = mia.open("/home").await;
    has(&page, &["&#60;i&#62;Attic&#60;/i&#62;", "1 item", "6 days late", "Tomorrow"]);
    has(&page, &["Warranty ends in 10 days", "Ended 10 days ago", "Insurance and registration end in 40 days"]);
    lacks(&page, &[">past<", ">far<", "Deed"]);
    let order = ["missed", "soon", "later"].map(|title| page.text.find(&format!("\">{title}<")).expect(title));
    assert!(order.is_sorted());
    assert!(mia.submit("/home", &[]).await.status == 405, "the first page reads only");
}

#[tokio::test]
async fn search_finds_all_kinds_page_by_page() {
    let (_server, mia, api) = start().await;
    let attic = make(&api, "/v1/rooms", json!({ "name": "Attic lamp room" })).await;
    for nth in 0..28 {
        make(&api, "/v1/inventory", json!({ "name": format!("Lamp {nth:02}"), "room_id": attic })).await;
    }
    let task = make(&api, "/v1/tasks", json!({ "title": "Repair a lamp" })).await;
    let first = mia.open("/home?q=lamp").await;
    has(&first, &["Found for", &format!("/home/tasks/{task}"), "Item · Attic lamp room", "Next page"]);
    let address = first.text.split_once("<a href=\"/home?q=lamp&#38;cursor=").expect("a next page").1;
    let cursor = address.split_once('"').unwrap().0;
    let second = mia.open(&format!("/home?q=lamp&cursor={cursor}")).await;
    let links = |page: &Response| page.text.matches("<li><a href=\"/home/").count();
    assert_eq!((links(&first), links(&second)), (25, 5));
    lacks(&second, &["Next page"]);
    has(&mia.open("/home?q=nothing").await, &["Nothing was found"]);
    let long = mia.open(&format!("/home?q={}", "x".repeat(300))).await;
    assert_eq!(long.status, 400);
    has(&long, &["The question must have"]);
    assert_eq!(mia.open(&format!("/home?q=other&cursor={cursor}")).await.status, 400);
}

#[tokio::test]
async fn tick_finishes_a_task_and_undo_opens_it() {
    let (_server, mia, api) = start().await;
    let fields = json!({ "title": "Change filter", "due_on": "2026-11-20", "recurrence": "monthly" });
    let task = make(&api, "/v1/tasks", fields).await;
    let page = mia.open("/home").await;
    has(&page, &[&format!("action=\"/home/tasks/{task}/done\""), "Done: Change filter", "Monthly"]);
    let done = mia.submit(&format!("/home/tasks/{task}/done"), &[("next", &hidden(&page, "next"))]).await;
    assert_eq!(next(&done), format!("/home?done={task}"));
    let record = api.get(&format!("/v1/tasks/{task}")).await;
    assert_eq!((record.data()["status"].as_str(), record.data()["updated_by"].as_str()), (Some("done"), Some("Mia")));
    has(&mia.open(&next(&done)).await, &["Change filter</a>. The next one is due on 20 December 2026", "Undo"]);
    // A second tick changes nothing.
    mia.submit(&format!("/home/tasks/{task}/done"), &[("next", "/home")]).await;
    assert_eq!(api.get(&format!("/v1/tasks/{task}")).await.data()["rev"], record.data()["rev"]);
    let undone = mia.submit(&format!("/home/tasks/{task}/reopen"), &[("next", "//evil.example")]).await;
    assert_eq!(next(&undone), "/home");
    assert_eq!(api.get(&format!("/v1/tasks/{task}")).await.data()["status"], "open");
    assert_eq!(api.get("/v1/tasks").await.data().as_array().unwrap().len(), 2, "one successor");
    assert_eq!(mia.submit("/home/tasks/none/done", &[]).await.status, 404);
}

#[tokio::test]
async fn member_adds_an_item_once() {
    let (_server, mia, api) = start().await;
    let attic = make(&api, "/v1/rooms", json!({ "name": "Attic" })).await;
    let form = mia.open(&format!("/home/add?room={attic}")).await;
    has(&form, &[&format!("<option value=\"{attic}\" selected>Attic</option>"), "name=\"quantity\" value=\"1\""]);
    let id = hidden(&form, "form");
    let bad = [("form", &*id), ("name", " "), ("room_id", &attic), ("quantity", "many"), ("notes", "a \"tall\" one")];
    let refused = mia.submit_files("/home/add", &bad, &[]).await;
    assert_eq!(refused.status, 422);
    has(&refused, &["Name is required", "Quantity must be an integer", "value=\"many\"", "a &#34;tall&#34; one"]);
    let good = [("form", &*id), ("name", "Ladder"), ("room_id", &attic), ("quantity", "2"), ("notes", "tall")];
    let first = next(&mia.submit_files("/home/add", &good, &[]).await);
    assert_eq!(next(&mia.submit_files("/home/add", &good, &[]).await), first, "the form was sent twice");
    let items = api.get("/v1/inventory").await;
    let [item] = &items.data().as_array().unwrap()[..] else { panic!("{}", items.text) };
    let stored = ["name", "room_id", "quantity", "updated_by"].map(|name| item[name].clone());
    assert_eq!(json!(stored), json!(["Ladder", attic, 2, "Mia"]));
    has(&mia.open(&first).await, &["Added to the home", "Ladder", "Attic", "by Mia"]);
    let other = mia.submit_files("/home/add", &[("form", &id), ("name", "Another ladder")], &[]).await;
    assert_eq!(other.status, 422);
    has(&other, &["was sent before", "value=\"Another ladder\""]);
    let again =
        mia.submit_files("/home/add", &[("form", &hidden(&other, "form")), ("name", "Another ladder")], &[]).await;
    assert_eq!(again.status, 303);
}

/// The first bytes of a photo, which decide its type.
const JPEG: &[u8] = b"\xff\xd8\xff\xe0 a photo";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

#[tokio::test]
async fn photos_alone_make_an_item() {
    let (_server, mia, api) = start().await;
    api.patch("/v1/property", &json!({ "time_zone": "Europe/Berlin" })).await;
    let id = hidden(&mia.open("/home/add").await, "form");
    let fields = [("form", &*id), ("name", ""), ("quantity", "1")];
    let photos = [("IMG_1.jpg", JPEG), ("C:\\fakepath\\two.png", PNG)];
    let first = next(&mia.submit_files("/home/add", &fields, &photos).await);
    assert_eq!(next(&mia.submit_files("/home/add", &fields, &photos).await), first, "the form was sent twice");
    let items = api.get("/v1/inventory").await;
    let [item] = &items.data().as_array().unwrap()[..] else { panic!("{}", items.text) };
    assert_eq!(item["name"], "Photo of 26 November 2026, 13:00");
    let documents = api.get(&format!("/v1/documents?subject_id={}&order=asc", item["id"].as_str().unwrap())).await;
    let documents = documents.data().as_array().unwrap();
    let facts = |document: &Value| {
        ["file_name", "content_type", "size_bytes", "category", "updated_by"].map(|name| document[name].clone())
    };
    assert_eq!(
        json!(documents.iter().map(facts).collect::<Vec<_>>()),
        json!([
            ["IMG_1.jpg", "image/jpeg", JPEG.len(), "other", "Mia"],
            ["two.png", "image/png", PNG.len(), "other", "Mia"],
        ])
    );
    let page = mia.open(&first).await;
    let photo = format!("/home/files/{}", documents[0]["file_sha256"].as_str().unwrap());
    has(&page, &[&format!("<img src=\"{photo}/small\" alt=\"Photo of 26 November 2026, 13:00\"")]);
    // Bytes that only begin as a photo make no small picture.
    assert_eq!(mia.open(&format!("{photo}/small")).await.status, 404);
    let shown = mia.open(&photo).await;
    let headers = ["content-type", "content-disposition", "x-content-type-options", "cache-control"];
    let headers = headers.map(|name| shown.header(name).to_owned());
    assert_eq!(headers, ["image/jpeg", "inline", "nosniff", "private, max-age=31536000, immutable"]);
    assert!(shown.header("content-security-policy").contains("sandbox"), "{:?}", shown.headers);
}

#[tokio::test]
async fn refused_files_lose_nothing() {
    let server = Server::start_with(|config| config.file_bytes_max = 100).await;
    let mia = sign_up(&server, "My home", Role::Member, "Mia").await;
    let api = Client::new(&server.url, &server.live_key);
    let form = hidden(&mia.open("/home/add").await, "form");
    let fields = [("form", &*form), ("name", "Lamp"), ("notes", "green"), ("quantity", "1")];
    for (name, bytes, status, fault) in [
        ("page.html", &b"<html><script>alert(1)</script>"[..], 415, "“page.html” is no photo"),
        ("sign.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415, "“sign.svg” is no photo"),
        ("photo.jpg", b"no photo at all", 415, "“photo.jpg” is no photo"),
        ("paper.pdf", b"%PDF-1.7 a paper", 415, "“paper.pdf” is no photo"),
        ("large.jpg", &[JPEG, &[0; 200]].concat(), 413, "“large.jpg” is too large: a file may have 100 bytes"),
    ] {
        let refused = mia.submit_files("/home/add", &fields, &[("good.jpg", JPEG), (name, bytes)]).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        has(&refused, &[fault, "value=\"Lamp\"", "green", "One file is here already", "good.jpg"]);
        assert_eq!(api.get("/v1/inventory").await.data().as_array().unwrap().len(), 0);
    }
    let many: Vec<(&str, &[u8])> = vec![("one.jpg", JPEG); 11];
    let refused = mia.submit_files("/home/add", &fields, &many).await;
    assert_eq!(refused.status, 413);
    has(&refused, &["10 files at most"]);
    let kept = hidden(&refused, "kept");
    assert!(kept.ends_with(" one.jpg"), "{kept}");
    let again = [("form", &*hidden(&refused, "form")), ("name", "Lamp"), ("quantity", "1"), ("kept", &kept)];
    next(&mia.submit_files("/home/add", &again, &[]).await);
    assert_eq!(api.get("/v1/documents").await.data().as_array().unwrap().len(), 1);
    // A form that breaks off.
    let broken = mia.files_form("/home/add", &fields, &[]).body("------form-of-a-test\r\n");
    let broken = mia.send(broken.header("sec-fetch-site", "same-origin")).await;
    assert_eq!(broken.status, 400, "{}", broken.text);
    let foreign = mia.files_form("/home/add", &fields, &[]).header("sec-fetch-site", "cross-site");
    assert_eq!(mia.send(foreign).await.status, 403);
}

#[tokio::test]
async fn form_with_too_many_parts_is_refused_at_once() {
    let (server, mia, api) = start().await;
    let form = hidden(&mia.open("/home/add").await, "form");
    let fields = [("form", &*form), ("name", "Lamp"), ("quantity", "1")];
    // Refused files count to the files of a form.
    let refused: Vec<(&str, &[u8])> = vec![("x.txt", b"x"); 12];
    let page = mia.submit_files("/home/add", &fields, &refused).await;
    assert_eq!(page.text.matches("is no photo").count(), 10, "{}", page.text);
    assert_eq!(page.text.matches("was left out").count(), 2);
    let many: Vec<(&str, &[u8])> = vec![("x.txt", b"x"); 200_000];
    let page = mia.submit_files("/home/add", &fields, &many).await;
    assert_eq!(page.status, 413);
    has(&page, &["The form has more than 100 parts", "value=\"Lamp\""]);
    assert_eq!(api.get("/v1/inventory").await.data().as_array().unwrap().len(), 0);
    let files = server.data().join("files");
    assert!(!files.exists() || !has_files(&files), "files of a refused form are left");
}

/// Whether a directory holds a file at any depth.
fn has_files(dir: &std::path::Path) -> bool {
    let mut entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.any(|path| path.is_file() || has_files(&path))
}

#[tokio::test]
async fn papers_are_added_to_an_item() {
    let (_server, mia, api) = start().await;
    let item = make(&api, "/v1/inventory", json!({ "name": "Oven" })).await;
    let path = format!("/home/items/{item}/files");
    let form = mia.open(&path).await;
    let nothing = mia.submit_files(&path, &[("form", &hidden(&form, "form"))], &[("", b"")]).await;
    assert_eq!(nothing.status, 422);
    has(&nothing, &["Choose a photo or a PDF"]);
    let fields = [("form", &*hidden(&form, "form")), ("category", "receipt")];
    let files = [("bill 7.pdf", &b"%PDF-1.7 a paper"[..]), ("scan.jpg", JPEG)];
    let added = next(&mia.submit_files(&path, &fields, &files).await);
    has(&mia.open(&added).await, &["The files were added", ">bill 7<", "Receipt of Oven"]);
    let bill = api.get("/v1/documents?order=asc").await.data()[0].clone();
    let page = mia.open(&format!("/home/documents/{}", bill["id"].as_str().unwrap())).await;
    has(&page, &["download=\"bill 7.pdf\"", "Download (16 bytes)"]);
    let file = mia.open(&format!("/home/files/{}", bill["file_sha256"].as_str().unwrap())).await;
    assert_eq!((file.header("content-type"), file.header("content-disposition")), ("application/pdf", "attachment"));
    assert_eq!(mia.open("/home/files/none").await.status, 404);
    let bad = mia.submit_files(&path, &[("category", "none")], &[("a.jpg", JPEG)]).await;
    assert_eq!(bad.status, 422, "{}", bad.text);
}

#[tokio::test]
async fn edit_merges_what_others_have_changed() {
    let (_server, mia, api) = start().await;
    let item = make(&api, "/v1/inventory", json!({ "name": "Drill", "notes": "blue", "quantity": 1 })).await;
    let path = format!("/home/items/{item}/edit");
    let form = mia.open(&path).await;
    let typed = |form: &Response, name: &str, price: &str, notes: &str| -> Vec<(String, String)> {
        let mut fields: Vec<(String, String)> =
            [("name", name), ("purchase_price", price), ("notes", notes), ("quantity", "1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec();
        for name in ["form", "rev", "was.name", "was.quantity", "was.notes", "was.purchase_price"] {
            fields.push((name.to_owned(), hidden(form, name)));
        }
        fields
    };
    let submit = async |fields: Vec<(String, String)>| {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        mia.submit(&path, &fields).await
    };
    // Somebody else changes the name, and a field that the person changes too.
    api.patch(&format!("/v1/inventory/{item}"), &json!({ "name": "Big drill", "notes": "red" })).await;
    let refused = submit(typed(&form, "Drill", "1.299,50 €", "green")).await;
    assert_eq!(refused.status, 412);
    has(
        &refused,
        &["has changed this item meanwhile", "value=\"Big drill\"", "to: red", "\ngreen</textarea>", "1.299,50 €"],
    );
    let saved = submit(typed(&refused, "Big drill", "1.299,50 €", "green")).await;
    assert_eq!(next(&saved), format!("/home/items/{item}?said=saved"));
    let record = api.get(&format!("/v1/inventory/{item}")).await;
    let stored = ["name", "notes", "purchase_price", "updated_by"].map(|name| record.data()[name].clone());
    assert_eq!(json!(stored), json!(["Big drill", "green", "1299.50", "Mia"]));
    let form = mia.open(&path).await;
    let wrong = submit(typed(&form, "", "lots", "green")).await;
    assert_eq!(wrong.status, 422);
    has(&wrong, &["Name cannot be null", "Purchase price must be a decimal", "value=\"lots\""]);
    // Nothing changed: nothing is written.
    let rev = record.data()["rev"].clone();
    assert_eq!(submit(typed(&form, "Big drill", "1299.50", "green")).await.status, 303);
    assert_eq!(api.get(&format!("/v1/inventory/{item}")).await.data()["rev"], rev);
}

#[tokio::test]
async fn lists_have_pages() {
    let (_server, mia, api) = start().await;
    let cellar = make(&api, "/v1/rooms", json!({ "name": "Cellar" })).await;
    for nth in 0..32 {
        let day = format!("2026-12-{:02}", 1 + nth % 4);
        make(
            &api,
            "/v1/tasks",
            json!({ "title": format!("task {nth}"), "due_on": day, "subject_type": "room",
            "subject_id": cellar }),
        )
        .await;
        make(&api, "/v1/inventory", json!({ "name": format!("box {nth}"), "room_id": cellar })).await;
    }
    make(&api, "/v1/tasks", json!({ "title": "some time" })).await;
    make(&api, "/v1/tasks", json!({ "title": "finished", "status": "done" })).await;
    make(&api, "/v1/inventory", json!({ "name": "elsewhere" })).await;
    for (path, total) in [
        ("/home/tasks", 32),
        (&*format!("/home/tasks?about={cellar}"), 32),
        (&format!("/home/items?room={cellar}"), 32),
        ("/home/items", 33),
        ("/home/tasks?show=open", 1),
        ("/home/tasks?show=done", 1),
        ("/home/rooms", 1),
        ("/home/documents", 0),
    ] {
        let (mut open, mut seen) = (Some(path.to_owned()), Vec::new());
        while let Some(address) = open {
            let page = mia.open(&address).await;
            assert_eq!(page.status, 200, "{address}: {}", page.text);
            assert!(page.text.len() < PAGE_MAX, "{address}: {} bytes", page.text.len());
            let rows = page.text.split("<ul class=\"rows\">").nth(1).unwrap_or_default();
            let rows = rows.split("</ul>").next().unwrap();
            seen.extend(rows.split("<a href=\"").skip(1).map(|row| row.split('"').next().unwrap().to_owned()));
            let more = page.text.split("<p class=\"more\"><a href=\"").nth(1);
            open = more.map(|more| more.split('"').next().unwrap().replace("&#38;", "&"));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), count), (total, total), "{path}");
    }
    for path in ["/home/items?after=x", "/home/tasks?after=2026"] {
        let page = mia.open(path).await;
        assert_eq!(page.status, 400, "{path}");
        has(&page, &["beginning of the list"]);
    }
    has(
        &mia.open(&format!("/home/rooms/{cellar}")).await,
        &["1 item", "All of them"].map(|part| match part {
            "1 item" => "box 31",
            part => part,
        }),
    );
}

#[tokio::test]
async fn record_page_reads_well() {
    let (_server, mia, api) = start().await;
    api.patch("/v1/property", &json!({ "time_zone": "Europe/Berlin" })).await;
    let hall = make(&api, "/v1/rooms", json!({ "name": "Hall", "area_sq_ft": 1200 })).await;
    let chair = json!({ "name": "Chair", "room_id": hall, "quantity": 4, "purchase_price": "1299.5",
        "purchase_date": "2020-02-29", "condition": "good", "notes": "one\ntwo" });
    let chair = make(&api, "/v1/inventory", chair).await;
    let paper = json!({ "title": "Receipt", "category": "receipt", "subject_type": "inventory", "subject_id": chair,
        "url": "https://example.org/a?b=1&c=2" });
    let paper = make(&api, "/v1/documents", paper).await;
    let page = mia.open(&format!("/home/items/{chair}")).await;
    has(
        &page,
        &["1,299.50 each, 5,198.00 in all", "29 February 2020", "<dd>Good</dd>", "one\ntwo", "26 November 2026, 13:00"],
    );
    has(&page, &[&format!("<a href=\"/home/rooms/{hall}\">Hall</a>"), &format!("/home/documents/{paper}")]);
    let page = mia.open(&format!("/home/documents/{paper}")).await;
    has(&page, &[&format!("<a href=\"/home/items/{chair}\">Chair</a>"), "rel=\"noreferrer\"", "b=1&#38;c=2"]);
    has(&mia.open(&format!("/home/rooms/{hall}")).await, &["1,200 sq ft", "4 pieces"]);
    for path in ["/home/items/x", &format!("/home/rooms/{chair}")] {
        assert_eq!(mia.open(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn long_titles_keep_pages_small() {
    let (_server, mia, api) = start().await;
    let long = "&\u{1f600}".repeat(100);
    for _ in 0..25 {
        let room = make(&api, "/v1/rooms", json!({ "name": long })).await;
        make(&api, "/v1/inventory", json!({ "name": long, "room_id": room, "warranty_expires_on": "2026-12-01" }))
            .await;
        make(&api, "/v1/tasks", json!({ "title": long, "due_on": "2026-11-01", "assignee": "&".repeat(100) })).await;
    }
    for path in ["/home", "/home?q=%F0%9F%98%80", "/home/items", "/home/rooms"] {
        let page = mia.open(path).await;
        assert!(page.text.len() < PAGE_MAX, "{path}: {} bytes", page.text.len());
    }
}

/// A text that would be markup or script if a page did not escape it.
const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>alert(1)</script>'";

#[tokio::test]
async fn every_text_of_a_record_is_text_on_every_page() {
    let (_server, mia, api) = start().await;
    let texts = |kind: Kind| {
        let is_text = |field: &&Field| field.is_writable() && matches!(field.format, Format::Text { .. });
        let fields = resource(kind).fields.iter().filter(is_text);
        fields.filter_map(|field| match field.format {
            Format::Text { max, .. } => {
                Some((field.name.to_owned(), json!(HOSTILE.chars().take(max).collect::<String>())))
            }
            _ => None,
        })
    };
    let profile: Value = texts(Kind::Property).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(api.patch("/v1/property", &profile).await.status, 200);
    let item = make(&api, "/v1/inventory", texts(Kind::Inventory).collect::<serde_json::Map<_, _>>().into()).await;
    let mut pages = vec![format!("/home/items/{item}"), format!("/home/items/{item}/edit")];
    for (kind, folder) in
        [(Kind::Room, "rooms"), (Kind::Vehicle, "vehicles"), (Kind::Document, "documents"), (Kind::Task, "tasks")]
    {
        let mut body: Value = texts(kind).collect::<serde_json::Map<_, _>>().into();
        if matches!(kind, Kind::Document | Kind::Task) {
            (body["subject_type"], body["subject_id"]) = (json!("inventory"), json!(item));
        }
        if kind == Kind::Task {
            body["due_on"] = json!("2026-11-28");
        }
        let id = make(&api, &paths::collection(kind), body).await;
        pages.extend([format!("/home/{folder}"), format!("/home/{folder}/{id}")]);
    }
    pages.extend(["/home", "/home/items", "/home/add", "/home?q=img"].map(str::to_owned));
    for path in pages {
        let page = mia.open(&path).await;
        assert_eq!(page.status, 200, "{path}");
        lacks(&page, &["<script>alert", "<img src=x", "x onerror=alert(1)>"]);
        has(&page, &["&#60;script&#62;"]);
    }
}
