//! Profiles: which database belongs to which server and key, and where those files are. Must not know what is in a
//! database.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use directories::{BaseDirs, ProjectDirs};
use secrecy::{ExposeSecret, SecretString};
use serde::de::{Error as _, IntoDeserializer, value};
use serde::{Deserialize, Deserializer, Serialize};

use crate::store::edits::judge::ConflictPolicy;
use crate::store::files::{make_private_directory, private_file};
use crate::sync::SyncConfig;

/// The profile that is meant when none is named.
pub const DEFAULT: &str = "home";

/// One home as this machine knows it.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The replica database.
    pub db: PathBuf,
    /// The server's address; None when not set up.
    pub server: Option<String>,
    /// The API key; None when there is none.
    pub key: Option<SecretString>,
    /// Why there is none, where there should be one.
    key_error: Option<ProfileError>,
    /// What becomes of a field that was changed here and there.
    pub conflict_policy: ConflictPolicy,
    config: PathBuf,
    key_file: PathBuf,
}

/// Why a profile could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The name would leave the profiles' directory.
    #[error("{0:?} is no profile name: use letters, digits, - and _")]
    Name(String),
    /// The system names no home directory.
    #[error("no home directory is known: set HOME, or give --db FILE")]
    NoHome,
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The file of a key could not be read.
    #[error("the key's file {0}: {1}")]
    Key(PathBuf, io::Error),
    /// The profile's file is not what it should be.
    #[error("{0}: {1}")]
    Malformed(PathBuf, String),
}

/// The profile's file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    server: Option<String>,
    /// `ask`, `mine` or `theirs`.
    #[serde(deserialize_with = "policy")]
    conflict_policy: ConflictPolicy,
}

/// Reads a policy, and says of what is none what there is.
fn policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ConflictPolicy, D::Error> {
    let word = String::deserialize(deserializer)?;
    ConflictPolicy::deserialize(word.as_str().into_deserializer()).map_err(|_: value::Error| {
        D::Error::custom(format!("conflict_policy is {word:?}; it must be \"ask\", \"mine\" or \"theirs\""))
    })
}

impl Profile {
    /// Reads a profile. With `db`, the database is that file, and a profile written beside it (`FILE.toml`, `FILE.key`)
    /// goes before the named one: so a database given by path alone is complete in itself.
    pub fn load(name: &str, db: Option<&Path>) -> Result<Profile, ProfileError> {
        let mut profile = Profile::locate(name, db, db.is_some_and(is_beside))?;
        let config = read(&profile.config)?;
        profile.server = config.server;
        profile.conflict_policy = config.conflict_policy;
        // Who works with what is here needs no key, and who brings a new one does not want to hear of the old one.
        match key_from_environment() {
            Ok(None) if profile.key_file.exists() => match key_from_file(&profile.key_file) {
                Ok(key) => profile.key = Some(key),
                Err(error) => profile.key_error = Some(error),
            },
            Ok(key) => profile.key = key,
            Err(error) => profile.key_error = Some(error),
        }
        Ok(profile)
    }

    /// Why the key that should be there could not be read.
    pub fn key_error(&self) -> Option<&ProfileError> {
        self.key_error.as_ref().filter(|_| self.key.is_none())
    }

    /// That it names no server, in words.
    pub fn no_server(&self) -> String {
        format!("{} has no server", self.called())
    }

    /// That it has no key, and where that would be, in words.
    pub fn no_key(&self) -> String {
        let place = self.key_source().map(|file| format!(": there is no {}", file.display())).unwrap_or_default();
        format!("{} has no key{place}", self.called())
    }

    /// Beside a database it has no name but that of its file.
    fn called(&self) -> String {
        match self.config == beside(&self.db, "toml") {
            true => self.config.display().to_string(),
            false => format!("the profile {}", self.name),
        }
    }

