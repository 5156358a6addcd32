//! The types of the table of actions. Must not know which key starts which action.

use hearth_contract::schema::Kind;

/// The place of the keyboard focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// The home screen.
    Home,
    /// A list of records.
    List,
    /// The filter line of a list.
    Filter,
    /// The full view of a record.
    Detail,
    /// A single-line field of a form.
    Form,
    /// A field of a form with choices, or with a reference to a record.
    Choice,
    /// The notes field of a form.
    Notes,
    /// The suggestions below a field of a form.
    Options,
    /// The line of quick add.
    Quick,
    /// A question.
    Confirm,
    /// Search across kinds.
    Search,
    /// The list of open edits.
    Edits,
    /// A conflict.
    Conflict,
    /// A typed value for a field in conflict.
    ConflictValue,
    /// The inbox of drafts.
    Inbox,
    /// A typed value for a field of a draft.
    DraftValue,
    /// The sync screen.
    Sync,
    /// The results of a bulk change.
    Results,
    /// The list of actions.
    Palette,
    /// The choice of a list's columns.
    Columns,
    /// The path of a file to attach.
    Attach,
    /// The path of a table to import.
    ImportPath,
    /// Columns of a table to import, and their fields.
    ImportMapping,
    /// The preview or the result of an import.
    Import,
}

impl Context {
    /// Every context, in the order of `hearth keys`.
    pub const ALL: [Context; 24] = [
        Context::Home,
        Context::List,
        Context::Filter,
        Context::Columns,
        Context::Detail,
        Context::Form,
        Context::Choice,
        Context::Notes,
        Context::Options,
        Context::Quick,
        Context::Attach,
        Context::ImportPath,
        Context::ImportMapping,
        Context::Import,
        Context::Search,
        Context::Edits,
        Context::Conflict,
        Context::ConflictValue,
        Context::Inbox,
        Context::DraftValue,
        Context::Sync,
        Context::Results,
        Context::Confirm,
        Context::Palette,
    ];

    /// The context as a phrase: `in a list`.
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
            Context::ConflictValue => "in a conflict's typed value",
            Context::Inbox => "in the inbox of drafts",
            Context::DraftValue => "in a draft's typed value",
            Context::Sync => "on the sync screen",
            Context::Results => "in the results",
            Context::Palette => "in the list of actions",
            Context::Columns => "in the choice of columns",
            Context::Attach => "at the path of a file",
            Context::ImportPath => "at the path of an import",
            Context::ImportMapping => "at the columns of an import",
            Context::Import => "in an import",
        }
    }
}

/// The meaning of a key.
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
    Duplicate,
    QuickAdd,
    Assign,
    Edit,
    Delete,
    Done,
    Sort,
    Reverse,
    Group,
    Columns,
    Filter,
    ClearFilter,
    Mark,
    NewOrKnown,
    MarkAll,
    Search,
    Profile,
    MonthNext,
    MonthPrevious,
    Edits,
    Inbox,
    Sync,
    Reload,
    Save,
    SaveAndNext,
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
    Connect,
    OpenFile,
    Attach,
    Complete,
    OpenImport,
    Import,
    ImportKind,
    ImportFormat,
    ImportMapping,
    Copy(CopyTarget),
    Export(ExportFormat),
}

impl Action {
    /// Whether the action removes data or takes a change back.
    pub const fn is_drastic(self) -> bool {
        matches!(
            self,
            Action::Delete
                | Action::Discard
                | Action::Undo
                | Action::Redo
                | Action::Theirs
                | Action::AllMine
                | Action::AllTheirs
                | Action::ClearField
                | Action::ClearFilter
                | Action::Quit
        )
    }
}

/// The text to copy.
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

/// The format of an exported list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are known by their names")]
pub enum ExportFormat {
    Csv,
    Json,
}

/// A row of the table.
#[derive(Debug)]
pub struct Binding {
    /// The name of the action in a configuration, such as `tab.home`.
    pub id: &'static str,
    /// The default keys; screens show the first.
    pub keys: &'static [&'static str],
    /// The contexts of the keys.
    pub contexts: &'static [Context],
    /// The word in the footer; empty: not shown in the footer.
    pub hint: &'static str,
    /// The sentence in the list of actions and in `hearth keys`.
    pub about: &'static str,
    /// The action.
    pub action: Action,
    /// The only kind whose records the action is for. None: the action is for every kind.
    pub only: Option<Kind>,
}
