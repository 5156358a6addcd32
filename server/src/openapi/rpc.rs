//! The schemas of what the Model Context Protocol says over HTTP, as far as it is said in JSON-RPC. What a method takes
//! and gives is the protocol's own.

use serde_json::{Value, json};

use super::envelopes::Named;
use super::schema::{object, reference};

/// The messages of JSON-RPC 2.0 that the Model Context Protocol sends over HTTP.
pub(super) fn all() -> Named {
    let version = || json!({ "type": "string", "const": "2.0" });
    let id = json!({ "type": ["string", "integer"], "minimum": i64::MIN, "maximum": i64::MAX });
    let anything = || json!({ "type": "object", "additionalProperties": true });
    vec![
        (
            "RpcRequest",
            json!({
                "type": "object",
                "description": "A request of the Model Context Protocol in JSON-RPC 2.0; without id a notification",
                "properties": {
                    "jsonrpc": version(),
                    "id": id,
                    "method": { "type": "string" },
                    "params": reference("RpcParameters"),
                },
                "required": ["jsonrpc", "method"],
                "additionalProperties": true,
            }),
        ),
        (
            "RpcParameters",
            json!({
                "type": ["object", "null"],
                "description": "What the method takes; null is as absent",
                "additionalProperties": true,
            }),
        ),
        (
            "RpcAnswer",
            object(
                json!({
                    "jsonrpc": version(),
                    "id": { "type": ["string", "integer"] },
                    "result": anything(),
                    "error": reference("RpcError"),
                }),
                &["jsonrpc", "id"],
            ),
        ),
        (
            "RpcError",
            object(
                json!({ "code": { "type": "integer" }, "message": { "type": "string" }, "data": {} }),
                &["code", "message"],
            ),
        ),
        refusal(),
    ]
}

/// What `/mcp` refuses: in JSON-RPC where the protocol says so, else in the error envelope.
fn refusal() -> (&'static str, Value) {
    let error = json!({
        "type": "object",
        "properties": { "message": { "type": "string" } },
        "required": ["message"],
        "additionalProperties": true,
    });
    let about = "An error of JSON-RPC 2.0, or the error envelope for what is no message of the protocol";
    let refusal = json!({
        "type": "object",
        "description": about,
        "properties": { "error": error },
        "required": ["error"],
        "additionalProperties": true,
    });
    ("RpcRefusal", refusal)
}
