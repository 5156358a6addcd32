//! Discovery, the OpenAPI description and the pages (contract 14), compared with the service's behaviour.

use std::time::Duration;

use hearth_contract::formats::{parse_date, parse_id};
use hearth_contract::problem::ProblemType;
use hearth_contract::resources::RESOURCES;
use hearth_contract::schema::Kind;
use hearth_server::config::RateLimits;
use hearth_server::routes::ROUTES;
use hearth_server::scopes::SCOPES;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::feed::wait_for;

/// Sends a GET without a key.
pub(super) async fn visit(server: &Server, path: &str, accept: &str) -> Response {
    let client = Client::new(&server.url, "none");
    client.send(client.request(Method::GET, path).header("accept", accept)).await
}

#[tokio::test]
async fn index_links_every_resource() {
    let server = Server::start().await;
    let index = visit(&server, "/v1", "*/*").await;
    let data = index.data();
    assert_eq!((&data["name"], &data["stability"]), (&json!("Hearth"), &json!("public_preview")));
    let resources = data["resources"].as_array().unwrap();
    assert_eq!(resources.len(), RESOURCES.len());
    let task = resources.iter().find(|resource| resource["kind"] == "task").unwrap();
    assert_eq!((&task["collection"], &task["path"]), (&json!("tasks"), &json!("/v1/tasks")));
    assert_eq!(task["relations"], json!(["subject"]));
    assert!(task["searchable"].as_array().unwrap().contains(&json!("title")));
    let property = resources.iter().find(|resource| resource["kind"] == "property").unwrap();
    assert_eq!(property["searchable"], json!([]), "there is one, and nothing to look for");
    let priority = task["fields"].as_array().unwrap().iter().find(|field| field["name"] == "priority").unwrap();
    assert_eq!((&priority["format"], &priority["default"]), (&json!("choice"), &json!("medium")));
    assert_eq!(priority["choices"], json!(["low", "medium", "high", "urgent"]));
    for name in ["self", "meta", "openapi_json", "openapi_yaml", "docs", "changelog"] {
        let link = data["links"][name].as_str().unwrap().strip_prefix(&server.url).unwrap().to_owned();
        assert_eq!(visit(&server, &link, "*/*").await.status, 200, "{name}");
    }
    assert_eq!(visit(&server, "/v1?x=1", "*/*").await.error(), "invalid_request");
    assert_eq!(visit(&server, "/v1", "text/html").await.error(), "not_acceptable");
}

#[tokio::test]
async fn meta_catalogues_match_service_tables() {
    let server = Server::start_with(|config| config.rate_limits = Some(RateLimits::default())).await;
    let meta = visit(&server, "/v1/_meta", "application/json").await;
    let data = meta.data();
    assert_eq!(
        data["versions"],
        json!([
            { "version": "2026-03-01", "status": "deprecated", "released_on": "2026-03-01",
              "deprecated_on": "2026-06-01", "sunset_on": "2027-06-01" },
            { "version": "2026-06-01", "status": "current", "released_on": "2026-06-01",
              "deprecated_on": null, "sunset_on": null },
        ])
    );
    let scopes: Vec<&str> = data["scopes"].as_array().unwrap().iter().map(|s| s["scope"].as_str().unwrap()).collect();
    assert_eq!(scopes, SCOPES);
    let errors = data["errors"].as_array().unwrap();
    assert_eq!(errors.len(), ProblemType::ALL.len());
    for error in errors {
        let kind = ProblemType::parse(error["type"].as_str().unwrap()).unwrap();
        assert_eq!((&error["status"], &error["fix"]), (&json!(kind.status()), &json!(kind.fix())));
        assert!(error["description"].is_string());
    }
    assert_eq!(
        data["limits"],
        json!({
            "reads_per_minute": 300, "writes_per_minute": 60, "bulk_per_minute": 20, "bulk_operations_max": 50,
            "page_default": 50, "page_max": 100, "import_rows_max": 50_000, "query_min_characters": 2, "idempotency_hours": 24,
            "file_max_bytes": 33_554_432,
            "files_max_bytes": 10_737_418_240_i64,
            "uploads_at_once": 4,
            "heartbeat_seconds": 60,
        })
    );
}

