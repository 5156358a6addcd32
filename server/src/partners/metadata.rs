//! The two documents by which a program finds out how to ask for access (RFC 9728, RFC 8414). Must not know what an
//! endpoint does.

use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use oauth_as::resource_metadata::{BearerMethod, ProtectedResourceConfig, ProtectedResourceMetadata};
use serde_json::{Value, json};

use super::service;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{self, WebRequest};
use crate::scopes::SCOPES;
use crate::store::StoreError;

/// `GET /.well-known/oauth-protected-resource`, also with `/v1` and `/mcp` appended: `resource` is the address that was
/// asked for.
pub async fn protected_resource(request: WebRequest) -> Result<Reply, Refusal> {
    check_offered(&request)?;
    let base_url = &request.app.base_url;
    let appended = request.path.strip_prefix(paths::PROTECTED_RESOURCE).unwrap_or_default();
    let mut about = ProtectedResourceConfig::new(format!("{base_url}{appended}"), base_url.to_string());
    about.scopes_supported = Some(SCOPES.map(str::to_owned).to_vec());
    about.bearer_methods_supported = vec![BearerMethod::Header];
    about.resource_name = Some("Hearth".to_owned());
    about.resource_documentation = Some(format!("{base_url}{}", paths::DOCS));
    reply(&ProtectedResourceMetadata::from_config(&about))
}

/// `GET /.well-known/oauth-authorization-server`.
pub async fn authorization_server(request: WebRequest) -> Result<Reply, Refusal> {
    check_offered(&request)?;
    let document = serde_json::to_value(service::server(&request.app).metadata()).map_err(fault)?;
    Ok(web::json(200, without_secrets(document).to_string()))
}

/// The document without ways to present a secret: all clients are public.
fn without_secrets(mut document: Value) -> Value {
    for member in ["token_endpoint_auth_methods_supported", "revocation_endpoint_auth_methods_supported"] {
        document[member] = json!(["none"]);
    }
    let members = document.as_object_mut();
    members.map(|members| members.remove("introspection_endpoint_auth_methods_supported"));
    if let Some(grants) = document["grant_types_supported"].as_array_mut() {
        grants.retain(|grant| grant != "client_credentials");
    }
    document
}

fn reply(document: &impl serde::Serialize) -> Result<Reply, Refusal> {
    Ok(web::json(200, serde_json::to_string(document).map_err(fault)?))
}

/// 404 when this server gives no access to partners.
fn check_offered(request: &WebRequest) -> Result<(), Problem> {
    if request.app.serves_partners() {
        return Ok(());
    }
    let problem = Problem::new(ProblemType::RouteNotFound, "This server gives no access to partners.");
    Err(match request.app.partners() {
        None => problem.with_fix("It needs an https address: see --tls-cert and --base-url."),
        Some(_) => problem.with_fix("Start it with --partners known."),
    })
}

fn fault(error: serde_json::Error) -> StoreError {
    StoreError::Corrupt(format!("a document of partner authorization: {error}"))
}
