//! The storage of the protocol library, on the writer thread and the readers. Each operation of the library is one
//! transaction. Must not know HTTP.
//!
//! A `subject` of the library is the id of a grant: an owner's consent to one client, a row of `keys`. A revoked grant
//! refuses each later write of a token.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use oauth_as::authorization::{AuthorizationCodeRecord, AuthorizationCodeState};
use oauth_as::client::{Client, ClientId};
use oauth_as::device::{DeviceGrant, DeviceGrantState};
use oauth_as::par::PushedAuthorizationRequest;
use oauth_as::store::{RevocationWindow, Storage, StorageError, WriteOutcome};
use oauth_as::token::{IssuedToken, RefreshTokenRecord};
use serde::de::DeserializeOwned;

use super::records::{self, nanos, nanos_of, peek};
use super::sealing::{digest, from_json, lookup, open, open_json};
use crate::store::partners::{self, BarrierScope, RecordKind};
use crate::store::{Db, StoreError, Tx, keys};

/// Expired records that one transaction deletes.
const SWEPT_PER_STEP: u32 = 1000;
/// Refresh tokens of one family that stay known: those of 60 days with a refresh each hour, and some more. The use of an older
/// one is refused without an end of the family.
const REFRESH_TOKENS_KEPT: u32 = 2000;

/// Lifetimes that the library has no setting for. With None in both fields, the storage only fulfils the library's contract.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lifetimes {
    /// Idle time after which a refresh token ends. None: never.
    pub(crate) refresh_idle: Option<Duration>,
    /// Lifetime of a registered client without a grant. None: unlimited.
    pub(crate) unused_client: Option<Duration>,
}

/// The storage. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PartnerStorage {
    db: Db,
    clock: crate::clock::Clock,
    lifetimes: Lifetimes,
    /// Set when this storage, or a clone, ended a token, a family or a client.
    ended: Arc<AtomicBool>,
}

impl PartnerStorage {
    /// A storage in a database.
    pub(crate) fn new(db: Db, clock: crate::clock::Clock, lifetimes: Lifetimes) -> PartnerStorage {
        PartnerStorage { db, clock, lifetimes, ended: Arc::default() }
    }

    /// Whether this storage, or a clone, ended a token, a family or a client.
    pub(crate) fn has_ended_access(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Writes a change that ends access.
    async fn end<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let done = self.write(job).await;
        self.ended.store(true, Ordering::Relaxed);
        done
    }

    /// Now plus an interval, in nanoseconds since 1970.
    fn after(&self, interval: Option<Duration>) -> Option<i64> {
        let now = nanos_of(self.clock.now());
        interval.map(|interval| now.saturating_add(i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX)))
    }

    async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.db.write(job).await.map_err(fault)
    }

    /// Reads a pushed request, and keeps the request stored.
    pub(crate) async fn pushed_request(
        &self,
        request_uri: &str,
    ) -> Result<Option<Arc<PushedAuthorizationRequest>>, StorageError> {
        self.find(RecordKind::Pushed, request_uri, true).await
    }

    /// The record with this secret.
    async fn find<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        kind: RecordKind,
        secret: &str,
        ends_when_idle: bool,
    ) -> Result<Option<Arc<T>>, StorageError> {
        let (secret, now) = (secret.to_owned(), nanos_of(self.clock.now()));
        let found = self.db.read(move |tx| {
            let found = partners::get(tx, kind, &lookup(kind, &secret))?;
            // The library checks every other expiry.
            let found = found.filter(|record| !ends_when_idle || record.expires_at.is_none_or(|end| now < end));
            found.map(|record| open_json(&secret, &record.body).map(Arc::new)).transpose()
        });
        found.await.map_err(fault)
    }

    /// Removes and returns the record with this secret.
    async fn take<T: DeserializeOwned + Send + 'static>(
        &self,
        kind: RecordKind,
        secret: &str,
    ) -> Result<Option<T>, StorageError> {
        let secret = secret.to_owned();
        self.write(move |tx| records::take(tx, kind, &secret)).await
    }
}

impl Storage for PartnerStorage {
    async fn get_client(&self, client_id: &ClientId) -> Result<Option<Arc<Client>>, StorageError> {
        if client_id.as_str() == records::REPLICA_CLIENT {
            return Ok(Some(Arc::new(records::replica_client())));
        }
        let id = digest(client_id.as_str());
        let found = self.db.read(move |tx| match partners::get(tx, RecordKind::Client, &id)? {
            Some(record) => from_json(&record.body).map(|client| Some(Arc::new(client))),
            None => Ok(None),
        });
        found.await.map_err(fault)
    }

