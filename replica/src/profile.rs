//! Profiles: the database, server and key of a home, and the paths of those files. Must not know the content of a
//! database.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use directories::{BaseDirs, ProjectDirs};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use serde::de::{Error as _, IntoDeserializer, value};
use serde::{Deserialize, Deserializer, Serialize};

use crate::model::ConflictPolicy;
use crate::store::files::{beside, directory, make_private_directory, write_whole};

/// The name of the profile when none is given.
pub const DEFAULT: &str = "home";

/// The settings of one home on this machine.
#[derive(Debug)]
pub struct Profile {
    /// The name of the profile: ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// The path of the replica database, with a symbolic link resolved.
    pub db: PathBuf,
    /// The server's address (`http://HOST:PORT`). None: not set up.
    pub server: Option<String>,
    /// The API key. None: there is no key, or [`Profile::key_error`] tells why the key cannot be read.
    pub key: Option<SecretString>,
    /// Why the key cannot be read, although one is configured.
    pub key_error: Option<ProfileError>,
    /// How a field that changed both here and on the server is resolved.
    pub conflict_policy: ConflictPolicy,
    pub(crate) config: PathBuf,
    key_file: PathBuf,
}

/// Why a profile cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The name has other characters, so the path could leave the directory of the profiles.
    #[error("{0:?} is not a profile name: use letters, digits, - and _")]
    Name(String),
    /// The system names no home directory of the user.
    #[error("no home directory is known: set HOME, or give --db FILE")]
    NoHome,
    /// A file cannot be read or written: path and error.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The file of a key cannot be read: path and error.
    #[error("the key's file {0}: {1}")]
    Key(PathBuf, io::Error),
    /// The profile's file is not valid TOML, or has unknown members: path and message.
    #[error("{0}: {1}")]
    Malformed(PathBuf, String),
}

/// The content of the profile's file (TOML).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    server: Option<String>,
    /// `ask`, `mine` or `theirs`.
    #[serde(deserialize_with = "parse_policy")]
    conflict_policy: ConflictPolicy,
}

/// Parses a policy. The error lists the valid words.
fn parse_policy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ConflictPolicy, D::Error> {
    let word = String::deserialize(deserializer)?;
    ConflictPolicy::deserialize(word.as_str().into_deserializer()).map_err(|_: value::Error| {
        D::Error::custom(format!("conflict_policy is {word:?}; it must be \"ask\", \"mine\" or \"theirs\""))
    })
}

