//! The Model Context Protocol (contract 15): both protocol eras, the nineteen tools, and the same rules for tool calls as
//! for requests.

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::RateLimits;
use hearth_server::operate::{self, NewKey};
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, new_key};
use reqwest::Method;
use serde_json::{Value, json};

const TOOLS: [&str; 19] = [
    "svc_search",
    "svc_list_inventory",
    "svc_get_inventory_item",
    "svc_create_inventory",
    "svc_list_vehicles",
    "svc_get_vehicle",
    "svc_create_vehicle",
    "svc_list_tasks",
    "svc_create_task",
    "svc_update_task",
    "svc_list_documents",
    "svc_get_document",
    "svc_create_document",
    "svc_list_rooms",
    "svc_get_property",
    "svc_update_property",
    "svc_list_captures",
    "svc_get_capture",
    "svc_suggest_draft",
];

async fn send_message(client: &Client, method: &str, params: Value) -> Response {
    client.post("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
}

/// Calls a tool by the protocol revisions with `initialize`, and checks the form of the result.
async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    let response = send_message(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
    assert_eq!(response.status, 200, "{}", response.text);
    let result = response.json["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", response.text));
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
    assert_eq!(result["isError"] == true, result["structuredContent"]["error"].is_object(), "{}", response.text);
    result["structuredContent"].clone()
}

/// Sends a message by the stateless protocol revision.
async fn send_stateless(client: &Client, method: &str, mut params: Value) -> Response {
    let version = "2026-07-28";
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let mut request = client
        .request(Method::POST, "/mcp")
        .header("mcp-protocol-version", version)
        .header("mcp-method", method)
        .json(&json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params }));
    if !name.is_empty() {
        request = request.header("mcp-name", name);
    }
    client.send(request).await
}

async fn key(server: &Server, scopes: &[&str]) -> Client {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let key = NewKey { scopes, ..new_key("My home", Environment::Test) };
    let made = operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap();
    Client::new(&server.url, &made.secret)
}

fn names(list: &Response) -> Vec<&str> {
    let tools = list.json["result"]["tools"].as_array().unwrap_or_else(|| panic!("{}", list.text));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn both_protocol_eras_work_without_session() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let response = send_message(&client, "initialize", hello).await;
        assert_eq!((response.status, response.header("content-type")), (200, "application/json"));
        assert_eq!(response.json["result"]["protocolVersion"], version);
        assert_eq!(response.header("mcp-session-id"), "");
        let noted = client.post("/mcp", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!((noted.status, noted.text.as_str()), (202, ""));
        let request = client.request(Method::POST, "/mcp").header("mcp-protocol-version", version);
        let list = client.send(request.json(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }))).await;
        assert_eq!(names(&list), TOOLS);
    }
    assert_eq!(send_message(&client, "ping", json!({})).await.json["result"], json!({}));

    let found = send_stateless(&client, "server/discover", json!({})).await;
    assert!(found.json["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    let list = send_stateless(&client, "tools/list", json!({})).await;
    assert_eq!((names(&list), &list.json["result"]["cacheScope"]), (TOOLS.to_vec(), &json!("private")));
    let rooms = send_stateless(&client, "tools/call", json!({ "name": "svc_list_rooms", "arguments": {} })).await;
    assert_eq!(rooms.json["result"]["resultType"], "complete");
    assert!(rooms.json["result"]["structuredContent"]["data"][0]["name"].is_string());
}

#[tokio::test]
async fn only_post_of_a_message_is_accepted() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let response = client.send(client.request(method, "/mcp")).await;
        assert_eq!((response.status, response.error(), response.header("allow")), (405, "method_not_allowed", "POST"));
    }
    for (body, kind) in [("{", "invalid_json"), ("[]", "invalid_request"), (r#"{"a":1}"#, "invalid_request")] {
        let request = client.request(Method::POST, "/mcp").header("content-type", "application/json").body(body);
        let response = client.send(request).await;
        assert_eq!((response.status, response.error()), (400, kind), "{body}");
    }
    let text = client.request(Method::POST, "/mcp").header("content-type", "text/plain").body("{}");
    assert_eq!(client.send(text).await.error(), "unsupported_media_type");
    let old = client.request(Method::POST, "/mcp").header("mcp-protocol-version", "1999-01-01");
    let response = client.send(old.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))).await;
    assert_eq!((response.status, response.error()), (400, "invalid_request"));
    // A well-formed message gets a JSON-RPC response.
    assert_eq!(send_message(&client, "tools/guess", json!({})).await.json["error"]["code"], -32601);
    assert_eq!(send_message(&client, "tools/call", json!({ "name": 5 })).await.json["error"]["code"], -32602);
    let unknown = send_message(&client, "tools/call", json!({ "name": "svc_list_romms" })).await;
    assert_eq!(unknown.json["error"]["code"], -32602);
    assert!(unknown.json["error"]["message"].as_str().unwrap().contains("svc_list_rooms"));
}

