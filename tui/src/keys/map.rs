//! The map from keys to actions: the table's keys, replaced by those of a configuration. Must not know where a
//! configuration is stored.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::names::{altgr_character, is_key_name, key_name};
use super::table::{BINDINGS, in_context, is_typed_into};
use super::types::{Action, Context};

/// The keys of each row of the table, by the row's number.
#[derive(Debug, Clone)]
pub struct Keymap(Vec<Vec<String>>);

impl Default for Keymap {
    fn default() -> Keymap {
        Keymap(BINDINGS.iter().map(|binding| binding.keys.iter().map(|key| (*key).to_owned()).collect()).collect())
    }
}

impl Keymap {
    /// The table's keys, with other keys for some actions, by action id. Err: a sentence that names the wrong entry.
    pub fn with(changes: &BTreeMap<String, Vec<String>>) -> Result<Keymap, String> {
        let mut map = Keymap::default();
        for (id, keys) in changes {
            let Some(index) = BINDINGS.iter().position(|binding| binding.id == id) else {
                let nearest = BINDINGS
                    .iter()
                    .max_by(|a, b| strsim::jaro(a.id, id).total_cmp(&strsim::jaro(b.id, id)))
                    .map_or("", |binding| binding.id);
                return Err(format!("{id:?} is not an action; the nearest is {nearest:?} (`hearth keys` lists all)"));
            };
            for key in keys {
                if !is_key_name(key) {
                    return Err(format!(
                        "{id}: {key:?} is not a key; examples of keys: j, G, space, f5, ctrl-s, alt-x, pagedown"
                    ));
                }
                let binding = &BINDINGS[index];
                let typed = binding.contexts.iter().find(|context| is_typed_into(**context));
                if let Some(context) = typed.filter(|_| key.chars().count() == 1 || key == "space") {
                    return Err(format!(
                        "{id}: {key:?} is typed as text {}; use a ctrl key instead",
                        context.heading()
                    ));
                }
            }
            map.0[index].clone_from(keys);
        }
        for context in Context::ALL {
            let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
            for (index, binding) in in_context(context) {
                for key in &map.0[index] {
                    if let Some(other) = seen.insert(key, binding.id) {
                        let heading = context.heading();
                        return Err(format!("{key:?} would start both {other:?} and {:?} {heading}", binding.id));
                    }
                }
            }
            if context == Context::Confirm && !seen.values().any(|id| *id == "refuse") {
                return Err("\"refuse\" needs a key: a question must have a way out".to_owned());
            }
        }
        Ok(map)
    }

    /// The action of a key in a context.
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let name = key_name(key)?;
        let action_of = |name: &str| {
            let row = in_context(context).find(|(index, _)| self.0[*index].iter().any(|key| key == name));
            row.map(|(_, binding)| binding.action)
        };
        let altgr = || altgr_character(key).and_then(|letter| action_of(&letter.to_string()));
        // Some terminals send ctrl-h for backspace.
        let backspace = || if name == "ctrl-h" { action_of("backspace") } else { None };
        action_of(&name).or_else(altgr).or_else(backspace)
    }

    /// The keys that a terminal means by an escape byte directly before a key: Alt with the key, or the Esc key followed
    /// by the key. Both send the same bytes. Alt is meant when an action has the key with Alt, before a backspace, which
    /// deletes a word, and before a character of AltGr that is no key of any action.
    pub fn after_escape(&self, key: KeyEvent) -> Vec<KeyEvent> {
        let with_alt = KeyEvent { modifiers: key.modifiers | KeyModifiers::ALT, ..key };
        let is_key = |key| key_name(key).is_some_and(|name| self.0.iter().flatten().any(|other| *other == name));
        let is_altgr = altgr_character(with_alt).is_some() && !is_key(key);
        if is_key(with_alt) || is_altgr || key.code == KeyCode::Backspace {
            return vec![with_alt];
        }
        vec![KeyCode::Esc.into(), key]
    }

    /// The keys of a row of the table; screens show the first.
    pub fn keys(&self, index: usize) -> &[String] {
        &self.0[index]
    }

    /// Every key of an action in a context; screens show the first.
    pub fn keys_of(&self, context: Context, action: Action) -> impl Iterator<Item = &str> {
        let rows = in_context(context).filter(move |(_, binding)| binding.action == action);
        rows.flat_map(|(index, _)| &self.0[index]).map(String::as_str)
    }

    /// The first key of an action in a context.
    pub fn key_of(&self, context: Context, action: Action) -> Option<&str> {
        self.keys_of(context, action).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(changes: &[(&str, &[&str])]) -> Result<Keymap, String> {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Keymap::with(&changes.iter().map(|(id, names)| ((*id).to_owned(), keys(names))).collect())
    }

    #[test]
    fn rebound_key_frees_old_one() {
        let map = with(&[("done", &["D", "f5"]), ("delete", &["x"])]).unwrap();
        let press = |code| map.action(Context::List, KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('D')), Some(Action::Done));
        assert_eq!(press(KeyCode::F(5)), Some(Action::Done));
        assert_eq!(press(KeyCode::Char('x')), Some(Action::Delete));
        assert_eq!(press(KeyCode::Char('d')), None);
        assert_eq!(map.key_of(Context::List, Action::Delete), Some("x"));
    }

    #[test]
    fn escape_before_bound_alt_key_is_alt() {
        let names = |map: &Keymap, letter| -> Vec<String> {
            map.after_escape(KeyCode::Char(letter).into()).into_iter().filter_map(key_name).collect()
        };
        assert_eq!(names(&Keymap::default(), 'x'), ["esc", "x"]);
        let map = with(&[("done", &["alt-x"]), ("sort", &["#"])]).unwrap();
        assert_eq!(names(&map, 'x'), ["alt-x"]);
        assert_eq!(
            (names(&map, '#'), names(&map, '~')),
            (vec!["esc".to_owned(), "#".to_owned()], vec!["alt-~".to_owned()])
        );
    }

    #[test]
    fn altgr_character_is_the_key_of_its_action() {
        let map = with(&[("sort", &["@"])]).unwrap();
        let altgr = KeyEvent::new(KeyCode::Char('@'), KeyModifiers::CONTROL | KeyModifiers::ALT);
        assert_eq!(map.action(Context::List, altgr), Some(Action::Sort));
        assert_eq!(map.action(Context::Filter, altgr), None);
    }

    #[test]
    fn invalid_binding_is_refused_with_reason() {
        for (changes, words) in [
            (vec![("dnoe", &["D"] as &[&str])], "\"dnoe\" is not an action; the nearest is \"done\""),
            (vec![("done", &["ctrl+x"])], "\"ctrl+x\" is not a key"),
            (vec![("done", &["d"])], "\"d\" would start both \"done\" and \"delete\" on the home screen"),
            (vec![("save", &["x"])], "\"x\" is typed as text in a form"),
            (vec![("refuse", &[])], "needs a key"),
        ] {
            let refusal = with(&changes).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