impl Profile {
    /// Reads a profile. With `db`, that file is the database. A profile beside the database (`FILE.toml`, `FILE.key`)
    /// takes precedence over the named profile, so the path alone is enough.
    pub fn load(name: &str, db: Option<&Path>) -> Result<Profile, ProfileError> {
        let mut profile = Profile::locate(name, db, db.is_some_and(has_profile_beside))?;
        let config = read_config(&profile.config)?;
        profile.server = config.server;
        profile.conflict_policy = config.conflict_policy;
        // A key error is kept, not returned: offline work needs no key, and `init` replaces the key.
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

    /// The sentence for a profile without a server.
    pub fn no_server_text(&self) -> String {
        format!("{} has no server", self.display_name())
    }

    /// The sentence for a profile without a key, with the path of the missing key file.
    pub fn no_key_text(&self) -> String {
        let place = self.key_source().map(|file| format!(": there is no {}", file.display())).unwrap_or_default();
        format!("{} has no key{place}", self.display_name())
    }

    /// A profile beside a database has no name, only the path of its file.
    fn display_name(&self) -> String {
        match self.config == beside(&self.db, ".toml") {
            true => self.config.display().to_string(),
            false => format!("the profile {}", self.name),
        }
    }

    /// The profile that a setup writes. `is_named`: the person has named the profile. A database that is given by path alone
    /// gets its profile beside it, so that the path alone stays enough. An existing profile beside the database takes
    /// precedence over a named one.
    pub fn for_setup(name: &str, db: Option<&Path>, is_named: bool) -> Result<Profile, ProfileError> {
        let beside = db.is_some_and(|db| !is_named || has_profile_beside(db));
        Profile::locate(name, db, beside)
    }

    /// The paths of a profile, without reading the files. `beside_db` puts the profile's files beside the database.
    pub fn locate(name: &str, db: Option<&Path>, beside_db: bool) -> Result<Profile, ProfileError> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            return Err(ProfileError::Name(name.to_owned()));
        }
        let (config, key_file) = match db.filter(|_| beside_db) {
            Some(db) => (beside(db, ".toml"), beside(db, ".key")),
            None => {
                let profiles = directories()?.config_dir().join("profiles");
                (profiles.join(format!("{name}.toml")), profiles.join(format!("{name}.key")))
            }
        };
        let db = match db {
            Some(db) => db.to_owned(),
            None => default_database(name)?,
        };
        // SQLite keeps the write-ahead log beside the real file. The lock and the marker file must be there too, also
        // for a symbolic link.
        let db = if db.is_symlink() { fs::canonicalize(&db).unwrap_or(db) } else { db };
        let conflict_policy = ConflictPolicy::Ask;
        let name = name.to_owned();
        Ok(Profile { name, db, server: None, key: None, key_error: None, conflict_policy, config, key_file })
    }

    /// Writes the profile's file and the key's file, readable for this user only.
    pub fn save(&self) -> Result<(), ProfileError> {
        let named = |error| ProfileError::File(self.config.clone(), error);
        make_private_directory(directory(&self.config)).map_err(named)?;
        let config = Config { server: self.server.clone(), conflict_policy: self.conflict_policy };
        let text = toml::to_string(&config).map_err(|e| ProfileError::Malformed(self.config.clone(), e.to_string()))?;
        write_whole(&self.config, text.as_bytes()).map_err(named)?;
        if let Some(key) = &self.key {
            write_whole(&self.key_file, format!("{}\n", key.expose_secret()).as_bytes())
                .map_err(|error| ProfileError::File(self.key_file.clone(), error))?;
        }
        Ok(())
    }

    /// The files of the profile and of its key as they are now.
    pub fn saved(&self) -> Result<SavedProfile, ProfileError> {
        let read = |path: &PathBuf| match fs::read(path) {
            Ok(bytes) => Ok((path.clone(), Some(bytes.into()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((path.clone(), None)),
            Err(error) => Err(ProfileError::File(path.clone(), error)),
        };
        Ok(SavedProfile([read(&self.config)?, read(&self.key_file)?]))
    }

    /// The systemd unit of this profile (`hearth-replica@NAME`). None: no unit is installed, or the database is not at
    /// the default path, which the unit uses.
    pub fn systemd_unit(&self) -> Option<String> {
        let own = default_database(&self.name).is_ok_and(|own| own == self.db);
        (own && is_unit_installed()).then(|| format!("hearth-replica@{}", self.name))
    }

    /// The path of the terminal UI's settings. The file may be missing.
    pub fn ui_config(&self) -> PathBuf {
        self.config.with_extension("tui.toml")
    }

    /// The file of the key in use, or of the key that `init` will save. None: an environment variable holds the key
    /// itself.
    pub fn key_source(&self) -> Option<PathBuf> {
        key_source_in_environment().map_or_else(|| Some(self.key_file.clone()), |(_, file)| file)
    }

    /// The key file that `init` writes.
    pub fn key_file(&self) -> &Path {
        &self.key_file
    }
}

/// The files of a profile at one moment: the path and the bytes of each. None: there was no file.
pub struct SavedProfile([(PathBuf, Option<SecretSlice<u8>>); 2]);

impl SavedProfile {
    /// Puts the files back as they were.
    pub fn put_back(&self) -> Result<(), ProfileError> {
        self.0.iter().try_for_each(|(path, bytes)| {
            let written = match bytes {
                Some(bytes) => write_whole(path, bytes.expose_secret()),
                None => fs::remove_file(path).or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }),
            };
            written.map_err(|error| ProfileError::File(path.clone(), error))
        })
    }
}

/// True when a profile stands beside the database. Such a profile takes precedence over a named one.
pub fn has_profile_beside(db: &Path) -> bool {
    beside(db, ".toml").exists()
}

/// The server in a profile's file, read again.
pub(crate) fn read_server(config: &Path) -> Result<Option<String>, ProfileError> {
    Ok(read_config(config)?.server)
}

/// The default path of a profile's database.
fn default_database(name: &str) -> Result<PathBuf, ProfileError> {
    Ok(directories()?.data_dir().join(name).join("replica.db"))
}