#[tokio::test]
async fn key_checks_match_rest() {
    let server = Server::start().await;
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let nobody = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = nobody.post(format!("{}/mcp", server.url)).json(&message).send().await.unwrap();
    assert_eq!(response.status(), 401);
    let challenge = response.headers()["www-authenticate"].to_str().unwrap();
    let resource = format!("{}/.well-known/oauth-protected-resource/mcp", server.url);
    assert!(challenge.starts_with(r#"Bearer scope="inventory:read "#), "a tool may need each scope: {challenge}");
    assert!(challenge.ends_with(&format!(r#"exports:write", resource_metadata="{resource}""#)), "{challenge}");
    let response = Client::new(&server.url, "svc_live_nonsense").post("/mcp", &message).await;
    assert_eq!((response.status, response.error()), (401, "invalid_api_key"));
}

#[tokio::test]
async fn origin_and_host_must_be_allowed() {
    let server =
        Server::start_with(|config| config.allow_origins = vec!["https://app.example.org".parse().unwrap()]).await;
    let client = Client::new(&server.url, &server.test_key);
    let ping = |name: &'static str, value: String| {
        let request = client.request(Method::POST, "/mcp").header(name, value);
        client.send(request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })))
    };
    let port = server.url.rsplit(':').next().unwrap();
    for allowed in [server.url.clone(), format!("http://localhost:{port}"), "https://app.example.org".to_owned()] {
        assert_eq!(ping("origin", allowed.clone()).await.status, 200, "{allowed}");
    }
    for refused in ["https://evil.example", "http://app.example.org", "http://localhost:1", "null", "nonsense"] {
        let response = ping("origin", refused.to_owned()).await;
        assert_eq!((response.status, response.error()), (403, "origin_not_allowed"), "{refused}");
    }
    assert_eq!(ping("host", format!("localhost:{port}")).await.status, 200);
    // With another base URL the service still accepts its own address, but no other port.
    let behind = Server::start_with(|config| config.base_url = Some("http://nas.local:3000".to_owned())).await;
    let port = behind.url.rsplit(':').next().unwrap();
    let client_behind = Client::new(&behind.url, &behind.test_key);
    for (origin, status) in [
        (format!("http://localhost:{port}"), 200),
        ("http://nas.local:3000".to_owned(), 200),
        ("http://localhost:3000".to_owned(), 403),
    ] {
        let request = client_behind.request(Method::POST, "/mcp").header("origin", &origin);
        let response = client_behind.send(request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))).await;
        assert_eq!(response.status, status, "{origin}: {}", response.text);
    }
    let rebound = ping("host", format!("evil.example:{port}")).await;
    assert_eq!((rebound.status, rebound.error()), (403, "origin_not_allowed"));
}

#[tokio::test]
async fn malformed_message_error_names_fault() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for (method, params, named) in [
        ("tools/call", json!({ "name": "svc_list_tasks", "arguments": "{}" }), "arguments must be an object"),
        ("tools/call", json!({ "name": "svc_list_tasks", "arguments": [] }), "arguments must be an object"),
        ("tools/call", json!({ "arguments": {} }), "name must be"),
        ("tools/call", json!({ "name": "svc_list_taks" }), "did you mean svc_list_tasks?"),
        ("tools/call", json!({ "name": "list_tasks" }), "did you mean svc_list_tasks?"),
        ("tools/call", json!({ "name": "svc_get_task" }), "tools/list gives all"),
        ("initialize", json!({ "protocolVersion": "2025-11-25" }), "capabilities must be an object"),
    ] {
        let text = send_message(&client, method, params.clone()).await;
        let message = text.json["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(text.json["error"]["code"], -32602, "{params}: {}", text.text);
        assert!(message.contains(named), "{params}: {message}");
    }
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let request = client.request(Method::POST, "/mcp").header("mcp-protocol-version", "2099-01-01").json(&ping);
    let refused = client.send(request).await;
    let fix = refused.json["error"]["fix"].as_str().unwrap_or_default();
    assert!(refused.status == 400 && fix.contains("2025-11-25, 2026-07-28"), "{}", refused.text);
}

