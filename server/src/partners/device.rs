//! The page on which an owner agrees to a device (`/oauth/device`, RFC 8628): the code that the device shows, and the
//! decision. Must not know how a device asks.

use std::time::Duration;

use askama::Template;
use hearth_contract::key::Environment;
use oauth_as::client::Client;
use oauth_as::device::{DeviceGrant, DeviceGrantState, normalize_user_code};
use oauth_as::server::Clock;
use oauth_as::store::Storage;

use super::endpoints::{admit, limit, name_of_device};
use super::grants::{
    Choice, LifetimeRow, ScopeRow, drop_grant, lifetimes, make_grant, scope_rows, suggested_environment,
};
use super::pages::{Outcome, admitted, notice_page};
use super::records::REPLICA_CLIENT;
use super::service::{PartnerClock, Server, server};
use crate::app::address_limits::AddressRule;
use crate::console::page::{Frame, notice, render};
use crate::console::session;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest};
use crate::store::StoreError;
use crate::store::people::Role;
use crate::store::sessions::Session;

/// Codes that an address may try, right ones too. A code has 20^8 forms and lives 10 minutes.
const TRIED_CODES: AddressRule = AddressRule { name: "user codes", calls: 30, window: Duration::from_secs(10 * 60) };

#[derive(Template)]
#[template(path = "device_code.html")]
struct CodePage {
    frame: Frame,
    fault: Option<String>,
    user_code: String,
}

#[derive(Template)]
#[template(path = "device.html")]
struct DevicePage {
    frame: Frame,
    fault: Option<String>,
    user_code: String,
    /// The name of the program.
    client: String,
    /// The name of the machine. None: the program gave none.
    device: Option<String>,
    /// A replica gets a key that does not expire.
    is_replica: bool,
    scopes: Vec<ScopeRow>,
    is_test: bool,
    lifetimes: Vec<LifetimeRow>,
}

/// A device that waits, with its client and the name of the machine.
struct Waiting {
    grant: DeviceGrant,
    client: std::sync::Arc<Client>,
    /// None: the program gave none.
    device: Option<String>,
}

impl Waiting {
    /// What the list of keys or grants shows.
    fn name(&self) -> String {
        let name = self.device.as_ref().or(self.client.name.as_ref());
        name.cloned().unwrap_or_else(|| self.client.client_id.as_str().to_owned())
    }
}

/// `GET /oauth/device`: the field for the code, or with `user_code` the question.
pub async fn ask(request: WebRequest) -> Result<Reply, Refusal> {
    admitted(admit(&request, true), &request)?;
    let owner = session::require(&request, Role::Owner).await?;
    let fields = request.query_fields();
    if fields.text("user_code").is_empty() {
        return code_page(200, &owner, None, "");
    }
    let server = server(&request.app);
    match find(&request, &server, fields.text("user_code")).await? {
        Ok(waiting) => page(&request, &owner, waiting, &fields, None).await,
        Err(sentence) => code_page(404, &owner, Some(sentence), fields.text("user_code")),
    }
}

/// `POST /oauth/device`: the owner's decision.
pub async fn decide(request: WebRequest) -> Result<Reply, Refusal> {
    admitted(admit(&request, true), &request)?;
    let owner = session::require(&request, Role::Owner).await?;
    let form = request.form();
    let server = server(&request.app);
    let waiting = match find(&request, &server, form.text("user_code")).await? {
        Ok(waiting) => waiting,
        Err(sentence) => return code_page(404, &owner, Some(sentence), form.text("user_code")),
    };
    match Outcome::read(&form) {
        Some(Outcome::Allow) => allow(&request, &server, &owner, waiting, &form).await,
        Some(Outcome::Deny) => {
            let denied = DeviceGrant { state: DeviceGrantState::Denied, ..waiting.grant };
            settle(&server, denied).await?;
            Ok(done(&owner, "Refused", "The device gets no access. You can close this page."))
        }
        None => page(&request, &owner, waiting, &form, None).await,
    }
}

