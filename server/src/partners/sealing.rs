//! Seals the records of partners under the secrets that name them: a copy of the database shows neither tokens nor codes,
//! and the secret of a request opens its own record. Must not know what a record means.

use chacha20poly1305::aead::Aead;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hearth_contract::key::{TokenKind, token_text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::random::random_bytes;
use crate::store::StoreError;
use crate::store::partners::RecordKind;

/// Put before a secret to derive the key of its record, so that the key differs from the SHA-256 by which it is found.
const KEY_DOMAIN: &[u8] = b"hearth partner record 1\0";
/// Bytes of the random number that begins a sealed text.
const NONCE_BYTES: usize = 24;
/// Bytes of the library's tokens, which are hexadecimal.
const TOKEN_BYTES: usize = 32;

/// The SHA-256 by which a record is found. A token counts in the form that its client presents.
pub(super) fn lookup(kind: RecordKind, secret: &str) -> [u8; 32] {
    let shown = match kind {
        RecordKind::Access => to_shown(TokenKind::Access, secret),
        RecordKind::Refresh => to_shown(TokenKind::Refresh, secret),
        _ => None,
    };
    digest(shown.as_deref().unwrap_or(secret))
}

/// The SHA-256 of a text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The random bytes of a token of the library. None: the text has another form.
pub(super) fn token_bytes(token: &str) -> Option<[u8; TOKEN_BYTES]> {
    data_encoding::HEXLOWER.decode(token.as_bytes()).ok()?.try_into().ok()
}

/// A token of the library in the form that clients see: `svc_oat_…` or `svc_ort_…`. None: no token of the library.
pub(super) fn to_shown(kind: TokenKind, token: &str) -> Option<String> {
    token_bytes(token).map(|bytes| token_text(kind, bytes))
}

/// Seals a text under a secret.
pub(super) fn seal(secret: &str, text: &[u8]) -> Result<Vec<u8>, StoreError> {
    let nonce: [u8; NONCE_BYTES] = random_bytes();
    let sealed = cipher(secret).encrypt(&XNonce::from(nonce), text);
    let sealed = sealed.map_err(|_| StoreError::Corrupt("a partner record is too long to seal".to_owned()))?;
    Ok([&nonce[..], &sealed].concat())
}

/// Opens a sealed text. Error: it was sealed under another secret, or altered.
pub(super) fn open(secret: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let opened = sealed.split_first_chunk::<NONCE_BYTES>().and_then(|(nonce, rest)| {
        let nonce = XNonce::from(*nonce);
        cipher(secret).decrypt(&nonce, rest).ok()
    });
    opened.ok_or_else(|| StoreError::Corrupt("a partner record cannot be opened".to_owned()))
}

/// Seals a value as JSON.
pub(super) fn seal_json(secret: &str, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    seal(secret, &to_json(value)?)
}

/// Opens a value that was sealed as JSON.
pub(super) fn open_json<T: DeserializeOwned>(secret: &str, sealed: &[u8]) -> Result<T, StoreError> {
    from_json(&open(secret, sealed)?)
}

/// A value as JSON.
pub(super) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// A value from JSON.
pub(super) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, StoreError> {
    // The text of the error could quote the record.
    serde_json::from_slice(text).map_err(|_| StoreError::Corrupt("a partner record has another form".to_owned()))
}

fn cipher(secret: &str) -> XChaCha20Poly1305 {
    let key: [u8; 32] = Sha256::new().chain_update(KEY_DOMAIN).chain_update(secret).finalize().into();
    XChaCha20Poly1305::new(&key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_text_opens_with_its_secret_only() {
        let sealed = seal("secret", b"text").unwrap();
        assert_eq!(open("secret", &sealed).unwrap(), b"text");
        assert!(open("other", &sealed).is_err());
        assert!(open("secret", &sealed[..10]).is_err());
        assert!(!sealed.windows(4).any(|part| part == b"text"));
    }

    #[test]
    fn tokens_are_found_in_the_form_that_clients_present() {
        let token = "ab".repeat(TOKEN_BYTES);
        let shown = to_shown(TokenKind::Access, &token).unwrap();
        assert_eq!(lookup(RecordKind::Access, &token), digest(&shown));
        assert_eq!(lookup(RecordKind::Code, &token), digest(&token));
    }
}
