//! TLS on accepted connections: the handshake with its time limit, and new certificates while the server runs. Must not
//! know HTTP, except that a request in plain HTTP is refused.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::sign::CertifiedKey;

use super::certificate::{self, CertificateError, Condition, Pem};
use super::socket::{Channel, Socket};
use super::unread_body;
use crate::clock::Clock;
use crate::config::TlsFiles;
use crate::shutdown::Shutdown;

/// Time between two checks of the files. Changed files are used when the next check finds them unchanged, because one of
/// the two is written before the other.
const CHECK_PAUSE: Duration = Duration::from_secs(2);
/// Time before the end of a certificate from which on the log warns.
const RENEWAL_TIME: Duration = Duration::from_secs(14 * 24 * 3600);
/// The certificate in use. Cheap to clone.
#[derive(Clone)]
pub struct Tls(Arc<InUse>);

struct InUse {
    config: RwLock<Arc<ServerConfig>>,
    /// Whether the log names a client that sent plain HTTP.
    has_logged_plain: AtomicBool,
}

impl Tls {
    /// Carries out the handshake. None: it failed, and the connection is closed. `refusal`: the response to plain HTTP.
    pub(super) async fn accept(
        &self,
        socket: Socket,
        time_max: Duration,
        refusal: &(dyn Fn() -> Vec<u8> + Send + Sync),
    ) -> Option<Channel> {
        let accepted = tokio::time::timeout(time_max, self.shake_hands(socket, refusal)).await;
        match accepted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(channel) => channel,
            Err(error) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
        }
    }

    async fn shake_hands(
        &self,
        mut socket: Socket,
        refusal: &(dyn Fn() -> Vec<u8> + Send + Sync),
    ) -> io::Result<Option<Channel>> {
        // A request in plain HTTP begins with the capital letters of its method, a handshake with the byte 22.
        if socket.peek_byte().await?.is_ascii_uppercase() {
            if !self.0.has_logged_plain.swap(true, Ordering::Relaxed) {
                tracing::warn!("a client sent plain HTTP to the TLS port; its address must begin with https://");
            }
            socket.write_all(&refusal()).await?;
            socket.shutdown().await?;
            unread_body::linger(&mut socket).await;
            return Ok(None);
        }
        let config = self.0.config.read().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = TlsAcceptor::from(config).accept(socket).await?;
        Ok(Some(Channel::Tls(Box::new(stream))))
    }
}

/// Loads the certificate, and loads it again when the files change.
pub struct Certificates {
    files: TlsFiles,
    /// The host of the public URL. None: clients use the listening address.
    host: Option<String>,
    tls: Tls,
    first: CertificateDer<'static>,
    /// The fingerprint of the files that were loaded or refused last, and of those at the last check.
    tried: [u8; 32],
    seen: [u8; 32],
    /// Whether the log warns of the end of the certificate.
    has_logged_end: bool,
}

impl Certificates {
    /// Reads both files. Blocks. `host`: the name by which clients reach the server, if known.
    pub fn open(files: TlsFiles, host: Option<String>, now: Timestamp) -> Result<Certificates, CertificateError> {
        let pem = Pem::read(&files);
        let tried = certificate::fingerprint(&pem);
        let pair = pem?.parse(&files, now)?;
        let first = pair.cert[0].clone();
        let config = RwLock::new(server_config(&files, pair)?);
        let tls = Tls(Arc::new(InUse { config, has_logged_plain: AtomicBool::new(false) }));
        let mut certificates = Certificates { files, host, tls, first, tried, seen: tried, has_logged_end: false };
        certificates.log_doubts(now);
        Ok(certificates)
    }

    /// What the listener needs.
    pub fn tls(&self) -> Tls {
        self.tls.clone()
    }

