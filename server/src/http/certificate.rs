//! Reads the certificate and the private key of the server from their files, and says what is wrong with them. Must not
//! know connections.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::{CertificateError as Fault, Error, RootCertStore, ServerConfig};

use super::socket::HTTP2;
use crate::config::TlsFiles;

/// Bytes of each of the two files.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The mark of a private key that is encrypted by a password (RFC 5958, RFC 1421).
const ENCRYPTED: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];

/// Why a certificate and its key cannot be used. The texts say what to do next.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file is absent, not readable, or no file.
    #[error("cannot read {0}: {1}; name a file that the user of the server may read")]
    Unreadable(PathBuf, io::Error),
    /// The file is larger than a certificate can be.
    #[error("{0} is longer than 1 MiB, so it is no certificate or key; name another file")]
    TooLong(PathBuf),
    /// The file holds no certificate in PEM form.
    #[error(
        "{0} holds no certificate; the file must have the server's certificate in PEM form (-----BEGIN CERTIFICATE-----), \
         then those of its issuers"
    )]
    NoCertificate(PathBuf),
    /// The file holds no private key in PEM form.
    #[error("{0} holds no private key; the file must have the key in PEM form (-----BEGIN PRIVATE KEY-----)")]
    NoKey(PathBuf),
    /// The key has a password.
    #[error("the key in {0} has a password; write it without: openssl pkey -in FILE -out NEWFILE")]
    Encrypted(PathBuf),
    /// The key is that of another certificate.
    #[error(
        "the key in {key} is not the key of the first certificate in {cert}; name the two files that were made together"
    )]
    Mismatch {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The certificate has expired.
    #[error("the certificate in {0} ended at {1}; renew it, then start the server again")]
    Expired(PathBuf, Timestamp),
    /// The certificate is not valid yet.
    #[error("the certificate in {0} begins at {1}; check the clock of this machine")]
    NotYetValid(PathBuf, Timestamp),
    /// The library does not accept certificate or key.
    #[error("cannot use {0}: {1}; make a new certificate with an ECDSA P-256 or RSA 2048 key")]
    Unusable(PathBuf, String),
}

/// The contents of both files.
pub(super) struct Pem {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Pem {
    /// Reads both files. Blocks.
    pub(super) fn read(files: &TlsFiles) -> Result<Pem, CertificateError> {
        Ok(Pem { cert: read(&files.cert)?, key: read(&files.key)? })
    }

    /// The certificates and the key, if they belong together and are valid now.
    pub(super) fn parse(&self, files: &TlsFiles, now: Timestamp) -> Result<CertifiedKey, CertificateError> {
        let unusable = |path: &Path, why: String| CertificateError::Unusable(path.to_owned(), why);
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.map_err(|why| unusable(&files.cert, why.to_string()))?;
        let Some(first) = chain.first().cloned() else {
            return Err(CertificateError::NoCertificate(files.cert.clone()));
        };
        if ENCRYPTED.iter().any(|mark| self.key.windows(mark.len()).any(|part| part == *mark)) {
            return Err(CertificateError::Encrypted(files.key.clone()));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| CertificateError::NoKey(files.key.clone()))?;
        let pair = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                CertificateError::Mismatch { cert: files.cert.clone(), key: files.key.clone() }
            }
            Error::InvalidCertificate(why) => unusable(&files.cert, why.to_string()),
            error => unusable(&files.key, error.to_string()),
        })?;
        match check(&first, now) {
            Condition::Expired(at) => Err(CertificateError::Expired(files.cert.clone(), at)),
            Condition::NotYetValid(at) => Err(CertificateError::NotYetValid(files.cert.clone(), at)),
            Condition::Good | Condition::Doubtful => Ok(pair),
        }
    }
}

/// A digest of what was read, or of the reason why nothing was read. Equal digests mean unchanged files.
pub(super) fn fingerprint(read: &Result<Pem, CertificateError>) -> [u8; 32] {
    match read {
        Ok(pem) => Sha256::new().chain_update(Sha256::digest(&pem.cert)).chain_update(&pem.key).finalize().into(),
        Err(error) => Sha256::digest(error.to_string()).into(),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => Err(CertificateError::TooLong(path.to_owned())),
        Ok(_) => Ok(bytes),
        Err(error) => Err(CertificateError::Unreadable(path.to_owned(), error)),
    }
}

/// The settings of TLS with a certificate: TLS 1.2 and 1.3, HTTP/2 before HTTP/1.1.
pub(super) fn server_config(pair: CertifiedKey) -> Result<ServerConfig, Error> {
    let provider: Arc<CryptoProvider> = aws_lc_rs::default_provider().into();
    let resolver = Arc::new(SingleCertAndKey::from(pair));
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// What clients will think of a certificate, apart from its issuer and its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Good,
    /// The certificate is not made for servers, such as that of an issuer.
    Doubtful,
    Expired(Timestamp),
    NotYetValid(Timestamp),
}

