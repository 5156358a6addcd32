//! Reads the table `captures`. Must not write.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use crate::model::{CapturePurpose, CaptureState};
use crate::store::{StoreError, select};

/// The most captures of a list.
pub(crate) const CAPTURES_MAX: usize = 500;

/// A row of the table `captures`. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Capture {
    /// The id, as this replica first knew the capture.
    pub id: String,
    /// The id on the server. None: the server does not have the capture yet.
    pub server_id: Option<String>,
    /// What the capture is for.
    pub purpose: CapturePurpose,
    /// Where the capture stands.
    pub state: CaptureState,
    /// True when the server does not know the state yet.
    #[serde(rename = "unsent")]
    pub is_unsent: bool,
    /// The hashes of the files, in the order of the pages.
    pub files: Vec<String>,
    /// The room of a new item.
    pub room_id: Option<String>,
    /// The notes of a new item.
    pub note: Option<String>,
    /// The record that the papers are about: its kind and id.
    #[serde(serialize_with = "record")]
    pub subject: Option<(Kind, String)>,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The proposed records. A draft that this program does not understand is left out.
    pub drafts: Vec<Draft>,
    /// Why the capture failed or cannot be sent: an object with a `message`.
    pub problem: Option<Value>,
    /// The record that was made of the drafts: its kind and id.
    #[serde(serialize_with = "record")]
    pub accepted: Option<(Kind, String)>,
}

/// A proposed record (contract 22).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// The name within the capture, such as `item`.
    pub name: String,
    /// Who proposes it: `reader` or `agent`.
    pub source: String,
    /// The kind of the record.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The record that the draft changes. None: the draft is a new record.
    #[serde(default)]
    pub id: Option<String>,
    /// The proposed values.
    #[serde(default)]
    pub fields: Fields,
    /// By field, where its value comes from: an object with `from`, `file`, `text`, `confidence` and more.
    #[serde(default)]
    pub evidence: serde_json::Map<String, Value>,
    /// Records that a new one may double: objects with `type`, `id`, `name` and `why`.
    #[serde(default)]
    pub matches: Vec<Value>,
}

fn record<S: Serializer>(record: &Option<(Kind, String)>, to: S) -> Result<S::Ok, S::Error> {
    record.as_ref().map(|(kind, id)| json!({ "type": kind, "id": id })).serialize(to)
}

impl Draft {
    /// How sure the value of a field is: `certain`, `likely` or `guess`.
    pub fn confidence(&self, field: &str) -> &str {
        self.evidence.get(field).and_then(|found| found["confidence"].as_str()).unwrap_or("guess")
    }

    /// Where the value of a field comes from: `text`, `code`, `exif`, `home` or `equation`, and the words that were read.
    pub fn source_of(&self, field: &str) -> (&str, &str) {
        let found = self.evidence.get(field);
        let word = |name: &str| found.and_then(|found| found[name].as_str()).unwrap_or_default();
        (word("from"), word("text"))
    }
}

impl Capture {
    /// The first words that tell captures apart: the name of the first draft, else the note.
    pub fn title(&self) -> String {
        let named = |draft: &Draft| {
            let title = hearth_contract::resources::resource(draft.kind).title;
            draft.fields.get(title).and_then(Value::as_str).map(str::to_owned)
        };
        let note = || self.note.clone().filter(|note| !note.trim().is_empty());
        self.drafts.iter().find_map(named).or_else(note).unwrap_or_else(|| match self.files.len() {
            1 => "1 file".to_owned(),
            number => format!("{number} files"),
        })
    }

    /// The draft with a name; without a name, the first of an item or a vehicle.
    pub fn draft(&self, name: Option<&str>) -> Option<&Draft> {
        self.drafts.iter().find(|draft| name.map_or(draft.kind != Kind::Document, |name| draft.name == name))
    }

    /// Why the capture failed or cannot be sent, as a sentence.
    pub fn why(&self) -> Option<&str> {
        self.problem.as_ref().and_then(|problem| problem["message"].as_str())
    }
}

const SELECT: &str =
    "SELECT id, server_id, purpose, state, unsent, files, room_id, note, subject_type, subject_id, created_at,
        drafts, problem, accepted_type, accepted_id FROM captures";

/// The captures, the newest first, at most [`CAPTURES_MAX`].
pub(crate) fn list(connection: &Connection) -> Result<Vec<Capture>, StoreError> {
    let text = format!("{SELECT} ORDER BY created_at DESC, id DESC LIMIT {CAPTURES_MAX}");
    select::all(connection, &text, [], |row| Ok(read(row)?))
}

/// One capture by its id. None: no such capture.
pub(crate) fn one(connection: &Connection, id: &str) -> Result<Option<Capture>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE id = ?1"))?;
    Ok(statement.query_row([id], read).optional()?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Capture> {
    let record = |kind: &str, id: &str| -> rusqlite::Result<Option<(Kind, String)>> {
        let (kind, id): (Option<String>, Option<String>) = (row.get(kind)?, row.get(id)?);
        Ok(kind.as_deref().and_then(Kind::parse).zip(id))
    };
    let (files, drafts): (String, String) = (row.get("files")?, row.get("drafts")?);
    let drafts: Vec<Value> = serde_json::from_str(&drafts).unwrap_or_default();
    let problem: Option<String> = row.get("problem")?;
    Ok(Capture {
        id: row.get("id")?,
        server_id: row.get("server_id")?,
        purpose: row.get("purpose")?,
        state: row.get("state")?,
        is_unsent: row.get("unsent")?,
        files: serde_json::from_str(&files).unwrap_or_default(),
        room_id: row.get("room_id")?,
        note: row.get("note")?,
        subject: record("subject_type", "subject_id")?,
        created_at: row.get("created_at")?,
        drafts: drafts.into_iter().filter_map(|draft| serde_json::from_value(draft).ok()).collect(),
        problem: problem.and_then(|problem| serde_json::from_str(&problem).ok()),
        accepted: record("accepted_type", "accepted_id")?,
    })
}
