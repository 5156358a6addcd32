//! The table of actions: keys, contexts, and the words for people. Must not know what an action does.

use hearth_contract::schema::Kind;

use super::types::Context::{
    self, Attach, Choice, Columns, Confirm, Conflict, ConflictValue, Detail, DraftValue, Edits, Filter, Form, Home,
    Import, ImportMapping, ImportPath, Inbox, List, Notes, Options, Palette, Quick, Results, Search, Sync,
};
use super::types::{Action, Binding, CopyTarget, ExportFormat};

const fn row(
    id: &'static str,
    keys: &'static [&'static str],
    contexts: &'static [Context],
    hint: &'static str,
    about: &'static str,
    action: Action,
) -> Binding {
    Binding { id, keys, contexts, hint, about, action, only: None }
}

/// The row of an action for tasks alone.
const fn for_tasks(row: Binding) -> Binding {
    Binding { only: Some(Kind::Task), ..row }
}

/// The row of an action for documents alone.
const fn for_documents(row: Binding) -> Binding {
    Binding { only: Some(Kind::Document), ..row }
}

/// Screens without a text field.
const SCREENS: &[Context] = &[Home, List, Detail, Edits, Conflict, Inbox, Sync];
/// Screens with a record to act on.
const RECORDS: &[Context] = &[Home, List, Detail];
/// Screens with lines to scroll.
const MOVING: &[Context] = &[Home, List, Columns, Detail, Edits, Conflict, Inbox, Sync, Results, Import];
/// Screens with more lines than fit.
const PAGING: &[Context] = &[Home, List, Columns, Detail, Edits, Inbox, Sync, Results, Import];
/// Contexts with a text field.
const LINES: &[Context] = &[
    Filter,
    Form,
    Choice,
    Notes,
    Options,
    Quick,
    Attach,
    ImportPath,
    ImportMapping,
    Search,
    ConflictValue,
    DraftValue,
];

