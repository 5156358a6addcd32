//! The one table of actions: which keys start them, where they work, what they are called. Must not know what an action does.

use hearth_contract::schema::Kind;

use super::Context::{
    self, Choice, Confirm, Conflict, ConflictValue, Detail, Edits, Filter, Form, Home, List, Notes, Options, Palette,
    Quick, Results, Search, Sync,
};
use super::{Action, Binding, What};

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

/// Everything that is not typed into.
const SCREENS: &[Context] = &[Home, List, Detail, Edits, Conflict, Sync];
/// Where there is a record to act on.
const RECORDS: &[Context] = &[Home, List, Detail];
/// Whatever can be scrolled.
const MOVING: &[Context] = &[Home, List, Detail, Edits, Conflict, Sync, Results];
/// What is typed into.
const LINES: &[Context] = &[Filter, Form, Choice, Notes, Options, Quick, Search, ConflictValue];

/// Every action. Where two rows could answer a key, the first does. The footer shows hints in this order.
pub const BINDINGS: &[Binding] = &[
    // Questions, suggestions, forms.
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
    row("notes.editor", &["ctrl-o"], &[Notes], "in $EDITOR", "Write the notes in your own editor", Action::Editor),
    row("field.page_down", &["pagedown"], &[Form, Choice, Notes], "", "Five fields down", Action::PageDown),
    row("field.page_up", &["pageup"], &[Form, Choice, Notes], "", "Five fields up", Action::PageUp),
    row("form.cancel", &["esc"], &[Form, Choice, Notes], "cancel", "Leave the form", Action::Back),
    // Lines.
    row("quick.save", &["enter"], &[Quick], "add", "Add the task", Action::Save),
    row("quick.form", &["tab"], &[Quick], "as a form", "Go on in a form", Action::Open),
    row("quick.close", &["esc"], &[Quick], "cancel", "Leave quick add", Action::Back),
    row("filter.keep", &["enter", "down"], &[Filter], "keep", "Keep the filter and go to the list", Action::Open),
    row("filter.clear", &["esc"], &[Filter], "clear", "Clear the filter", Action::ClearFilter),
    row("search.open", &["enter"], &[Search], "open", "Open what was found", Action::Open),
    row("search.next", &["down", "ctrl-n"], &[Search], "", "Next result", Action::Down),
    row("search.previous", &["up", "ctrl-p"], &[Search], "", "Previous result", Action::Up),
    row("search.close", &["esc"], &[Search], "close", "Close search", Action::Back),
    row("palette.run", &["enter"], &[Palette], "do it", "Do what is under the cursor", Action::Take),
    row("palette.next", &["down", "ctrl-n", "tab"], &[Palette], "", "Next action", Action::Down),
    row("palette.previous", &["up", "ctrl-p", "shift-tab"], &[Palette], "", "Previous action", Action::Up),
    row("palette.close", &["esc", "f1"], &[Palette], "close", "Close the list of actions", Action::Back),
    // Edits and conflicts.
    row("edit.open", &["enter"], &[Edits], "look", "Look at the record, or settle its conflict", Action::Open),
    row("edit.change", &["e"], &[Edits], "change", "Give the edit other values", Action::Edit),
    row("edit.retry", &["r"], &[Edits], "retry", "Send the edit again", Action::Retry),
    row("edit.discard", &["d", "delete"], &[Edits], "discard", "Give the edit up, after a question", Action::Discard),
    row("edit.undo", &["u"], &[Edits], "undo", "Take the edit back", Action::Undo),
    row("conflict.mine", &["m"], &[Conflict], "mine", "Keep what was written here", Action::Mine),
    row("conflict.theirs", &["t"], &[Conflict], "theirs", "Take what the server has", Action::Theirs),
    row("conflict.type", &["e"], &[Conflict], "type", "Type another value", Action::Typed),
    row("conflict.all_mine", &["M"], &[Conflict], "", "Keep every field as it was written here", Action::AllMine),
    row("conflict.all_theirs", &["T"], &[Conflict], "", "Take every field as the server has it", Action::AllTheirs),
    row("conflict.save", &["ctrl-s", "enter"], &[Conflict], "settle", "Settle the conflict as chosen", Action::Save),
    row("conflict.value", &["enter"], &[ConflictValue], "take", "Take the typed value", Action::Take),
    row("conflict.drop", &["esc"], &[ConflictValue], "cancel", "Leave the value as it was", Action::Back),
    row("hurry", &["r"], &[Sync], "try now", "Try the server again without waiting", Action::Hurry),
    row("pause", &["p"], &[Sync], "pause or go on", "Pause or resume syncing", Action::Pause),
    // Records.
    row("open", &["enter"], &[Home, List, Detail], "open", "Open what is under the cursor", Action::Open),
    row("back", &["esc", "q", "left", "h"], &[Detail, Edits, Conflict, Sync], "back", "Back", Action::Back),
    row("open.right", &["right", "l"], &[List, Edits], "", "Open what is under the cursor", Action::Open),
    row("add", &["a"], RECORDS, "add", "Add a task in one line", Action::QuickAdd),
    row("new", &["n"], &[List], "new", "Fill in a form for a new record", Action::New),
    row("edit", &["e"], RECORDS, "edit", "Change the record, or all that are marked", Action::Edit),
    row("done", &["x"], RECORDS, "done", "Mark a task as done, or open it again", Action::Done),
    row(
        "delete",
        &["d", "delete"],
        RECORDS,
        "delete",
        "Delete the record, or all that are marked, after a question",
        Action::Delete,
    ),
    row("undo", &["u"], RECORDS, "undo", "Undo the last change made here", Action::Undo),
    row("redo", &["U", "ctrl-r"], RECORDS, "", "Do again what was undone", Action::Redo),
    // The list.
    row("mark", &["space"], &[List], "mark", "Mark the record for a change of many", Action::Mark),
    row("mark.all", &["*"], &[List], "", "Mark every record of the list, or none", Action::MarkAll),
    row("search", &["/"], SCREENS, "search", "Search everything", Action::Search),
    row("filter", &["f"], &[List], "filter", "Filter: status:open due<fri room:garage words", Action::Filter),
    row("filter.drop", &["esc"], &[List], "", "Drop the marks, then the filter", Action::ClearFilter),
    row("sort", &["s"], &[List], "sort", "Sort by the next column", Action::Sort),
    row("reverse", &["r"], &[List], "", "Turn the order round", Action::Reverse),
    row("group", &["v"], &[List], "", "Show groups with their sums, or none", Action::Group),
    row("export.csv", &[], &[List], "", "Export this list as a CSV file", Action::Export(super::Form::Csv)),
    row("export.json", &[], &[List], "", "Export this list as a JSON file", Action::Export(super::Form::Json)),
    row("month.next", &["right", "l", ">"], &[Home], "", "Next month of the calendar", Action::MonthNext),
    row("month.previous", &["left", "h", "<"], &[Home], "", "Previous month of the calendar", Action::MonthPrevious),
    // Taking something along.
    row("copy", &["y"], RECORDS, "copy", "Copy something of the record", Action::PaletteCopy),
    row("copy.value", &["c"], &[Detail], "", "Copy the value under the cursor", Action::Copy(What::Value)),
    row("copy.title", &[], RECORDS, "", "Copy the title", Action::Copy(What::Title)),
    row("copy.id", &[], RECORDS, "", "Copy the id", Action::Copy(What::Id)),
    row("copy.json", &[], RECORDS, "", "Copy the record as JSON", Action::Copy(What::Json)),
    row("copy.sql", &[], RECORDS, "", "Copy the record as SQL", Action::Copy(What::Sql)),
    row("copy.curl", &[], RECORDS, "", "Copy the record's address as curl", Action::Copy(What::Curl)),
    // Places.
    row("tab.home", &["1"], &[Home, List], "", "Home: what needs attention", Action::Show(Kind::Property)),
    row("tab.tasks", &["2"], &[Home, List], "", "Tasks", Action::Show(Kind::Task)),
    row("tab.inventory", &["3"], &[Home, List], "", "Inventory", Action::Show(Kind::Inventory)),
    row("tab.rooms", &["4"], &[Home, List], "", "Rooms", Action::Show(Kind::Room)),
    row("tab.vehicles", &["5"], &[Home, List], "", "Vehicles", Action::Show(Kind::Vehicle)),
    row("tab.documents", &["6"], &[Home, List], "", "Documents", Action::Show(Kind::Document)),
    row("tab.next", &["tab", "]"], &[Home, List], "", "Next tab", Action::NextTab),
    row("tab.previous", &["shift-tab", "["], &[Home, List], "", "Previous tab", Action::PreviousTab),
    row("profile", &["p"], &[Home, List], "", "The home's profile", Action::Profile),
    row(
        "edits",
        &["w"],
        &[Home, List, Detail, Sync],
        "",
        "Edits: what is waiting, and what needs you (conflicts, refusals)",
        Action::Edits,
    ),
    row("sync", &["S"], &[Home, List, Detail, Edits], "", "Sync: how it stands, and its log", Action::Sync),
    // Moving.
    row("down", &["down", "j"], MOVING, "", "Down", Action::Down),
    row("up", &["up", "k"], MOVING, "", "Up", Action::Up),
    row(
        "page_down",
        &["pagedown", "ctrl-d"],
        &[Home, List, Detail, Edits, Sync, Results],
        "",
        "A page down",
        Action::PageDown,
    ),
    row("page_up", &["pageup", "ctrl-u"], &[Home, List, Detail, Edits, Sync, Results], "", "A page up", Action::PageUp),
    // Where words are typed, ctrl-u takes them away.
    row("found.page_down", &["pagedown"], &[Search, Palette], "", "A page down in what was found", Action::PageDown),
    row("found.page_up", &["pageup"], &[Search, Palette], "", "A page up in what was found", Action::PageUp),
    row("first", &["home", "g"], MOVING, "", "To the first", Action::First),
    row("last", &["end", "G"], MOVING, "", "To the last", Action::Last),
    row("results.close", &["esc", "q", "enter"], &[Results], "close", "Close the results", Action::Back),
    row("reload", &["ctrl-l"], SCREENS, "", "Read again and draw afresh", Action::Reload),
    // Hearth itself.
    row(
        "actions",
        &["?", ":"],
        SCREENS,
        "all actions",
        "Every action and its keys, to look up or to run",
        Action::Palette,
    ),
    row(
        "actions.anywhere",
        &["f1"],
        &[Home, List, Detail, Edits, Sync, Filter, Form, Choice, Notes, Options, Quick, Search],
        "",
        "Every action and its keys",
        Action::Palette,
    ),
    row("suspend", &["ctrl-z"], &Context::ALL, "", "Go to the shell; fg comes back", Action::Suspend),
    row("quit", &["q"], &[Home, List], "quit", "Leave Hearth", Action::Quit),
    row(
        "quit.anywhere",
        &["ctrl-c"],
        &Context::ALL,
        "",
        "Leave Hearth from anywhere; a form is there again next time",
        Action::Quit,
    ),
];

