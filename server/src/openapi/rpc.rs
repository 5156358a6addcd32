//! The JSON-RPC schemas of the Model Context Protocol over HTTP. Parameters and results of a method belong to the
//! protocol, so the schemas leave them open. Must not know tools.

use serde_json::{Value, json};

use super::envelopes::Named;
use super::schema::{object, reference};

/// The messages of JSON-RPC 2.0 that MCP sends over HTTP.
pub(super) fn all() -> Named {
    let version = || json!({ "type": "string", "const": "2.0" });
    let anything = || json!({ "type": "object", "additionalProperties": true });
    vec![
        (
            "RpcId",
            json!({ "anyOf": [{ "type": "string" }, { "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX }] }),
        ),
        (
            "RpcRequest",
            json!({
                "type": "object",
                "description": "A request of the Model Context Protocol in JSON-RPC 2.0; without id a notification",
                "properties": {
                    "jsonrpc": version(),
                    "id": reference("RpcId"),
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
                "description": "The parameters of the method; null counts as absent",
                "additionalProperties": true,
            }),
        ),
        (
            "RpcAnswer",
            object(
                json!({
                    "jsonrpc": version(),
                    "id": reference("RpcId"),
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

/// A refusal of `/mcp`: a JSON-RPC error where the protocol requires one, otherwise the error envelope.
fn refusal() -> (&'static str, Value) {
    let error = json!({
        "type": "object",
        "properties": { "message": { "type": "string" } },
        "required": ["message"],
        "additionalProperties": true,
    });
    let about = "An error of JSON-RPC 2.0, or the error envelope if the body is no message of the protocol";
    let refusal = json!({
        "type": "object",
        "description": about,
        "properties": { "error": error },
        "required": ["error"],
        "additionalProperties": true,
    });
    ("RpcRefusal", refusal)
}
