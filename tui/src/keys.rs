//! The one table of actions: which keys start them, where they work, what they are called. Dispatch, the footer and
//! the help overlay read it, so none of them can promise what another does not keep. Must not know what an action does.

mod names;

use crossterm::event::KeyEvent;
use hearth_contract::schema::Kind;

pub use names::{name, shown};

/// Where the keyboard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// A list of records.
    List,
    /// The home's profile.
    Home,
    /// The filter line of a list.
    Filter,
    /// One record in full.
    Detail,
    /// A form, in a field of one line.
    Form,
    /// A form, in a field of choices or a reference.
    Choice,
    /// A form, in notes.
    Notes,
    /// The suggestions under a form's field.
    Options,
    /// A question.
    Confirm,
    /// Search across kinds.
    Search,
    /// The waiting edits.
    Edits,
    /// This help.
    Help,
}

impl Context {
    /// All contexts, in the order help shows them.
    pub const ALL: [Context; 12] = [
        Context::List,
        Context::Home,
        Context::Filter,
        Context::Detail,
        Context::Form,
        Context::Choice,
        Context::Notes,
        Context::Options,
        Context::Search,
        Context::Edits,
        Context::Confirm,
        Context::Help,
    ];

    /// Its heading in the help.
    pub const fn heading(self) -> &'static str {
        match self {
            Context::List => "In a list",
            Context::Home => "On the home profile",
            Context::Filter => "In the filter line",
            Context::Detail => "On one record",
            Context::Form => "In a form",
            Context::Choice => "In a form's field of choices",
            Context::Notes => "In a form's notes",
            Context::Options => "In a field's suggestions",
            Context::Confirm => "At a question",
            Context::Search => "In search",
            Context::Edits => "In the edits",
            Context::Help => "In this help",
        }
    }
}

/// What a key can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table says what each does")]
pub enum Action {
    Quit,
    Help,
    Back,
    Show(Kind),
    NextTab,
    PreviousTab,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    New,
    Edit,
    Delete,
    Done,
    Sort,
    Reverse,
    Filter,
    ClearFilter,
    Search,
    Edits,
    Reload,
    Save,
    NextField,
    PreviousField,
    NextChoice,
    PreviousChoice,
    ClearField,
    Take,
    Yes,
}

/// One row of the table.
#[derive(Debug)]
pub struct Binding {
    /// What it is called in a configuration.
    pub id: &'static str,
    /// The keys that start it, the one to show first.
    pub keys: &'static [&'static str],
    /// Where it works.
    pub contexts: &'static [Context],
    /// Its word in the footer; empty where the footer need not name it.
    pub hint: &'static str,
    /// What it does, for the help.
    pub about: &'static str,
    /// What it starts.
    pub action: Action,
}

use Context::{Choice, Confirm, Detail, Edits, Filter, Form, Help, Home, List, Notes, Options, Search};

const fn row(
    id: &'static str,
    keys: &'static [&'static str],
    contexts: &'static [Context],
    hint: &'static str,
    about: &'static str,
    action: Action,
) -> Binding {
    Binding { id, keys, contexts, hint, about, action }
}

