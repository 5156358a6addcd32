//! The words of the table: contexts, actions and its rows. Must not know which key starts which action.

use hearth_contract::schema::Kind;

/// Where the keyboard is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// The home screen.
    Home,
    /// A list of records.
    List,
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
    /// The line of quick add.
    Quick,
    /// A question.
    Confirm,
    /// Search across kinds.
    Search,
    /// The waiting edits.
    Edits,
    /// A conflict, field by field.
    Conflict,
    /// A value being typed for a field of a conflict.
    ConflictValue,
    /// How syncing stands.
    Sync,
    /// What became of a bulk change.
    Results,
    /// The list of actions.
    Palette,
}

impl Context {
    /// All contexts.
    pub const ALL: [Context; 17] = [
        Context::Home,
        Context::List,
        Context::Filter,
        Context::Detail,
        Context::Form,
        Context::Choice,
        Context::Notes,
        Context::Options,
        Context::Quick,
        Context::Search,
        Context::Edits,
        Context::Conflict,
        Context::ConflictValue,
        Context::Sync,
        Context::Results,
        Context::Confirm,
        Context::Palette,
    ];

    /// Where it is, in words.
    pub const fn heading(self) -> &'static str {
        match self {
            Context::Home => "on the home screen",
            Context::List => "in a list",
            Context::Filter => "in the filter line",
            Context::Detail => "on one record",
            Context::Form => "in a form",
            Context::Choice => "in a form's field of choices",
            Context::Notes => "in a form's notes",
            Context::Options => "in a field's suggestions",
            Context::Quick => "in quick add",
            Context::Confirm => "at a question",
            Context::Search => "in search",
            Context::Edits => "in the edits",
            Context::Conflict => "on a conflict",
            Context::ConflictValue => "in a conflict's own value",
            Context::Sync => "on the sync screen",
            Context::Results => "in the results",
            Context::Palette => "in the list of actions",
        }
    }
}

/// What a key can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table says what each does")]
pub enum Action {
    Quit,
    Suspend,
    Palette,
    PaletteCopy,
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
    QuickAdd,
    Edit,
    Delete,
    Done,
    Sort,
    Reverse,
    Group,
    Filter,
    ClearFilter,
    Mark,
    MarkAll,
    Search,
    Profile,
    MonthNext,
    MonthPrevious,
    Edits,
    Sync,
    Reload,
    Save,
    NextField,
    PreviousField,
    NextChoice,
    PreviousChoice,
    ClearField,
    Editor,
    Take,
    Yes,
    Undo,
    Redo,
    Retry,
    Discard,
    Mine,
    Theirs,
    Typed,
    AllMine,
    AllTheirs,
    Pause,
    SyncNow,
    Copy(CopyTarget),
    Export(ExportFormat),
}

/// What can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the table says what each is")]
pub enum CopyTarget {
    Value,
    Title,
    Id,
    Json,
    Sql,
    Curl,
}

/// In which form a list is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are known by their names")]
pub enum ExportFormat {
    Csv,
    Json,
}

/// One row of the table.
#[derive(Debug)]
pub struct Binding {
    /// What it is called in a configuration.
    pub id: &'static str,
    /// The keys that start it unless a configuration says otherwise, the one to show first.
    pub keys: &'static [&'static str],
    /// Where it works.
    pub contexts: &'static [Context],
    /// Its word in the footer; empty where the footer need not name it.
    pub hint: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What it starts.
    pub action: Action,
}
