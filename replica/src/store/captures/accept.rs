//! Ends a capture: a person accepts its drafts, which become ordinary edits, or throws the drafts away. The server learns of it
//! later. Must not know requests.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde_json::Value;

use super::table::{self, Capture, Draft};
use crate::model::{CapturePurpose, CaptureState, FILE_SHA256, Origin};
use crate::store::edits::{self, EditError};
use crate::store::{StoreError, gate, rows};

/// What a person takes from a capture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Acceptance {
    /// The name of the draft. None: the first draft of an item or a vehicle, else all drafts of documents.
    pub draft: Option<String>,
    /// What is taken of that draft.
    pub taken: Taken,
    /// What is taken of the drafts of documents that go with the draft, by their names. Of others all is taken.
    pub documents: BTreeMap<String, Taken>,
    /// The record that gets the values, instead of a new one. Its own values stay, unless `taken` names the field.
    pub into: Option<(Kind, String)>,
}

/// What a person takes of one draft.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    /// The fields that are taken. None: all.
    pub only: Option<Vec<String>>,
    /// Values of the person, which come before the draft's.
    pub set: Fields,
}

/// Makes the edits, and returns the record: its kind and id. Error: the capture has ended, has no such draft, or a value is wrong.
pub(crate) fn accept(
    connection: &mut Connection,
    origin: Origin,
    id: &str,
    wish: &Acceptance,
) -> Result<(Kind, String), EditError> {
    gate::edit_tx(connection, origin, |tx| {
        // Of a failed capture a person types the values.
        let capture = undecided(tx, id)?;
        let record = match main_draft(&capture, wish)? {
            Some(draft) if draft.kind == Kind::Document => {
                take_document(tx, &capture, &draft, &wish.taken, wish.into.as_ref(), None)?
            }
            Some(draft) => take_record(tx, &capture, &draft, wish)?,
            None => take_documents(tx, &capture, &wish.taken, wish, capture.subject.as_ref())?
                .ok_or_else(|| EditError::Refused("this capture has no files any more".to_owned()))?,
        };
        end(tx, id, CaptureState::Accepted, Some(&record))?;
        Ok(record)
    })
}

/// Throws the drafts of a capture away. Error: no such capture, or it has ended.
pub(crate) fn discard(connection: &mut Connection, id: &str) -> Result<(), EditError> {
    gate::edit_tx(connection, Origin::Cli, |tx| {
        // A failed capture is discarded to remove it from the list.
        undecided(tx, id)?;
        end(tx, id, CaptureState::Discarded, None)
    })
}

/// Has a failed capture read again: its copy waits to be sent, and the failed one is thrown away. Returns the id of the copy. Error: no
/// such capture, it has not failed, or a file of it is gone.
pub(crate) fn retry(connection: &mut Connection, id: &str) -> Result<String, EditError> {
    gate::edit_tx(connection, Origin::Cli, |tx| {
        let capture = table::one(tx, id)?.ok_or(EditError::NotFound)?;
        if capture.state != CaptureState::Failed {
            return refuse(format!("this capture is {}; only a failed one is read again", capture.state));
        }
        let copy = edits::fresh_id().to_string();
        gate::with_guards_off(tx, |tx| {
            tx.execute(
                "UPDATE files SET state = 'waiting', problem = NULL
                 WHERE state = 'refused' AND sha256 IN (SELECT j.value FROM captures c, json_each(c.files) j WHERE c.id = ?1)",
                [id],
            )?;
            let text =
                "SELECT EXISTS (SELECT 1 FROM captures c, json_each(c.files) j LEFT JOIN files f ON f.sha256 = j.value
                 WHERE c.id = ?1 AND (f.state IS NULL OR f.state IN ('missing', 'damaged')))";
            if tx.query_row(text, [id], |row| row.get(0))? {
                return refuse("a file of this capture is gone; capture the photo again".to_owned());
            }
            tx.execute(
                "INSERT INTO captures (id, purpose, state, unsent, files, room_id, note, subject_type, subject_id, created_at,
                     idempotency_key)
                 SELECT ?2, purpose, 'waiting', 1, files, room_id, note, subject_type, subject_id, created_at, ?3
                 FROM captures WHERE id = ?1",
                (id, &copy, edits::fresh_id().to_string()),
            )?;
            Ok::<(), EditError>(())
        })?;
        end(tx, id, CaptureState::Discarded, None)?;
        Ok(copy)
    })
}