/// Every action. Where two rows could answer a key, the first does. The footer shows hints in this order.
pub const BINDINGS: &[Binding] = &[
    row("confirm", &["y"], &[Confirm], "yes, do it", "Do what the question asks", Action::Yes),
    row("refuse", &["n", "esc", "q"], &[Confirm], "no", "Leave everything as it is", Action::Back),
    row("options.take", &["enter", "tab"], &[Options], "take", "Take the suggestion", Action::Take),
    row("options.next", &["down", "ctrl-n"], &[Options], "", "Next suggestion", Action::Down),
    row("options.previous", &["up", "ctrl-p"], &[Options], "", "Previous suggestion", Action::Up),
    row("options.close", &["esc"], &[Options], "close", "Close the suggestions", Action::Back),
    row("save", &["ctrl-s"], &[Form, Choice, Notes, Options], "save", "Save", Action::Save),
    row(
        "choice.next",
        &["right", "space"],
        &[Choice],
        "choose",
        "Next choice, or names to choose from",
        Action::NextChoice,
    ),
    row("choice.previous", &["left"], &[Choice], "", "Previous choice", Action::PreviousChoice),
    row("choice.clear", &["backspace", "delete"], &[Choice], "clear", "Choose nothing", Action::ClearField),
    row("field.next", &["tab", "down", "enter"], &[Form, Choice], "next", "Next field", Action::NextField),
    row("field.previous", &["shift-tab", "up"], &[Form, Choice], "", "Previous field", Action::PreviousField),
    row("notes.next", &["tab"], &[Notes], "next", "Next field", Action::NextField),
    row("notes.previous", &["shift-tab"], &[Notes], "", "Previous field", Action::PreviousField),
    row("form.cancel", &["esc"], &[Form, Choice, Notes], "cancel", "Leave the form", Action::Back),
    row("field.page_down", &["pagedown"], &[Form, Choice, Notes], "", "Five fields down", Action::PageDown),
    row("field.page_up", &["pageup"], &[Form, Choice, Notes], "", "Five fields up", Action::PageUp),
    row("filter.keep", &["enter", "down"], &[Filter], "keep", "Keep the filter and go to the list", Action::Open),
    row("filter.clear", &["esc"], &[Filter], "clear", "Clear the filter", Action::ClearFilter),
    row("search.open", &["enter"], &[Search], "open", "Open what was found", Action::Open),
    row("search.next", &["down", "ctrl-n"], &[Search], "", "Next result", Action::Down),
    row("search.previous", &["up", "ctrl-p"], &[Search], "", "Previous result", Action::Up),
    row("search.close", &["esc"], &[Search], "close", "Close search", Action::Back),
    row("open", &["enter", "right", "l"], &[List, Edits], "open", "Show the record in full", Action::Open),
    row("new", &["n", "a"], &[List], "new", "Make a new record", Action::New),
    row("edit", &["e"], &[List, Home, Detail], "edit", "Change the record", Action::Edit),
    row("done", &["space", "x"], &[List, Detail], "done", "Mark a task as done, or open it again", Action::Done),
    row("delete", &["d", "delete"], &[List, Detail], "delete", "Delete the record, after a question", Action::Delete),
    row("search", &["/"], &[List, Home, Detail, Edits], "search", "Search everything", Action::Search),
    row("filter", &["f"], &[List], "filter", "Filter this list as you type", Action::Filter),
    row("filter.drop", &["esc"], &[List], "", "Drop the filter", Action::ClearFilter),
    row("sort", &["s"], &[List], "sort", "Sort by the next column", Action::Sort),
    row("reverse", &["r"], &[List], "", "Turn the order round", Action::Reverse),
    row("tab.next", &["tab", "]"], &[List, Home], "", "Next tab", Action::NextTab),
    row("tab.previous", &["shift-tab", "["], &[List, Home], "", "Previous tab", Action::PreviousTab),
    row("tab.tasks", &["1"], &[List, Home], "", "Tasks", Action::Show(Kind::Task)),
    row("tab.inventory", &["2"], &[List, Home], "", "Inventory", Action::Show(Kind::Inventory)),
    row("tab.rooms", &["3"], &[List, Home], "", "Rooms", Action::Show(Kind::Room)),
    row("tab.vehicles", &["4"], &[List, Home], "", "Vehicles", Action::Show(Kind::Vehicle)),
    row("tab.documents", &["5"], &[List, Home], "", "Documents", Action::Show(Kind::Document)),
    row("tab.home", &["6"], &[List, Home], "", "The home's profile", Action::Show(Kind::Property)),
    row("edits", &["w"], &[List, Home], "edits", "What waits to reach the server", Action::Edits),
    row("down", &["down", "j"], &[List, Home, Detail, Edits, Help], "", "Down", Action::Down),
    row("up", &["up", "k"], &[List, Home, Detail, Edits, Help], "", "Up", Action::Up),
    row(
        "page_down",
        &["pagedown", "ctrl-d"],
        &[List, Home, Detail, Edits, Help, Search],
        "",
        "A page down",
        Action::PageDown,
    ),
    row("page_up", &["pageup", "ctrl-u"], &[List, Home, Detail, Edits, Help, Search], "", "A page up", Action::PageUp),
    row("first", &["home", "g"], &[List, Home, Detail, Edits, Help], "", "To the first", Action::First),
    row("last", &["end", "G"], &[List, Home, Detail, Edits, Help], "", "To the last", Action::Last),
    row("reload", &["ctrl-l"], &[List, Home, Detail, Edits], "", "Read again and draw afresh", Action::Reload),
    row("back", &["esc", "q", "left", "h"], &[Detail, Edits], "back", "Back", Action::Back),
    row("help.close", &["esc", "q", "?", "f1"], &[Help], "close", "Close the help", Action::Back),
    row("help", &["?"], &[List, Home, Detail, Edits], "help", "Show every key", Action::Help),
    row(
        "help.anywhere",
        &["f1"],
        &[List, Home, Detail, Edits, Filter, Form, Choice, Notes, Search],
        "",
        "Show every key",
        Action::Help,
    ),
    row("quit", &["q"], &[List, Home], "quit", "Leave Hearth", Action::Quit),
    row("quit.anywhere", &["ctrl-c"], &Context::ALL, "", "Leave Hearth from anywhere", Action::Quit),
];

/// The action a key starts in a context.
pub fn action(context: Context, key: KeyEvent) -> Option<Action> {
    let name = name(key)?;
    in_context(context).find(|binding| binding.keys.contains(&name.as_str())).map(|binding| binding.action)
}

/// The rows that work in a context, in the table's order.
pub fn in_context(context: Context) -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().filter(move |binding| binding.contexts.contains(&context))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn keys_have_names() {
        let key = |code, modifiers| name(KeyEvent::new(code, modifiers)).unwrap();
        assert_eq!(key(KeyCode::Char('G'), KeyModifiers::SHIFT), "G");
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), "ctrl-c");
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), "shift-tab");
        assert_eq!(key(KeyCode::Char(' '), KeyModifiers::NONE), "space");
    }

    #[test]
    fn ids_are_unique_and_no_key_means_two_things() {
        let mut ids = BTreeSet::new();
        for binding in BINDINGS {
            assert!(ids.insert(binding.id), "{} twice", binding.id);
            assert!(!binding.about.is_empty() && !binding.contexts.is_empty() && !binding.keys.is_empty());
        }
        for context in Context::ALL {
            let mut seen = BTreeSet::new();
            for key in in_context(context).flat_map(|binding| binding.keys) {
                assert!(seen.insert(key), "{key} means two things {}", context.heading());
            }
        }
    }

    #[test]
    fn the_key_that_confirms_never_is_the_key_that_asked() {
        let asks = BINDINGS.iter().filter(|b| matches!(b.action, Action::Delete | Action::Back));
        let asking: BTreeSet<&str> = asks.flat_map(|b| b.keys).copied().collect();
        let confirms = BINDINGS.iter().filter(|b| b.action == Action::Yes).flat_map(|b| b.keys);
        for key in confirms {
            assert!(!asking.contains(key), "{key}");
        }
    }
}
