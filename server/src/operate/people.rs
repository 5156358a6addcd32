//! People of a team, and the one-time links with which they set a password. Must not know the command line, nor the console.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use hearth_contract::schema::AUTHOR_MAX;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

use super::error::Error;
use super::teams::{NAME_RULE, is_valid_name};
use crate::clock::Clock;
use crate::random::{fresh_id, random_bytes};
use crate::store::people::{self, Link, Person, Role};
use crate::store::{Db, Tx, homes, service, sessions};

/// How long a one-time link can be used.
pub const LINK_TIME: Duration = Duration::from_secs(10 * 60);
/// Shortest password, in characters.
pub const PASSWORD_CHARACTERS_MIN: usize = 10;
/// Longest password, in bytes. Hashing a longer one would only cost time.
pub const PASSWORD_BYTES_MAX: usize = 1024;
/// Longest name of a person, in characters.
pub const NAME_CHARACTERS_MAX: usize = AUTHOR_MAX;
/// Unused links of a team, at most.
const OPEN_LINKS_MAX: i64 = 100;
/// People of a team, at most.
const PEOPLE_MAX: usize = 200;

/// A new one-time link. Only this value holds its secret.
pub struct CreatedLink {
    /// The last segment of the link's address: 43 characters.
    pub token: String,
    /// The link in its stored form.
    pub link: Link,
    /// The name of the team.
    pub team_name: String,
}

impl CreatedLink {
    /// The address that the person opens. `base_url`: where browsers reach the server, without a slash at the end.
    pub fn url(&self, base_url: &str) -> String {
        format!("{}/console/link/{}", base_url, self.token)
    }
}

/// The form in which names are compared: without outer spaces, in lower case and compatibility form.
pub fn folded(name: &str) -> String {
    name.trim().nfkc().collect::<String>().to_lowercase()
}

/// Refuses a password that is too short or too long.
pub fn check_password(password: &str) -> Result<(), Error> {
    if password.chars().count() < PASSWORD_CHARACTERS_MIN {
        let message = format!("the password is too short; choose one of {PASSWORD_CHARACTERS_MIN} characters or more");
        return Err(Error::Refused(message));
    }
    if password.len() > PASSWORD_BYTES_MAX {
        let message = format!("the password is too long; choose one of at most {PASSWORD_BYTES_MAX} bytes");
        return Err(Error::Refused(message));
    }
    Ok(())
}

/// Makes a one-time link for a person of a team (id or name). `name`: the name that the person gets; of a person of the
/// team: the link sets a new password. Refused for an unknown team, for a name of another team, and beyond the limits.
pub async fn create_link(
    db: &Db,
    clock: &Clock,
    team: String,
    role: Role,
    name: Option<String>,
) -> Result<CreatedLink, Error> {
    let name = name.map(|name| check_name(&name)).transpose()?;
    let now = clock.now();
    let token = BASE64URL_NOPAD.encode(&random_bytes::<32>());
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let made = db.write(move |tx| {
        let Some(team) = homes::find_team(tx, &team)? else { return Ok(Err(Error::no_team(&team))) };
        let known = name.as_ref().map(|name| people::find_by_name(tx, &folded(name))).transpose()?.flatten();
        if known.as_ref().is_some_and(|person| person.team != team.id) {
            return Ok(Err(name_taken(name.as_deref().unwrap_or_default())));
        }
        if people::count_open_links(tx, &team.id, now)? >= OPEN_LINKS_MAX {
            let message = format!("the team has {OPEN_LINKS_MAX} unused links; wait ten minutes, until they end");
            return Ok(Err(Error::Refused(message)));
        }
        // The link of a known person changes no role.
        let role = known.map_or(role, |person| person.role);
        let expires_at = now.plus_millis(LINK_TIME.as_millis() as i64);
        let link = Link { hash, team: team.id, role, name, created_at: now, expires_at, used_at: None };
        people::insert_link(tx, &link)?;
        Ok(Ok((link, team.name)))
    });
    let (link, team_name) = made.await??;
    Ok(CreatedLink { token, link, team_name })
}

/// The link with this secret, if it can still be used. None: it is unknown, used or expired.
pub async fn find_link(db: &Db, clock: &Clock, token: &str) -> Result<Option<Link>, Error> {
    let (hash, now) = (Sha256::digest(token.as_bytes()).into(), clock.now());
    let found = db.read(move |tx| people::find_link(tx, &hash)).await?;
    Ok(found.filter(|link| link.used_at.is_none() && link.expires_at > now))
}

