//! A job with drafts as the API shows it (contract 22). Must not know requests.

use hearth_contract::paths;
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::app::keyring::Principal;
use crate::scopes::reading;
use crate::store::captures::{Capture, Purpose};
use crate::store::stored_files::FileHash;
use crate::store::{HomeNumber, StoreError, Tx, records};

/// The path of the jobs of a purpose.
pub(super) const fn path(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::SmartAdd => paths::SMART_ADD,
        Purpose::Extract => paths::EXTRACT,
    }
}

/// The path of a job.
pub(super) fn path_of(purpose: Purpose, id: Uuid) -> String {
    format!("{}/{id}", path(purpose))
}

/// A job. Drafts and matches of kinds that the key may not see are left out. Name and revision of a match are those of now.
pub(crate) fn capture_json(tx: &Tx<'_>, job: &Capture, principal: &Principal) -> Result<Value, StoreError> {
    let parse = |text: &str| -> Result<Value, StoreError> {
        serde_json::from_str(text).map_err(|_| StoreError::Corrupt(format!("the drafts of the job {}", job.id)))
    };
    let mut drafts = match parse(&job.drafts)? {
        Value::Array(drafts) => drafts,
        _ => Vec::new(),
    };
    if let Value::Object(suggestions) = parse(&job.suggestions)? {
        drafts.extend(suggestions.into_iter().map(|(_, draft)| draft));
    }
    drafts.retain(|draft| draft["type"].as_str().and_then(Kind::parse).is_some_and(|kind| sees(principal, kind)));
    for draft in &mut drafts {
        if let Some(matches) = draft.get_mut("matches") {
            *matches = present(tx, job.home, matches, principal)?;
        }
    }
    let error = job.error.as_ref().map(|why| json!({ "code": why.code.as_str(), "message": why.message }));
    Ok(json!({
        "id": job.id,
        "purpose": job.purpose.as_str(),
        "status": job.status.as_str(),
        "files": job.files.iter().map(FileHash::as_str).collect::<Vec<_>>(),
        "room_id": job.room,
        "note": job.note,
        "subject_type": job.subject.map(|(kind, _)| kind.as_str()),
        "subject_id": job.subject.map(|(_, id)| id),
        "created_at": job.created_at,
        "finished_at": job.finished_at,
        "expires_at": job.expires_at,
        "error": error,
        "drafts": drafts,
        "facts": parse(&job.facts)?,
        "accepted": job.accepted.map(|(kind, id)| json!({ "type": kind.as_str(), "id": id })),
    }))
}

/// The matches whose records exist now, with name and revision.
fn present(tx: &Tx<'_>, home: HomeNumber, matches: &Value, principal: &Principal) -> Result<Value, StoreError> {
    let mut shown = Vec::new();
    for found in matches.as_array().into_iter().flatten() {
        let kind = found["type"].as_str().and_then(Kind::parse).filter(|kind| sees(principal, *kind));
        let id = found["id"].as_str().and_then(|id| Uuid::try_parse(id).ok());
        let (Some(kind), Some(id)) = (kind, id) else { continue };
        let Some(image) = records::image(tx, home, kind, id)? else { continue };
        let record =
            Record::from_json(kind, &image.json).ok_or_else(|| StoreError::Corrupt(format!("image of {kind} {id}")))?;
        let mut members = Map::new();
        members.insert("type".to_owned(), kind.as_str().into());
        members.insert("id".to_owned(), id.to_string().into());
        members.insert("name".to_owned(), record.fields.get(resource(kind).title).cloned().unwrap_or_default());
        members.insert("rev".to_owned(), image.rev.into());
        members.insert("why".to_owned(), found["why"].clone());
        shown.push(Value::Object(members));
    }
    Ok(shown.into())
}

/// Whether a key may read or write records of a kind.
fn sees(principal: &Principal, kind: Kind) -> bool {
    principal.has_scope(&reading(kind)) || principal.has_scope(&format!("{}:write", kind.collection()))
}