#[tokio::test]
async fn scopes_limit_listed_and_called_tools() {
    let server = Server::start().await;
    let reader = key(&server, &["rooms:read", "search:read"]).await;
    assert_eq!(names(&send_message(&reader, "tools/list", json!({})).await), ["svc_search", "svc_list_rooms"]);
    assert!(call(&reader, "svc_list_rooms", json!({})).await["data"].is_array());
    let refused = call(&reader, "svc_create_task", json!({ "title": "Buy filter" })).await;
    assert_eq!(refused["error"]["type"], "insufficient_scope");
    assert_eq!(refused["error"]["details"]["required_scope"], "tasks:write");
}

#[tokio::test]
async fn tool_schemas_match_resource_table() {
    let server = Server::start().await;
    let list = send_message(&Client::new(&server.url, &server.test_key), "tools/list", json!({})).await;
    let tools = list.json["result"]["tools"].as_array().unwrap();
    for tool in tools {
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[schema]["type"], "object", "{} {schema}", tool["name"]);
        }
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        // Some clients validate failed calls against the schema, too.
        assert_eq!(tool["outputSchema"]["anyOf"][1]["required"], json!(["error"]), "{}", tool["name"]);
        let name = tool["name"].as_str().unwrap();
        let (creates, updates) = (name.contains("_create_"), name.contains("_update_"));
        let suggests = name.contains("_suggest_");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], !creates && !updates && !suggests, "{name}");
        assert_eq!(hints["idempotentHint"], !creates, "{name}");
        assert_eq!(hints["destructiveHint"], updates, "{name}");
        assert_eq!(tool["inputSchema"]["properties"]["idempotency_key"].is_object(), creates, "{name}");
    }
    let of = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let create = &of("svc_create_task")["inputSchema"];
    assert_eq!(create["required"], json!(["title"]));
    assert_eq!(create["properties"]["priority"]["enum"], json!(["low", "medium", "high", "urgent"]));
    assert!(create["properties"]["completed_at"].is_object() && create["properties"]["recurrence_anchor"].is_null());
    assert_eq!(of("svc_list_tasks")["inputSchema"]["properties"]["limit"]["maximum"], 100);
    assert_eq!(of("svc_get_vehicle")["inputSchema"]["required"], json!(["id"]));
    // Each advertised parameter is accepted.
    for (name, expands) in [("svc_list_rooms", false), ("svc_list_vehicles", false), ("svc_list_tasks", true)] {
        let properties = &of(name)["inputSchema"]["properties"];
        assert_eq!(properties["expand"].is_object(), expands, "{name}");
        let forms = &properties["fields"]["anyOf"];
        assert_eq!((&forms[0]["minLength"], &forms[1]["minItems"]), (&json!(1), &json!(1)), "{name}");
    }
}

/// The paths of all members `type` with a list of types.
fn type_lists(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if name == "type" && value.is_array() {
                    found.push(path.to_owned());
                }
                type_lists(value, &format!("{path}/{name}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| type_lists(item, path, found)),
        _ => (),
    }
}

#[tokio::test]
async fn tool_list_is_small_without_type_lists() {
    let server = Server::start().await;
    let list = send_message(&Client::new(&server.url, &server.test_key), "tools/list", json!({})).await;
    assert!(list.text.len() < 42_000, "{} bytes", list.text.len());
    let mut found = Vec::new();
    type_lists(&list.json, "", &mut found);
    assert!(found.is_empty(), "{found:?}");
    let tools = list.json["result"]["tools"].as_array().unwrap();
    let update = &tools.iter().find(|tool| tool["name"] == "svc_update_task").unwrap()["inputSchema"];
    let nullable = json!([{ "type": "string", "format": "date" }, { "type": "null" }]);
    assert_eq!(update["properties"]["due_on"]["anyOf"], nullable);
    // Every schema is a valid one.
    for schema in tools.iter().flat_map(|tool| [&tool["inputSchema"], &tool["outputSchema"]]) {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{schema}");
    }
}

#[tokio::test]
async fn list_tool_takes_filters() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (title, status, due) in
        [("a", "open", Value::Null), ("b", "done", json!("2026-06-01")), ("c", "in_progress", Value::Null)]
    {
        client.post("/v1/tasks", &json!({ "title": title, "status": status, "due_on": due })).await;
    }
    let titles = async |arguments: Value| {
        let listed = call(&client, "svc_list_tasks", arguments).await;
        let titles =
            listed["data"].as_array().unwrap_or_else(|| panic!("{listed}")).iter().map(|it| it["title"].clone());
        titles.collect::<Vec<Value>>()
    };
    assert_eq!(titles(json!({ "status": "open,in_progress" })).await, ["c", "a"]);
    assert_eq!(titles(json!({ "status": ["open", "done"], "order": "asc" })).await, ["a", "b"]);
    assert_eq!(titles(json!({ "status": "done", "due_on": "2026-06-01" })).await, ["b"]);
    assert_eq!(titles(json!({ "due_on": "null" })).await, ["c", "a"]);
    let refused = call(&client, "svc_list_tasks", json!({ "status": "opne" })).await;
    let details = json!({ "parameter": "status", "value": "opne", "nearest": "open" });
    assert_eq!(refused["error"]["details"], details);
}

