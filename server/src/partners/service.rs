//! The protocol library with our settings (contract 20): endpoints, lifetimes, what a client may register. Made for each
//! request, because it holds no state: all of it is in the database. Must not know forms, nor pages.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hearth_contract::paths;
use oauth_as::cimd::CimdPolicy;
use oauth_as::grant::GrantType;
use oauth_as::http::{AuthorizationService, ServiceBuilder};
use oauth_as::par::ParConfig;
use oauth_as::registration::{RegistrationAttempt, RegistrationConfig, RegistrationDecision, RegistrationPolicy};
use oauth_as::server::{AuthorizationServer, Clock as LibraryClock, ServerConfig};

use super::records::all_scopes;
use super::storage::{Lifetimes, PartnerStorage};
use crate::app::App;
use crate::clock::Clock;
use crate::config::PartnerAccess;
use crate::scopes::SCOPES;
use crate::store::StoreError;

/// Lifetime of an authorization code.
const CODE_TIME: Duration = Duration::from_secs(60);
/// Lifetime of a pushed authorization request.
const PUSHED_TIME: Duration = Duration::from_secs(90);
/// Lifetime of a device code and its user code.
const DEVICE_TIME: Duration = Duration::from_secs(10 * 60);
/// The shortest time between two questions of a device.
const POLL_EVERY: Duration = Duration::from_secs(5);
/// Lifetime of an access token.
const ACCESS_TIME: Duration = Duration::from_secs(3600);
/// Time without use after which a refresh token ends; a used one stays known for as long, so that its reuse is noticed.
pub(crate) const REFRESH_IDLE: Duration = Duration::from_secs(60 * 24 * 3600);
/// Time in which the exact retry of a refresh gets the same answer.
const RETRY_TIME: Duration = Duration::from_secs(30);
/// Time after which a registered client that no owner has agreed to is dropped.
const UNUSED_CLIENT_TIME: Duration = Duration::from_secs(24 * 3600);

/// The library with our storage and clock.
pub(super) type Server = AuthorizationServer<PartnerStorage, PartnerClock>;

/// The wall clock of the service, for the library.
#[derive(Clone)]
pub(super) struct PartnerClock(Clock);

impl PartnerClock {
    /// The clock of a service.
    pub(super) fn of(app: &App) -> PartnerClock {
        PartnerClock(app.clock.clone())
    }
}

impl LibraryClock for PartnerClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(u64::try_from(self.0.now().millis()).unwrap_or_default())
    }
}

/// The storage of a service.
pub(crate) fn storage(app: &App) -> PartnerStorage {
    let lifetimes = Lifetimes { refresh_idle: Some(REFRESH_IDLE), unused_client: Some(UNUSED_CLIENT_TIME) };
    PartnerStorage::new(app.db.clone(), app.clock.clone(), lifetimes)
}

/// The protocol, for pages that call it step by step.
pub(super) fn server(app: &App) -> Server {
    Server::with_clock(settings(app), storage(app), PartnerClock::of(app))
        .with_registration_policy(Box::new(EveryoneMayRegister))
}

/// The protocol as answers to HTTP requests, with its storage. Error: the settings contradict each other, which a test
/// excludes.
pub(super) fn service(
    app: &App,
) -> Result<(AuthorizationService<PartnerStorage, PartnerClock>, PartnerStorage), StoreError> {
    let server = server(app);
    let storage = server.store().clone();
    let service = ServiceBuilder::new(Arc::new(server)).build();
    service
        .map(|service| (service, storage))
        .map_err(|error| StoreError::Corrupt(format!("settings of partner authorization: {error:?}")))
}

/// The addresses of the API for which tokens are given. All three are one audience.
pub(super) fn resources(app: &App) -> [String; 3] {
    let base = &app.base_url;
    [base.to_string(), format!("{base}{}", paths::ROOT), format!("{base}{}", paths::MCP)]
}

fn settings(app: &App) -> ServerConfig {
    let at = |path: &str| format!("{}{path}", app.base_url);
    let mut settings = ServerConfig::new(app.base_url.to_string(), at(paths::DEVICE));
    settings.authorization_endpoint = Some(at(paths::AUTHORIZE));
    settings.token_endpoint = Some(at(paths::TOKEN));
    settings.device_authorization_endpoint = Some(at(paths::DEVICE_AUTHORIZATION));
    settings.introspection_endpoint = Some(at(paths::INTROSPECT));
    settings.revocation_endpoint = Some(at(paths::REVOKE));
    settings.service_documentation = Some(at(paths::DOCS));
    settings.scopes_supported = Some(SCOPES.map(str::to_owned).to_vec());
    settings.allowed_resources = Some(resources(app).map(String::into_boxed_str).into());
    settings.protected_resources = Some(resources(app).to_vec());
    settings.authorization_code_ttl = CODE_TIME;
    settings.device_code_ttl = DEVICE_TIME;
    settings.poll_interval = POLL_EVERY;
    settings.access_token_ttl = ACCESS_TIME;
    settings.include_verification_uri_complete = true;
    settings.refresh_token_ttl = None;
    settings.refresh_reuse_window = REFRESH_IDLE;
    settings.refresh_retry_window = RETRY_TIME;
    let mut par = ParConfig::new();
    par.pushed_authorization_request_endpoint = Some(at(paths::PAR));
    par.request_uri_ttl = PUSHED_TIME;
    settings.par = Some(Box::new(par));
    let access = app.partners().unwrap_or(PartnerAccess::Off);
    if access != PartnerAccess::Off {
        settings.registration = Some(Box::new(registration(&at(paths::REGISTER))));
    }
    if access == PartnerAccess::Open {
        settings.cimd = Some(Box::new(documents(&at(paths::REGISTER))));
    }
    settings
}

/// What a client may register.
fn registration(endpoint: &str) -> RegistrationConfig {
    let mut registration = RegistrationConfig::new();
    registration.registration_endpoint = Some(endpoint.to_owned());
    registration.allowed_grant_types =
        vec![GrantType::AuthorizationCode, GrantType::RefreshToken, GrantType::DeviceCode];
    registration.allowed_scopes = all_scopes();
    registration.management_enabled = false;
    registration
}

/// What a document that describes a client may say.
pub(super) fn documents(endpoint: &str) -> CimdPolicy {
    let mut policy = CimdPolicy::new();
    policy.registration_bounds = registration(endpoint);
    // The document itself names the addresses; they may be on the machine of the person.
    policy.redirect_uris_same_origin = false;
    policy
}

/// Registration is open; the limits per address stand before the library.
struct EveryoneMayRegister;

impl RegistrationPolicy for EveryoneMayRegister {
    fn authorize(&self, _: &RegistrationAttempt<'_>) -> RegistrationDecision {
        RegistrationDecision::Allow
    }
}
