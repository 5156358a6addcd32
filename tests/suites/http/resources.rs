//! Each field of each kind over HTTP (contract 2, 3, 12). The table of fields is written from the contract, independent of
//! the service's table.

use hearth_tests::client::{Client, Response};
use hearth_tests::server::Server;
use serde_json::{Value, json};

/// Collection, the required field, and all fields with their rules.
const KINDS: [(&str, &str, Fields); 6] = [
    (
        "rooms",
        "name",
        &[
            ("name", Line(200)),
            (
                "room_type",
                Choice(
                    "bedroom bathroom kitchen living_room dining_room office garage basement attic laundry hallway \
                     outdoor storage other",
                ),
            ),
            ("floor", Line(50)),
            ("area_sq_ft", Count),
            ("paint_color", Line(100)),
            ("flooring", Line(100)),
            ("notes", Lines),
            ("import_ref", Ref),
        ],
    ),
    (
        "inventory",
        "name",
        &[
            ("name", Line(200)),
            ("room_id", Reference),
            ("location", Line(100)),
            (
                "category",
                Choice(
                    "appliance electronics furniture tool clothing jewelry art kitchenware sports outdoor consumable \
                     other",
                ),
            ),
            ("description", Lines),
            ("quantity", Count),
            ("make", Line(100)),
            ("model", Line(100)),
            ("serial_number", Line(100)),
            ("barcode", Line(100)),
            ("condition", Choice("new good fair poor")),
            ("purchase_date", Date),
            ("purchase_price", Money),
            ("purchased_from", Line(200)),
            ("current_value", Money),
            ("warranty_expires_on", Date),
            ("notes", Lines),
            ("import_ref", Ref),
        ],
    ),
    (
        "vehicles",
        "name",
        &[
            ("name", Line(200)),
            ("make", Line(200)),
            ("model", Line(200)),
            ("year", Year),
            ("trim", Line(200)),
            ("color", Line(200)),
            ("vin", Vin),
            ("license_plate", Line(20)),
            ("odometer", Count),
            ("fuel_type", Choice("gasoline diesel hybrid plug_in_hybrid electric other")),
            ("purchase_date", Date),
            ("purchase_price", Money),
            ("current_value", Money),
            ("insurance_provider", Line(200)),
            ("insurance_policy_number", Line(200)),
            ("insurance_expires_on", Date),
            ("registration_expires_on", Date),
            ("notes", Lines),
            ("import_ref", Ref),
        ],
    ),
    (
        "documents",
        "title",
        &[
            ("title", Line(200)),
            (
                "category",
                Choice(
                    "manual warranty receipt insurance deed mortgage tax contract permit inspection medical \
                     identification other",
                ),
            ),
            ("subject_type", SubjectType("home inventory vehicle")),
            ("subject_id", Reference),
            ("file_name", Line(255)),
            ("content_type", Line(100)),
            ("size_bytes", Count),
            ("file_sha256", Hash),
            ("url", Url),
            ("issuer", Line(200)),
            ("issued_on", Date),
            ("expires_on", Date),
            ("amount", Money),
            ("notes", Lines),
            ("import_ref", Ref),
        ],
    ),
    (
        "tasks",
        "title",
        &[
            ("title", Line(200)),
            ("priority", Choice("low medium high urgent")),
            ("status", Choice("open in_progress done")),
            ("notes", Lines),
            ("due_on", Date),
            ("completed_at", ReadOnly),
            ("recurrence", Choice("daily weekly monthly quarterly yearly")),
            ("recurrence_every", Periods),
            ("recurrence_anchor", ReadOnly),
            ("subject_type", SubjectType("home inventory vehicle room")),
            ("subject_id", Reference),
            ("assignee", Line(100)),
            ("estimated_cost", Money),
            ("import_ref", Ref),
        ],
    ),
    (
        "property",
        "",
        &[
            ("address", Line(200)),
            ("address_line_2", Line(200)),
            ("city", Line(200)),
            ("state", Line(200)),
            ("postal_code", Line(200)),
            ("country", Line(200)),
            ("time_zone", Zone),
            ("currency", Currency),
            ("unit_system", Choice("metric imperial")),
            ("property_type", Choice("single_family townhouse condo apartment multi_family manufactured other")),
            ("year_built", Year),
            ("living_area_sq_ft", Count),
            ("lot_area_sq_ft", Count),
            ("stories", Count),
            ("bedrooms", Count),
            ("bathrooms", Count),
            ("garage_spaces", Count),
            ("purchase_date", Date),
            ("purchase_price", Money),
            ("estimated_value", Money),
            ("estimated_value_on", Date),
            ("electric_provider", Line(200)),
            ("gas_provider", Line(200)),
            ("water_provider", Line(200)),
            ("sewer_provider", Line(200)),
            ("trash_provider", Line(200)),
            ("internet_provider", Line(200)),
            ("hvac_make", Line(200)),
            ("hvac_model", Line(200)),
            ("hvac_install_year", Year),
            ("hvac_last_serviced_on", Date),
            ("hvac_filter_size", Line(200)),
            ("water_heater_make", Line(200)),
            ("water_heater_model", Line(200)),
            ("water_heater_install_year", Year),
            ("roof_material", Line(200)),
            ("roof_install_year", Year),
            ("electrical_panel_make", Line(200)),
            ("electrical_panel_amps", Count),
            ("electrical_install_year", Year),
            ("plumbing_material", Line(200)),
            ("plumbing_install_year", Year),
            ("insurance_provider", Line(200)),
            ("insurance_policy_number", Line(200)),
            ("notes", Lines),
        ],
    ),
];

