//! The bodies of requests for jobs with drafts (contract 22), parsed with all faults at once. Must not know the home.

use std::ops::RangeInclusive;

use hearth_contract::formats::parse_id;
use hearth_contract::problem::{FAULTS_MAX, FaultCode, FieldFault, QUOTED_NAME_MAX, nearest, shorten};
use hearth_contract::schema::Kind;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::store::captures::Purpose;
use crate::store::stored_files::FileHash;

/// Files of one job (contract 22).
const FILES: RangeInclusive<usize> = 1..=8;
/// Characters of a note, at most.
pub(crate) const NOTE_MAX: usize = 2000;
/// The kinds of records that a job makes drafts of.
pub(crate) const DRAFT_KINDS: [Kind; 3] = [Kind::Inventory, Kind::Vehicle, Kind::Document];
/// The kinds of records that papers may be about.
const SUBJECT_KINDS: [Kind; 2] = [Kind::Inventory, Kind::Vehicle];

/// What a request asks for.
pub(super) struct Asked {
    /// The files, each once.
    pub files: Vec<FileHash>,
    /// The room of new items.
    pub room: Option<Uuid>,
    /// What the person says about the files.
    pub note: Option<String>,
    /// The record that the papers are about.
    pub subject: Option<(Kind, Uuid)>,
}

/// A record that was made of drafts.
pub(super) struct Accepted {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: Uuid,
}

/// The faults of a body while it is parsed.
#[derive(Default)]
pub(super) struct Faults(Vec<FieldFault>);

impl Faults {
    /// Adds a fault.
    pub(super) fn add(&mut self, field: impl Into<String>, code: FaultCode, message: impl Into<String>) {
        if self.0.len() <= FAULTS_MAX {
            self.0.push(FieldFault::new(field, code, message));
        }
    }

    /// Adds faults of the check of a record.
    pub(super) fn extend(&mut self, faults: impl IntoIterator<Item = FieldFault>) {
        self.0.extend(faults);
        self.0.truncate(FAULTS_MAX + 1);
    }

    /// The members of a body. Adds a fault for each unknown one.
    pub(super) fn members<'b>(
        &mut self,
        body: &'b Value,
        known: &[&'static str],
    ) -> Result<&'b Map<String, Value>, Vec<FieldFault>> {
        let Value::Object(members) = body else {
            return Err(vec![FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.")]);
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let near = nearest(name, known.iter().copied()).map(|near| format!("; did you mean {near}?"));
            let message =
                format!("There is no field {}{}", shorten(name, QUOTED_NAME_MAX), near.as_deref().unwrap_or("."));
            self.add(name, FaultCode::UnknownField, message);
        }
        Ok(members)
    }

    /// An id. None: null, absent or faulty.
    pub(super) fn id(&mut self, members: &Map<String, Value>, field: &str) -> Option<Uuid> {
        let value = members.get(field).filter(|value| !value.is_null())?;
        let Some(text) = value.as_str() else {
            self.add(field, FaultCode::WrongType, format!("{field} must be a string."));
            return None;
        };
        let id = parse_id(text);
        if id.is_none() {
            self.add(field, FaultCode::InvalidFormat, format!("{field} must be a UUID."));
        }
        id
    }

    /// A kind among some. None: null, absent or faulty.
    pub(super) fn kind(&mut self, members: &Map<String, Value>, field: &str, kinds: &[Kind]) -> Option<Kind> {
        let value = members.get(field).filter(|value| !value.is_null())?;
        let Some(word) = value.as_str() else {
            self.add(field, FaultCode::WrongType, format!("{field} must be a string."));
            return None;
        };
        let kind = Kind::parse(word).filter(|kind| kinds.contains(kind));
        if kind.is_none() {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
            self.add(field, FaultCode::NotAChoice, format!("{field} must be one of {}.", words.join(", ")));
        }
        kind
    }

    /// Adds a fault for a required field that is absent or null.
    pub(super) fn require(&mut self, members: &Map<String, Value>, field: &str) {
        if members.get(field).is_none_or(Value::is_null) {
            self.add(field, FaultCode::Required, format!("{field} is required."));
        }
    }

    /// The value, unless there are faults.
    pub(super) fn or<T>(self, value: Option<T>) -> Result<T, Vec<FieldFault>> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self.0),
        }
    }
}