/// Where typed letters are text, so that a configuration cannot take a letter away from it.
pub(super) const fn is_typed_into(context: Context) -> bool {
    let mut index = 0;
    while index < LINES.len() {
        if LINES[index] as u8 == context as u8 {
            // A field of choices takes letters as beginnings of words, but has the space bar of its own.
            return !matches!(context, Choice);
        }
        index += 1;
    }
    matches!(context, Palette)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::in_context;
    use super::*;

    #[test]
    fn ids_are_unique_and_no_key_means_two_things() {
        let mut ids = BTreeSet::new();
        for binding in BINDINGS {
            assert!(ids.insert(binding.id), "{} twice", binding.id);
            assert!(!binding.about.is_empty() && !binding.contexts.is_empty());
            assert!(binding.hint.is_empty() || !binding.keys.is_empty(), "{}: a hint needs a key", binding.id);
        }
        for context in Context::ALL {
            let mut seen = BTreeSet::new();
            for key in in_context(context).flat_map(|(_, binding)| binding.keys) {
                assert!(seen.insert(key), "{key} means two things {}", context.heading());
            }
        }
    }

    #[test]
    fn the_key_that_confirms_never_is_the_key_that_asked() {
        let asks = BINDINGS.iter().filter(|b| matches!(b.action, Action::Delete | Action::Back | Action::Edit));
        let asking: BTreeSet<&str> = asks.flat_map(|b| b.keys).copied().collect();
        let confirms = BINDINGS.iter().filter(|b| b.action == Action::Yes).flat_map(|b| b.keys);
        for key in confirms {
            assert!(!asking.contains(key), "{key}");
        }
    }
}
