//! Sentences about a failed TLS connection, each with what to do next. Must not know requests.

use std::error::Error;
use std::io;

use rustls::{AlertDescription, CertificateError};

/// The fault of the TLS library inside an error. None: the error has another cause.
pub(super) fn tls_fault<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let inside = error.downcast_ref::<io::Error>()?.get_ref()?;
    // The library's stream wraps the fault in an IO error, and the client may wrap that error once more.
    inside.downcast_ref().or_else(|| tls_fault(inside))
}

/// The sentence about a fault.
pub(super) fn tls_text(fault: &rustls::Error) -> String {
    match fault {
        rustls::Error::InvalidCertificate(why) => certificate_text(why),
        rustls::Error::InvalidMessage(_) => {
            "it speaks no TLS at this port; check the port, or write http:// for a server without TLS".to_owned()
        }
        rustls::Error::AlertReceived(
            AlertDescription::ProtocolVersion
            | AlertDescription::HandshakeFailure
            | AlertDescription::InsufficientSecurity,
        )
        | rustls::Error::PeerIncompatible(_) => {
            format!("it and this program agree on no TLS connection ({fault}); use a server with TLS 1.2 or 1.3")
        }
        rustls::Error::AlertReceived(_) => {
            format!("the TLS connection failed: {fault}; look in the log of the server")
        }
        _ => format!("the TLS connection failed: {fault}"),
    }
}

/// The sentence about a refused certificate.
fn certificate_text(why: &CertificateError) -> String {
    let text = match why {
        CertificateError::UnknownIssuer => {
            "the issuer of its certificate is not trusted here; SSL_CERT_FILE names a file with trusted issuers"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired; renew it on the server, or set the clock of this machine right"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet; set the clock of this machine or of the server right"
        }
        CertificateError::NotValidForName => {
            "its certificate is for another name; use that name, or make a certificate that names this address"
        }
        CertificateError::NotValidForNameContext { presented, .. } => return other_names_text(presented),
        CertificateError::Other(why) => return other_fault_text(&*why.0),
        why => return refused_text(why),
    };
    text.to_owned()
}

/// The sentence about a fault for which the TLS library has no word of its own.
fn other_fault_text(why: &(dyn Error + Send + Sync + 'static)) -> String {
    let text = match why.downcast_ref() {
        Some(webpki::Error::CaUsedAsEndEntity) => {
            "it shows the certificate of an issuer instead of a server's; let the issuer issue one for the server, and name \
             the issuer's in a file by SSL_CERT_FILE"
        }
        Some(webpki::Error::UnsupportedCertVersion) => {
            "its certificate is of X.509 version 1; make one with the extension subjectAltName"
        }
        _ => return refused_text(why),
    };
    text.to_owned()
}

fn refused_text(why: impl std::fmt::Display) -> String {
    format!("its certificate is refused: {why}; make a new one on the server")
}

/// `presented`: names in the library's form, as in `DnsName("home.example")` and `IpAddress(192.168.1.5)`.
fn other_names_text(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inside = name.split_once('(').map_or(name.as_str(), |(_, rest)| rest.trim_end_matches(')'));
        inside.trim_matches('"').to_owned()
    };
    let names: Vec<String> = presented.iter().take(NAMES_MAX).map(bare).collect();
    let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
    format!(
        "its certificate is for {names}, not for this address; use a name of the certificate, or make one that names this \
         address"
    )
}

/// Names of a certificate in a sentence, at most.
const NAMES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_certificate_names_the_remedy() {
        let text = |why| tls_text(&rustls::Error::InvalidCertificate(why));
        assert!(text(CertificateError::UnknownIssuer).contains("SSL_CERT_FILE"));
        let other = |why: webpki::Error| text(CertificateError::Other(rustls::OtherError(std::sync::Arc::new(why))));
        let issuers = other(webpki::Error::CaUsedAsEndEntity);
        assert!(issuers.contains("SSL_CERT_FILE") && !issuers.contains("Other"), "{issuers}");
        assert!(other(webpki::Error::UnsupportedCertVersion).contains("version 1; make one with the extension"));
        let long = other(webpki::Error::PathLenConstraintViolated);
        assert_eq!(long, "its certificate is refused: PathLenConstraintViolated; make a new one on the server");
        assert!(text(CertificateError::Expired).contains("renew it"));
        let names = ["DnsName(\"home.example\")".to_owned(), "IpAddress(192.168.1.5)".to_owned()];
        assert!(other_names_text(&names).contains("for home.example, 192.168.1.5, not"));
    }

    #[test]
    fn only_alerts_about_versions_advise_a_version() {
        let text = |alert| tls_text(&rustls::Error::AlertReceived(alert));
        for alert in [
            AlertDescription::ProtocolVersion,
            AlertDescription::HandshakeFailure,
            AlertDescription::InsufficientSecurity,
        ] {
            assert!(text(alert).contains("TLS 1.2 or 1.3"));
        }
        for alert in [AlertDescription::InternalError, AlertDescription::CertificateRequired] {
            assert!(text(alert).ends_with("; look in the log of the server"), "{}", text(alert));
        }
    }

    #[test]
    fn fault_is_found_inside_io_errors() {
        let fault = || rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert!(tls_fault(&io::Error::other(fault())).is_some());
        assert!(tls_fault(&io::Error::other(io::Error::other(fault()))).is_some());
        assert!(tls_fault(&io::Error::from(io::ErrorKind::TimedOut)).is_none());
    }
}