/// Parses the body of a request for a job.
pub(super) fn parse_request(body: &Value, purpose: Purpose) -> Result<Asked, Vec<FieldFault>> {
    let known: &[&'static str] = match purpose {
        Purpose::SmartAdd => &["files", "room_id", "note"],
        Purpose::Extract => &["files", "subject_type", "subject_id"],
    };
    let mut faults = Faults::default();
    let members = faults.members(body, known)?;
    let files = files(members.get("files"), &mut faults);
    let has = |field: &str| known.contains(&field);
    let room = if has("room_id") { faults.id(members, "room_id") } else { None };
    let note = if has("note") { note(members.get("note"), &mut faults) } else { None };
    let subject = if has("subject_id") { subject(members, &mut faults) } else { None };
    faults.or(Some(Asked { files, room, note, subject }))
}

/// Parses the body that names the record that was made of drafts.
pub(super) fn parse_accepted(body: &Value) -> Result<Accepted, Vec<FieldFault>> {
    let mut faults = Faults::default();
    let members = faults.members(body, &["type", "id"])?;
    let kind = faults.kind(members, "type", &DRAFT_KINDS);
    let id = faults.id(members, "id");
    faults.require(members, "type");
    faults.require(members, "id");
    faults.or(kind.zip(id).map(|(kind, id)| Accepted { kind, id }))
}

fn files(value: Option<&Value>, faults: &mut Faults) -> Vec<FileHash> {
    let items = match value {
        None | Some(Value::Null) => {
            faults.add("files", FaultCode::Required, "files is required.");
            return Vec::new();
        }
        Some(Value::Array(items)) => items,
        Some(_) => {
            faults.add("files", FaultCode::WrongType, "files must be an array.");
            return Vec::new();
        }
    };
    if !FILES.contains(&items.len()) {
        let code = if items.is_empty() { FaultCode::TooShort } else { FaultCode::TooLong };
        faults.add("files", code, format!("files must have {} to {} items.", FILES.start(), FILES.end()));
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let field = format!("files[{at}]");
        match item.as_str().map(FileHash::parse) {
            None => faults.add(&*field, FaultCode::WrongType, format!("{field} must be a string.")),
            Some(None) => {
                let message = format!("{field} must be a SHA-256: 64 hexadecimal digits.");
                faults.add(&*field, FaultCode::InvalidFormat, message);
            }
            Some(Some(hash)) if found.contains(&hash) => {
                faults.add(&*field, FaultCode::Inconsistent, format!("{field} names a file a second time."));
            }
            Some(Some(hash)) => found.push(hash),
        }
    }
    found
}

fn note(value: Option<&Value>, faults: &mut Faults) -> Option<String> {
    let value = value.filter(|value| !value.is_null())?;
    let Some(text) = value.as_str() else {
        faults.add("note", FaultCode::WrongType, "note must be a string.");
        return None;
    };
    if text.chars().count() > NOTE_MAX {
        faults.add("note", FaultCode::TooLong, format!("note must have at most {NOTE_MAX} characters."));
    }
    if text.chars().any(|sign| sign.is_control() && sign != '\n' && sign != '\t') {
        faults.add("note", FaultCode::InvalidFormat, "note must not have control characters.");
    }
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn subject(members: &Map<String, Value>, faults: &mut Faults) -> Option<(Kind, Uuid)> {
    let kind = faults.kind(members, "subject_type", &SUBJECT_KINDS);
    let id = faults.id(members, "subject_id");
    let is_given = |field: &str| members.get(field).is_some_and(|value| !value.is_null());
    for (field, other) in [("subject_type", "subject_id"), ("subject_id", "subject_type")] {
        if is_given(field) && !is_given(other) {
            faults.add(other, FaultCode::Required, format!("{other} is required beside {field}."));
        }
    }
    kind.zip(id)
}