#[tokio::test]
async fn tool_call_matches_its_route() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    assert_eq!(call(&client, "svc_get_property", json!({})).await, json!({ "data": null }));
    let home = call(&client, "svc_update_property", json!({ "city": "Ulm", "hvac_install_year": 2019 })).await;
    assert_eq!((&home["data"]["city"], &home["data"]["hvac_install_year"]), (&json!("Ulm"), &json!(2019)));

    let room = client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await.id();
    let item = call(&client, "svc_create_inventory", json!({ "name": "Oven", "room_id": room })).await;
    let id = item["data"]["id"].as_str().unwrap();
    assert_eq!(client.get(&format!("/v1/inventory/{id}")).await.data(), &item["data"]);
    for expand in [json!("room"), json!(["room"])] {
        let seen =
            call(&client, "svc_get_inventory_item", json!({ "id": id, "expand": expand, "fields": "name" })).await;
        assert_eq!(seen["data"]["room"]["name"], "Kitchen");
        assert!(seen["data"]["quantity"].is_null());
    }
    let car = call(&client, "svc_create_vehicle", json!({ "name": "Van", "odometer": 12 })).await;
    let paper = json!({ "title": "Insurance", "subject_type": "vehicle", "subject_id": car["data"]["id"] });
    let paper = call(&client, "svc_create_document", paper).await;
    for (tool, made) in [("svc_get_vehicle", &car), ("svc_get_document", &paper)] {
        assert_eq!(&call(&client, tool, json!({ "id": made["data"]["id"] })).await, made);
    }
    let hits = call(&client, "svc_search", json!({ "q": "ins", "types": ["document"] })).await;
    assert_eq!((&hits["data"][0]["id"], &hits["page"]["has_more"]), (&paper["data"]["id"], &json!(false)));

    for title in ["one", "two", "three"] {
        call(&client, "svc_create_task", json!({ "title": title })).await;
    }
    let page = call(&client, "svc_list_tasks", json!({ "limit": 2, "order": "asc", "fields": ["title"] })).await;
    assert_eq!((page["data"].as_array().unwrap().len(), &page["page"]["has_more"]), (2, &json!(true)));
    let rest = call(&client, "svc_list_tasks", json!({ "cursor": page["page"]["next_cursor"] })).await;
    assert_eq!(rest["data"][0]["title"], "three");
    let done = call(&client, "svc_update_task", json!({ "id": rest["data"][0]["id"], "status": "done" })).await;
    assert!(done["data"]["completed_at"].is_string());
    for tool in ["svc_list_inventory", "svc_list_vehicles", "svc_list_documents", "svc_list_rooms"] {
        assert_eq!(call(&client, tool, json!({})).await["data"].as_array().unwrap().len(), 1, "{tool}");
    }
}

