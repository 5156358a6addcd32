//! The page on which an owner agrees to a client (`/oauth/authorize`, contract 20). Must not know how codes are made.

use askama::Template;
use hearth_contract::key::Environment;
use oauth_as::authorization::{AuthorizationError, AuthorizationRequest, ValidatedAuthorizationRequest};
use oauth_as::client::Client;
use oauth_as::server::UserApproval;
use oauth_as::store::Storage;

use super::documents;
use super::endpoints::admit;
use super::grants::{
    Choice, LifetimeRow, ScopeRow, drop_grant, lifetimes, make_grant, scope_rows, suggested_environment,
};
use super::pages::{Outcome, notice_page, redirect_origin};
use super::service::{Server, server};
use super::wire::read_fields;
use crate::console::page::{Frame, POLICY, render};
use crate::console::{guard, session};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest, redirect};
use crate::store::StoreError;
use crate::store::people::Role;
use crate::store::sessions::Session;

/// The parameters of a request that the form sends again, in hidden fields.
const KEPT_IN_FORM: [&str; 8] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
];
/// What a person can do about a request that cannot be answered.
const START_AGAIN: &str = "Go back to the program that sent you here, and start again there.";

#[derive(Template)]
#[template(path = "consent.html")]
struct ConsentPage {
    frame: Frame,
    fault: Option<String>,
    client: String,
    host: String,
    /// The parameters of the request, as hidden fields.
    fields: Vec<(String, String)>,
    scopes: Vec<ScopeRow>,
    is_test: bool,
    lifetimes: Vec<LifetimeRow>,
}

/// `GET /oauth/authorize`: the page.
pub async fn ask(request: WebRequest) -> Result<Reply, Refusal> {
    guard::check_host(&request)?;
    admit_page(&request)?;
    let server = server(&request.app);
    let fields = read_fields(&request.app, request.query_fields()).map_err(|_| repeated())?;
    if session::current(&request).await?.is_some() {
        // Strangers must not make this server send requests.
        let read = documents::refresh(&request.app, fields.text("client_id")).await?;
        read.map_err(|sentence| notice_page(400, "The program is unknown", &sentence))?;
    }
    let fields = pushed(&server, fields).await?;
    let validated = match validate(&server, &fields).await {
        Ok(validated) => validated,
        Err(AuthorizationError::Redirect(error)) => {
            // Without a sign-in the browser goes nowhere: an open registration must not make this server send visitors to
            // any address.
            session::require(&request, Role::Owner).await.map_err(|_| refused(&error.error))?;
            return Ok(redirect(error.location()));
        }
        Err(AuthorizationError::Direct(error)) => return Err(refused(&error)),
    };
    let owner = session::require(&request, Role::Owner).await?;
    page(&request, &server, &owner, &validated, fields, None, None).await
}

/// `POST /oauth/authorize`: the owner's decision.
pub async fn decide(request: WebRequest) -> Result<Reply, Refusal> {
    admit_page(&request)?;
    let owner = session::require(&request, Role::Owner).await?;
    let server = server(&request.app);
    let form = read_fields(&request.app, request.form()).map_err(|_| repeated())?;
    let mut validated = match validate(&server, &form).await {
        Ok(validated) => validated,
        Err(AuthorizationError::Redirect(error)) => return Ok(redirect(error.location())),
        Err(AuthorizationError::Direct(error)) => return Err(refused(&error)),
    };
    if form.text("request_uri").starts_with(PUSHED_PREFIX) {
        // The request was used; it cannot be opened again.
        server.store().take_pushed_authorization_request(form.text("request_uri")).await.map_err(fault)?;
    }
    if Outcome::read(&form) != Some(Outcome::Allow) {
        return Ok(redirect(validated.denied().location()));
    }
    let choice = match Choice::read(&form, &validated.scope, request.app.clock.now()) {
        Ok(choice) => choice,
        Err(sentence) => {
            let environment = Environment::parse(form.text("environment"));
            return page(&request, &server, &owner, &validated, form, environment, Some(sentence.to_owned())).await;
        }
    };
    let client = client(&server, &validated).await?;
    let name = client.name.clone().unwrap_or_else(|| client.client_id.as_str().to_owned());
    let grant = make_grant(&request.app, &owner, &client, name, &choice).await?;
    validated.scope = choice.scope_set();
    match server.issue_authorization_code(UserApproval::granted(&validated, grant.clone())).await {
        Ok(response) => Ok(redirect(response.location(&validated.redirect_uri))),
        Err(error) => {
            drop_grant(&request.app, grant).await?;
            match error {
                AuthorizationError::Redirect(error) => Ok(redirect(error.location())),
                AuthorizationError::Direct(error) => Err(refused(&error)),
            }
        }
    }
}

