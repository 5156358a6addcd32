//! Turns values of the protocol library into rows, inside one transaction, and decides which write comes after a revocation.
//! Must not know when the library reads or writes.

use std::time::{SystemTime, UNIX_EPOCH};

use hearth_contract::formats::Timestamp;
use hearth_contract::key::{TokenKind, hint_of, key_text};
use oauth_as::authorization::AuthorizationCodeRecord;
use oauth_as::client::{Client, ClientAuth, ClientId};
use oauth_as::device::{DeviceGrant, DeviceGrantState, normalize_user_code};
use oauth_as::grant::GrantType;
use oauth_as::par::PushedAuthorizationRequest;
use oauth_as::scope::ScopeSet;
use oauth_as::token::{IssuedToken, RefreshTokenRecord, RefreshTokenState};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::sealing::{digest, lookup, open_json, seal, seal_json, to_json, to_shown, token_bytes};
use crate::scopes::SCOPES;
use crate::store::partners::{self, BarrierScope, Record, RecordKind};
use crate::store::{StoreError, Tx, keys};

pub(crate) use hearth_contract::paths::REPLICA_CLIENT;

/// A moment of the library in nanoseconds.
pub(super) fn nanos(moment: SystemTime) -> i64 {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_nanos()).unwrap_or(i64::MAX),
    }
}

/// A moment in nanoseconds.
pub(super) fn nanos_of(moment: Timestamp) -> i64 {
    moment.millis().saturating_mul(1_000_000)
}

/// Scopes separated by spaces.
pub(super) fn scope_text(scopes: &ScopeSet) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(" ")
}

/// All scopes.
pub(super) fn all_scopes() -> ScopeSet {
    ScopeSet::from_tokens(SCOPES).unwrap_or_default()
}

/// All scopes that change nothing.
pub(super) fn reading_scopes() -> ScopeSet {
    ScopeSet::from_tokens(SCOPES.into_iter().filter(|scope| scope.ends_with(":read"))).unwrap_or_default()
}

/// The client of Hearth's own replicas, which no database holds.
pub(super) fn replica_client() -> Client {
    Client {
        client_id: ClientId::new(REPLICA_CLIENT),
        auth: ClientAuth::Public,
        // Without refresh tokens: the key of a replica does not expire.
        grant_types: vec![GrantType::DeviceCode],
        redirect_uris: Vec::new(),
        allowed_scopes: all_scopes(),
        default_scopes: all_scopes(),
        name: Some("Hearth replica".to_owned()),
        registration: None,
    }
}

/// Whether the client of a write was deleted, so that the write must not happen. `established`: the moment of the grant.
pub(super) fn is_client_revoked(tx: &Tx<'_>, client: &str, established: SystemTime) -> Result<bool, StoreError> {
    let Some(recorded_at) = partners::barrier(tx, BarrierScope::Client, client)? else { return Ok(false) };
    // Without its row the client was deleted and not made again.
    let is_gone = partners::get(tx, RecordKind::Client, &digest(client))?.is_none();
    Ok(is_gone || nanos(established) <= recorded_at)
}

/// Whether client, family or grant of an access token has ended.
pub(super) fn is_token_revoked(tx: &Tx<'_>, token: &IssuedToken, now: Timestamp) -> Result<bool, StoreError> {
    Ok(is_client_revoked(tx, token.client_id.as_str(), token.grant_established_at)?
        || is_family_revoked(tx, token.family_id.as_deref())?
        || is_grant_over(tx, token.subject.as_deref(), now)?)
}

/// Whether client, family or grant of a refresh token has ended.
pub(super) fn is_chain_revoked(tx: &Tx<'_>, record: &RefreshTokenRecord, now: Timestamp) -> Result<bool, StoreError> {
    Ok(is_client_revoked(tx, record.client_id.as_str(), record.grant_established_at)?
        || is_family_revoked(tx, Some(&record.family_id))?
        || is_grant_over(tx, record.subject.as_deref(), now)?)
}

fn is_family_revoked(tx: &Tx<'_>, family: Option<&str>) -> Result<bool, StoreError> {
    let barrier = family.map(|family| partners::barrier(tx, BarrierScope::Family, family)).transpose()?;
    Ok(barrier.flatten().is_some())
}

fn is_grant_over(tx: &Tx<'_>, subject: Option<&str>, now: Timestamp) -> Result<bool, StoreError> {
    let grant = subject.map(|subject| keys::find_by_id(tx, subject)).transpose()?.flatten();
    Ok(grant.is_some_and(|grant| grant.end_reason(now).is_some()))
}

/// Writes a client, which has no secret. A client that an owner has agreed to stays without an end.
pub(super) fn put_client(tx: &Tx<'_>, client: &Client, expires_at: Option<i64>) -> Result<(), StoreError> {
    let id = client.client_id.as_str();
    let known = partners::get(tx, RecordKind::Client, &digest(id))?;
    let expires_at = expires_at.filter(|_| known.is_none_or(|known| known.expires_at.is_some()));
    let row = Record { client: id.to_owned(), expires_at, body: to_json(client)?, ..Record::default() };
    partners::put(tx, RecordKind::Client, &digest(id), &row)
}

