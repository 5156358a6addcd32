//! What an owner gives to a client: the choices in the form, and the grant that they make. Must not know the protocol's
//! requests, nor how a page looks.

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::key::Environment;
use oauth_as::client::Client;
use oauth_as::scope::ScopeSet;

use super::sealing::digest;
use crate::app::App;
use crate::http::web::Fields;
use crate::random::fresh_id;
use crate::scopes::{SCOPES, scope_about};
use crate::store::homes::{self, Plan};
use crate::store::keys::{self, Key};
use crate::store::sessions::Session;
use crate::store::{StoreError, partners};

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 24 * 3600 * 1000;
/// The lifetimes of a grant between which an owner chooses, with their words. The first one is suggested.
const LIFETIMES: [(Lifetime, &str); 5] = [
    (Lifetime::UntilRevoked, "until it is revoked"),
    (Lifetime::Days(1), "a day"),
    (Lifetime::Days(7), "a week"),
    (Lifetime::Days(30), "30 days"),
    (Lifetime::Days(365), "a year"),
];

/// How long a grant lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lifetime {
    /// Until an owner ends the grant.
    UntilRevoked,
    /// A number of days.
    Days(u16),
}

impl Lifetime {
    /// The value of the field `days`.
    fn form_value(self) -> String {
        match self {
            Lifetime::UntilRevoked => "until-revoked".to_owned(),
            Lifetime::Days(days) => days.to_string(),
        }
    }

    /// The end of a grant that begins now. None: until it is revoked.
    fn end(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Lifetime::UntilRevoked => None,
            Lifetime::Days(days) => Some(now.plus_millis(i64::from(days) * DAY_MILLIS)),
        }
    }
}

/// A scope as a form shows it.
pub(super) struct ScopeRow {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) is_ticked: bool,
}

/// A lifetime as a form shows it.
pub(super) struct LifetimeRow {
    /// The value of the field `days`.
    pub(super) value: String,
    pub(super) words: &'static str,
}

/// The lifetimes of a form.
pub(super) fn lifetimes() -> Vec<LifetimeRow> {
    LIFETIMES.map(|(lifetime, words)| LifetimeRow { value: lifetime.form_value(), words }).into()
}

/// The scopes that a client asks for. `kept`: those that the owner has ticked; None: all.
pub(super) fn scope_rows(asked: &ScopeSet, kept: Option<&[String]>) -> Vec<ScopeRow> {
    let asked = SCOPES.into_iter().filter(|scope| asked.contains(scope));
    asked
        .map(|scope| ScopeRow {
            name: scope.to_owned(),
            about: scope_about(scope),
            is_ticked: kept.is_none_or(|kept| kept.iter().any(|name| name == scope)),
        })
        .collect()
}

/// What an owner has chosen in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The scopes, each of which the client asked for.
    pub(super) scopes: Vec<String>,
    /// The home that the client reaches.
    pub(super) environment: Environment,
    /// The end of the grant. None: until it is revoked.
    pub(super) expires_at: Option<Timestamp>,
}

impl Choice {
    /// Reads a form (`grant` for each scope, `environment`, `days`). Err: a sentence for the owner.
    pub(super) fn read(form: &Fields, asked: &ScopeSet, now: Timestamp) -> Result<Choice, &'static str> {
        let ticked = |scope: &&str| asked.contains(scope) && form.all("grant").any(|name| name == *scope);
        let scopes: Vec<String> = SCOPES.into_iter().filter(ticked).map(str::to_owned).collect();
        if scopes.is_empty() {
            return Err("Choose at least one thing that the program may do, or refuse.");
        }
        let environment = Environment::parse(form.text("environment")).ok_or("Choose a home.")?;
        let days = form.text("days");
        let (lifetime, _) =
            LIFETIMES.into_iter().find(|(known, _)| known.form_value() == days).ok_or("Choose how long.")?;
        Ok(Choice { scopes, environment, expires_at: lifetime.end(now) })
    }

    /// The scopes for the protocol library.
    pub(super) fn scope_set(&self) -> ScopeSet {
        ScopeSet::from_tokens(&self.scopes).unwrap_or_default()
    }
}

/// The environment that a form suggests: live keys need the paid plan.
pub(super) async fn suggested_environment(app: &App, owner: &Session) -> Result<Environment, StoreError> {
    let team = owner.team.clone();
    let team = app.db.read(move |tx| homes::find_team(tx, &team)).await?;
    Ok(if team.is_some_and(|team| team.plan == Plan::Paid) { Environment::Live } else { Environment::Test })
}

/// Makes the grant of an owner to a client. Returns its id, the `subject` of the protocol library. `name`: what lists of
/// grants, or of keys, show.
pub(super) async fn make_grant(
    app: &App,
    owner: &Session,
    client: &Client,
    name: String,
    choice: &Choice,
) -> Result<String, StoreError> {
    let (now, choice, team) = (app.clock.now(), choice.clone(), owner.team.clone());
    let (id, client) = (fresh_id(now).to_string(), client.client_id.as_str().to_owned());
    app.db
        .write(move |tx| {
            let team =
                homes::find_team(tx, &team)?.ok_or_else(|| StoreError::Corrupt("a team is missing".to_owned()))?;
            let home = homes::home_of_team(tx, &team.id, choice.environment)?;
            let grant = Key {
                // No key has this digest: a key text never begins like this.
                hash: digest(&format!("grant {id}")),
                id: id.clone(),
                team: team.id,
                team_name: team.name,
                plan: team.plan,
                home: home.number,
                home_id: home.id,
                environment: choice.environment,
                is_home_unfilled: false,
                name,
                hint: String::new(),
                scopes: choice.scopes,
                allowlist: Vec::new(),
                pinned: CURRENT_VERSION.to_owned(),
                created_at: now,
                last_used_at: None,
                expires_at: choice.expires_at,
                revoked_at: None,
                flagged_at: None,
                is_device: false,
                client: Some(client.clone()),
            };
            keys::insert(tx, &grant)?;
            partners::keep_client(tx, &digest(&client))?;
            Ok(id)
        })
        .await
}

/// Takes back a grant that a failed step left without use.
pub(super) async fn drop_grant(app: &App, id: String) -> Result<(), StoreError> {
    let now = app.clock.now();
    app.db.write(move |tx| keys::revoke(tx, &id, now)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(form: &str) -> Result<Choice, &'static str> {
        let asked = ScopeSet::from_tokens(["tasks:read", "rooms:read"]).unwrap();
        Choice::read(&Fields::parse(form.as_bytes()), &asked, Timestamp::from_millis(0))
    }

    #[test]
    fn owner_narrows_and_never_widens() {
        let choice = read("grant=tasks:read&grant=tasks:write&environment=test&days=7").unwrap();
        assert_eq!(choice.scopes, ["tasks:read"], "tasks:write was not asked for");
        assert_eq!(choice.environment, Environment::Test);
        assert_eq!(choice.expires_at, Some(Timestamp::from_millis(7 * DAY_MILLIS)));
        assert_eq!(read("grant=rooms:read&environment=live&days=until-revoked").unwrap().expires_at, None);
    }

    #[test]
    fn incomplete_choice_is_a_sentence() {
        for form in [
            "environment=live&days=until-revoked",
            "grant=tasks:write&environment=live&days=until-revoked",
            "grant=tasks:read&environment=all&days=until-revoked",
            "grant=tasks:read&environment=live&days=2",
            "grant=tasks:read&environment=live&days=0",
            "grant=tasks:read",
        ] {
            assert!(read(form).is_err(), "{form}");
        }
    }
}
