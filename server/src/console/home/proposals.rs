//! The drafts of a job as forms: for each a record that it makes or changes, its inputs, and which of them are marked at first. Only
//! reads. Must not know how a form is sent.

use hearth_contract::formats::parse_id;
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::add::rooms;
use super::evidence::{Paper, Proof, proof};
use super::form::{Input, inputs_of};
use super::live::{Live, find, parse, text};
use super::rows::title;
use super::words::{kind_words, money};
use crate::http::web::Fields;
use crate::store::captures::Capture;
use crate::store::stored_files::FileHash;
use crate::store::{StoreError, Tx, field_values};

/// The start of the name of a field with the record that a draft changes.
pub(super) const TO: &str = "to.";
/// The word in a field [`TO`] for a new record.
pub(super) const NEW: &str = "new";
/// Inputs of a page, at most, and bytes of their texts: a page has a bounded size. Other drafts of the job are not shown.
const INPUTS_MAX: usize = 22;
const TEXT_BYTES_MAX: usize = 5000;
/// Rooms to choose from, at most, beside those that drafts name. Each draft of an item has this choice.
const ROOMS_MAX: usize = 40;
/// Documents that name one file and are offered, at most.
const SAME_FILE_MAX: usize = 3;
/// Records to choose from, at most.
const OTHERS_MAX: usize = 4;
/// Fields of a document that follow from its file or from what it is about.
const CARRIED: [&str; 6] = ["file_sha256", "file_name", "content_type", "size_bytes", SUBJECT_TYPE, SUBJECT_ID];

/// A draft as a form.
pub(super) struct Proposal {
    /// The name of the draft in its job.
    pub(super) name: String,
    /// The kind of its record.
    pub(super) kind: Kind,
    /// What people call the kind.
    pub(super) word: String,
    /// Whether a program of the home has made the draft, instead of the reader.
    pub(super) is_foreign: bool,
    /// The record that it changes. None: a new one.
    pub(super) target: Option<Record>,
    /// The title of the record that it changes.
    pub(super) target_title: String,
    /// Records that it may be about, and a new one. Empty: nothing to choose.
    pub(super) others: Vec<Other>,
    /// The inputs.
    pub(super) inputs: Vec<Input>,
    /// For each input, what stands beside it.
    pub(super) marks: Vec<Mark>,
    /// Fields without an input.
    pub(super) carried: Map<String, Value>,
    /// Whether the draft is to be stored.
    pub(super) is_wanted: bool,
}

/// A record that a draft may be about.
pub(super) struct Other {
    /// The id, or [`NEW`].
    pub(super) id: String,
    /// Why it may be the same, and its title.
    pub(super) words: String,
    /// Whether it is chosen now.
    pub(super) is_chosen: bool,
}

/// Why a draft may be about a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    /// The draft names it.
    Named,
    SameSerial,
    SameBarcode,
    /// A document that names the same file.
    SameFile,
    LooksAlike,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::Named => "The draft is for",
            Why::SameSerial => "Same serial number as",
            Why::SameBarcode => "Same bar code as",
            Why::SameFile => "Same file as",
            Why::LooksAlike => "Looks like",
        }
    }
}

/// What stands beside an input.
pub(super) struct Mark {
    /// Whether the value is stored. None: always.
    pub(super) is_taken: Option<bool>,
    /// The value that the record has now. None: none, or a new record.
    pub(super) now: Option<String>,
    /// Where the value comes from. None: the job does not say.
    pub(super) proof: Option<Proof>,
}

/// The drafts of a job as forms, and the number of drafts that have no room on a page. `chosen`: by [`TO`] and the name of the draft,
/// the records that a person has chosen. The boxes of their values are added to `papers`.
pub(super) fn proposals(
    tx: &Tx<'_>,
    live: &Live,
    job: &Capture,
    chosen: &Fields,
    papers: &mut [Paper],
) -> Result<(Vec<Proposal>, usize), StoreError> {
    let drafts = stored(job)?;
    let is_drafted = |room: &str| drafts.iter().any(|draft| draft["fields"]["room_id"] == room);
    let mut place = 0;
    let mut rooms = rooms(tx, live)?;
    rooms.retain(|(id, _)| {
        place += 1;
        place <= ROOMS_MAX || is_drafted(id)
    });
    let (mut made, mut left_out, mut inputs, mut bytes) = (Vec::<Proposal>::new(), 0, 0, 0);
    for draft in &drafts {
        let Some(mut proposal) = targeted(tx, live, draft, chosen)? else { continue };
        let fields = draft["fields"].as_object().cloned().unwrap_or_default();
        let names = names(&proposal, &fields);
        inputs += names.len();
        bytes += names.iter().filter_map(|name| fields.get(*name)?.as_str()).map(str::len).sum::<usize>();
        if !made.is_empty() && inputs > INPUTS_MAX || bytes > TEXT_BYTES_MAX {
            left_out += 1;
            continue;
        }
        proposal.inputs = inputs_of(proposal.kind, &names, &rooms);
        for at in 0..proposal.inputs.len() {
            let mark = mark(live, &mut proposal, at, draft, &fields, papers);
            proposal.marks.push(mark);
        }
        proposal.carried = fields;
        proposal.carried.retain(|name, value| CARRIED.contains(&&**name) && !value.is_null());
        made.push(proposal);
    }
    want(&mut made, &drafts);
    Ok((made, left_out))
}