/// Every action. When two rows have the same key in a context, the first row wins. The footer shows hints in table
/// order.
pub const BINDINGS: &[Binding] = &[
    // Questions, suggestions, forms.
    row("confirm", &["y"], &[Confirm], "yes, do it", "Do what the question asks", Action::Yes),
    row("refuse", &["n", "esc", "q"], &[Confirm], "no", "Cancel; nothing changes", Action::Back),
    row("options.take", &["enter"], &[Options], "take", "Take the suggestion", Action::Take),
    row(
        "options.next_field",
        &["tab"],
        &[Options],
        "next field",
        "Take the suggestion and go to the next field",
        Action::NextField,
    ),
    row(
        "options.previous_field",
        &["shift-tab"],
        &[Options],
        "",
        "Take the suggestion and go to the previous field",
        Action::PreviousField,
    ),
    row("options.next", &["down"], &[Options], "", "Next suggestion", Action::Down),
    row("options.previous", &["up"], &[Options], "", "Previous suggestion", Action::Up),
    row("options.close", &["esc"], &[Options], "close", "Close the suggestions", Action::Back),
    row("save", &["ctrl-s"], &[Form, Choice, Notes, Options], "save", "Save", Action::Save),
    row(
        "choice.next",
        &["right", "space"],
        &[Choice],
        "choose",
        "Next choice, or open the suggestions",
        Action::NextChoice,
    ),
    row("choice.previous", &["left"], &[Choice], "", "Previous choice", Action::PreviousChoice),
    row("choice.clear", &["backspace", "delete"], &[Choice], "clear", "Clear the field", Action::ClearField),
    row("field.next", &["tab", "down", "enter"], &[Form, Choice], "next", "Next field", Action::NextField),
    row("field.previous", &["shift-tab", "up"], &[Form, Choice], "", "Previous field", Action::PreviousField),
    row("notes.next", &["tab"], &[Notes], "next", "Next field", Action::NextField),
    row("notes.previous", &["shift-tab"], &[Notes], "", "Previous field", Action::PreviousField),
    row("notes.editor", &["ctrl-o"], &[Notes], "in $EDITOR", "Edit the notes in your own editor", Action::Editor),
    row("field.page_down", &["pagedown"], &[Form, Choice, Notes], "", "Five fields down", Action::PageDown),
    row("field.page_up", &["pageup"], &[Form, Choice, Notes], "", "Five fields up", Action::PageUp),
    row("form.cancel", &["esc"], &[Form, Choice, Notes], "cancel", "Leave the form", Action::Back),
    row(
        "save.next",
        &["ctrl-n"],
        &[Form, Choice, Notes, Options],
        "save, next",
        "Save, and fill in the next new record of the same room or subject",
        Action::SaveAndNext,
    ),
    // Quick add, filter, search, list of actions.
    for_tasks(row("quick.save", &["enter"], &[Quick], "add", "Add the task", Action::Save)),
    row("quick.form", &["tab"], &[Quick], "as a form", "Continue in a form", Action::Open),
    row("quick.assign", &["ctrl-y"], &[Quick], "", "Take an unknown +name as the assignee", Action::Assign),
    row("quick.close", &["esc"], &[Quick], "cancel", "Leave quick add", Action::Back),
    row("attach.save", &["enter"], &[Attach], "attach", "Attach the file", Action::Save),
    row("attach.complete", &["tab"], &[Attach], "complete", "Complete the path", Action::Complete),
    row("attach.close", &["esc"], &[Attach], "cancel", "Leave the path", Action::Back),
    row("import.read", &["enter"], &[ImportPath], "preview", "Read the file and show what its rows do", Action::Save),
    row("import.complete", &["tab"], &[ImportPath], "complete", "Complete the path", Action::Complete),
    row("import.cancel", &["esc"], &[ImportPath], "cancel", "Leave the import", Action::Back),
    row("import.write", &["enter"], &[Import], "import", "Import the rows, after a question", Action::Import),
    row("import.kind", &["tab"], &[Import], "other kind", "Read the rows as another kind", Action::ImportKind),
    row(
        "import.format",
        &["f"],
        &[Import],
        "other numbers",
        "Read numbers and dates in another format",
        Action::ImportFormat,
    ),
    row(
        "import.mapping",
        &["m"],
        &[Import],
        "columns",
        "Say which column of the table is which field",
        Action::ImportMapping,
    ),
    row("mapping.read", &["enter"], &[ImportMapping], "preview", "Read the file with these columns", Action::Save),
    row("mapping.complete", &["tab"], &[ImportMapping], "complete", "Complete the column or field", Action::Complete),
    row("mapping.cancel", &["esc"], &[ImportMapping], "cancel", "Leave the columns as they were", Action::Back),
    row("import.back", &["esc", "q"], &[Import], "back", "Back to the path, or close the result", Action::Back),
    row("filter.keep", &["enter", "down"], &[Filter], "keep", "Keep the filter and go to the list", Action::Open),
    row("filter.clear", &["esc"], &[Filter], "clear", "Clear the filter", Action::ClearFilter),
    row("columns.choose", &["space"], &[Columns], "show or hide", "Show or hide the column", Action::Mark),
    row(
        "columns.usual",
        &["backspace", "delete"],
        &[Columns],
        "usual columns",
        "Show the usual columns again",
        Action::ClearField,
    ),
    row("columns.close", &["enter", "esc", "q", "c"], &[Columns], "close", "Close the choice of columns", Action::Back),
    row("search.open", &["enter"], &[Search], "open", "Open the result", Action::Open),
    row("search.next", &["down", "ctrl-n"], &[Search], "", "Next result", Action::Down),
    row("search.previous", &["up", "ctrl-p"], &[Search], "", "Previous result", Action::Up),
    row("search.close", &["esc"], &[Search], "close", "Close search", Action::Back),
    row("palette.run", &["enter"], &[Palette], "do it", "Run the selected action", Action::Take),
    row("palette.next", &["down", "ctrl-n", "tab"], &[Palette], "", "Next action", Action::Down),
    row("palette.previous", &["up", "ctrl-p", "shift-tab"], &[Palette], "", "Previous action", Action::Up),
    row("palette.close", &["esc", "f1"], &[Palette], "close", "Close the list of actions", Action::Back),
    // Edits and conflicts.
    row("edit.open", &["enter"], &[Edits], "open", "Open the record, or resolve its conflict", Action::Open),
    row("edit.change", &["e"], &[Edits], "change", "Change the values of the edit", Action::Edit),
    row("edit.retry", &["r"], &[Edits], "retry", "Send the edit again", Action::Retry),
    row("edit.discard", &["d", "delete"], &[Edits], "discard", "Discard the edit, after a question", Action::Discard),
    row("edit.undo", &["u"], &[Edits], "undo", "Undo the edit", Action::Undo),
    row("conflict.mine", &["m"], &[Conflict], "mine", "Keep my value", Action::Mine),
    row("conflict.theirs", &["t"], &[Conflict], "theirs", "Take the server's value", Action::Theirs),
    row("conflict.type", &["e"], &[Conflict], "type", "Type another value", Action::Typed),
    row("conflict.all_mine", &["M"], &[Conflict], "", "Keep my value in every field", Action::AllMine),
    row("conflict.all_theirs", &["T"], &[Conflict], "", "Take the server's value in every field", Action::AllTheirs),
    row("conflict.save", &["ctrl-s", "enter"], &[Conflict], "resolve", "Resolve the conflict as chosen", Action::Save),
    row("conflict.value", &["enter"], &[ConflictValue, DraftValue], "take", "Take the typed value", Action::Take),
    row(
        "conflict.drop",
        &["esc"],
        &[ConflictValue, DraftValue],
        "cancel",
        "Cancel; the field stays as it was",
        Action::Back,
    ),
    // Drafts.
    row("draft.open", &["right", "l"], &[Inbox], "open", "Show the drafts of the capture", Action::Open),
    row("draft.mark", &["space"], &[Inbox], "take or not", "Take the field, or leave it out", Action::Mark),
    row("draft.type", &["e"], &[Inbox], "type", "Type another value", Action::Typed),
    row(
        "draft.known",
        &["n"],
        &[Inbox],
        "new or known",
        "Make a new record, or change the one that may be the same",
        Action::NewOrKnown,
    ),
    row("draft.next", &["tab"], &[Inbox], "next draft", "Next draft of the capture", Action::NextField),
    row("draft.accept", &["ctrl-s", "enter"], &[Inbox], "accept", "Make the record of the marked fields", Action::Save),
    row(
        "draft.file",
        &["o"],
        &[Inbox],
        "picture",
        "Open the picture; fetches it first if it is not here",
        Action::OpenFile,
    ),
    row(
        "draft.discard",
        &["d", "delete"],
        &[Inbox],
        "discard",
        "Discard the drafts, after a question",
        Action::Discard,
    ),
    row("draft.retry", &["r"], &[Inbox], "read again", "Have the files of a failed capture read again", Action::Retry),
    row("hurry", &["r"], &[Sync], "try now", "Try the server again without waiting", Action::SyncNow),
    row("connect", &["c"], &[Sync], "connect to a server", "Connect to a server", Action::Connect),
    row("connect.anywhere", &[], &[Home, List, Detail, Edits], "", "Connect to a server", Action::Connect),
    row("pause", &["p"], &[Sync], "pause or resume", "Pause or resume syncing", Action::Pause),
    // Records.
    row("open", &["enter"], &[Home, List, Detail], "open", "Open the item under the cursor", Action::Open),
    row("back", &["esc", "q", "left", "h"], &[Detail, Edits, Conflict, Inbox, Sync], "back", "Back", Action::Back),
    row("open.right", &["right", "l"], &[List, Edits], "", "Open the item under the cursor", Action::Open),
    for_tasks(row("add", &["a"], RECORDS, "add", "Add a task in one line", Action::QuickAdd)),
    row("new", &["n"], &[List], "new", "Fill in a form for a new record", Action::New),
    row("duplicate", &["Y"], RECORDS, "", "Duplicate the record, in a form", Action::Duplicate),
    row("edit", &["e"], RECORDS, "edit", "Change the record, or all that are marked", Action::Edit),
    for_tasks(row("done", &["x"], RECORDS, "done", "Mark a task as done, or open it again", Action::Done)),
    row(
        "delete",
        &["d", "delete"],
        RECORDS,
        "delete",
        "Delete the record, or all that are marked, after a question",
        Action::Delete,
    ),
    for_documents(row(
        "file.open",
        &["o"],
        &[List, Detail],
        "open file",
        "Open the document's file; fetches it first if it is not here",
        Action::OpenFile,
    )),
    row(
        "file.attach",
        &["A"],
        &[List, Detail],
        "",
        "Attach a file to the item, the vehicle or the document",
        Action::Attach,
    ),
    row("import", &["I"], &[Home, List], "", "Import a table: CSV, JSON or the zip of an export", Action::OpenImport),
    row("undo", &["u"], RECORDS, "undo", "Undo the last change made here", Action::Undo),
    row("redo", &["U", "ctrl-r"], RECORDS, "", "Redo the change undone last", Action::Redo),
    // Lists.
    row("mark", &["space"], &[List], "mark", "Mark the record for a bulk change", Action::Mark),
    row("mark.all", &["*"], &[List], "", "Mark every record of the list, or none", Action::MarkAll),
    row("search", &["/"], SCREENS, "search", "Search everything", Action::Search),
    row("filter", &["f"], &[List], "filter", "Filter: status:open due<fri room:garage words", Action::Filter),
    row("filter.drop", &["esc"], &[List], "", "Remove the marks, then the filter", Action::ClearFilter),
    row("sort", &["s"], &[List], "sort", "Sort by the next column", Action::Sort),
    row("reverse", &["r"], &[List], "", "Reverse the order", Action::Reverse),
    row("group", &["v"], &[List], "", "Show or hide groups with their sums", Action::Group),
    row("columns", &["c"], &[List], "", "Choose the columns of this list", Action::Columns),
    row("export.csv", &[], &[List], "", "Export this list as a CSV file", Action::Export(ExportFormat::Csv)),
    row("export.json", &[], &[List], "", "Export this list as a JSON file", Action::Export(ExportFormat::Json)),
    row("month.next", &["right", "l", ">"], &[Home], "", "Next month of the calendar", Action::MonthNext),
    row("month.previous", &["left", "h", "<"], &[Home], "", "Previous month of the calendar", Action::MonthPrevious),
    // Copying.
    row("copy", &["y"], RECORDS, "copy", "Copy a part of the record", Action::PaletteCopy),
    row("copy.value", &["c"], &[Detail], "", "Copy the value under the cursor", Action::Copy(CopyTarget::Value)),
    row("copy.title", &[], RECORDS, "", "Copy the title", Action::Copy(CopyTarget::Title)),
    row("copy.id", &[], RECORDS, "", "Copy the id", Action::Copy(CopyTarget::Id)),
    row("copy.json", &[], RECORDS, "", "Copy the record as JSON", Action::Copy(CopyTarget::Json)),
    row("copy.sql", &[], RECORDS, "", "Copy the record as SQL", Action::Copy(CopyTarget::Sql)),
    row("copy.curl", &[], RECORDS, "", "Copy the record's address as curl", Action::Copy(CopyTarget::Curl)),
    // Tabs and screens.
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
    row(
        "inbox",
        &["i"],
        &[Home, List, Detail, Edits],
        "",
        "Inbox: drafts of records from photos and papers",
        Action::Inbox,
    ),
    row("sync", &["S"], &[Home, List, Detail, Edits], "", "Sync: status and log", Action::Sync),
    // Moving and scrolling.
    row("down", &["down", "j"], MOVING, "", "Down", Action::Down),
    row("up", &["up", "k"], MOVING, "", "Up", Action::Up),
    row("page_down", &["pagedown", "ctrl-d"], PAGING, "", "A page down", Action::PageDown),
    row("page_up", &["pageup", "ctrl-u"], PAGING, "", "A page up", Action::PageUp),
    // Without ctrl-u, which clears the text field.
    row("found.page_down", &["pagedown"], &[Search, Palette], "", "A page down in the results", Action::PageDown),
    row("found.page_up", &["pageup"], &[Search, Palette], "", "A page up in the results", Action::PageUp),
    row("first", &["home", "g"], MOVING, "", "To the first", Action::First),
    row("last", &["end", "G"], MOVING, "", "To the last", Action::Last),
    row("results.close", &["esc", "q", "enter"], &[Results], "close", "Close the results", Action::Back),
    row("reload", &["ctrl-l"], SCREENS, "", "Read the data again and redraw", Action::Reload),
    // The program.
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
    row("suspend", &["ctrl-z"], &Context::ALL, "", "Suspend Hearth; fg brings it back", Action::Suspend),
    row("quit", &["q"], &[Home, List], "quit", "Leave Hearth", Action::Quit),
    row(
        "quit.anywhere",
        &["ctrl-c"],
        &Context::ALL,
        "",
        "Leave Hearth from anywhere; an open form is restored next time",
        Action::Quit,
    ),
];

/// The rows of a context in table order, with their numbers.
pub fn in_context(context: Context) -> impl Iterator<Item = (usize, &'static Binding)> {
    BINDINGS.iter().enumerate().filter(move |(_, binding)| binding.contexts.contains(&context))
}

/// Whether letters are text in a context: a configuration must not bind a single letter.
pub(super) const fn is_typed_into(context: Context) -> bool {
    let mut index = 0;
    while index < LINES.len() {
        if LINES[index] as u8 == context as u8 {
            // In a field of choices a letter selects a choice, and the space bar is a key of the table.
            return !matches!(context, Choice);
        }
        index += 1;
    }
    matches!(context, Palette)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn table_ids_and_keys_are_unique() {
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
    fn confirm_key_differs_from_asking_key() {
        let asks = BINDINGS.iter().filter(|b| matches!(b.action, Action::Delete | Action::Back | Action::Edit));
        let asking: BTreeSet<&str> = asks.flat_map(|b| b.keys).copied().collect();
        let confirms = BINDINGS.iter().filter(|b| b.action == Action::Yes).flat_map(|b| b.keys);
        for key in confirms {
            assert!(!asking.contains(key), "{key}");
        }
    }
}
