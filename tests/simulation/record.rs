//! Records of the home as the simulation compares them, and the marks in their values. Must not know where a record was
//! read.

use std::fmt;
use std::rc::Rc;

use hearth_contract::schema::Kind;
use serde_json::{Map, Value};

/// The members of a record in its wire form, or the columns of a row, by name.
pub type Fields = Map<String, Value>;

/// Which record of the home.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
}

impl RecordKey {
    /// True when both keys name one record. The profile may have another id in a replica that does not know its home.
    pub fn is_same_record(&self, other: &RecordKey) -> bool {
        self == other || (self.kind == other.kind && self.kind.is_singleton())
    }
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id)
    }
}

/// A record after one event.
#[derive(Debug, Clone)]
pub struct Version {
    /// The id of the event, which is the revision of the record.
    pub rev: i64,
    /// The fields; None when the event deleted the record.
    pub fields: Option<Rc<Fields>>,
}

/// The first characters of every value that an actor writes. The rest of the mark names the action, which makes each
/// written value unique and traceable.
pub const MARK: &str = "mark-";

/// The marked values of a record.
pub fn marks(fields: &Fields) -> impl Iterator<Item = &str> {
    fields.values().filter_map(Value::as_str).filter(|text| text.starts_with(MARK))
}

/// The marked values of `after` that `before` does not have.
pub fn new_marks(before: Option<&Fields>, after: &Fields) -> Vec<String> {
    let is_known = |mark: &str| before.is_some_and(|before| marks(before).any(|known| known == mark));
    marks(after).filter(|mark| !is_known(mark)).map(str::to_owned).collect()
}