/// True when the systemd unit of this program is installed, for this user or for all users.
fn is_unit_installed() -> bool {
    let own = BaseDirs::new().map(|known| known.config_dir().join("systemd/user"));
    let of_all = ["/etc/systemd/user", "/usr/lib/systemd/user"].map(PathBuf::from);
    own.into_iter().chain(of_all).any(|units| units.join("hearth-replica@.service").exists())
}

fn read_config(config: &Path) -> Result<Config, ProfileError> {
    match fs::read_to_string(config) {
        Ok(text) => toml::from_str::<Config>(&text)
            .map_err(|error| ProfileError::Malformed(config.to_owned(), error.message().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Config::default()),
        Err(error) => Err(ProfileError::File(config.to_owned(), error)),
    }
}

/// A longer file (bytes) is not a key.
const KEY_FILE_MAX: u64 = 4_096;

/// Reads a key from a file with one line. Error: unreadable, empty, or longer than a key.
pub fn key_from_file(path: &Path) -> Result<SecretString, ProfileError> {
    let failed = |error| ProfileError::Key(path.to_owned(), error);
    let no_key = |why: &str| failed(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut text = String::new();
    let file = fs::File::open(path).map_err(failed)?;
    // Reading stops at the limit, because a device such as /dev/zero has no end.
    let read = file.take(KEY_FILE_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    match text.trim() {
        _ if read as u64 > KEY_FILE_MAX => Err(no_key("the file is too long for a key")),
        "" => Err(no_key("the file holds no key")),
        key => Ok(key.to_owned().into()),
    }
}

/// The key from the environment: the key itself, a file, or the systemd credential `hearth-api-key`. Takes precedence
/// over the profile's key file.
pub fn key_from_environment() -> Result<Option<SecretString>, ProfileError> {
    match key_source_in_environment() {
        Some((_, Some(file))) => key_from_file(&file).map(Some),
        _ => Ok(key_from_variable()),
    }
}

/// The environment variable that gives the key, and the file if the variable names one.
pub fn key_source_in_environment() -> Option<(&'static str, Option<PathBuf>)> {
    if key_from_variable().is_some() {
        return Some((KEY, None));
    }
    if let Some(file) = env::var_os(KEY_FILE).filter(|file| !file.is_empty()) {
        return Some((KEY_FILE, Some(file.into())));
    }
    let credential = env::var_os(CREDENTIALS).map(|directory| Path::new(&directory).join(CREDENTIAL));
    credential.filter(|file| file.exists()).map(|file| (CREDENTIALS, Some(file)))
}

pub(crate) const KEY: &str = "HEARTH_API_KEY";
pub(crate) const KEY_FILE: &str = "HEARTH_API_KEY_FILE";
/// The variable in which systemd names the directory of a unit's credentials.
pub(crate) const CREDENTIALS: &str = "CREDENTIALS_DIRECTORY";
/// The name of the credential with the API key.
pub(crate) const CREDENTIAL: &str = "hearth-api-key";

fn key_from_variable() -> Option<SecretString> {
    let key = env::var(KEY).ok()?;
    Some(key.trim().to_owned().into()).filter(|_| !key.trim().is_empty())
}

fn directories() -> Result<ProjectDirs, ProfileError> {
    ProjectDirs::from("", "", "hearth").ok_or(ProfileError::NoHome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_beside_database_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("a.db");
        let mut profile = Profile::locate("home", Some(&db), true).unwrap();
        profile.server = Some("http://localhost:1".to_owned());
        profile.key = Some("svc_test_x".to_owned().into());
        profile.save().unwrap();

        let found = Profile::load("home", Some(&db)).unwrap();
        assert_eq!((found.db, found.server), (db, profile.server));
        assert_eq!(found.key_file, profile.key_file);
    }

    #[test]
    fn key_file_rejects_empty_and_endless() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("key");
        fs::write(&file, " \n").unwrap();
        assert!(key_from_file(&file).unwrap_err().to_string().ends_with("the file holds no key"));
        // Reading an endless device ends.
        let text = key_from_file(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(text.ends_with("the file is too long for a key"), "{text}");
    }

    #[test]
    fn name_with_path_is_rejected() {
        assert!(matches!(Profile::load("../x", None), Err(ProfileError::Name(_))));
    }
}