/// Writes a device. Error: another device waits with the same user code.
pub(super) fn put_device(tx: &Tx<'_>, grant: &DeviceGrant) -> Result<(), StoreError> {
    let typed = normalize_user_code(&grant.user_code);
    let user_code = digest(&typed);
    let owner = partners::device_by_user_code(tx, &user_code)?;
    if owner.is_some_and(|(device, _)| device != lookup(RecordKind::Device, &grant.device_code)) {
        return Err(StoreError::Corrupt("a user code was drawn twice".to_owned()));
    }
    let subject = match &grant.state {
        DeviceGrantState::Approved { subject } => Some(subject.clone()),
        DeviceGrantState::Pending | DeviceGrantState::Denied => None,
    };
    let row = Record {
        client: grant.client_id.as_str().to_owned(),
        subject,
        expires_at: Some(nanos(grant.expires_at)),
        user_code: Some(user_code),
        device_code: Some(seal(&typed, grant.device_code.as_bytes())?),
        ..Record::default()
    };
    put(tx, RecordKind::Device, &grant.device_code, row, grant)
}

/// Writes an authorization code. No revocation refuses it, because a spent code must stay known.
pub(super) fn put_code(tx: &Tx<'_>, record: &AuthorizationCodeRecord) -> Result<(), StoreError> {
    let row = Record {
        client: record.client_id.as_str().to_owned(),
        subject: Some(record.subject.clone()),
        expires_at: Some(nanos(record.expires_at)),
        ..Record::default()
    };
    put(tx, RecordKind::Code, &record.code, row, record)
}

/// Writes a pushed request.
pub(super) fn put_pushed(tx: &Tx<'_>, record: &PushedAuthorizationRequest) -> Result<(), StoreError> {
    let row = Record {
        client: record.client_id.as_str().to_owned(),
        expires_at: Some(nanos(record.expires_at)),
        ..Record::default()
    };
    put(tx, RecordKind::Pushed, &record.request_uri, row, record)
}

/// Writes a refresh token. `idle_end`: the moment at which an unused token without an end of its own ends.
pub(super) fn put_refresh(tx: &Tx<'_>, record: &RefreshTokenRecord, idle_end: Option<i64>) -> Result<(), StoreError> {
    let idle_end = idle_end.filter(|_| record.state == RefreshTokenState::Active);
    let row = Record {
        client: record.client_id.as_str().to_owned(),
        subject: record.subject.clone(),
        family: Some(record.family_id.clone()),
        expires_at: record.expires_at.map(nanos).or(idle_end),
        ..Record::default()
    };
    put(tx, RecordKind::Refresh, &record.refresh_token, row, record)
}

/// Writes an access token. For a replica the grant becomes an ordinary key, whose text has the random bytes of the token.
pub(super) fn put_access(tx: &Tx<'_>, token: &IssuedToken) -> Result<(), StoreError> {
    if token.client_id.as_str() == REPLICA_CLIENT {
        return make_key(tx, token);
    }
    let row = Record {
        client: token.client_id.as_str().to_owned(),
        subject: token.subject.clone(),
        family: token.family_id.clone(),
        expires_at: Some(nanos(token.expires_at)),
        scopes: Some(scope_text(&token.scope)),
        hint: to_shown(TokenKind::Access, &token.access_token).map(|shown| hint_of(&shown)),
        ..Record::default()
    };
    put(tx, RecordKind::Access, &token.access_token, row, token)
}

fn make_key(tx: &Tx<'_>, token: &IssuedToken) -> Result<(), StoreError> {
    let grant = token.subject.as_deref().map(|subject| keys::find_by_id(tx, subject)).transpose()?.flatten();
    let missing = || StoreError::Corrupt("a device was approved without a grant".to_owned());
    let (grant, bytes) = grant.zip(token_bytes(&token.access_token)).ok_or_else(missing)?;
    let secret = key_text(grant.environment, bytes);
    keys::make_ordinary(tx, &grant.id, &digest(&secret), &hint_of(&secret))
}

/// Writes a record under its secret.
fn put(tx: &Tx<'_>, kind: RecordKind, secret: &str, row: Record, value: &impl Serialize) -> Result<(), StoreError> {
    partners::put(tx, kind, &lookup(kind, secret), &Record { body: seal_json(secret, value)?, ..row })
}

/// The record with this secret.
pub(super) fn peek<T: DeserializeOwned>(tx: &Tx<'_>, kind: RecordKind, secret: &str) -> Result<Option<T>, StoreError> {
    let found = partners::get(tx, kind, &lookup(kind, secret))?;
    found.map(|record| open_json(secret, &record.body)).transpose()
}

/// Removes and returns the record with this secret.
pub(super) fn take<T: DeserializeOwned>(tx: &Tx<'_>, kind: RecordKind, secret: &str) -> Result<Option<T>, StoreError> {
    let found = peek(tx, kind, secret)?;
    if found.is_some() {
        partners::delete(tx, kind, &lookup(kind, secret))?;
    }
    Ok(found)
}