    /// Where a profile is or will be; `beside_db` puts its files beside the database.
    pub fn locate(name: &str, db: Option<&Path>, beside_db: bool) -> Result<Profile, ProfileError> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(ProfileError::Name(name.to_owned()));
        }
        let (config, key_file) = match db.filter(|_| beside_db) {
            Some(db) => (beside(db, "toml"), beside(db, "key")),
            None => {
                let profiles = directories()?.config_dir().join("profiles");
                (profiles.join(format!("{name}.toml")), profiles.join(format!("{name}.key")))
            }
        };
        let db = match db {
            Some(db) => db.to_owned(),
            None => database_of(name)?,
        };
        // SQLite keeps its log beside the file itself; so must the lock and the bell, by whatever name it is called.
        let db = if db.is_symlink() { fs::canonicalize(&db).unwrap_or(db) } else { db };
        let conflict_policy = ConflictPolicy::Ask;
        let name = name.to_owned();
        Ok(Profile { name, db, server: None, key: None, key_error: None, conflict_policy, config, key_file })
    }

    /// Writes the profile's file and its key, for this user alone.
    pub fn save(&self) -> Result<(), ProfileError> {
        let named = |error| ProfileError::File(self.config.clone(), error);
        if let Some(directory) = self.config.parent().filter(|d| !d.as_os_str().is_empty() && !d.exists()) {
            make_private_directory(directory).map_err(named)?;
        }
        let config = Config { server: self.server.clone(), conflict_policy: self.conflict_policy };
        let text = toml::to_string(&config).map_err(|e| ProfileError::Malformed(self.config.clone(), e.to_string()))?;
        replace(&self.config, &text).map_err(named)?;
        if let Some(key) = &self.key {
            replace(&self.key_file, &format!("{}\n", key.expose_secret()))
                .map_err(|error| ProfileError::File(self.key_file.clone(), error))?;
        }
        Ok(())
    }

    /// The unit of a service manager that is for it; None where none is installed, or where the database is given by its
    /// path, which no unit knows.
    pub fn unit(&self) -> Option<String> {
        let own = database_of(&self.name).is_ok_and(|own| own == self.db);
        (own && is_unit_installed()).then(|| format!("hearth-replica@{}", self.name))
    }

    /// What is synced with whom; None while there is no server or no key.
    pub fn sync_config(&self) -> Option<SyncConfig> {
        Some(SyncConfig {
            db: self.db.clone(),
            server: self.server.clone()?,
            key: self.key.clone()?,
            key_file: self.key_source(),
            profile: Some(self.config.clone()),
            conflict_policy: self.conflict_policy,
        })
    }

    /// The file of the terminal UI's own settings, which need not be there.
    pub fn ui_config(&self) -> PathBuf {
        self.config.with_extension("tui.toml")
    }

    /// The file that the key in use comes from, or will come from; None when the environment gives the key itself.
    pub fn key_source(&self) -> Option<PathBuf> {
        match key_variable() {
            Some(_) => None,
            None => Some(key_file_of_environment().map_or_else(|| self.key_file.clone(), |(_, file)| file)),
        }
    }

    /// The file of the key.
    pub fn key_file(&self) -> &Path {
        &self.key_file
    }
}

/// Whether a profile is written beside a database, where it goes before any that is named.
pub fn is_beside(db: &Path) -> bool {
    beside(db, "toml").exists()
}

/// The server that a profile's file names now.
pub(crate) fn server_of(config: &Path) -> Result<Option<String>, ProfileError> {
    Ok(read(config)?.server)
}

/// Where the database of a profile is that has no other.
fn database_of(name: &str) -> Result<PathBuf, ProfileError> {
    Ok(directories()?.data_dir().join(name).join("replica.db"))
}

/// Whether the unit of this program stands where systemd looks for those of a user.
fn is_unit_installed() -> bool {
    let own = BaseDirs::new().map(|known| known.config_dir().join("systemd/user"));
    let of_all = ["/etc/systemd/user", "/usr/lib/systemd/user"].map(PathBuf::from);
    own.into_iter().chain(of_all).any(|units| units.join("hearth-replica@.service").exists())
}