/// Checks a certificate as a client does at that time.
pub(super) fn check(cert: &CertificateDer<'_>, at: Timestamp) -> Condition {
    let Ok(parsed) = ParsedCertificate::try_from(cert) else { return Condition::Doubtful };
    let time = UnixTime::since_unix_epoch(Duration::from_millis(at.millis().max(0).unsigned_abs()));
    let moment = |time: UnixTime| Timestamp::from_millis(time.as_secs().saturating_mul(1000).cast_signed());
    // Without trusted issuers a sound certificate has the only fault that its issuer is unknown.
    let (issuers, schemes) = (RootCertStore::empty(), aws_lc_rs::default_provider().signature_verification_algorithms);
    match verify_server_cert_signed_by_trust_anchor(&parsed, &issuers, &[], time, schemes.all) {
        Ok(()) | Err(Error::InvalidCertificate(Fault::UnknownIssuer)) => Condition::Good,
        Err(Error::InvalidCertificate(Fault::ExpiredContext { not_after, .. })) => {
            Condition::Expired(moment(not_after))
        }
        Err(Error::InvalidCertificate(Fault::NotValidYetContext { not_before, .. })) => {
            Condition::NotYetValid(moment(not_before))
        }
        Err(_) => Condition::Doubtful,
    }
}

/// Whether a certificate names a host.
pub(super) fn names(cert: &CertificateDer<'_>, host: &str) -> bool {
    let host = ServerName::try_from(host.trim_matches(['[', ']']));
    matches!((ParsedCertificate::try_from(cert), host), (Ok(cert), Ok(host)) if verify_server_name(&cert, &host).is_ok())
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
    use tempfile::TempDir;

    use super::*;

    const NOW: &str = "2026-11-26T12:00:00Z";

    /// A directory with a certificate for `home.example`, valid in 2026, and its key; `change` adjusts the certificate.
    fn files(change: impl FnOnce(&mut CertificateParams)) -> (TempDir, TlsFiles) {
        let directory = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["home.example".to_owned(), "192.168.1.5".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 12, 31));
        change(&mut params);
        let files = TlsFiles { cert: directory.path().join("cert.pem"), key: directory.path().join("key.pem") };
        std::fs::write(&files.cert, params.self_signed(&key).unwrap().pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        (directory, files)
    }

    fn parse(files: &TlsFiles, now: &str) -> Result<CertifiedKey, CertificateError> {
        Pem::read(files)?.parse(files, Timestamp::parse(now).unwrap())
    }

    #[test]
    fn sound_files_make_server_config() {
        let (_directory, files) = files(|_| ());
        let pair = parse(&files, NOW).unwrap();
        assert!(["home.example", "192.168.1.5"].iter().all(|host| names(&pair.cert[0], host)));
        assert!(!names(&pair.cert[0], "other.example") && !names(&pair.cert[0], "[::1]"));
        assert_eq!(check(&pair.cert[0], Timestamp::parse(NOW).unwrap()), Condition::Good);
        assert_eq!(server_config(pair).unwrap().alpn_protocols, [b"h2".to_vec(), b"http/1.1".to_vec()]);
    }

    #[test]
    fn each_fault_has_its_own_reason() {
        let (_one, good) = files(|_| ());
        let (_two, other) = files(|_| ());
        let pair =
            |cert: &Path, key: &Path| parse(&TlsFiles { cert: cert.to_owned(), key: key.to_owned() }, NOW).unwrap_err();
        assert!(matches!(pair(&good.cert, &other.key), CertificateError::Mismatch { .. }));
        assert!(matches!(pair(&good.key, &good.key), CertificateError::NoCertificate(_)));
        assert!(matches!(pair(&good.cert, &good.cert), CertificateError::NoKey(_)));
        assert!(matches!(pair(Path::new("/nowhere"), &good.key), CertificateError::Unreadable(..)));
        let empty = good.cert.with_file_name("empty.pem");
        std::fs::write(&empty, "").unwrap();
        assert!(matches!(pair(&empty, &good.key), CertificateError::NoCertificate(_)));
        assert!(matches!(pair(&good.cert, &empty), CertificateError::NoKey(_)));
        std::fs::write(&empty, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")
            .unwrap();
        assert!(matches!(pair(&good.cert, &empty), CertificateError::Encrypted(_)));
        std::fs::write(&empty, vec![b'x'; 2 << 20]).unwrap();
        assert!(matches!(pair(&empty, &good.key), CertificateError::TooLong(_)));
        std::fs::write(&empty, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(matches!(pair(&empty, &good.key), CertificateError::Unusable(..)));
    }

    #[test]
    fn certificate_is_refused_outside_its_time() {
        let (_directory, files) = files(|_| ());
        let expired = parse(&files, "2027-01-01T00:00:00Z").unwrap_err();
        assert!(expired.to_string().contains("ended at 2026-12-31T"), "{expired}");
        let early = parse(&files, "2025-12-31T00:00:00Z").unwrap_err();
        assert!(early.to_string().contains("begins at 2026-01-01T"), "{early}");
    }

    #[test]
    fn issuers_certificate_is_doubtful() {
        let (_directory, files) = files(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        let pair = parse(&files, NOW).unwrap();
        assert_eq!(check(&pair.cert[0], Timestamp::parse(NOW).unwrap()), Condition::Doubtful);
    }
}
