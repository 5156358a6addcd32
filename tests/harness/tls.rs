//! A local issuer with a certificate for a server on this machine, and connections that trust the issuer. Must not know
//! the tests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use hearth_server::config::TlsFiles;
use http_body_util::Full;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The files of an issuer and of a server's certificate.
pub struct LocalIssuer {
    /// Certificate and key of the server.
    pub files: TlsFiles,
    /// The issuer's certificate, for clients.
    pub file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    _directory: TempDir,
}

/// A connection over HTTP/2.
pub type Http2 = SendRequest<Full<Bytes>>;

impl LocalIssuer {
    /// An issuer, and a certificate for `localhost` and `127.0.0.1`.
    pub fn new() -> LocalIssuer {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        let path = |name: &str| directory.path().join(name);
        let made = LocalIssuer {
            files: TlsFiles { cert: path("server.pem"), key: path("server.key") },
            file: path("ca.pem"),
            issuer: Issuer::new(params, key),
            certificate: own.der().clone(),
            _directory: directory,
        };
        std::fs::write(&made.file, own.pem()).expect("a file");
        made.issue(&["localhost", "127.0.0.1"], |_| ());
        made
    }

    /// Writes a new certificate and key of the server; `change` adjusts the certificate.
    pub fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        std::fs::write(&self.files.cert, certificate.pem()).expect("a file");
        std::fs::write(&self.files.key, key.serialize_pem()).expect("a file");
    }

    /// Makes a TLS connection over a socket. `protocol`: the only one that the client offers, as in `h2`.
    pub async fn connect(&self, socket: TcpStream, protocol: &str) -> TlsStream<TcpStream> {
        let mut issuers = RootCertStore::empty();
        issuers.add(self.certificate.clone()).expect("an issuer");
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let mut config = builder.with_root_certificates(issuers).with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config)).connect(name, socket).await.expect("a TLS connection")
    }

    /// Connects over HTTP/2.
    pub async fn http2(&self, address: SocketAddr) -> Http2 {
        let socket = TcpStream::connect(address).await.expect("a connection");
        let stream = TokioIo::new(self.connect(socket, "h2").await);
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.expect("HTTP/2");
        tokio::spawn(connection);
        sender
    }
}

impl Default for LocalIssuer {
    fn default() -> LocalIssuer {
        LocalIssuer::new()
    }
}