async fn allow(
    request: &WebRequest,
    server: &Server,
    owner: &Session,
    waiting: Waiting,
    form: &Fields,
) -> Result<Reply, Refusal> {
    let choice = match Choice::read(form, &waiting.grant.scope, request.app.clock.now()) {
        Ok(choice) => choice,
        Err(sentence) => return page(request, owner, waiting, form, Some(sentence.to_owned())).await,
    };
    let grant = make_grant(&request.app, owner, &waiting.client, waiting.name(), &choice).await?;
    let state = DeviceGrantState::Approved { subject: grant.clone() };
    let approved = DeviceGrant { scope: choice.scope_set(), state, ..waiting.grant };
    if !settle(server, approved).await? {
        drop_grant(&request.app, grant).await?;
        return Err(notice_page(409, "Already decided", "The code was used in another window. Look at the device."));
    }
    Ok(done(owner, "Access given", "The device goes on by itself in a few seconds. You can close this page."))
}

/// Stores a decision. False: another decision came first.
async fn settle(server: &Server, decided: DeviceGrant) -> Result<bool, Refusal> {
    let swapped = server.store().compare_and_swap_device_grant(&DeviceGrantState::Pending, decided).await;
    swapped.map_err(|error| StoreError::Corrupt(error.to_string()).into())
}

/// The device that waits with a code. Err: a sentence for the owner.
async fn find(request: &WebRequest, server: &Server, typed: &str) -> Result<Result<Waiting, String>, Refusal> {
    let fault = |error: oauth_as::store::StorageError| Refusal::from(StoreError::Corrupt(error.to_string()));
    admitted(limit(request, TRIED_CODES), request)?;
    let found = server.store().find_device_grant_by_user_code(&normalize_user_code(typed)).await.map_err(fault)?;
    let now = PartnerClock::of(&request.app).now();
    let is_waiting = |grant: &DeviceGrant| grant.state == DeviceGrantState::Pending && now < grant.expires_at;
    let Some(grant) = found.filter(is_waiting) else {
        let text =
            "No device waits with this code. Codes end after ten minutes: look at the device for the present code.";
        return Ok(Err(text.to_owned()));
    };
    let client = server.store().get_client(&grant.client_id).await.map_err(fault)?;
    let Some(client) = client else { return Ok(Err("The program of this device is not known any more.".to_owned())) };
    if client.client_id.as_str() != REPLICA_CLIENT {
        admitted(admit(request, false), request)?;
    }
    let device = name_of_device(&request.app, typed).await?;
    Ok(Ok(Waiting { grant, client, device }))
}

async fn page(
    request: &WebRequest,
    owner: &Session,
    waiting: Waiting,
    form: &Fields,
    fault: Option<String>,
) -> Result<Reply, Refusal> {
    let environment = match Environment::parse(form.text("environment")) {
        Some(environment) => environment,
        None => suggested_environment(&request.app, owner).await?,
    };
    let kept: Vec<String> = form.all("grant").map(str::to_owned).collect();
    let status = if fault.is_some() { 422 } else { 200 };
    let page = DevicePage {
        frame: Frame::of(owner, "Give access to a device?"),
        user_code: waiting.grant.user_code,
        client: waiting.client.name.clone().unwrap_or_else(|| "A program without a name".to_owned()),
        device: waiting.device,
        is_replica: waiting.client.client_id.as_str() == REPLICA_CLIENT,
        scopes: scope_rows(&waiting.grant.scope, fault.is_some().then_some(&*kept)),
        fault,
        is_test: environment == Environment::Test,
        lifetimes: lifetimes(),
    };
    render(status, &page)
}

fn code_page(status: u16, owner: &Session, fault: Option<String>, user_code: &str) -> Result<Reply, Refusal> {
    let frame = Frame::of(owner, "Connect a device");
    render(status, &CodePage { frame, fault, user_code: user_code.chars().take(20).collect() })
}

fn done(owner: &Session, title: &str, text: &str) -> Reply {
    notice(200, Frame::of(owner, title), text, Some(("/console", "To the console")))
}