type Fields = &'static [(&'static str, Rule)];

/// The fields with a default value: collection, field, JSON text of the default.
const DEFAULTS: [(&str, &str, &str); 4] = [
    ("inventory", "quantity", "1"),
    ("tasks", "priority", "\"medium\""),
    ("tasks", "status", "\"open\""),
    ("tasks", "recurrence_every", "1"),
];

#[derive(Clone, Copy)]
enum Rule {
    Line(usize),
    Lines,
    Choice(&'static str),
    SubjectType(&'static str),
    Reference,
    Count,
    Money,
    Date,
    Year,
    Vin,
    Url,
    Periods,
    Zone,
    Currency,
    Hash,
    /// `import_ref`: unique within a kind, and not searched.
    Ref,
    ReadOnly,
}
use Rule::{
    Choice, Count, Currency, Date, Hash, Line, Lines, Money, Periods, ReadOnly, Ref, Reference, SubjectType, Url, Vin,
    Year, Zone,
};

/// The SHA-256 of the bytes `test`, which the test uploads.
const HASH: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Values that a rule accepts, each with the stored form; None: stored as sent.
fn good(rule: Rule) -> Vec<(Value, Option<Value>)> {
    let same = |values: &[Value]| values.iter().map(|value| (value.clone(), None)).collect();
    match rule {
        Line(max) => same(&[json!("é".repeat(max)), json!(" a\u{2003}b "), json!("\u{1f600}")]),
        Lines => same(&[json!("ß".repeat(10_000)), json!("a\n\tb"), json!("")]),
        Choice(words) => words.split_whitespace().map(|word| (json!(word), None)).collect(),
        SubjectType(_) => same(&[json!("home"), Value::Null]),
        Reference => same(&[Value::Null]),
        Count => vec![(json!(0), None), (json!(2_147_483_647), None), (json!(3.0), Some(json!(3)))],
        Money => vec![
            (json!("0"), Some(json!("0.00"))),
            (json!("1299.5"), Some(json!("1299.50"))),
            (json!("007.25"), Some(json!("7.25"))),
            (json!("999999999999.99"), None),
        ],
        Date => same(&[json!("2024-02-29"), json!("1999-12-31")]),
        Year => same(&[json!(1000), json!(9999)]),
        Vin => vec![(json!("1hgcm82633a004352"), Some(json!("1HGCM82633A004352"))), (json!("ABCDEFGH123"), None)],
        Url => same(&[json!("https://example.org/a?b=c#d"), json!("http://localhost:8080/")]),
        Periods => same(&[json!(1), json!(99)]),
        Zone => same(&[json!("Europe/Berlin"), json!("US/Pacific"), json!("UTC")]),
        Currency => vec![(json!("EUR"), None), (json!("usd"), Some(json!("USD")))],
        Hash => vec![(json!(HASH), None), (json!(HASH.to_ascii_uppercase()), Some(json!(HASH)))],
        Ref => same(&[json!("r".repeat(100)), json!("HB-7")]),
        ReadOnly => Vec::new(),
    }
}

/// Values that a rule refuses, each with the fault code.
fn bad(rule: Rule) -> Vec<(Value, &'static str)> {
    match rule {
        Line(max) => vec![
            (json!("x".repeat(max + 1)), "too_long"),
            (json!("a\nb"), "invalid_format"),
            (json!("a\tb"), "invalid_format"),
            (json!("a\u{0}"), "invalid_format"),
            (json!("a\u{7f}"), "invalid_format"),
            (json!("a\u{85}"), "invalid_format"),
            (json!(5), "wrong_type"),
            (json!(["a"]), "wrong_type"),
        ],
        Lines => vec![
            (json!("x".repeat(10_001)), "too_long"),
            (json!("a\r\n"), "invalid_format"),
            (json!("\u{0}"), "invalid_format"),
            (json!({}), "wrong_type"),
        ],
        Choice(_) => vec![(json!("nonsense"), "not_a_choice"), (json!(""), "not_a_choice"), (json!(1), "wrong_type")],
        SubjectType(words) => {
            let mut refused = vec![(json!("task"), "not_a_choice"), (json!(true), "wrong_type")];
            if !words.contains("room") {
                refused.push((json!("room"), "not_a_choice"));
            }
            refused
        }
        Reference => vec![
            (json!("nope"), "invalid_format"),
            (json!("{0190a3b0-0000-7000-8000-00000000abcd}"), "invalid_format"),
            (json!("urn:uuid:0190a3b0-0000-7000-8000-00000000abcd"), "invalid_format"),
            (json!("0190a3b000007000800000000000abcd"), "invalid_format"),
            (json!(7), "wrong_type"),
        ],
        Count => vec![
            (json!(-1), "out_of_range"),
            (json!(2_147_483_648_i64), "out_of_range"),
            (json!(1e300), "out_of_range"),
            (json!(1.5), "wrong_type"),
            (json!("3"), "wrong_type"),
            (json!(true), "wrong_type"),
        ],
        Money => ["-1", "1.999", "1,50", "1e3", ".5", "5.", "", " 1", "1000000000000", "٣"]
            .map(|text| (json!(text), "invalid_format"))
            .into_iter()
            .chain([(json!(12.5), "wrong_type")])
            .collect(),
        Date => ["2026-02-29", "2026-13-01", "2026-1-1", "2026-06-01T00:00:00Z", ""]
            .map(|text| (json!(text), "invalid_format"))
            .into_iter()
            .chain([(json!(20_260_601), "wrong_type")])
            .collect(),
        Year => vec![
            (json!(999), "out_of_range"),
            (json!(10_000), "out_of_range"),
            (json!(2000.5), "wrong_type"),
            (json!("2000"), "wrong_type"),
        ],
        Vin => ["ABCDEFGH12", "ABCDEFGHJKLMNPRST1", "IBCDEFGH123", "OBCDEFGH123", "QBCDEFGH123", "ABCDEFGH12-"]
            .map(|text| (json!(text), "invalid_format"))
            .to_vec(),
        Url => vec![
            (json!("ftp://example.org"), "invalid_format"),
            (json!("/relative"), "invalid_format"),
            (json!("https://"), "invalid_format"),
            (json!(format!("https://example.org/{}", "x".repeat(2000))), "too_long"),
        ],
        Currency => ["DEM", "EURO", "€", ""].map(|text| (json!(text), "invalid_format")).to_vec(),
        Hash => {
            vec![
                (json!("ab"), "invalid_format"),
                (json!("g".repeat(64)), "invalid_format"),
                (json!(5), "wrong_type"),
                (json!("ab".repeat(32)), "not_found"),
            ]
        }
        Ref => vec![(json!("x".repeat(101)), "too_long"), (json!("a\nb"), "invalid_format")],
        Periods => vec![
            (json!(0), "out_of_range"),
            (json!(100), "out_of_range"),
            (json!(1.5), "wrong_type"),
            (json!("2"), "wrong_type"),
        ],
        Zone => ["europe/berlin", "Berlin", "+01:00", "Europe/Berlin ", ""]
            .map(|text| (json!(text), "invalid_format"))
            .into_iter()
            .chain([(json!(1), "wrong_type")])
            .collect(),
        ReadOnly => vec![(json!("2026-06-01T00:00:00Z"), "read_only"), (Value::Null, "read_only")],
    }
}

/// The path of a new record, or of the profile, for requests with one field.
async fn record_path(client: &Client, collection: &str, title: &str) -> String {
    if title.is_empty() {
        return "/v1/property".to_owned();
    }
    let made = client.post(&format!("/v1/{collection}"), &json!({ title: "Tried" })).await;
    assert_eq!(made.status, 201, "{}", made.text);
    format!("/v1/{collection}/{}", made.id())
}

fn refused(response: &Response, field: &str, code: &str, sent: &Value) {
    let sent: String = sent.to_string().chars().take(60).collect();
    assert_eq!((response.status, response.faults()), (422, vec![format!("{field} {code}")]), "{field}: {sent}");
}

#[tokio::test]
async fn fields_accept_only_valid_values() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    assert_eq!(client.put(&format!("/v1/files/{HASH}"), "test").await.status, 201);
    for (collection, title, fields) in KINDS {
        let path = record_path(&client, collection, title).await;
        let list = format!("/v1/{collection}");
        for (field, rule) in fields {
            for (value, stored) in good(*rule) {
                let patched = client.patch(&path, &json!({ *field: value })).await;
                assert_eq!(patched.status, 200, "{field}: {}", patched.text);
                assert_eq!(patched.data()[field], stored.unwrap_or(value), "{collection} {field}");
            }
            for (value, code) in bad(*rule) {
                refused(&client.patch(&path, &json!({ *field: value })).await, field, code, &value);
                if !title.is_empty() && *field != title {
                    let body = json!({ title: "New", *field: value });
                    refused(&client.post(&list, &body).await, field, code, &value);
                }
            }
            // Null clears only optional fields.
            let default = DEFAULTS.iter().find(|(of, name, _)| (of, name) == (&collection, field));
            let cleared = client.patch(&path, &json!({ *field: null })).await;
            match (default, *rule) {
                (_, ReadOnly) => (),
                (Some(_), _) => refused(&cleared, field, "not_nullable", &Value::Null),
                _ if *field == title => refused(&cleared, field, "not_nullable", &Value::Null),
                _ => assert_eq!((cleared.status, &cleared.data()[field]), (200, &Value::Null), "{field}"),
            }
        }
    }
}

#[tokio::test]
async fn records_have_exactly_their_members() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (collection, title, fields) in KINDS {
        let whole = if title.is_empty() {
            client.patch("/v1/property", &json!({ "city": "Ghent" })).await;
            client.patch("/v1/property", &json!({ "city": null })).await
        } else {
            let list = format!("/v1/{collection}");
            refused(&client.post(&list, &json!({})).await, title, "required", &Value::Null);
            refused(&client.post(&list, &json!({ title: null })).await, title, "required", &Value::Null);
            for blank in ["", "  ", "\u{a0}"] {
                refused(&client.post(&list, &json!({ title: blank })).await, title, "too_short", &json!(blank));
            }
            client.post(&list, &json!({ title: "New" })).await
        };
        let names: Vec<&str> = whole.data().as_object().unwrap().keys().map(String::as_str).collect();
        let named = fields.iter().map(|(name, _)| *name);
        let expected: Vec<&str> =
            ["id", "rev"].into_iter().chain(named).chain(["created_at", "updated_at", "updated_by"]).collect();
        assert_eq!(names, expected, "{collection}");
        for (field, _) in fields {
            let default = DEFAULTS.iter().find(|(of, name, _)| (*of, name) == (collection, field));
            let expected = match default {
                Some((_, _, text)) => serde_json::from_str(text).unwrap(),
                None if *field == title => json!("New"),
                None => Value::Null,
            };
            assert_eq!(whole.data()[field], expected, "{collection} {field}");
        }
        for moment in ["created_at", "updated_at"] {
            let text = whole.data()[moment].as_str().unwrap();
            assert!(text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.', "{text}");
        }
        // Members that the service sets are refused on create and patch.
        for name in ["rev", "created_at", "updated_at", "updated_by"] {
            let path = record_path(&client, collection, title).await;
            refused(&client.patch(&path, &json!({ name: whole.data()[name] })).await, name, "read_only", &json!(name));
            if !title.is_empty() {
                let body = json!({ title: "New", name: whole.data()[name] });
                refused(&client.post(&format!("/v1/{collection}"), &body).await, name, "read_only", &json!(name));
            }
        }
    }
}

#[tokio::test]
async fn ids_of_any_uuid_version_are_lowercased() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for id in [
        "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
        "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "00000000-0000-0000-0000-000000000000",
        "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF",
    ] {
        let made = client.post("/v1/rooms", &json!({ "id": id, "name": "Room" })).await;
        assert_eq!((made.status, made.id()), (201, id.to_lowercase()), "{}", made.text);
        let lamp = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": id.to_uppercase() })).await;
        assert_eq!(lamp.data()["room_id"], id.to_lowercase());
    }
    let own = client.post("/v1/rooms", &json!({ "name": "Room", "id": null })).await.id();
    assert_eq!(own.as_bytes()[14], b'7', "{own} is no UUIDv7");
    for id in ["nope", "{f47ac10b-58cc-4372-a567-0e02b2c3d470}", "f47ac10b58cc4372a5670e02b2c3d470", ""] {
        let response = client.post("/v1/rooms", &json!({ "id": id, "name": "Room" })).await;
        refused(&response, "id", "invalid_format", &json!(id));
    }
    for id in ["{f47ac10b-58cc-4372-a567-0e02b2c3d479}", "f47ac10b58cc4372a5670e02b2c3d479", "nope"] {
        let path = format!("/v1/rooms/{id}");
        for response in [client.get(&path).await, client.patch(&path, &json!({})).await, client.delete(&path).await] {
            assert_eq!((response.status, response.error()), (404, "not_found"), "{id}");
        }
    }
}

