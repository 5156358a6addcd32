//! What each row of a file makes or changes (contract 23). Pure: the caller applies the plan. Must not know where records are
//! stored.

use hearth_contract::check::Fields;
use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use super::fault::RowFault;

pub use super::columns::Product;

/// What a row does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Makes a record with these fields: all fields of the kind.
    Create(Fields),
    /// Changes these fields.
    Update(Fields),
    /// Nothing: the record has these values already.
    Unchanged,
    /// Nothing: the row is refused.
    Fail(RowFault),
}

impl Action {
    /// The word in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Action::Create(_) => "create",
            Action::Update(_) => "update",
            Action::Unchanged => "unchanged",
            Action::Fail(_) => "fail",
        }
    }
}

/// A row, or a room that a row makes by its name. Such a room stands before the row, with the same number.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRow {
    /// The number of the row in its table, as spreadsheets count: the heading is row 1. Each table of an export counts anew.
    pub number: u32,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record. None: the row is refused before the record is known, or the home has no profile yet.
    pub id: Option<Uuid>,
    /// The name of the record for people, where the row has it.
    pub title: Option<String>,
    /// What the row does.
    pub action: Action,
}

impl PlannedRow {
    /// Whether the row makes or changes a record.
    pub fn changes_something(&self) -> bool {
        matches!(self.action, Action::Create(_) | Action::Update(_))
    }

    /// The form in the API: row, action, type, id, error.
    pub fn to_json(&self) -> Value {
        let error = match &self.action {
            Action::Fail(fault) => json!({
                "column": fault.column,
                "value": fault.value,
                "code": fault.code.as_str(),
                "message": fault.message,
            }),
            _ => Value::Null,
        };
        json!({
            "row": self.number,
            "action": self.action.as_str(),
            "type": self.kind.as_str(),
            "id": self.id.map(|id| id.to_string()),
            "error": error,
        })
    }
}

/// The numbers of rows by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Records made, with the rooms.
    pub created: usize,
    /// Records changed.
    pub updated: usize,
    /// Rows whose record has their values already.
    pub unchanged: usize,
    /// Refused rows.
    pub failed: usize,
}

/// What a table of the file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReport {
    /// The kind of its rows.
    pub kind: Kind,
    /// The program whose columns it has.
    pub product: Product,
    /// Columns that become something, each with the field.
    pub used: Vec<(String, &'static str)>,
    /// Columns that are kept out.
    pub kept_out: Vec<String>,
}

/// The changes of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The tables of the file.
    pub tables: Vec<TableReport>,
    /// The rows in the order of the file.
    pub rows: Vec<PlannedRow>,
}

impl Plan {
    /// The numbers of rows by what they do.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in &self.rows {
            match row.action {
                Action::Create(_) => counts.created += 1,
                Action::Update(_) => counts.updated += 1,
                Action::Unchanged => counts.unchanged += 1,
                Action::Fail(_) => counts.failed += 1,
            }
        }
        counts
    }

    /// The positions in `rows` of the rows that change something, in the order in which they must be applied. A completed task
    /// of a series comes after the task that followed it: that task is in the file, and completing the first one must not make
    /// another.
    pub fn steps(&self) -> Vec<usize> {
        let is_done = |at: &usize| match &self.rows[*at].action {
            Action::Create(fields) => self.rows[*at].kind == Kind::Task && recurrence::is_done(fields),
            _ => false,
        };
        let changes = (0..self.rows.len()).filter(|at| self.rows[*at].changes_something());
        let (done, first): (Vec<usize>, Vec<usize>) = changes.partition(is_done);
        first.into_iter().chain(done.into_iter().rev()).collect()
    }
}