/// The first characters of the address of a pushed request (RFC 9126).
const PUSHED_PREFIX: &str = "urn:ietf:params:oauth:request_uri:";

/// Replaces the address of a pushed request by its parameters. The pushed request stays until the owner decides, so that the
/// page can be loaded again.
async fn pushed(server: &Server, fields: Fields) -> Result<Fields, Refusal> {
    let request_uri = fields.text("request_uri");
    if request_uri.is_empty() {
        return Ok(fields);
    }
    let found = server.store().pushed_request(request_uri).await.map_err(fault)?;
    let Some(found) = found.filter(|found| found.client_id.as_str() == fields.text("client_id")) else {
        return Err(notice_page(400, "The request has ended", &format!("It is too old or was used. {START_AGAIN}")));
    };
    let mut read = vec![
        ("client_id".to_owned(), found.client_id.as_str().to_owned()),
        ("request_uri".to_owned(), request_uri.to_owned()),
    ];
    let parts = [
        ("response_type", &found.response_type),
        ("redirect_uri", &found.redirect_uri),
        ("scope", &found.scope),
        ("state", &found.state),
        ("code_challenge", &found.code_challenge),
        ("code_challenge_method", &found.code_challenge_method),
    ];
    read.extend(parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
    read.extend(found.resource.iter().map(|resource| ("resource".to_owned(), resource.clone())));
    Ok(Fields(read))
}

async fn validate(server: &Server, fields: &Fields) -> Result<ValidatedAuthorizationRequest, AuthorizationError> {
    let pairs = fields.0.iter().map(|(name, value)| (name, value.as_str()));
    Box::pin(server.validate_authorization_request(&AuthorizationRequest::from_pairs(pairs))).await
}

async fn client(server: &Server, validated: &ValidatedAuthorizationRequest) -> Result<std::sync::Arc<Client>, Refusal> {
    let found = server.store().get_client(&validated.client_id).await.map_err(fault)?;
    found.ok_or_else(|| notice_page(400, "The program is unknown", START_AGAIN))
}

async fn page(
    request: &WebRequest,
    server: &Server,
    owner: &Session,
    validated: &ValidatedAuthorizationRequest,
    fields: Fields,
    environment: Option<Environment>,
    fault: Option<String>,
) -> Result<Reply, Refusal> {
    let client = client(server, validated).await?;
    let environment = match environment {
        Some(environment) => environment,
        None => suggested_environment(&request.app, owner).await?,
    };
    let kept: Vec<String> = fields.all("grant").map(str::to_owned).collect();
    let origin = redirect_origin(&validated.redirect_uri);
    let is_kept = |name: &str| KEPT_IN_FORM.contains(&name) || name == "request_uri";
    let page = ConsentPage {
        frame: Frame::of(owner, "Give access?"),
        client: client.name.clone().unwrap_or_else(|| "A program without a name".to_owned()),
        host: origin.split_once("://").map_or(&*origin, |(_, host)| host).to_owned(),
        scopes: scope_rows(&validated.scope, fault.is_some().then_some(&*kept)),
        fault,
        fields: fields.0.into_iter().filter(|(name, _)| is_kept(name)).collect(),
        is_test: environment == Environment::Test,
        lifetimes: lifetimes(),
    };
    // The answer to the form leads to the program, which a browser counts as a target of the form.
    let policy = POLICY.replace("form-action 'self'", &format!("form-action 'self' {origin}"));
    let status = if page.fault.is_some() { 422 } else { 200 };
    Ok(render(status, &page)?.with_header("content-security-policy", policy))
}

/// Refuses a request as a page, as [`admit`] does.
fn admit_page(request: &WebRequest) -> Result<(), Refusal> {
    super::pages::admitted(admit(request, false), request)
}

fn refused(error: &oauth_as::error::ErrorResponse) -> Refusal {
    let about = error.error_description.as_deref().unwrap_or(error.error.as_str());
    let text = format!("The program sent a request that this server cannot answer: {about}. {START_AGAIN}");
    notice_page(400, "The request was refused", &text)
}

fn repeated() -> Refusal {
    notice_page(400, "The request was refused", &format!("A parameter of the request stands twice. {START_AGAIN}"))
}

fn fault(error: oauth_as::store::StorageError) -> Refusal {
    StoreError::Corrupt(error.to_string()).into()
}