/// The capture, which no person has decided about. Error: no such capture, or it has ended.
fn undecided(tx: &Transaction<'_>, id: &str) -> Result<Capture, EditError> {
    let capture = table::one(tx, id)?.ok_or(EditError::NotFound)?;
    match capture.state.is_open() || capture.state == CaptureState::Failed {
        true => Ok(capture),
        false => refuse(format!("this capture is {} already", capture.state)),
    }
}

fn refuse<T>(sentence: String) -> Result<T, EditError> {
    Err(EditError::Refused(sentence))
}

/// Writes the end. The server needs to be told, unless it never heard of the capture.
fn end(tx: &Transaction<'_>, id: &str, state: CaptureState, record: Option<&(Kind, String)>) -> Result<(), EditError> {
    gate::with_guards_off(tx, |tx| {
        tx.execute(
            "UPDATE captures SET state = ?2, accepted_type = ?3, accepted_id = ?4, problem = NULL,
                 unsent = server_id IS NOT NULL OR attempts > 0 WHERE id = ?1",
            (id, state, record.map(|(kind, _)| kind.as_str()), record.map(|(_, id)| id)),
        )?;
        Ok::<(), EditError>(())
    })
}

/// The draft that is taken. None: all drafts of documents.
fn main_draft(capture: &Capture, wish: &Acceptance) -> Result<Option<Draft>, EditError> {
    if let Some(name) = &wish.draft {
        let Some(found) = capture.draft(Some(name)) else {
            let names: Vec<&str> = capture.drafts.iter().map(|draft| draft.name.as_str()).collect();
            return refuse(format!("this capture has no draft {name:?}; it has: {}", names.join(", ")));
        };
        return Ok(Some(found.clone()));
    }
    // Without drafts a person types the values, and the pictures become documents of the new record.
    let kind = wish.into.as_ref().map_or(Kind::Inventory, |(kind, _)| *kind);
    Ok(match capture.draft(None) {
        Some(draft) => Some(draft.clone()),
        None if capture.purpose == CapturePurpose::SmartAdd => Some(unread(kind, Fields::new())),
        None => None,
    })
}

/// The values that are taken of a draft: its own, without those that this program does not know, and the person's.
fn values(draft: &Draft, taken: &Taken) -> Fields {
    let is_taken = |name: &String| taken.only.as_ref().is_none_or(|only| only.contains(name));
    let known = |name: &String| resource(draft.kind).field(name).is_some();
    let mut fields = draft.fields.clone();
    fields.retain(|name, _| known(name) && is_taken(name));
    fields.extend(taken.set.clone());
    fields
}

/// A new item or vehicle, or a change of one; and documents of it for the files of the capture.
fn take_record(
    tx: &Transaction<'_>,
    capture: &Capture,
    draft: &Draft,
    wish: &Acceptance,
) -> Result<(Kind, String), EditError> {
    let mut fields = values(draft, &wish.taken);
    let target = target(draft, wish.into.as_ref())?;
    match &target {
        Some(id) if wish.into.is_some() && wish.taken.only.is_none() => {
            let present = rows::load_row(tx, draft.kind, id)?.ok_or(EditError::NotFound)?;
            let is_empty = |name: &str| present.fields.get(name).is_none_or(Value::is_null);
            fields.retain(|name, _| is_empty(name) || wish.taken.set.contains_key(name));
        }
        None if draft.kind == Kind::Inventory => {
            for (name, value) in [("room_id", &capture.room_id), ("notes", &capture.note)] {
                if let (Some(value), false) = (value, fields.contains_key(name)) {
                    fields.insert(name.to_owned(), value.as_str().into());
                }
            }
        }
        _ => {}
    }
    let record = save(tx, draft.kind, target, &fields)?;
    let documents = Acceptance { into: None, ..wish.clone() };
    take_documents(tx, capture, &Taken::default(), &documents, Some(&record))?;
    Ok(record)
}

