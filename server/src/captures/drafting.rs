//! From what was read in the files of a job to drafts and facts, as the JSON that the API shows (contract 22). Only reads. Must not know
//! how a value is found in a text.

use hearth_contract::check::{Intent, check_field};
use hearth_contract::formats::Timestamp;
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_reader::draft::{self, Draft, FileReading, Known, KnownRecord};
use hearth_reader::reading::{Code, Reading};
use serde_json::{Map, Value, json};

use super::matches;
use crate::store::captures::{Capture, Purpose};
use crate::store::readings::{self, Failure, FailureCode, State};
use crate::store::record_keys::{self, RecordKey};
use crate::store::records;
use crate::store::stored_files::{self, FileHash};
use crate::store::{HomeNumber, StoreError, Tx, field_values, homes};

/// Characters of the text of a file among the facts of a job.
const FACT_TEXT_MAX: usize = 4000;
/// Characters of the words that were read for a value, at most.
const EVIDENCE_TEXT_MAX: usize = 500;
/// Codes of a file among the facts of a job.
const FACT_CODES_MAX: usize = 50;
/// Records of the home with one value of a key that drafts compare with.
const RECORDS_PER_KEY: usize = 5;
/// The difference between UTC and the time zone that is ahead of all others, in milliseconds.
const AHEAD_MS: i64 = 14 * 3_600_000;

/// The drafts and the facts of a job, two JSON arrays. The inner error: none of its files could be read.
pub(super) fn draft(
    tx: &Tx<'_>,
    job: &Capture,
    now: Timestamp,
) -> Result<Result<(String, String), Failure>, StoreError> {
    let (mut files, mut facts, mut failure) = (Vec::new(), Vec::new(), None);
    for hash in &job.files {
        match look_at(tx, job.home, hash)? {
            Ok((reading, fact)) => {
                let name = file_name(tx, job.home, hash)?;
                files.push(FileReading { sha256: hash.as_str().to_owned(), name, reading });
                facts.push(fact);
            }
            Err(why) => {
                facts.push(unread_fact(tx, job.home, hash, &why)?);
                failure.get_or_insert(why);
            }
        }
    }
    if let (true, Some(failure)) = (files.is_empty(), failure) {
        return Ok(Err(failure));
    }
    let known = known(tx, job.home, &files, now)?;
    let drafts = match job.purpose {
        Purpose::SmartAdd => draft::smart_add(&files, &known),
        Purpose::Extract => {
            let subject =
                job.subject.map(|(kind, id)| records::image(tx, job.home, kind, id).map(|image| (kind, image)));
            let subject = subject.transpose()?.and_then(|(kind, image)| known_record(kind, &image?.json));
            draft::extract(&files, subject.as_ref(), &known)
        }
    };
    let drafts: Result<Vec<Value>, StoreError> =
        drafts.into_iter().map(|draft| shown(tx, job, &files, draft)).collect();
    Ok(Ok((Value::Array(drafts?).to_string(), Value::Array(facts).to_string())))
}

