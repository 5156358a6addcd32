//! The settings of the terminal UI: colours, signs, mouse, motion, keys. Read once from `NAME.tui.toml` beside the
//! profile. A file with a mistake is rejected with the place of the mistake, because a silently ignored setting would
//! confuse. Must not know the command line.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::keys::Keymap;

/// The settings.
#[derive(Debug, Default)]
pub struct Config {
    /// The colours.
    pub theme: Colors,
    /// Whether signs are in ASCII: from the file, otherwise from the locale.
    pub ascii: bool,
    /// Whether Hearth captures the mouse.
    pub mouse: bool,
    /// Whether animation is off.
    pub reduced_motion: bool,
    /// The keys of all actions.
    pub keys: Keymap,
}

/// The colours of the screens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Colors {
    /// The terminal's own palette.
    #[default]
    Terminal,
    /// A palette for a light background.
    Light,
    /// A palette for a dark background.
    Dark,
    /// No colours; bold, dim and reversed text only.
    Mono,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    theme: Colors,
    ascii: Option<bool>,
    mouse: bool,
    reduced_motion: bool,
    keys: BTreeMap<String, Keys>,
}

/// One key or several keys. TOML reads an unquoted id with a dot as a table, which the error message explains.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a key or a list of keys; an id with a dot is quoted, as in \"tab.home\" = \"f5\"")]
enum Keys {
    One(String),
    Many(Vec<String>),
}

impl Config {
    /// Loads the settings from a file. A missing file gives the defaults.
    ///
    /// # Errors
    /// When the file cannot be read or has a mistake; the error names the file and the line.
    pub fn load(path: &Path) -> anyhow::Result<Config> {
        let ascii = wants_ascii(|name| std::env::var(name).ok());
        match fs::read_to_string(path) {
            Ok(text) => Config::parse(&text, ascii).with_context(|| path.display().to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Config { ascii, ..Config::default() }),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    fn parse(text: &str, ascii: bool) -> anyhow::Result<Config> {
        let file: File = toml::from_str(text).map_err(|error| anyhow::anyhow!("{}", error.to_string().trim_end()))?;
        let keys = file.keys.into_iter().map(|(id, keys)| match keys {
            Keys::One(key) => (id, vec![key]),
            Keys::Many(keys) => (id, keys),
        });
        Ok(Config {
            theme: file.theme,
            ascii: file.ascii.unwrap_or(ascii),
            mouse: file.mouse,
            reduced_motion: file.reduced_motion,
            keys: Keymap::with(&keys.collect()).map_err(|sentence| anyhow::anyhow!("[keys] {sentence}"))?,
        })
    }
}

/// Whether the locale is not UTF-8. The first set variable of `LC_ALL`, `LC_CTYPE`, `LANG` decides. Without any: UTF-8.
fn wants_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    set.is_some_and(|locale| !["utf-8", "utf8"].iter().any(|name| locale.to_lowercase().contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Action, Context};

    #[test]
    fn settings_parse() {
        let config =
            Config::parse("theme = \"light\"\nmouse = true\n[keys]\ndone = [\"D\", \"f5\"]\nquit = \"ctrl-q\"", false)
                .unwrap();
        assert_eq!((config.theme, config.mouse, config.ascii), (Colors::Light, true, false));
        assert_eq!(config.keys.key_of(Context::List, Action::Quit), Some("ctrl-q"));
    }

    #[test]
    fn ascii_defaults_to_the_locale() {
        for (set, expected) in [
            (&[] as &[(&str, &str)], false),
            (&[("LANG", "C")], true),
            (&[("LANG", "POSIX"), ("LC_ALL", "")], true),
            (&[("LANG", "en_GB.UTF-8")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "C.utf8")], false),
            (&[("LANG", "en_GB.UTF-8"), ("LC_CTYPE", "de_DE.ISO-8859-1")], true),
            (&[("LANG", "en_GB.UTF-8"), ("LC_CTYPE", "en_GB.UTF-8"), ("LC_ALL", "C")], true),
        ] {
            let value = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(wants_ascii(value), expected, "{set:?}");
        }
        for (text, locale, expected) in
            [("", true, true), ("ascii = false", true, false), ("ascii = true", false, true), ("", false, false)]
        {
            assert_eq!(Config::parse(text, locale).unwrap().ascii, expected);
        }
    }

    #[test]
    fn mistake_is_reported_with_its_place() {
        for (text, words) in [
            ("them = \"light\"", "unknown field `them`"),
            ("theme = \"pink\"", "unknown variant `pink`"),
            ("[keys]\nfly = \"f\"", "\"fly\" is not an action"),
            ("[keys]\ntab.home = \"f5\"", "an id with a dot is quoted, as in \"tab.home\" = \"f5\""),
        ] {
            let sentence = format!("{:#}", Config::parse(text, false).unwrap_err());
            assert!(sentence.contains(words), "{sentence}");
        }
    }
}