/// The drafts of the reader, then those of clients.
fn stored(job: &Capture) -> Result<Vec<Value>, StoreError> {
    let corrupt = |_| StoreError::Corrupt(format!("the drafts of the job {}", job.id));
    let mut drafts: Vec<Value> = serde_json::from_str(&job.drafts).map_err(corrupt)?;
    let suggestions: Map<String, Value> = serde_json::from_str(&job.suggestions).map_err(corrupt)?;
    drafts.extend(suggestions.into_iter().map(|(_, draft)| draft));
    Ok(drafts)
}

/// A draft with the record that it changes, without inputs. None: its record does not exist any more.
fn targeted(tx: &Tx<'_>, live: &Live, draft: &Value, chosen: &Fields) -> Result<Option<Proposal>, StoreError> {
    let Some(kind) = draft["type"].as_str().and_then(Kind::parse) else { return Ok(None) };
    let name = draft["name"].as_str().unwrap_or_default().to_owned();
    let id = draft["id"].as_str().and_then(parse_id);
    let mut found: Vec<(Option<Uuid>, Why)> = vec![(id, Why::Named)];
    for matched in draft["matches"].as_array().into_iter().flatten().take(OTHERS_MAX) {
        let why = match matched["why"].as_str() {
            Some("same_serial") => Why::SameSerial,
            Some("same_barcode") => Why::SameBarcode,
            _ => Why::LooksAlike,
        };
        found.push((matched["id"].as_str().and_then(parse_id), why));
    }
    let hash = draft["fields"]["file_sha256"].as_str().and_then(FileHash::parse).filter(|_| kind == Kind::Document);
    if let Some(hash) = hash {
        for (_, json) in field_values::documents_of(tx, live.number, &hash, 0, SAME_FILE_MAX)? {
            found.push((Some(parse(kind, &json)?.id), Why::SameFile));
        }
    }
    let mut others: Vec<(Record, Why)> = Vec::new();
    for (other, why) in found.into_iter().filter_map(|(id, why)| Some((id?, why))) {
        if others.iter().any(|(known, _)| known.id == other) {
            continue;
        }
        others.extend(find(tx, live.number, kind, other)?.map(|record| (record, why)));
    }
    let is_preset = |why: &Why| matches!(why, Why::Named | Why::SameSerial | Why::SameFile);
    let preset = others.iter().find(|(_, why)| is_preset(why)).map(|(record, _)| record.id);
    if id.is_some() && !others.iter().any(|(_, why)| *why == Why::Named) {
        return Ok(None);
    }
    let wanted = match chosen.text(&format!("{TO}{name}")) {
        NEW if id.is_none() => None,
        text => others.iter().map(|(record, _)| record.id).find(|id| id.to_string() == text).or(preset),
    };
    let word = kind_words(kind).0.to_lowercase();
    let choice = |(record, why): &(Record, Why)| Other {
        id: record.id.to_string(),
        words: format!("{}: {}", why.words(), title(record)),
        is_chosen: Some(record.id) == wanted,
    };
    let mut choices: Vec<Other> = Vec::new();
    if id.is_none() && !others.is_empty() {
        choices.extend(others.iter().map(choice));
        choices.push(Other { id: NEW.to_owned(), words: format!("It is a new {word}"), is_chosen: wanted.is_none() });
    }
    let target = others.into_iter().map(|(record, _)| record).find(|record| Some(record.id) == wanted);
    Ok(Some(Proposal {
        name,
        kind,
        word,
        is_foreign: draft["source"] == "agent",
        target_title: target.as_ref().map(title).unwrap_or_default(),
        target,
        others: choices,
        inputs: Vec::new(),
        marks: Vec::new(),
        carried: Map::new(),
        is_wanted: false,
    }))
}

