//! The form of a new key, and what its fields mean. Must not know how a key is made.

use askama::Template;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use ipnet::IpNet;

use crate::config::parse_network;
use crate::console::page::{Frame, as_sentence, render};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{Fields, WebRequest};
use crate::operate::{self, NAME_RULE, NewKey};
use crate::scopes::{SCOPES, scope_about};
use crate::store::sessions::Session;

/// Networks of a key, at most.
const NETWORKS_MAX: usize = 50;

#[derive(Template)]
#[template(path = "key_new.html")]
struct NewKeyPage<'a> {
    frame: Frame,
    fault: Option<String>,
    name: &'a str,
    is_test: bool,
    expires: &'a str,
    networks: &'a str,
    scopes: Vec<ScopeRow>,
}

struct ScopeRow {
    name: &'static str,
    about: String,
    is_ticked: bool,
}

/// `GET /console/keys/new?environment=`: the empty form, with the reading scopes ticked. `test`: with the sandbox chosen.
pub(in crate::console) async fn new(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let reading = SCOPES.iter().filter(|scope| scope.ends_with(":read"));
    let ticked = reading.map(|scope| ("scopes".to_owned(), (*scope).to_owned()));
    let environment = ("environment".to_owned(), request.query_fields().text("environment").to_owned());
    form(&session, 200, None, &Fields(ticked.chain([environment]).collect()))
}

/// The form with the values that a person sent, and what is wrong with them.
pub(super) fn form(session: &Session, status: u16, fault: Option<String>, sent: &Fields) -> Result<Reply, Refusal> {
    let scope = |name: &'static str| ScopeRow {
        name,
        about: scope_about(name),
        is_ticked: sent.all("scopes").any(|sent| sent == name),
    };
    let page = NewKeyPage {
        frame: Frame::of(session, "New API key"),
        fault,
        name: sent.text("name"),
        is_test: sent.text("environment") == "test",
        expires: sent.text("expires"),
        networks: sent.text("networks"),
        scopes: SCOPES.into_iter().map(scope).collect(),
    };
    render(status, &page)
}

/// The key that a form describes. Err: a sentence about the first wrong field.
pub(super) fn read(form: &Fields, team: &str, now: Timestamp) -> Result<NewKey, String> {
    let name = form.text("name").trim();
    if !operate::is_valid_name(name) {
        return Err(as_sentence(NAME_RULE));
    }
    let environment = Environment::parse(form.text("environment"));
    let environment = environment.ok_or("Choose the home of the key: live or test.")?;
    let scopes: Vec<String> = form.all("scopes").map(str::to_owned).collect();
    if scopes.is_empty() {
        // An empty list would mean all scopes.
        return Err("Tick at least one scope: a key without scopes can do nothing.".to_owned());
    }
    let expires_at = match form.text("expires").trim() {
        "" => None,
        text => {
            let end = Timestamp::parse(text).ok_or_else(|| format!("`{text}` is not a date such as 2027-01-01."))?;
            Some(end)
                .filter(|end| *end > now)
                .ok_or("The expiry is past. Choose a later day, or leave it empty.")?
                .into()
        }
    };
    Ok(NewKey {
        team: team.to_owned(),
        environment,
        scopes,
        name: Some(name.to_owned()),
        allowlist: read_networks(form.text("networks"))?,
        pinned: None,
        expires_at,
    })
}

/// Networks, separated by spaces, commas or lines.
fn read_networks(text: &str) -> Result<Vec<IpNet>, String> {
    let words = text.split(|letter: char| letter.is_whitespace() || letter == ',').filter(|word| !word.is_empty());
    let networks: Vec<IpNet> =
        words.map(parse_network).collect::<Result<_, _>>().map_err(|fault| format!("{fault}."))?;
    if networks.len() > NETWORKS_MAX {
        return Err(format!("A key has at most {NETWORKS_MAX} networks."));
    }
    Ok(networks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<NewKey, String> {
        read(&Fields::parse(text.as_bytes()), "t", Timestamp::parse("2026-06-01").unwrap())
    }

    #[test]
    fn form_describes_a_key() {
        let key = read_text("name=Phone&environment=live&scopes=tasks:read&scopes=rooms:read&expires=2026-07-01&networks=10.0.0.0/8,+::1")
            .unwrap();
        assert_eq!((key.name.as_deref(), key.environment, key.scopes.len()), (Some("Phone"), Environment::Live, 2));
        assert_eq!(key.allowlist.len(), 2);
        assert_eq!(key.expires_at, Timestamp::parse("2026-07-01"));
    }

    #[test]
    fn each_wrong_field_has_its_sentence() {
        for (text, part) in [
            ("name=+&environment=live&scopes=tasks:read", "name"),
            ("name=a&environment=both&scopes=tasks:read", "live or test"),
            ("name=a&environment=live", "at least one scope"),
            ("name=a&environment=live&scopes=tasks:read&expires=soon", "not a date"),
            ("name=a&environment=live&scopes=tasks:read&expires=2026-05-31", "past"),
            ("name=a&environment=live&scopes=tasks:read&networks=home", "neither a network"),
        ] {
            assert!(read_text(text).is_err_and(|fault| fault.contains(part)), "{text}");
        }
    }
}