#[tokio::test]
async fn openapi_lists_every_route_in_json_and_yaml() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await;
    assert_eq!((document.header("content-type"), &document.json["openapi"]), ("application/json", &json!("3.1.0")));
    assert_eq!(document.json["info"]["x-stability"], "public_preview");
    for (path, accept, media) in [
        ("/openapi/v1", "application/yaml", "application/yaml"),
        ("/openapi/v1.yaml", "*/*", "application/yaml"),
        ("/openapi/v1.json", "*/*", "application/json"),
    ] {
        let response = visit(&server, path, accept).await;
        assert_eq!((response.status, response.header("content-type")), (200, media), "{path}");
    }
    assert_eq!(visit(&server, "/openapi/v1", "text/html").await.status, 406);
    for route in ROUTES.iter() {
        let operation = &document.json["paths"][&route.path][route.method.as_str().to_lowercase()];
        assert_eq!(operation["operationId"], route.operation, "{}", route.path);
        for parameter in route.parameters {
            let named = operation["parameters"].as_array().unwrap();
            let has_none = parameter.name == "expand"
                && route
                    .kind
                    .is_some_and(|kind| hearth_contract::resources::resource(kind).relations().next().is_none());
            assert!(has_none || named.iter().any(|known| known["name"] == parameter.name), "{}", parameter.name);
        }
    }
}

/// Headers of HTTP itself, which the description does not list.
const TRANSPORT: [&str; 6] = ["content-type", "content-length", "date", "connection", "transfer-encoding", "vary"];

/// Checks responses against the OpenAPI description.
struct Judge {
    document: Value,
}

impl Judge {
    /// Asserts that status, headers and body of a response have the documented form of the operation.
    fn check(&self, method: &str, path: &str, response: &Response) {
        let operation = &self.document["paths"][path][method];
        let mut documented = &operation["responses"][response.status.to_string()];
        assert!(documented.is_object(), "{method} {path}: {} is not documented", response.status);
        if let Some(target) = documented["$ref"].as_str() {
            documented = self.document.pointer(&target[1..]).unwrap();
        }
        let described = documented["headers"].as_object().unwrap();
        for name in ["X-Request-Id", "Service-API-Version", "Cache-Control"] {
            assert!(described.contains_key(name) && !response.header(name).is_empty(), "{name}");
        }
        for name in response.headers.keys().map(|name| name.as_str()).filter(|name| !TRANSPORT.contains(name)) {
            let is_described = described.keys().any(|known| known.eq_ignore_ascii_case(name));
            assert!(is_described, "{method} {path}: {name} is not documented for {}", response.status);
        }
        let Some(content) = documented.get("content") else { return assert_eq!(response.text, "") };
        let media = response.header("content-type").split(';').next().unwrap();
        let Some(schema) = content.get(media).and_then(|content| content.get("schema")) else {
            panic!("{method} {path}: {media} is not documented");
        };
        if media != "application/json" {
            return;
        }
        let mut root = schema.clone();
        root["components"] = self.document["components"].clone();
        let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&root).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&response.json)
            .map(|fault| format!("{} at {}", fault, fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{method} {path}: {faults:?}\n{}", response.text);
    }
}