fn read(config: &Path) -> Result<Config, ProfileError> {
    match fs::read_to_string(config) {
        Ok(text) => toml::from_str::<Config>(&text)
            .map_err(|error| ProfileError::Malformed(config.to_owned(), error.message().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Config::default()),
        Err(error) => Err(ProfileError::File(config.to_owned(), error)),
    }
}

/// A file of more bytes holds something else than a key.
const KEY_FILE_MAX: u64 = 4_096;

/// A key in a file: its only line.
pub fn key_from_file(path: &Path) -> Result<SecretString, ProfileError> {
    let failed = |error| ProfileError::Key(path.to_owned(), error);
    let no_key = |why: &str| failed(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut text = String::new();
    let file = fs::File::open(path).map_err(failed)?;
    // Some files have no end.
    let read = file.take(KEY_FILE_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    match text.trim() {
        _ if read as u64 > KEY_FILE_MAX => Err(no_key("it is no key, but far longer")),
        "" => Err(no_key("there is no key in it")),
        key => Ok(key.to_owned().into()),
    }
}

/// The key that the environment gives, which goes before any file of ours: the key itself, a file of it, or a
/// systemd credential named `hearth-api-key`.
pub fn key_from_environment() -> Result<Option<SecretString>, ProfileError> {
    match key_variable() {
        Some(key) => Ok(Some(key)),
        None => key_file_of_environment().map(|(_, file)| key_from_file(&file)).transpose(),
    }
}

/// The variable of the environment that gives the key, and the file if it names one.
pub fn key_in_environment() -> Option<(&'static str, Option<PathBuf>)> {
    match key_variable() {
        Some(_) => Some((KEY, None)),
        None => key_file_of_environment().map(|(variable, file)| (variable, Some(file))),
    }
}

pub(crate) const KEY: &str = "HEARTH_API_KEY";
pub(crate) const KEY_FILE: &str = "HEARTH_API_KEY_FILE";
/// Where systemd puts the credentials of a unit.
pub(crate) const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
/// The one that is a key.
pub(crate) const CREDENTIAL: &str = "hearth-api-key";

fn key_variable() -> Option<SecretString> {
    let key = env::var(KEY).ok()?;
    Some(key.trim().to_owned().into()).filter(|_| !key.trim().is_empty())
}

fn key_file_of_environment() -> Option<(&'static str, PathBuf)> {
    if let Some(file) = env::var_os(KEY_FILE).filter(|file| !file.is_empty()) {
        return Some((KEY_FILE, file.into()));
    }
    let credential = env::var_os(CREDENTIALS).map(|directory| Path::new(&directory).join(CREDENTIAL));
    credential.filter(|file| file.exists()).map(|file| (CREDENTIALS, file))
}

fn directories() -> Result<ProjectDirs, ProfileError> {
    ProjectDirs::from("", "", "hearth").ok_or(ProfileError::NoHome)
}

fn beside(db: &Path, extension: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// Replaces a file as a whole, so that a cut write leaves the old one, and nothing else.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = beside(path, "new");
    let write = || {
        let mut file = private_file(&new)?;
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_beside_its_database_is_found_again() {
        let directory = env::temp_dir().join(format!("hearth-profile-{}", uuid::Uuid::new_v4()));
        let db = directory.join("a.db");
        make_private_directory(&directory).unwrap();
        let mut profile = Profile::locate("home", Some(&db), true).unwrap();
        profile.server = Some("http://localhost:1".to_owned());
        profile.key = Some("svc_test_x".to_owned().into());
        profile.save().unwrap();

        let found = Profile::load("home", Some(&db)).unwrap();
        assert_eq!((found.db, found.server), (db, profile.server));
        assert_eq!(found.key_file, profile.key_file);
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_without_a_key_is_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        fs::write(&file, " \n").unwrap();
        assert!(key_from_file(&file).unwrap_err().to_string().ends_with("there is no key in it"));
        // One that never ends is not read for ever.
        let said = key_from_file(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(said.ends_with("it is no key, but far longer"), "{said}");
    }

    #[test]
    fn what_cannot_be_replaced_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, "text").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_stays_in_its_directory() {
        assert!(matches!(Profile::load("../x", None), Err(ProfileError::Name(_))));
    }
}