/// Uses a link: makes its person, or gives the person a new password and ends the person's sessions. `name` counts for a
/// link without a name. `password`: the stored form. Refused for a link that cannot be used any more, and for a name that is
/// taken.
pub async fn redeem_link(db: &Db, clock: &Clock, token: &str, name: String, password: String) -> Result<Person, Error> {
    let (hash, now): ([u8; 32], _) = (Sha256::digest(token.as_bytes()).into(), clock.now());
    let redeemed = db.write(move |tx| {
        let link = people::find_link(tx, &hash)?.filter(|link| link.used_at.is_none() && link.expires_at > now);
        let Some(link) = link else {
            return Ok(Err(Error::Refused("the link was used or has expired; ask for a new one".to_owned())));
        };
        let name = match link.name.as_deref().map_or_else(|| check_name(&name), |name| Ok(name.to_owned())) {
            Ok(name) => name,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let person = match people::find_by_name(tx, &folded(&name))? {
            Some(person) if link.name.is_some() && person.team == link.team => {
                people::set_password(tx, &person.id, &password)?;
                sessions::end_all(tx, &person.id)?;
                Person { password, ..person }
            }
            Some(_) => return Ok(Err(name_taken(&name))),
            None if people::list(tx, &link.team)?.len() >= PEOPLE_MAX => {
                return Ok(Err(Error::Refused(format!("the team has {PEOPLE_MAX} people; remove one first"))));
            }
            None => {
                let id = fresh_id(now).to_string();
                let (role, team) = (link.role, link.team);
                let person = Person { id, team, name, role, password, created_at: now, removed_at: None };
                people::insert(tx, &person, &folded(&person.name))?;
                person
            }
        };
        people::use_link(tx, &hash, now)?;
        Ok(Ok(person))
    });
    redeemed.await?
}

/// The person with this name, in any case of letters. None: nobody has the name.
pub async fn find_person(db: &Db, name: &str) -> Result<Option<Person>, Error> {
    let folded = folded(name);
    Ok(db.read(move |tx| people::find_by_name(tx, &folded)).await?)
}

/// Gives a person a new password (the stored form) and ends the person's sessions. The caller has verified the old password.
/// Refused: the password has changed since the person was read, or the person was removed.
pub async fn change_password(db: &Db, person: Person, password: String) -> Result<Person, Error> {
    let changed = db.write(move |tx| {
        if !people::replace_password(tx, &person.id, &person.password, &password)? {
            let message = "your password was changed in another browser; sign in again with the new one".to_owned();
            return Ok(Err(Error::Refused(message)));
        }
        sessions::end_all(tx, &person.id)?;
        Ok(Ok(Person { password, ..person }))
    });
    changed.await?
}

/// The people of a team (id), the oldest first.
pub async fn list_people(db: &Db, team: &str) -> Result<Vec<Person>, Error> {
    let team = team.to_owned();
    Ok(db.read(move |tx| people::list(tx, &team)).await?)
}

/// Removes a person (id) of a team (id), and ends the person's sessions and the unused links of the team. Refused for the last
/// owner.
pub async fn remove_person(db: &Db, clock: &Clock, team: &str, id: &str) -> Result<Person, Error> {
    let now = clock.now();
    change_person(db, team, id, Role::Member, move |tx, person| {
        people::remove(tx, &person.id, now)?;
        people::end_links(tx, &person.team)?;
        sessions::end_all(tx, &person.id).map(drop)
    })
    .await
}

/// Changes the role of a person (id) of a team (id), and ends the unused links of the team if the person becomes a member. Refused for
/// the last owner.
pub async fn set_role(db: &Db, team: &str, id: &str, role: Role) -> Result<Person, Error> {
    change_person(db, team, id, role, move |tx, person| {
        if role == Role::Member {
            people::end_links(tx, &person.team)?;
        }
        people::set_role(tx, &person.id, role)
    })
    .await
}

/// Finds a person of a team and makes a change. `becomes`: the role after the change; a removed person counts as a
/// member. The team keeps one owner.
async fn change_person(
    db: &Db,
    team: &str,
    id: &str,
    becomes: Role,
    change: impl FnOnce(&Tx<'_>, &Person) -> Result<(), crate::store::StoreError> + Send + 'static,
) -> Result<Person, Error> {
    let (team, id) = (team.to_owned(), id.to_owned());
    let changed = db.write(move |tx| {
        let everyone = people::list(tx, &team)?;
        let owners = everyone.iter().filter(|person| person.role == Role::Owner).count();
        let Some(person) = everyone.into_iter().find(|person| person.id == id) else {
            return Ok(Err(Error::Refused(
                "there is no such person in the team; load the list of people again".to_owned(),
            )));
        };
        if person.role == Role::Owner && owners == 1 && becomes != Role::Owner {
            let message = format!("{} is the last owner of the team; make another person an owner first", person.name);
            return Ok(Err(Error::Refused(message)));
        }
        change(tx, &person)?;
        Ok(Ok(person))
    });
    changed.await?
}

/// The name without outer spaces. Refused for a name that is blank, of several lines, or too long.
fn check_name(name: &str) -> Result<String, Error> {
    let name = name.trim();
    if !is_valid_name(name) {
        return Err(Error::Refused(NAME_RULE.to_owned()));
    }
    Ok(name.to_owned())
}

fn name_taken(name: &str) -> Error {
    Error::Refused(format!("the name `{name}` is taken on this server; choose another name"))
}

/// Stores where browsers reach the server, for links that a command prints.
pub async fn store_base_url(db: &Db, base_url: &str) -> Result<(), Error> {
    let (base_url, wanted) = (base_url.to_owned(), base_url.to_owned());
    // A read first, because a write would wait for other processes that write.
    if db.read(service::base_url).await?.as_deref() == Some(&*wanted) {
        return Ok(());
    }
    Ok(db.write(move |tx| service::set_base_url(tx, &base_url)).await?)
}

/// Where browsers reach the server that ran last. None: no server has run on this database.
pub async fn stored_base_url(db: &Db) -> Result<Option<String>, Error> {
    Ok(db.read(service::base_url).await?)
}
