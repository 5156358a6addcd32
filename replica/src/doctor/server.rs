//! Examines the server: whether it answers, the scopes of the key, the clock. Must not show a key.

use std::net::IpAddr;

use hearth_contract::key::parse_key;
use hearth_contract::schema::Kind;
use secrecy::ExposeSecret;

use super::advice::{key_file_advice, new_key_advice};
use super::finding::{Finding, Severity, Topic};
use super::text::duration_text;
use crate::profile::{Profile, ProfileError};
use crate::sync::{ClientError, fetch_identity_and_time, wall_clock};

/// A larger difference (seconds) is not explained by a slow response.
const CLOCK_SECONDS_MAX: i64 = 60;

pub(super) async fn examine(profile: &Profile, home_id: Option<&str>) -> Vec<Finding> {
    let Some(server) = &profile.server else {
        let finding = Finding::fault(Topic::Setup, profile.no_server_text(), "hearth-replica init --server URL");
        return vec![Finding { is_server_missing: true, ..finding }];
    };
    if let Some(error) = &profile.key_error {
        let next = match error {
            ProfileError::Key(file, _) => key_file_advice(file),
            _ => new_key_advice(profile),
        };
        return vec![Finding::fault(Topic::Key, error.to_string(), next)];
    }
    let Some(key) = &profile.key else {
        return vec![Finding::fault(Topic::Key, profile.no_key_text(), "hearth-replica init --server URL")];
    };
    if parse_key(key.expose_secret()).is_none() {
        let text = "the key is mistyped or incomplete";
        return vec![Finding::fault(Topic::Key, text, new_key_advice(profile))];
    }
    let (identity, date) = match fetch_identity_and_time(server, key).await {
        Ok(answer) => answer,
        Err(error) => return vec![client_error_finding(profile, server, &error)],
    };
    let mut findings = vec![Finding::ok(Topic::Server, format!("{server} answers"))];
    findings.extend(check_encryption(server));
    findings.push(match home_id {
        Some(ours) if identity.refilled_from.as_deref() == Some(ours) => Finding::fault(
            Topic::Key,
            format!(
                "a replica of this home has filled the home {}, and the key belongs to that home",
                identity.home_id
            ),
            format!("hearth-replica init --server {server} --take-over, to follow it with this replica"),
        ),
        Some(ours) if ours != identity.home_id => Finding::fault(
            Topic::Key,
            format!("this is the replica of home {ours}, but the key belongs to home {}", identity.home_id),
            format!("{}; for the other home: hearth-replica --profile NAME init --server URL", new_key_advice(profile)),
        ),
        _ => check_scopes(&identity.scopes, &identity.home_name, &identity.environment),
    });
    findings.extend(date.map(|there| clock_finding(wall_clock().seconds() - there.seconds())));
    findings
}

/// A warning when keys and records travel unencrypted to another machine. `server`: an address as in
/// `http://localhost:8750`. None: the connection is encrypted, or stays on this machine.
pub fn check_encryption(server: &str) -> Option<Finding> {
    let url = reqwest::Url::parse(server).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let is_loopback = host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_loopback || host == "localhost" || host.ends_with(".localhost") {
        return None;
    }
    let text = format!("the key and all records travel unencrypted to {host}");
    let next = "start the server with TLS (--tls-cert, or a proxy), then: hearth-replica init --server https://…";
    Some(Finding::new(Topic::Server, Severity::Warning, text, next))
}

fn client_error_finding(profile: &Profile, server: &str, error: &ClientError) -> Finding {
    let text = error.to_string();
    match error {
        ClientError::Refused(401 | 403, _) => Finding::fault(Topic::Key, text, new_key_advice(profile)),
        ClientError::Key => Finding::fault(Topic::Key, text, new_key_advice(profile)),
        ClientError::Address(_) => Finding::fault(Topic::Setup, text, "hearth-replica init --server URL"),
        _ => Finding::fault(Topic::Server, text, format!("curl -i {server}/v1; offline work is possible meanwhile")),
    }
}

/// Compares the scopes of a key with the needs of a replica. Missing read scopes are a fault: the replica stays
/// incomplete. Missing write scopes are a warning: edits will be refused.
pub fn check_scopes(granted: &[String], home: &str, environment: &str) -> Finding {
    let has = |scope: &str| granted.iter().any(|granted| granted == scope);
    let of_kinds = |action: &str| Kind::ALL.map(|kind| format!("{}:{action}", kind.collection()));
    let lacking = |scopes: &[String]| -> Vec<String> { scopes.iter().filter(|scope| !has(scope)).cloned().collect() };
    let reading = lacking(&[&["events:read".to_owned()][..], &of_kinds("read")].concat());
    let writing = lacking(&of_kinds("write"));
    let next = "hearth-server key create with these scopes, then: hearth-replica init";
    if !reading.is_empty() {
        let text = format!("the key lacks {}; without these scopes the replica stays incomplete", reading.join(", "));
        return Finding::fault(Topic::Key, text, next);
    }
    if !writing.is_empty() {
        let text = format!("the key lacks {}; such changes will be refused", writing.join(", "));
        return Finding::new(Topic::Key, Severity::Warning, text, next);
    }
    Finding::ok(Topic::Key, format!("accepted for {home} ({environment})"))
}

/// The local clock decides only about the next attempt and about shown times; a difference still confuses people.
fn clock_finding(ahead: i64) -> Finding {
    if ahead.abs() <= CLOCK_SECONDS_MAX {
        return Finding::ok(Topic::Clock, "same time as the server");
    }
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    let text = format!("this machine's clock is {} {side} the server's", duration_text(ahead.abs()));
    Finding::new(Topic::Clock, Severity::Warning, text, "timedatectl status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_to_another_machine_is_a_warning() {
        for safe in ["http://localhost:8750", "http://127.0.0.1:1", "http://[::1]:8750", "https://home.example.org"] {
            assert_eq!(check_encryption(safe).map(|finding| finding.text), None, "{safe}");
        }
        for plain in ["http://home.example.org", "http://192.168.0.7:8750", "http://localhost.example.org"] {
            assert!(check_encryption(plain).is_some_and(|finding| finding.text.contains("unencrypted")), "{plain}");
        }
    }

    #[test]
    fn missing_scopes_set_severity() {
        let all: Vec<String> = Kind::ALL
            .into_iter()
            .flat_map(|kind| ["read", "write"].map(|action| format!("{}:{action}", kind.collection())))
            .chain(["events:read".to_owned()])
            .collect();
        assert_eq!(check_scopes(&all, "Home", "live").severity, Severity::Ok);
        let without = |scope: &str| {
            check_scopes(&all.iter().filter(|s| *s != scope).cloned().collect::<Vec<_>>(), "Home", "live")
        };
        assert_eq!(without("tasks:write").severity, Severity::Warning);
        assert!(without("events:read").text.contains("lacks events:read"));
        assert_eq!(without("property:read").severity, Severity::Fault);
    }

    #[test]
    fn clock_tolerates_small_difference() {
        assert_eq!(clock_finding(-30).severity, Severity::Ok);
        assert_eq!(clock_finding(-7200).text, "this machine's clock is 2 hours behind the server's");
    }
}
