//! Other words that people use for an action: the list of actions finds the action by them. Must not know how words are
//! matched.

/// Other words for actions, by the id of the action.
const SYNONYMS: &[(&str, &str)] = &[
    ("add", "new create make insert quick remind reminder todo chore"),
    ("new", "add create make insert"),
    ("duplicate", "clone"),
    ("back", "go return"),
    ("edit", "modify update rename alter correct repeat recurring recurrence"),
    ("done", "complete finish check tick reopen"),
    ("delete", "remove erase trash discard"),
    ("undo", "revert rollback take"),
    ("redo", "again"),
    ("mark", "select choose unmark deselect"),
    ("mark.all", "select choose unmark deselect"),
    ("open", "view show details"),
    ("search", "find look locate"),
    ("filter", "narrow only"),
    ("sort", "order arrange"),
    ("group", "category sum total"),
    ("export.csv", "save spreadsheet excel backup download"),
    ("export.json", "save backup download"),
    ("copy", "share clipboard yank"),
    ("profile", "address house time zone timezone"),
    ("edits", "pending outbox unsent rejected"),
    ("sync", "connect connection server online offline network"),
    ("hurry", "retry refresh"),
    ("pause", "stop"),
    ("reload", "refresh update repaint"),
    ("actions", "help shortcuts commands menu"),
    ("tab.home", "overview dashboard agenda start"),
    ("tab.tasks", "todo chores"),
    ("tab.inventory", "items things belongings stuff"),
    ("tab.vehicles", "cars"),
    ("tab.documents", "papers"),
    ("suspend", "shell"),
    ("quit", "exit close"),
    ("notes.editor", "vim nano"),
];

/// Other words for an action, separated by spaces. Empty: there are none.
pub fn synonyms(id: &str) -> &'static str {
    SYNONYMS.iter().find(|(of, _)| *of == id).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys::BINDINGS;

    #[test]
    fn synonyms_belong_to_actions() {
        let mut seen = BTreeSet::new();
        for (id, words) in SYNONYMS {
            assert!(seen.insert(id), "{id} twice");
            let binding = BINDINGS.iter().find(|binding| binding.id == *id);
            let about = binding.unwrap_or_else(|| panic!("there is no action {id}")).about.to_lowercase();
            let twice = words.split(' ').find(|word| about.split(' ').any(|other| other == *word));
            assert_eq!(twice, None, "{id}: the word is in the description");
        }
    }
}