#[tokio::test]
async fn responses_match_openapi_schemas() {
    let server =
        Server::start_with(|config| config.rate_limits = Some(RateLimits { reads: 900, writes: 900, bulk: 900 })).await;
    let client = Client::new(&server.url, &server.test_key);
    let judge = Judge { document: visit(&server, "/openapi/v1", "*/*").await.json };
    let missing = uuid::Uuid::from_u128(7);
    for route in ROUTES.iter().filter(|route| route.path != "/v1/events/stream" && route.path != "/mcp") {
        let method = route.method.as_str().to_lowercase();
        let path = route.path.replace("{id}", &missing.to_string()).replace("{type}", "not_found");
        for path in [path.clone(), format!("{path}?unknown=1")] {
            let response = client.send(client.request(route.method.clone(), &path)).await;
            judge.check(&method, &route.path, &response);
        }
        if route.method == Method::GET {
            let refused = client.send(client.request(Method::GET, &path).header("accept", "image/png")).await;
            // No file has the name.
            let status = if route.response_body.ignores_accept() { 404 } else { 406 };
            assert_eq!(refused.status, status, "{path}");
            judge.check(&method, &route.path, &refused);
        } else {
            let response =
                client.send(client.request(route.method.clone(), &path).json(&json!({ "nonsense": 1 }))).await;
            judge.check(&method, &route.path, &response);
        }
        if route.path.starts_with("/v1/") && route.path != "/v1/_meta" {
            let nobody = Client::new(&server.url, "none");
            let refused = nobody.send(nobody.request(route.method.clone(), &path)).await;
            assert_eq!(refused.status, 401, "{path}");
            judge.check(&method, &route.path, &refused);
        }
    }
    for kind in Kind::COLLECTIONS {
        let (list, one) = (format!("/v1/{}", kind.collection()), format!("/v1/{}/{{id}}", kind.collection()));
        let title = hearth_contract::resources::resource(kind).title;
        let page = client.get(&format!("{list}?limit=100")).await;
        judge.check("get", &list, &page);
        let made = client.post(&list, &json!({ title: "New" })).await;
        assert_eq!(made.status, 201);
        judge.check("post", &list, &made);
        let path = format!("{list}/{}", made.id());
        judge.check("get", &one, &client.get(&path).await);
        judge.check("get", &one, &client.get(&format!("{path}?fields={title}")).await);
        judge.check("get", &one, &client.send(client.request(Method::GET, &path).header("if-none-match", "*")).await);
        judge.check("patch", &one, &client.patch(&path, &json!({ title: "Newer" })).await);
        let stale = client.request(Method::PATCH, &path).header("if-match", "\"1\"").json(&json!({}));
        let stale = client.send(stale).await;
        assert_eq!(stale.status, 412);
        judge.check("patch", &one, &stale);
        let again = client.post(&list, &json!({ title: "New", "id": made.id() })).await;
        assert_eq!(again.status, 409);
        judge.check("post", &list, &again);
        judge.check("delete", &one, &client.delete(&path).await);
        let operations = json!({ "operations": [
            { "method": "create", title: "In bulk" },
            { "method": "update", "id": made.id(), "data": { title: "Gone" } },
            { "method": "delete", "id": made.id() },
            { "method": "create", "nonsense": 1 },
        ] });
        let outcome = client.post(&format!("{list}/bulk"), &operations).await;
        assert_eq!(outcome.status, 207);
        judge.check("post", &format!("{list}/bulk"), &outcome);
    }
    let file = "/v1/files/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    for (bytes, status) in [("test", 201), ("test", 200), ("other", 400)] {
        let stored = client.put(file, bytes).await;
        assert_eq!(stored.status, status, "{}", stored.text);
        judge.check("put", "/v1/files/{sha256}", &stored);
    }
    judge.check("get", "/v1/files", &client.get("/v1/files?referenced=false").await);
    judge.check("delete", "/v1/files/{sha256}", &client.delete(file).await);
    for query in ["q=filter", "q=fil&types=task,inventory&limit=1", "q=f", "q=--", "types=task"] {
        judge.check("get", "/v1/search", &client.get(&format!("/v1/search?{query}")).await);
    }
    for (path, list) in
        [("/v1/inventory?expand=room&limit=100", "/v1/inventory"), ("/v1/tasks?expand=subject", "/v1/tasks")]
    {
        judge.check("get", list, &client.get(path).await);
    }
    judge.check("get", "/v1/deletions", &client.get("/v1/deletions?since=0").await);
    judge.check("get", "/v1/deletions", &client.get("/v1/deletions").await);
    let events = client.get("/v1/events?limit=1000").await;
    judge.check("get", "/v1/events", &events);
    let set = client.patch("/v1/property", &json!({ "city": "Springfield" })).await;
    judge.check("patch", "/v1/property", &set);
    // The feed has records of each kind, and each payload has the form of its kind.
    for event in events.data().as_array().unwrap() {
        let kind = Kind::parse(event["resource_type"].as_str().unwrap()).unwrap();
        let path =
            if kind.is_singleton() { "/v1/property".to_owned() } else { format!("/v1/{}/{{id}}", kind.collection()) };
        let mut response = client.get("/v1/property").await;
        if !event["payload"].is_null() {
            response.json["data"] = event["payload"].clone();
            judge.check("get", &path, &response);
        }
        if event["id"].as_i64() > Some(60) {
            break;
        }
    }
}