#[tokio::test]
async fn failed_call_carries_rest_error() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "titel": "x" });
    let rest = client.post("/v1/tasks", &body).await;
    assert_eq!(call(&client, "svc_create_task", body).await["error"], rest.json["error"]);
    for (tool, arguments, kind) in [
        ("svc_get_vehicle", json!({ "id": "0190a3b0-0000-7000-8000-00000000abcd" }), "not_found"),
        ("svc_get_vehicle", json!({ "id": "nope" }), "not_found"),
        ("svc_get_vehicle", json!({}), "invalid_request"),
        ("svc_get_vehicle", json!({ "id": 7 }), "invalid_request"),
        ("svc_list_tasks", json!({ "limt": 3 }), "invalid_request"),
        ("svc_list_tasks", json!({ "limit": 101 }), "invalid_request"),
        ("svc_list_tasks", json!({ "fields": { "a": 1 } }), "invalid_request"),
        ("svc_list_tasks", json!({ "include_done": true }), "invalid_request"),
        ("svc_list_tasks", json!({ "cursor": "nope" }), "invalid_cursor"),
        ("svc_search", json!({ "q": "a" }), "invalid_request"),
        ("svc_update_task", json!({ "status": "done" }), "invalid_request"),
        ("svc_create_task", json!({ "title": "a", "idempotency_key": "" }), "invalid_request"),
        ("svc_update_property", json!({ "city": 5 }), "validation_failed"),
    ] {
        assert_eq!(call(&client, tool, arguments.clone()).await["error"]["type"], kind, "{tool} {arguments}");
    }
    // A wrong value does not hide an unknown parameter.
    for (name, value, nearest) in [("limt", json!(true), json!("limit")), ("limit", json!(true), Value::Null)] {
        let error = call(&client, "svc_list_tasks", json!({ name: value })).await["error"].clone();
        assert_eq!(error["details"], json!({ "parameter": name, "value": "true", "nearest": nearest }), "{error}");
    }
    let foreign = Client::new(&server.url, &server.test_key).list_all("/v1/vehicles").await[0]["id"].clone();
    assert_eq!(call(&client, "svc_get_vehicle", json!({ "id": foreign })).await["error"]["type"], "not_found");
}

#[tokio::test]
async fn create_with_key_happens_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let wish = json!({ "title": "Buy filter", "priority": "high", "idempotency_key": "k" });
    let first = call(&client, "svc_create_task", wish.clone()).await;
    let turned = json!({ "idempotency_key": "k", "priority": "high", "title": "Buy filter" });
    assert_eq!(call(&client, "svc_create_task", turned).await, first);
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
    assert_eq!(client.get("/v1/events").await.data()[0]["idempotency_key"], "k");
    let other = json!({ "title": "Buy two", "idempotency_key": "k" });
    assert_eq!(call(&client, "svc_create_task", other).await["error"]["type"], "idempotency_key_reused");
    // REST and MCP share one space of keys.
    let rest = client.request(Method::POST, "/v1/tasks").header("idempotency-key", "k");
    assert_eq!(client.send(rest.json(&json!({ "title": "Buy filter" }))).await.error(), "idempotency_key_reused");
}

#[tokio::test]
async fn header_key_makes_call_happen_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let send = |id: i64, key: &'static str, tool: &str, arguments: Value| {
        let message = json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
        });
        client.send(client.request(Method::POST, "/mcp").header("idempotency-key", key).json(&message))
    };
    let report = |response: &Response| response.json["result"]["structuredContent"].clone();
    let wish = || json!({ "title": "Buy filter" });
    let first = send(1, "k", "svc_create_task", wish()).await;
    let again = send(2, "\"k\"", "svc_create_task", wish()).await;
    assert_eq!((report(&again), &again.json["id"]), (report(&first), &json!(2)));
    assert_eq!(["", "true"], [&first, &again].map(|response| response.header("idempotency-replayed")));
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
    // The argument `idempotency_key` is the same key as the header.
    let text = json!({ "title": "Buy filter", "idempotency_key": "k" });
    assert_eq!(report(&send(3, "k", "svc_create_task", text.clone()).await), report(&first));
    assert_eq!(call(&client, "svc_create_task", text.clone()).await, report(&first));
    let torn = report(&send(4, "l", "svc_create_task", text).await);
    assert_eq!(
        (&torn["error"]["type"], &torn["error"]["details"]["parameter"]),
        (&json!("invalid_request"), &json!("idempotency_key"))
    );

    // A key on a patch holds for one record; reads ignore the key.
    let id = report(&first)["data"]["id"].clone();
    let other = call(&client, "svc_create_task", json!({ "title": "Sweep" })).await["data"]["id"].clone();
    let patch = |id: &Value, title: &str| json!({ "id": id, "title": title });
    let renamed = report(&send(5, "p", "svc_update_task", patch(&id, "Buy two")).await);
    call(&client, "svc_update_task", patch(&id, "Buy three")).await;
    assert_eq!(report(&send(6, "p", "svc_update_task", patch(&id, "Buy two")).await), renamed);
    let reused = report(&send(7, "p", "svc_update_task", patch(&other, "Buy two")).await);
    assert_eq!(reused["error"]["type"], "idempotency_key_reused");
    for _ in 0..2 {
        let list = send(8, "p", "svc_list_tasks", json!({})).await;
        assert_eq!((report(&list)["data"].as_array().unwrap().len(), list.header("idempotency-replayed")), (2, ""));
    }
    assert_eq!((send(9, "a b", "svc_list_tasks", json!({})).await.status), 400);
}