#[tokio::test]
async fn search_covers_exactly_text_fields() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (collection, title, fields) in KINDS {
        for (number, (field, rule)) in fields.iter().enumerate().filter(|_| !title.is_empty()) {
            // A distinct word for each field, of letters that a VIN allows.
            let word = format!("{}WRD{number:0>8}", collection[..1].to_uppercase().replace('I', "J"));
            let (value, found) = match rule {
                Line(100..) | Lines => (json!(format!("before {word} after")), true),
                Line(_) | Vin => (json!(word), true),
                Url => (json!(format!("https://{word}.example")), false),
                Ref => (json!(word), false),
                Choice(words) => (json!(words.split_whitespace().last().unwrap()), false),
                Date => (json!("2031-07-09"), false),
                Money => (json!("77441.00"), false),
                _ => continue,
            };
            let body = if field == &title { json!({ title: value }) } else { json!({ title: "x", *field: value }) };
            let id = client.post(&format!("/v1/{collection}"), &body).await.id();
            let asked = match rule {
                Choice(_) | Date | Money => value.as_str().unwrap().replace("other", "othe"),
                _ => word.to_lowercase(),
            };
            let hits = client.get(&format!("/v1/search?q={asked}")).await;
            let hits: Vec<&Value> = hits.data().as_array().unwrap().iter().filter(|hit| hit["id"] == *id).collect();
            assert_eq!(hits.len(), usize::from(found), "{collection} {field} {asked}");
        }
    }
}

#[tokio::test]
async fn import_ref_is_unique_within_kind() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let first = client.post("/v1/rooms", &json!({ "name": "Hall", "import_ref": "r1" })).await.id();
    let other = client.post("/v1/rooms", &json!({ "name": "Attic" })).await.id();
    let taken = |response: &Response| {
        assert_eq!((response.status, response.error()), (409, "already_exists"));
        let expected = json!({ "id": first, "deleted": false, "field": "import_ref" });
        assert_eq!(response.json["error"]["details"], expected);
    };
    let body = json!({ "name": "Cellar", "import_ref": "r1" });
    taken(&client.post("/v1/rooms", &body).await);
    taken(&client.patch(&format!("/v1/rooms/{other}"), &json!({ "import_ref": "r1" })).await);
    // Its own value, and another kind.
    let again = client.patch(&format!("/v1/rooms/{first}"), &json!({ "import_ref": "r1", "floor": "1" })).await;
    assert_eq!(again.status, 200);
    assert_eq!(client.post("/v1/inventory", &body).await.status, 201);
    client.delete(&format!("/v1/rooms/{first}")).await;
    assert_eq!(client.post("/v1/rooms", &body).await.status, 201);
}