/// The fields of a draft that get inputs, in the order of the kind: those with a value, which the record does not have already. A new
/// record also gets its title, and an item its room.
fn names(proposal: &Proposal, fields: &Map<String, Value>) -> Vec<&'static str> {
    let resource = resource(proposal.kind);
    let is_shown = |name: &&str| {
        let drafted = fields.get(*name).filter(|value| !value.is_null());
        match &proposal.target {
            _ if CARRIED.contains(name) || *name == "import_ref" => false,
            Some(record) => drafted.is_some_and(|value| record.fields.get(*name) != Some(value)),
            None => {
                drafted.is_some() || *name == resource.title || (proposal.kind == Kind::Inventory && *name == "room_id")
            }
        }
    };
    resource.fields.iter().map(|field| field.name).filter(is_shown).collect()
}

fn mark(
    live: &Live,
    proposal: &mut Proposal,
    at: usize,
    draft: &Value,
    fields: &Map<String, Value>,
    papers: &mut [Paper],
) -> Mark {
    let name = proposal.inputs[at].name;
    let drafted = fields.get(name).unwrap_or(&Value::Null);
    let stored = proposal.target.as_ref().and_then(|record| record.fields.get(name)).filter(|value| !value.is_null());
    proposal.inputs[at].take_drafted(drafted, stored.unwrap_or(&Value::Null));
    let input = &proposal.inputs[at];
    let id = format!("{}-{name}", proposal.name);
    let proof = proof(&draft["evidence"][name], (&id, &input.label), &input.text, papers);
    let now = stored.map(|_| match input.options.iter().find(|(value, _)| *value == input.was) {
        Some((_, words)) => words.clone(),
        None if input.control == super::form::Control::Money => money(&input.was, live.currency.as_deref()),
        None => super::words::short(&input.was),
    });
    let is_always = proposal.target.is_none() && (name == resource(proposal.kind).title || drafted.is_null());
    let is_sure = proof.as_ref().is_some_and(|proof| !proof.is_guess) && stored.is_none();
    Mark { is_taken: (!is_always).then_some(is_sure), now, proof }
}

/// Marks the drafts that are stored at first: one item or vehicle, and the reader's documents, or those of clients where it has none.
fn want(proposals: &mut [Proposal], drafts: &[Value]) {
    let has_evidence = |proposal: &Proposal| {
        let draft = drafts.iter().find(|draft| draft["name"] == proposal.name.as_str());
        draft.is_some_and(|draft| draft["fields"].as_object().is_some_and(|fields| !fields.is_empty()))
    };
    let is_thing = |proposal: &Proposal| proposal.kind != Kind::Document;
    let thing = proposals.iter().position(|one| is_thing(one) && has_evidence(one));
    // A photo without text shows a thing, whose name the person types. A contract or a receipt shows none.
    let is_paper =
        drafts.iter().any(|draft| draft["type"] == Kind::Document.as_str() && draft["fields"]["category"].is_string());
    let thing = thing.or_else(|| proposals.iter().position(is_thing).filter(|_| !is_paper));
    let has_own = proposals.iter().any(|one| !is_thing(one) && !one.is_foreign);
    for (at, proposal) in proposals.iter_mut().enumerate() {
        proposal.is_wanted = if is_thing(proposal) { thing == Some(at) } else { !has_own || !proposal.is_foreign };
    }
}

impl Proposal {
    /// Takes what a person has typed and marked.
    pub(super) fn take(&mut self, form: &Fields) {
        self.is_wanted = form.all("with").any(|name| name == self.name);
        for (input, mark) in self.inputs.iter_mut().zip(&mut self.marks) {
            input.take_of(form, &self.name);
            let name = format!("{}.{}", self.name, input.name);
            if let Some(is_taken) = &mut mark.is_taken {
                *is_taken = form.all("take").any(|taken| taken == name);
            }
        }
    }

    /// The fields to store: the marked ones, and those that follow from the file of a new document.
    pub(super) fn body(&self) -> Map<String, Value> {
        let is_taken = |mark: &Mark| mark.is_taken.unwrap_or(true);
        let taken = self.inputs.iter().zip(&self.marks).filter(|(_, mark)| is_taken(mark));
        let typed =
            taken.map(|(input, _)| (input.name.to_owned(), input.value())).filter(|(_, value)| !value.is_null());
        let mut body: Map<String, Value> = typed.collect();
        match &self.target {
            None => body.extend(self.carried.clone()),
            Some(record) => {
                let has = |name: &str| !text(record, name).is_empty();
                let about = [SUBJECT_TYPE, SUBJECT_ID].into_iter().filter(|_| !has(SUBJECT_TYPE));
                body.extend(about.filter_map(|name| Some((name.to_owned(), self.carried.get(name)?.clone()))));
            }
        }
        body
    }
}