/// The reading of a file, and its facts. The inner error: why there is none.
fn look_at(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Result<(Reading, Value), Failure>, StoreError> {
    let stored = match readings::state(tx, home, hash)? {
        Some(State::Read(stored)) => stored,
        Some(State::Failed(failure)) => return Ok(Err(failure)),
        Some(State::Waiting) | None => return Ok(Err(gone())),
    };
    // Without the text behind the words with places, which drafts do not need: the files of a job are in memory at once.
    let reading: Reading = serde_json::from_str(&stored)
        .map_err(|_| StoreError::Corrupt(format!("the reading of the file {}", hash.as_str())))?;
    drop(stored);
    let media = stored_files::find(tx, home, hash)?.map(|file| file.content_type);
    let fact = json!({
        "file": hash.as_str(),
        "content_type": media,
        "pages": reading.pages.len(),
        "text_source": reading.text_source,
        "taken_on": reading.taken_on,
        "codes": reading.codes.iter().take(FACT_CODES_MAX).map(code_json).collect::<Vec<_>>(),
        "text": readings::beginning(tx, home, hash)?.chars().take(FACT_TEXT_MAX).collect::<String>(),
        "complete": reading.is_complete(),
        "error": null,
    });
    Ok(Ok((reading, fact)))
}

/// The name of a file, as the first of its documents states it. The bytes alone have none.
fn file_name(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash) -> Result<Option<String>, StoreError> {
    let document = field_values::documents_of(tx, home, hash, 0, 1)?.pop();
    let record = document.and_then(|(_, json)| Record::from_json(Kind::Document, &json));
    Ok(record.and_then(|record| Some(record.fields.get("file_name")?.as_str()?.to_owned())))
}

/// The facts of a file that was not read.
fn unread_fact(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash, why: &Failure) -> Result<Value, StoreError> {
    let media = stored_files::find(tx, home, hash)?.map(|file| file.content_type);
    Ok(json!({
        "file": hash.as_str(), "content_type": media, "pages": 0, "text_source": "none", "taken_on": null, "codes": [],
        "text": "", "complete": false, "error": { "code": why.code.as_str(), "message": why.message },
    }))
}

fn gone() -> Failure {
    Failure { code: FailureCode::Unreadable, message: "The file is gone. Upload it again.".to_owned() }
}

fn code_json(code: &Code) -> Value {
    json!({
        "format": code.format, "text": code.text, "page": code.page, "box": code.area, "proved": code.proved,
    })
}

/// What the home knows of the values in the files.
fn known(tx: &Tx<'_>, home: HomeNumber, files: &[FileReading], now: Timestamp) -> Result<Known, StoreError> {
    let keys = draft::keys(files);
    let named = [
        (RecordKey::Serial, &keys.serials),
        (RecordKey::Serial, &keys.codes),
        (RecordKey::Barcode, &keys.codes),
        (RecordKey::Model, &keys.models),
        (RecordKey::Plate, &keys.plates),
        (RecordKey::Vin, &keys.plates),
    ];
    let mut found: Vec<KnownRecord> = Vec::new();
    for (key, value) in named.into_iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value))) {
        for (kind, json) in record_keys::find(tx, home, key, value, RECORDS_PER_KEY)? {
            let record = known_record(kind, &json).ok_or_else(|| StoreError::Corrupt(format!("image of a {kind}")))?;
            if !found.iter().any(|known| known.id == record.id) {
                found.push(record);
            }
        }
    }
    let profile = records::image(tx, home, Kind::Property, homes::load(tx, home)?.id)?;
    let profile = profile.and_then(|image| serde_json::from_str::<Value>(&image.json).ok()).unwrap_or_default();
    let currency = profile["currency"].as_str().map(str::to_owned);
    Ok(Known { currency, today: Some(now.plus_millis(AHEAD_MS).date()), records: found })
}

/// The fields of a record that drafts compare with. None: the JSON is malformed.
fn known_record(kind: Kind, json: &str) -> Option<KnownRecord> {
    let record = Record::from_json(kind, json)?;
    let text = |name: &str| record.fields.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(KnownRecord {
        kind,
        id: record.id.to_string(),
        name: text("name")?,
        make: text("make"),
        model: text("model"),
        serial: text("serial_number"),
        barcode: text("barcode"),
        plate: text("license_plate"),
        vin: text("vin"),
    })
}

/// A draft as the API shows it. Values that a record could not take are left out.
fn shown(tx: &Tx<'_>, job: &Capture, files: &[FileReading], draft: Draft) -> Result<Value, StoreError> {
    let Draft { name, kind: word, id, fields, mut evidence } = draft;
    let kind = Kind::parse(&word).ok_or_else(|| StoreError::Corrupt(format!("a draft of the kind {word}")))?;
    for found in evidence.values_mut() {
        // A word of a file may be as long as the file.
        if let Some((end, _)) = found.text.char_indices().nth(EVIDENCE_TEXT_MAX) {
            found.text.truncate(end);
        }
        found.rivals.retain(|rival| rival.as_str().is_none_or(|text| text.len() <= EVIDENCE_TEXT_MAX));
    }
    let mut checked = Map::new();
    for (name, value) in fields {
        let value = resource(kind).field(&name).and_then(|field| check_field(field, Intent::Patch, &value).ok());
        match value {
            Some(value) => drop(checked.insert(name, value)),
            None => drop(evidence.remove(&name)),
        }
    }
    if id.is_none() && kind == Kind::Inventory {
        if let (Some(room), false) = (job.room, checked.contains_key("room_id")) {
            checked.insert("room_id".to_owned(), room.to_string().into());
        }
        if let (Some(note), false) = (&job.note, checked.contains_key("notes")) {
            checked.insert("notes".to_owned(), note.as_str().into());
        }
    }
    let matches = match id {
        None => matches::of(tx, job.home, kind, &checked, files)?,
        Some(_) => Vec::new(),
    };
    Ok(json!({
        "name": name, "source": "reader", "type": word, "id": id, "fields": checked, "evidence": evidence,
        "matches": matches,
    }))
}