#[tokio::test]
async fn responses_carry_only_described_headers() {
    // A deprecated version and small rate limits bring the rarer headers. Reads poll an export, for as long as it takes.
    let server = Server::start_at(TestClock::at("2027-01-15T12:00:00Z").clock(), |config| {
        config.rate_limits = Some(RateLimits { reads: u32::MAX, writes: 5, bulk: 1 });
    })
    .await;
    let judge = Judge { document: visit(&server, "/openapi/v1", "*/*").await.json };
    let client = Client::new(&server.url, &server.live_key);
    let missing = uuid::Uuid::from_u128(7);
    let one = format!("/v1/rooms/{missing}");
    let write = |method: Method, path: &str, key: &'static str, body: Value| {
        let request = client.request(method, path).header("service-api-version", "2026-03-01");
        client.send(request.header("idempotency-key", key).json(&body))
    };
    for (method, path, template, key, body, status) in [
        (Method::PATCH, one.as_str(), "/v1/rooms/{id}", "patch", json!({ "name": "Hall" }), 404),
        (Method::POST, "/v1/rooms", "/v1/rooms", "post", json!({ "nonsense": 1 }), 422),
    ] {
        for replayed in ["", "true"] {
            let response = write(method.clone(), path, key, body.clone()).await;
            let report = ["deprecation", "idempotency-replayed"].map(|name| response.header(name).to_owned());
            assert_eq!(
                (response.status, report[0].is_empty(), &*report[1]),
                (status, false, replayed),
                "{}",
                response.text
            );
            judge.check(method.as_str().to_lowercase().as_str(), template, &response);
        }
    }
    // The rate limit allows one more write.
    assert_eq!(write(Method::POST, "/v1/rooms", "last", json!({ "name": "Hall" })).await.status, 201);
    for _ in 0..2 {
        let response = client.post("/mcp", &called("svc_create_room", json!({}))).await;
        judge.check("post", "/mcp", &response);
        let response = client.post("/mcp", &called("svc_create_task", json!({ "title": "Sweep" }))).await;
        assert_eq!((response.status, response.header("retry-after").is_empty()), (200, false), "{}", response.text);
        judge.check("post", "/mcp", &response);
    }
    let refused = write(Method::POST, "/v1/rooms", "more", json!({})).await;
    assert_eq!((refused.status, refused.header("x-ratelimit-remaining")), (429, "0"));
    judge.check("post", "/v1/rooms", &refused);
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    for message in [notification, json!({}), json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such" })] {
        judge.check("post", "/mcp", &client.post("/mcp", &message).await);
    }
    let page = visit(&server, "/docs", "text/html").await;
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    judge.check("get", "/docs", &page);

    let stream = stream_head(&server).await;
    assert_eq!(stream.header("x-accel-buffering"), "no");
    judge.check("get", "/v1/events/stream", &stream);

    let other = Client::new(&server.url, &server.test_key);
    let job = other.post("/v1/exports", &json!({ "format": "json" })).await;
    judge.check("post", "/v1/exports", &job);
    let path = format!("/v1/exports/{}/download", job.id());
    let file = wait_for(|| async { Some(other.get(&path).await).filter(|response| response.status == 200) }).await;
    assert!(!file.header("content-disposition").is_empty());
    judge.check("get", "/v1/exports/{id}/download", &file);
}