    async fn put_client(&self, mut client: Client) -> Result<(), StorageError> {
        if self.lifetimes.unused_client.is_some() && client.allowed_scopes.is_empty() {
            // A client that names no scopes may ask for each, and gets all reads if it asks for none.
            (client.allowed_scopes, client.default_scopes) = (records::all_scopes(), records::reading_scopes());
        }
        // The client expires unless an owner gives a grant to the client.
        let expires_at = self.after(self.lifetimes.unused_client);
        self.write(move |tx| records::put_client(tx, &client, expires_at)).await
    }

    async fn compare_and_swap_client(&self, expected: &Client, updated: Client) -> Result<bool, StorageError> {
        let expected = expected.clone();
        self.write(move |tx| {
            let Some(current) = partners::get(tx, RecordKind::Client, &digest(updated.client_id.as_str()))? else {
                return Ok(false);
            };
            let is_expected = from_json::<Client>(&current.body)? == expected;
            if is_expected {
                records::put_client(tx, &updated, current.expires_at)?;
            }
            Ok(is_expected)
        })
        .await
    }

    async fn delete_client(&self, client_id: &ClientId, window: RevocationWindow) -> Result<bool, StorageError> {
        let client = named("client", client_id.as_str())?;
        let at = self.clock.now();
        self.end(move |tx| {
            record_barrier(tx, BarrierScope::Client, &client, window)?;
            keys::revoke_grants_of(tx, &client, at)?;
            partners::delete_client(tx, &client, &digest(&client))
        })
        .await
    }

    async fn put_device_grant(&self, grant: DeviceGrant) -> Result<(), StorageError> {
        self.write(move |tx| records::put_device(tx, &grant)).await
    }

    async fn get_device_grant(&self, device_code: &str) -> Result<Option<DeviceGrant>, StorageError> {
        Ok(self.find(RecordKind::Device, device_code, false).await?.map(Arc::unwrap_or_clone))
    }

    async fn find_device_grant_by_user_code(&self, user_code: &str) -> Result<Option<DeviceGrant>, StorageError> {
        let user_code = user_code.to_owned();
        let found = self.db.read(move |tx| {
            let Some((_, record)) = partners::device_by_user_code(tx, &digest(&user_code))? else { return Ok(None) };
            let device_code = open(&user_code, &record.device_code.unwrap_or_default())?;
            open_json(&String::from_utf8_lossy(&device_code), &record.body).map(Some)
        });
        found.await.map_err(fault)
    }

    async fn take_device_grant(&self, device_code: &str) -> Result<Option<DeviceGrant>, StorageError> {
        self.take(RecordKind::Device, device_code).await
    }

    async fn compare_and_swap_device_grant(
        &self,
        expected: &DeviceGrantState,
        updated: DeviceGrant,
    ) -> Result<bool, StorageError> {
        let expected = expected.clone();
        self.write(move |tx| {
            let current: Option<DeviceGrant> = peek(tx, RecordKind::Device, &updated.device_code)?;
            let is_expected = current.is_some_and(|current| current.state == expected);
            if is_expected {
                records::put_device(tx, &updated)?;
            }
            Ok(is_expected)
        })
        .await
    }

    async fn put_authorization_code(&self, record: AuthorizationCodeRecord) -> Result<(), StorageError> {
        self.write(move |tx| records::put_code(tx, &record)).await
    }

    async fn compare_and_swap_authorization_code(
        &self,
        expected: &AuthorizationCodeState,
        updated: AuthorizationCodeRecord,
    ) -> Result<bool, StorageError> {
        let expected = expected.clone();
        self.write(move |tx| {
            let current: Option<AuthorizationCodeRecord> = peek(tx, RecordKind::Code, &updated.code)?;
            let is_expected = current.is_some_and(|current| current.state == expected);
            if is_expected {
                records::put_code(tx, &updated)?;
            }
            Ok(is_expected)
        })
        .await
    }

    async fn take_authorization_code(&self, code: &str) -> Result<Option<AuthorizationCodeRecord>, StorageError> {
        self.take(RecordKind::Code, code).await
    }

    async fn put_pushed_authorization_request(
        &self,
        record: PushedAuthorizationRequest,
    ) -> Result<WriteOutcome, StorageError> {
        self.write(move |tx| {
            if records::is_client_revoked(tx, record.client_id.as_str(), record.pushed_at)? {
                return Ok(WriteOutcome::RefusedRevoked);
            }
            records::put_pushed(tx, &record)?;
            Ok(WriteOutcome::Applied)
        })
        .await
    }

    async fn take_pushed_authorization_request(
        &self,
        request_uri: &str,
    ) -> Result<Option<PushedAuthorizationRequest>, StorageError> {
        self.take(RecordKind::Pushed, request_uri).await
    }