    /// Checks the files again and again until the shutdown.
    pub async fn watch(mut self, clock: Clock, mut shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(CHECK_PAUSE) => {}
                () = shutdown.requested() => return,
            }
            let now = clock.now();
            let checked = tokio::task::spawn_blocking(move || {
                self.check(now);
                self
            });
            // Only a panic, which the log names, ends the checks.
            let Ok(checked) = checked.await else { return };
            self = checked;
        }
    }

    /// Checks the files once. Files that changed are used when they are the same at two checks. Files with a fault are not
    /// used, and the former certificate stays.
    fn check(&mut self, now: Timestamp) {
        let pem = Pem::read(&self.files);
        let seen = certificate::fingerprint(&pem);
        let is_settled = std::mem::replace(&mut self.seen, seen) == seen;
        if is_settled && seen != self.tried {
            self.tried = seen;
            match pem.and_then(|pem| self.load(&pem, now)) {
                Ok(()) => {
                    tracing::info!("a new certificate is in use");
                    self.has_logged_end = false;
                    self.log_doubts(now);
                }
                Err(error) => {
                    tracing::warn!(%error, "the new certificate is not used, and the former one stays");
                }
            }
        }
        self.log_end(now);
    }

    fn load(&mut self, pem: &Pem, now: Timestamp) -> Result<(), CertificateError> {
        let pair = pem.parse(&self.files, now)?;
        let first = pair.cert[0].clone();
        let config = server_config(&self.files, pair)?;
        *self.tls.0.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        self.first = first;
        Ok(())
    }

    /// Warns of a certificate that clients will refuse, and of a key that others can read.
    fn log_doubts(&mut self, now: Timestamp) {
        if certificate::check(&self.first, now) == Condition::Doubtful {
            tracing::warn!(
                "the certificate is not one for servers, perhaps that of an issuer (CA:TRUE); replicas and browsers refuse it"
            );
        }
        if let Some(host) = self.host.as_deref().filter(|host| !certificate::names(&self.first, host)) {
            tracing::warn!(host, "the certificate does not name the host of --base-url; clients will refuse it");
        }
        let mode = std::fs::metadata(&self.files.key).map_or(0, |file| file.permissions().mode());
        if mode & 0o007 != 0 {
            let file = self.files.key.display();
            tracing::warn!(%file, "all users of this machine can read the private key; run: chmod o= FILE");
        }
        self.log_end(now);
    }

    /// Warns once that the certificate ends soon, or has ended.
    fn log_end(&mut self, now: Timestamp) {
        let soon = now.plus_millis(RENEWAL_TIME.as_millis() as i64);
        if let Condition::Expired(at) = certificate::check(&self.first, soon)
            && !std::mem::replace(&mut self.has_logged_end, true)
        {
            tracing::warn!(%at, "the certificate ends soon; clients refuse it afterwards. Renew it: the server takes the new files");
        }
    }
}

fn server_config(files: &TlsFiles, pair: CertifiedKey) -> Result<Arc<ServerConfig>, CertificateError> {
    let config = certificate::server_config(pair);
    config.map(Arc::new).map_err(|error| CertificateError::Unusable(files.cert.clone(), error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rcgen::generate_simple_self_signed;

    use super::*;

    fn write_pair(files: &TlsFiles, name: &str) -> CertificateDer<'static> {
        let made = generate_simple_self_signed([name.to_owned()]).unwrap();
        fs::write(&files.cert, made.cert.pem()).unwrap();
        fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    #[test]
    fn changed_files_are_used_when_settled() {
        let directory = tempfile::tempdir().unwrap();
        let files = TlsFiles { cert: directory.path().join("cert.pem"), key: directory.path().join("key.pem") };
        let old = write_pair(&files, "old.example");
        let now = Timestamp::parse("2026-11-26T12:00:00Z").unwrap();
        let mut certificates = Certificates::open(files.clone(), None, now).unwrap();
        let old_key = fs::read(&files.key).unwrap();
        let new = write_pair(&files, "new.example");

        certificates.check(now);
        assert_eq!(certificates.first, old, "the files may still change");
        certificates.check(now);
        assert_eq!(certificates.first, new);

        // Broken files change nothing, however often they are checked.
        for broken in [old_key, b"".to_vec()] {
            fs::write(&files.key, broken).unwrap();
            (0..3).for_each(|_| certificates.check(now));
            assert_eq!(certificates.first, new);
        }
        fs::remove_file(&files.cert).unwrap();
        (0..3).for_each(|_| certificates.check(now));
        assert_eq!(certificates.first, new);
        let newest = write_pair(&files, "newest.example");
        (0..2).for_each(|_| certificates.check(now));
        assert_eq!(certificates.first, newest);
    }
}