/// The head of a stream response, whose body has no end.
async fn stream_head(server: &Server) -> Response {
    let client = Client::new(&server.url, &server.test_key);
    let response = client.request(Method::GET, "/v1/events/stream").send().await.unwrap();
    Response {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        text: String::new(),
        json: Value::Null,
    }
}

/// The message of a tool call.
fn called(tool: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

#[tokio::test]
async fn bulk_if_match_accepts_described_forms() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let mut described = document["components"]["schemas"]["TaskOperation"]["properties"]["if_match"].clone();
    described["components"] = document["components"].clone();
    let validator = jsonschema::draft202012::new(&described).unwrap();
    for guard in [
        json!(7),
        json!(7.0),
        json!(7.5),
        json!(null),
        json!("*"),
        json!("\"7\""),
        json!("\"0\""),
        json!("\"007\""),
        json!("\"123456789012345678\""),
        json!("7"),
        json!("\"\""),
        json!("W/\"7\""),
        json!("\"*\""),
        json!(true),
    ] {
        let operation = json!({ "method": "delete", "id": uuid::Uuid::from_u128(7), "if_match": guard });
        let response = client.post("/v1/tasks/bulk", &json!({ "operations": [operation] })).await;
        let is_taken = !response.text.contains("wrong_type");
        assert_eq!(validator.is_valid(&guard), is_taken, "{guard}: {}", response.text);
    }
}

/// The refusal of a cursor older than the retention.
async fn expired(client: &Client, test_clock: &TestClock) -> Response {
    let early = client.get("/v1/events").await.next_cursor().unwrap();
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    client.patch(&format!("/v1/rooms/{room}"), &json!({ "floor": "1" })).await;
    test_clock.advance(Duration::from_secs(1));
    wait_for(|| async {
        let response = client.get(&format!("/v1/events?cursor={early}")).await;
        (response.status == 410).then_some(response)
    })
    .await
}

#[tokio::test]
async fn expired_cursor_details_are_described() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/rooms", &json!({ "name": "Shed" })).await;
    let response = expired(&client, &test_clock).await;
    let members: Vec<&String> = response.json["error"]["details"].as_object().unwrap().keys().collect();

    let judge = Judge { document: visit(&server, "/openapi/v1", "*/*").await.json };
    judge.check("get", "/v1/events", &response);
    let details = &judge.document["components"]["schemas"]["CursorExpiredDetails"];
    let described = details["properties"].as_object().unwrap();
    assert_eq!(described.keys().collect::<Vec<_>>(), members);
    assert_eq!(details["required"], json!(members));
    assert_eq!(described["reason"]["enum"], json!(["retention", "restored"]));

    let page = visit(&server, "/docs/errors/cursor_expired", "text/html").await.text;
    let report = visit(&server, "/docs/errors/cursor_expired", "application/json").await;
    for (name, member) in described {
        let about = member["description"].as_str().unwrap();
        assert!(page.contains(&format!("<code>{name}</code>")), "{name}");
        assert_eq!(report.data()["details"][name], about);
    }
    judge.check("get", "/docs/errors/{type}", &report);
    let other = visit(&server, "/docs/errors/not_found", "application/json").await;
    assert_eq!(other.data()["details"], json!({}));
}

#[tokio::test]
async fn list_defaults_are_described() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let about = |name: &str| {
        let parameters = document["paths"]["/v1/tasks"]["get"]["parameters"].as_array().unwrap();
        let found = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        found["description"].as_str().unwrap().to_owned()
    };
    for (name, word) in [("sort", "created_at"), ("order", "desc")] {
        let about = about(name);
        assert!(about.contains(&format!("`{word}` when neither this nor a cursor says")), "{about}");
    }
}

