//! Whether the server answers, what it says of the key, what its clock says.

use hearth_contract::key::parse_key;
use hearth_contract::schema::Kind;
use secrecy::ExposeSecret;

use super::{Finding, Grade, Matter, another_key, put_right, span};
use crate::profile::{Profile, ProfileError};
use crate::sync::{ClientError, fetch_identity_and_time, wall_clock};

/// Clocks this far apart are not a matter of slow answers.
const CLOCK_SECONDS_MAX: i64 = 60;

pub(super) async fn examine(profile: &Profile, home_id: Option<&str>) -> Vec<Finding> {
    let Some(server) = &profile.server else {
        return vec![Finding::fault(Matter::Setup, profile.no_server(), "hearth-replica init --server URL")];
    };
    if let Some(error) = profile.key_error() {
        let next = match error {
            ProfileError::Key(file, _) => put_right(file),
            _ => another_key(profile),
        };
        return vec![Finding::fault(Matter::Key, error.to_string(), next)];
    }
    let Some(key) = &profile.key else {
        return vec![Finding::fault(Matter::Key, profile.no_key(), "hearth-replica init --server URL")];
    };
    if parse_key(key.expose_secret()).is_none() {
        let text = "the key has a typing error, or it was cut";
        return vec![Finding::fault(Matter::Key, text, another_key(profile))];
    }
    let met = match fetch_identity_and_time(server, key).await {
        Ok(met) => met,
        Err(error) => return vec![refused(profile, server, &error)],
    };
    let mut findings = vec![Finding::fine(Matter::Server, format!("{server} answers"))];
    findings.push(match home_id {
        Some(ours) if ours != met.identity.home_id => Finding::fault(
            Matter::Key,
            format!("this is the replica of home {ours}, but the key reaches home {}", met.identity.home_id),
            format!("{}; for the other home: hearth-replica --profile NAME init --server URL", another_key(profile)),
        ),
        _ => scopes(&met.identity.scopes, &met.identity.home_name, &met.identity.environment),
    });
    findings.extend(met.date.map(|there| clock(wall_clock().seconds() - there.seconds())));
    findings
}

/// Why there was no answer, without saying twice that it is none of a Hearth server.
pub fn told(error: &ClientError) -> String {
    let text = error.to_string();
    match error {
        ClientError::NotHearth(..) => text.replacen(": it does not answer as a Hearth server", "", 1),
        _ => text,
    }
}

fn refused(profile: &Profile, server: &str, error: &ClientError) -> Finding {
    let text = told(error);
    match error {
        ClientError::Refused(401 | 403, _) => Finding::fault(Matter::Key, text, another_key(profile)),
        ClientError::Key => Finding::fault(Matter::Key, text, another_key(profile)),
        ClientError::Address(_) => Finding::fault(Matter::Setup, text, "hearth-replica init --server URL"),
        _ => Finding::fault(Matter::Server, text, format!("curl -i {server}/v1; offline work goes on meanwhile")),
    }
}

/// What a key must be allowed for a replica to be whole, and for its edits to be accepted: a fault without the one, a
/// warning without the other.
pub fn scopes(granted: &[String], home: &str, environment: &str) -> Finding {
    let has = |scope: &str| granted.iter().any(|granted| granted == scope);
    let of_kinds = |action: &str| Kind::ALL.map(|kind| format!("{}:{action}", kind.collection()));
    let lacking = |scopes: &[String]| -> Vec<String> { scopes.iter().filter(|scope| !has(scope)).cloned().collect() };
    let reading = lacking(&[&["events:read".to_owned()][..], &of_kinds("read")].concat());
    let writing = lacking(&of_kinds("write"));
    let next = "hearth-server key create with these scopes, then: hearth-replica init";
    if !reading.is_empty() {
        let text = format!("the key lacks {}; without it the replica cannot be whole", reading.join(", "));
        return Finding::fault(Matter::Key, text, next);
    }
    if !writing.is_empty() {
        let text = format!("the key lacks {}; such changes will be refused", writing.join(", "));
        return Finding::new(Matter::Key, Grade::Warning, text, next);
    }
    Finding::fine(Matter::Key, format!("accepted for {home} ({environment})"))
}

/// Nothing is decided by this machine's clock but when to try again, and what is shown; still, people read times.
fn clock(ahead: i64) -> Finding {
    if ahead.abs() <= CLOCK_SECONDS_MAX {
        return Finding::fine(Matter::Clock, "as the server's");
    }
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    let text = format!("this machine's clock is {} {side} the server's", span(ahead.abs()));
    Finding::new(Matter::Clock, Grade::Warning, text, "timedatectl status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_judged_by_what_it_lacks() {
        let all: Vec<String> = Kind::ALL
            .into_iter()
            .flat_map(|kind| ["read", "write"].map(|action| format!("{}:{action}", kind.collection())))
            .chain(["events:read".to_owned()])
            .collect();
        assert_eq!(scopes(&all, "Home", "live").grade, Grade::Fine);
        let without =
            |scope: &str| scopes(&all.iter().filter(|s| *s != scope).cloned().collect::<Vec<_>>(), "Home", "live");
        assert_eq!(without("tasks:write").grade, Grade::Warning);
        assert!(without("events:read").text.contains("lacks events:read"));
        assert_eq!(without("property:read").grade, Grade::Fault);
    }

    #[test]
    fn a_clock_may_differ_a_little() {
        assert_eq!(clock(-30).grade, Grade::Fine);
        assert_eq!(clock(-7200).text, "this machine's clock is 2 hours behind the server's");
    }
}