/// The id of the record that gets the values of a draft. None: a new one.
fn target(draft: &Draft, into: Option<&(Kind, String)>) -> Result<Option<String>, EditError> {
    let Some((kind, id)) = into else { return Ok(draft.id.clone()) };
    match draft.kind {
        own if own == *kind => Ok(Some(id.clone())),
        Kind::Document => refuse(format!("the draft is a document, and the record is a {kind}; choose another")),
        own => refuse(format!("the draft is about a {own}, and the record is a {kind}; choose another")),
    }
}

/// Changes a record, or makes a new one.
fn save(tx: &Transaction<'_>, kind: Kind, id: Option<String>, fields: &Fields) -> Result<(Kind, String), EditError> {
    match id {
        Some(id) => edits::update_in(tx, kind, &id, fields).map(|()| (kind, id)),
        None => Ok((kind, edits::create_in(tx, kind, fields)?)),
    }
}

/// A document for each file of a capture. Returns the first. `rest`: what is taken where the wish does not name the draft.
fn take_documents(
    tx: &Transaction<'_>,
    capture: &Capture,
    rest: &Taken,
    wish: &Acceptance,
    subject: Option<&(Kind, String)>,
) -> Result<Option<(Kind, String)>, EditError> {
    let mut first = None;
    for hash in &capture.files {
        let of_file = |draft: &&Draft| {
            draft.kind == Kind::Document && draft.fields.get(FILE_SHA256).is_some_and(|file| file == hash)
        };
        let draft = capture.drafts.iter().find(of_file).cloned().unwrap_or_else(|| {
            unread(Kind::Document, Fields::from_iter([(FILE_SHA256.to_owned(), hash.as_str().into())]))
        });
        let taken = wish.documents.get(&draft.name).unwrap_or(rest);
        let made = take_document(tx, capture, &draft, taken, wish.into.as_ref(), subject)?;
        first.get_or_insert(made);
    }
    Ok(first)
}

/// A draft of which nothing was read.
fn unread(kind: Kind, fields: Fields) -> Draft {
    let (evidence, matches) = (Default::default(), Vec::new());
    Draft { name: String::new(), source: String::new(), kind, id: None, fields, evidence, matches }
}

/// One document of a capture: a new one, or a change of the one that the draft or the person names.
fn take_document(
    tx: &Transaction<'_>,
    capture: &Capture,
    draft: &Draft,
    taken: &Taken,
    into: Option<&(Kind, String)>,
    subject: Option<&(Kind, String)>,
) -> Result<(Kind, String), EditError> {
    let mut fields = values(draft, taken);
    let file =
        draft.fields.get(FILE_SHA256).cloned().or_else(|| capture.files.first().map(|hash| hash.as_str().into()));
    if let Some(file) = file {
        fields.insert(FILE_SHA256.to_owned(), file);
    }
    if let (Some((kind, id)), false) = (subject.or(capture.subject.as_ref()), fields.contains_key(SUBJECT_ID)) {
        fields.insert(SUBJECT_TYPE.to_owned(), kind.as_str().into());
        fields.insert(SUBJECT_ID.to_owned(), id.as_str().into());
    }
    add_file_facts(tx, &mut fields)?;
    let target = target(draft, into)?;
    if target.is_none() && !fields.contains_key("title") {
        fields.insert("title".to_owned(), title(tx, subject, capture)?.into());
    }
    save(tx, Kind::Document, target, &fields)
}

/// The title of a document of which nothing was read: the name of the record that it is about.
fn title(tx: &Transaction<'_>, subject: Option<&(Kind, String)>, capture: &Capture) -> Result<String, StoreError> {
    let Some((kind, id)) = subject else { return Ok(capture.title()) };
    let name = rows::stored_title(tx, *kind, id)?;
    Ok(name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| capture.title()))
}

/// Adds size and media type of the file, as far as they are known here.
fn add_file_facts(tx: &Transaction<'_>, fields: &mut Fields) -> Result<(), StoreError> {
    let Some(hash) = fields.get(FILE_SHA256).and_then(Value::as_str) else { return Ok(()) };
    let text = "SELECT size_bytes, content_type FROM files WHERE sha256 = ?1";
    let found: Option<(Option<i64>, Option<String>)> = tx.query_row(text, [hash], |row| row.try_into()).optional()?;
    let Some((size, media)) = found else { return Ok(()) };
    fields.extend(size.map(|size| ("size_bytes".to_owned(), size.into())));
    fields.extend(media.map(|media| ("content_type".to_owned(), media.into())));
    Ok(())
}