#[tokio::test]
async fn condition_pattern_matches_what_is_accepted() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let room = client.get("/v1/rooms?limit=1").await.data()[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/rooms/{room}");
    for (method, header, component) in [
        (Method::PATCH, "If-Match", "IfMatch"),
        (Method::PATCH, "If-None-Match", "UnlessMatch"),
        (Method::GET, "If-None-Match", "IfNoneMatch"),
    ] {
        let schema = &document["components"]["parameters"][component]["schema"];
        let validator = jsonschema::draft202012::new(schema).unwrap();
        for value in [
            "*",
            "\"1\"",
            "W/\"1\"",
            "\"1\", \"2\"",
            "\"1\",\"2\"",
            "\"1\",",
            ", ,\"7\",,\"1\"",
            "\"\"",
            "\"a,b\" , W/\"x\"",
            "1",
            "\"1",
            "1\"",
            "\"1\" \"2\"",
            "\"1\", x",
            "w/\"1\"",
            "*, \"1\"",
            "**",
            "\"a b\"",
            "",
            ",",
            "W/*",
            "\"a\"b\"",
        ] {
            let request = client.request(method.clone(), &path).header(header, value);
            let request = if method == Method::PATCH { request.json(&json!({})) } else { request };
            let response = client.send(request).await;
            let is_accepted = response.status != 400;
            assert_eq!(validator.is_valid(&json!(value)), is_accepted, "{method} {header}: {value}: {}", response.text);
        }
    }
}

#[tokio::test]
async fn filter_patterns_match_their_formats() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let pattern_of = |name: &str| {
        let parameters = document["paths"]["/v1/tasks"]["get"]["parameters"].as_array().unwrap();
        let parameter = parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
        jsonschema::draft202012::new(&parameter["schema"]["items"]).unwrap()
    };
    let (due_on, subject_id) = (pattern_of("due_on"), pattern_of("subject_id"));
    for year in [0, 4, 1900, 2000, 2023, 2024, 2100, 2396, 9999] {
        for (month, day) in (0..=13).flat_map(|month| (0..=32).map(move |day| (month, day))) {
            let text = format!("{year:04}-{month:02}-{day:02}");
            assert_eq!(due_on.is_valid(&json!(text)), parse_date(&text).is_some(), "{text}");
        }
    }
    for text in ["null", "", "NULL", "nul", "2026-6-1", "2026-06-01T00:00:00Z", "x2026-06-01", "2024-02-29x"] {
        assert_eq!(due_on.is_valid(&json!(text)), text == "null", "{text}");
    }
    let id = "0190a3b0-0000-7000-8000-00000000abcd";
    for text in ["null", id, &id.to_uppercase(), &id.replace('-', ""), &format!("{{{id}}}"), "", "none", &id[1..]] {
        assert_eq!(subject_id.is_valid(&json!(text)), text == "null" || parse_id(text).is_some(), "{text}");
    }
}

#[tokio::test]
async fn examples_of_openapi_fit_their_schemas() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let mut count = 0;
    let mut judge = |place: &str, media: &str, content: &Value| {
        let Some(example) = content.get("example").filter(|_| !media.starts_with("text/")) else { return };
        let mut schema = content["schema"].clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let faults: Vec<String> = validator.iter_errors(example).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{place}: {faults:?}\n{example:#}");
        count += 1;
    };
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let answers = operation["responses"].as_object().unwrap().values();
            for body in answers.chain([&operation["requestBody"]]) {
                for (media, content) in body["content"].as_object().into_iter().flatten() {
                    judge(path, media, content);
                }
            }
        }
    }
    assert!(count > 60, "{count} examples");
}

#[tokio::test]
async fn openapi_names_mcp_headers() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let of = |path: &str| {
        let shared = &document["components"]["parameters"];
        let named = document["paths"][path]["post"]["parameters"].as_array().unwrap().iter();
        let names = named.map(|one| one["$ref"].as_str().unwrap().rsplit('/').next().unwrap());
        names.map(|name| shared[name]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("/mcp"), ["Idempotency-Key", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"]);
    assert_eq!(of("/v1/tasks"), ["Service-API-Version", "Idempotency-Key"]);
}
