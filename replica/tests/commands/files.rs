//! `attach` and `files` without a server, with the stock shell beside them.

use super::{empty_replica, json, refuses, replica, sqlite3, text};

#[test]
fn attached_file_is_listed_and_found_again() {
    let (dir, db) = empty_replica();
    let file = dir.path().join("my receipt.pdf");
    std::fs::write(&file, b"%PDF-1.7 a receipt").unwrap();
    let lamp = json(&db, &["add", "inventory", "name=Lamp"]);
    let attached = json(&db, &["attach", file.to_str().unwrap(), "--to", "Lamp", "--category", "receipt"]);
    let document = attached[0]["document"].as_str().unwrap();
    let shown = json(&db, &["show", document]);
    assert_eq!(
        [&shown["title"], &shown["subject_id"], &shown["category"]],
        ["my receipt", lamp["id"].as_str().unwrap(), "receipt"]
    );
    let listed = json(&db, &["files"]);
    assert_eq!([&listed[0]["content_type"], &listed[0]["documents"][0]["title"]], ["application/pdf", "my receipt"]);
    let path = json(&db, &["files", "path", "my receipt"]);
    assert_eq!(std::fs::read(path["path"].as_str().unwrap()).unwrap(), b"%PDF-1.7 a receipt");
    let hash = listed[0]["sha256"].as_str().unwrap();
    assert_eq!(json(&db, &["files", "path", &hash[..10]]), path);
    assert_eq!(json(&db, &["files", "verify"])["damaged"].as_array().unwrap().len(), 0);
    let copy = dir.path().join("copy.db");
    json(&db, &["export", copy.to_str().unwrap()]);
    assert!(json(&copy, &["files", "path", hash])["path"].as_str().unwrap().contains("copy.db.files"));
}

#[test]
fn attach_and_files_say_what_is_wrong() {
    let (dir, db) = empty_replica();
    let file = dir.path().join("a.txt");
    std::fs::write(&file, "a").unwrap();
    let file = file.to_str().unwrap();
    json(&db, &["add", "room", "name=Hall"]);
    for (arguments, code, words) in [
        (&["attach", "nothing.txt", "--to", "home"][..], 3, "nothing.txt"),
        (&["attach", "/", "--to", "home"], 2, "is no file"),
        (&["attach", file, "--to", "Hall"], 2, "a room has no documents"),
        (&["attach", file, "--to", "home", "--category", "food"], 2, "category"),
        (&["attach", file, "--to", "nowhere"], 3, "nowhere"),
        (&["files", "path", "Hall"], 2, "only documents have files"),
        (&["files", "path", "abcdef0123"], 3, "no file whose hash begins with abcdef0123"),
        (&["files", "fetch"], 2, "--images"),
    ] {
        refuses(&db, arguments, code, &[words]);
    }
    let document = json(&db, &["add", "document", "title=Deed"]);
    let output = replica(&db, &["files", "open", document["id"].as_str().unwrap()]);
    assert!(text(&output.stderr).contains("has no file"));
    let written = sqlite3(&db, "INSERT INTO files (sha256, state) VALUES ('a', 'present')");
    assert!(text(&written.stderr).contains("files is kept by the replica itself"));
}

#[test]
fn report_shows_the_photo_of_a_thing() {
    let (dir, db) = empty_replica();
    // A GIF of one pixel.
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let photo = dir.path().join("lamp.gif");
    std::fs::write(&photo, gif).unwrap();
    json(&db, &["add", "inventory", "name=Lamp"]);
    json(&db, &["attach", photo.to_str().unwrap(), "--to", "Lamp"]);
    let report = dir.path().join("report.html");
    json(&db, &["report", report.to_str().unwrap()]);
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.contains("Lamp") && page.contains("data:image/jpeg;base64,"), "{page}");
}