#[tokio::test]
async fn calls_count_in_rate_windows() {
    let limits = RateLimits { reads: 3, writes: 1, bulk: 1 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    for _ in 0..5 {
        let response = send_message(&client, "ping", json!({})).await;
        assert_eq!((response.status, response.header("x-ratelimit-limit")), (200, ""));
        assert_eq!(send_stateless(&client, "server/discover", json!({})).await.status, 200);
    }
    let list = json!({ "name": "svc_list_rooms" });
    assert_eq!(send_message(&client, "tools/call", list.clone()).await.header("x-ratelimit-remaining"), "2");
    assert_eq!(client.get("/v1/rooms").await.header("x-ratelimit-remaining"), "1");
    assert_eq!(send_message(&client, "tools/call", list.clone()).await.header("x-ratelimit-remaining"), "0");
    let refused = send_message(&client, "tools/call", list).await;
    assert_eq!((refused.status, &refused.json["result"]["isError"]), (200, &json!(true)));
    assert_eq!(refused.json["result"]["structuredContent"]["error"]["type"], "rate_limited");
    assert!((1..=60).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    assert!(call(&client, "svc_create_task", json!({ "title": "a" })).await["data"].is_object());
    let refused = call(&client, "svc_create_task", json!({ "title": "b" })).await;
    assert_eq!(refused["error"]["type"], "rate_limited");
}

#[tokio::test]
async fn message_without_tool_call_counts_as_read() {
    let limits = RateLimits { reads: 6, writes: 1, bulk: 1 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let list = send_message(&client, "tools/list", json!({})).await;
    assert_eq!((list.status, list.header("x-ratelimit-remaining")), (200, "5"));
    let unreadable = client.request(Method::POST, "/mcp").header("content-type", "application/json").body("{bad");
    let text = client.send(unreadable).await;
    assert_eq!((text.error(), text.header("x-ratelimit-remaining")), ("invalid_json", "4"));
    for (method, params, left) in [
        ("resources/list", json!({}), "3"),
        ("nope", json!({}), "2"),
        ("tools/call", json!({ "name": "svc_nope" }), "1"),
        ("ping", json!({}), ""),
        ("tools/call", json!({ "name": "svc_nope", "arguments": [] }), "0"),
    ] {
        let text = send_message(&client, method, params).await;
        assert_eq!((text.status, text.header("x-ratelimit-remaining")), (200, left), "{method}: {}", text.text);
    }
    for method in ["nope", "tools/list"] {
        let refused = send_message(&client, method, json!({})).await;
        assert_eq!((refused.status, refused.error()), (429, "rate_limited"));
        assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    }
    assert_eq!(client.get("/v1/rooms").await.status, 429);
}

#[tokio::test]
async fn whole_number_accepted_in_any_notation() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for limit in ["2", "2.0", "2e0", "0.2e1"] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"svc_list_tasks","arguments":{{"limit":{limit}}}}}}}"#
        );
        let request = client.request(Method::POST, "/mcp").header("content-type", "application/json").body(body);
        let text = client.send(request).await;
        let data = &text.json["result"]["structuredContent"]["data"];
        assert_eq!(data.as_array().map(Vec::len), Some(2), "{limit}: {}", text.text);
    }
    assert_eq!(call(&client, "svc_list_tasks", json!({ "limit": 2.5 })).await["error"]["type"], "invalid_request");
}

#[tokio::test]
async fn undeclared_method_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "a", "value": "b" } });
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "x://y" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "x" })),
        ("completion/complete", complete),
    ] {
        let text = send_message(&client, method, params).await;
        assert_eq!(text.json["error"]["code"], -32601, "{method}: {}", text.text);
    }
}