    async fn put_token(&self, token: IssuedToken) -> Result<WriteOutcome, StorageError> {
        let now = self.clock.now();
        self.write(move |tx| {
            if records::is_token_revoked(tx, &token, now)? {
                return Ok(WriteOutcome::RefusedRevoked);
            }
            records::put_access(tx, &token)?;
            Ok(WriteOutcome::Applied)
        })
        .await
    }

    async fn get_token(&self, access_token: &str) -> Result<Option<Arc<IssuedToken>>, StorageError> {
        self.find(RecordKind::Access, access_token, false).await
    }

    async fn delete_token(&self, access_token: &str) -> Result<(), StorageError> {
        let id = lookup(RecordKind::Access, access_token);
        self.end(move |tx| partners::delete(tx, RecordKind::Access, &id).map(drop)).await
    }

    async fn put_refresh_token(&self, record: RefreshTokenRecord) -> Result<WriteOutcome, StorageError> {
        let (idle_end, now) = (self.after(self.lifetimes.refresh_idle), self.clock.now());
        self.write(move |tx| {
            if records::is_chain_revoked(tx, &record, now)? {
                return Ok(WriteOutcome::RefusedRevoked);
            }
            records::put_refresh(tx, &record, idle_end)?;
            Ok(WriteOutcome::Applied)
        })
        .await
    }

    async fn get_refresh_token(&self, refresh_token: &str) -> Result<Option<Arc<RefreshTokenRecord>>, StorageError> {
        self.find(RecordKind::Refresh, refresh_token, self.lifetimes.refresh_idle.is_some()).await
    }

    async fn rotate_refresh_token(
        &self,
        expected: &RefreshTokenRecord,
        spent: &RefreshTokenRecord,
        access: &IssuedToken,
        next: Option<&RefreshTokenRecord>,
    ) -> Result<bool, StorageError> {
        let (expected, spent, access, next) = (expected.clone(), spent.clone(), access.clone(), next.cloned());
        let (idle_end, now) = (self.after(self.lifetimes.refresh_idle), self.clock.now());
        self.write(move |tx| {
            let current: Option<RefreshTokenRecord> = peek(tx, RecordKind::Refresh, &expected.refresh_token)?;
            if current.as_ref() != Some(&expected) || records::is_chain_revoked(tx, &expected, now)? {
                return Ok(false);
            }
            records::put_refresh(tx, &spent, idle_end)?;
            records::put_access(tx, &access)?;
            next.iter().try_for_each(|next| records::put_refresh(tx, next, idle_end))?;
            partners::delete_old_refresh_tokens(tx, &expected.family_id, REFRESH_TOKENS_KEPT)?;
            Ok(true)
        })
        .await
    }

    async fn take_refresh_token(&self, refresh_token: &str) -> Result<Option<RefreshTokenRecord>, StorageError> {
        self.take(RecordKind::Refresh, refresh_token).await
    }

    async fn revoke_token_family(&self, family_id: &str, window: RevocationWindow) -> Result<u64, StorageError> {
        let family = named("family", family_id)?;
        let at = self.clock.now();
        self.end(move |tx| {
            record_barrier(tx, BarrierScope::Family, &family, window)?;
            let (deleted, grants) = partners::delete_family(tx, &family)?;
            // Without tokens the grant is over, and its streams end.
            grants.iter().try_for_each(|grant| keys::revoke(tx, grant, at))?;
            Ok(deleted as u64)
        })
        .await
    }

    async fn sweep_expired(&self, now: SystemTime) -> Result<u64, StorageError> {
        let mut swept = 0;
        loop {
            let step = self.write(move |tx| partners::sweep(tx, nanos(now), SWEPT_PER_STEP)).await?;
            swept += step as u64;
            if step == 0 {
                return Ok(swept);
            }
        }
    }
}

/// The library answers `server_error`; the cause goes to the log.
fn fault(error: StoreError) -> StorageError {
    tracing::error!(%error, "the storage of partner authorization failed");
    StorageError::new(error.to_string())
}

/// The name of a client or family. Error: it is empty, and a barrier could not name it.
fn named(what: &str, id: &str) -> Result<String, StorageError> {
    if id.is_empty() { Err(StorageError::new(format!("the id of the {what} is empty"))) } else { Ok(id.to_owned()) }
}

fn record_barrier(tx: &Tx<'_>, scope: BarrierScope, id: &str, window: RevocationWindow) -> Result<(), StoreError> {
    partners::record_barrier(tx, scope, id, nanos(window.recorded_at), nanos(window.until))
}
