//! The inbox: captures whose drafts wait for a person, and the choice of fields of each draft. Must not know how the screen is drawn.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind};
use hearth_contract::units::AreaUnit;
use hearth_replica::{Acceptance, Capture, Draft, Taken};
use serde_json::Value;
use time::Date;

use crate::state::input::Line;
use crate::state::typed_value;
use crate::words::{Names, field_label};

/// The captures, and the one that is open.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The captures that are open or failed, the newest first.
    pub captures: Vec<Capture>,
    /// The number of the capture under the cursor.
    pub selected: usize,
    /// Whether the captures have been read.
    pub is_loaded: bool,
    /// The drafts of one capture; None: the list is shown.
    pub open: Option<OpenCapture>,
    /// What the replica knows of the records that the drafts name.
    pub known: KnownRecords,
    /// The unit in which areas are typed.
    pub area_unit: AreaUnit,
}

/// What the replica knows of the records that drafts name.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct KnownRecords {
    /// Their titles, by id.
    pub titles: Names,
    /// The fields of the records that accepting a draft may change, by id.
    pub fields: BTreeMap<String, Fields>,
}

/// The drafts of one capture, with the choice of fields.
#[derive(Debug, Default)]
pub struct OpenCapture {
    /// The id of the capture.
    pub id: String,
    /// The number of the shown draft.
    pub draft: usize,
    /// The number of the field under the cursor.
    pub selected: usize,
    /// What the person chose of each draft, by its name.
    pub choices: BTreeMap<String, DraftChoice>,
    /// The value that is being typed for the field under the cursor.
    pub typing: Option<Line>,
    /// Why the value cannot be taken.
    pub fault: Option<String>,
}

/// What the person chose of one draft.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct DraftChoice {
    /// The fields that the person marked (true) or left out (false).
    pub marks: BTreeMap<String, bool>,
    /// Typed values, which come before those of the draft.
    pub typed: Fields,
    /// Whether the record that may be the same is changed. None: the person has not said.
    pub changes_same: Option<bool>,
}

/// A record of the home that may be the thing of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SameRecord {
    /// The record.
    pub record: (Kind, String),
    /// Its name.
    pub name: String,
    /// Why it may be the same: `same_serial`, `same_barcode` or `looks_alike`.
    pub why: String,
    /// Whether accepting the draft changes it. By default for the same serial number.
    pub is_changed: bool,
}

impl Inbox {
    /// Takes the captures that were read; the cursor stays on its capture. An open capture that has ended is closed.
    pub fn set_captures(&mut self, captures: Vec<Capture>) {
        let before = self.captures.get(self.selected).map(|capture| capture.id.clone());
        let found = before.and_then(|id| captures.iter().position(|capture| capture.id == id));
        self.selected = found.unwrap_or(self.selected).min(captures.len().saturating_sub(1));
        let field = self.field().map(|field| field.name);
        self.captures = captures;
        self.is_loaded = true;
        let number_of_drafts = self.opened().map(|capture| capture.drafts.len());
        match (number_of_drafts, &mut self.open) {
            (Some(number), Some(open)) => open.draft = open.draft.min(number.saturating_sub(1)),
            _ => self.open = None,
        }
        // The cursor stays on its field: a value may be typed for it.
        let found = self.fields().iter().position(|(name, _)| Some(*name) == field);
        if let Some(open) = &mut self.open {
            match found {
                Some(at) => open.selected = at,
                None => (open.selected, open.typing, open.fault) = (0, None, None),
            }
        }
    }

    /// The capture under the cursor, or the open one.
    pub fn current(&self) -> Option<&Capture> {
        if self.open.is_some() { self.opened() } else { self.captures.get(self.selected) }
    }

    /// The open capture.
    fn opened(&self) -> Option<&Capture> {
        let open = self.open.as_ref()?;
        self.captures.iter().find(|capture| capture.id == open.id)
    }

    /// The shown draft of the open capture.
    pub fn draft(&self) -> Option<&Draft> {
        self.opened()?.drafts.get(self.open.as_ref()?.draft)
    }

    /// What the person chose of a draft. None: nothing yet.
    fn choice_of(&self, draft: &Draft) -> Option<&DraftChoice> {
        self.open.as_ref()?.choices.get(&draft.name)
    }

    /// What the person chose of the shown draft. None: nothing yet.
    pub fn choice(&self) -> Option<&DraftChoice> {
        self.choice_of(self.draft()?)
    }

    /// The record that accepting a draft changes. None: it makes a new one.
    fn target(&self, draft: &Draft) -> Option<(Kind, String)> {
        let named = draft.id.clone().map(|id| (draft.kind, id));
        named.or_else(|| self.same_record_of(draft).filter(|same| same.is_changed).map(|same| same.record))
    }

    /// The value of a field in the record that accepting a draft changes. None: a new record, or no value.
    fn stored(&self, draft: &Draft, field: &str) -> Option<&Value> {
        let (_, id) = self.target(draft)?;
        self.known.fields.get(&id)?.get(field).filter(|value| !value.is_null())
    }

    /// The value that a field of the changed record has now. None: a new record, or no value.
    pub fn stored_value(&self, field: &str) -> Option<&Value> {
        self.stored(self.draft()?, field)
    }

    /// Whether a field of a draft is stored: as the person marked it, else where it replaces no value.
    fn is_taken(&self, draft: &Draft, field: &str) -> bool {
        let mark = self.choice_of(draft).and_then(|choice| choice.marks.get(field));
        mark.copied().unwrap_or_else(|| self.stored(draft, field).is_none())
    }

    /// Whether a field of the shown draft is stored.
    pub fn is_marked(&self, field: &str) -> bool {
        self.draft().is_some_and(|draft| self.is_taken(draft, field))
    }

    fn taken(&self, draft: &Draft) -> Taken {
        let names: Vec<String> =
            draft.fields.keys().filter(|name| self.is_taken(draft, name.as_str())).cloned().collect();
        let is_all = names.len() == draft.fields.len() && self.target(draft).is_none();
        let typed = self.choice_of(draft).map(|choice| choice.typed.clone()).unwrap_or_default();
        let set = typed.into_iter().filter(|(name, _)| self.is_taken(draft, name)).collect();
        Taken { only: (!is_all).then_some(names), set }
    }

    /// The fields of the shown draft in the order of their kind, with their values: the typed one, else that of the draft. The title of
    /// a new record is there in any case, because no record is without. Values that the changed record has are left out.
    pub fn fields(&self) -> Vec<(&'static str, &Value)> {
        let Some(draft) = self.draft() else { return Vec::new() };
        let resource = resource(draft.kind);
        let typed = |field: &Field| self.choice()?.typed.get(field.name);
        let is_needed = |field: &Field| self.target(draft).is_none() && field.name == resource.title;
        let value = |field: &Field| {
            let known = typed(field).or_else(|| draft.fields.get(field.name));
            known.or_else(|| is_needed(field).then_some(&Value::Null))
        };
        let fields = resource.fields.iter().filter_map(|field| Some((field.name, value(field)?)));
        fields.filter(|(name, value)| self.stored(draft, name) != Some(*value)).collect()
    }

    /// The record that the thing of the shown draft may be. None: the draft names its record, or nothing is the same.
    pub fn same_record(&self) -> Option<SameRecord> {
        self.same_record_of(self.draft()?)
    }

    fn same_record_of(&self, draft: &Draft) -> Option<SameRecord> {
        let found = draft.matches.first().filter(|_| draft.id.is_none())?;
        let word = |name: &str| found[name].as_str().map(str::to_owned);
        let (kind, id, why) = (Kind::parse(&word("type")?)?, word("id")?, word("why")?);
        // A record that has not come yet cannot be changed here.
        if kind != draft.kind || !self.known.fields.contains_key(&id) {
            return None;
        }
        let chosen = self.choice_of(draft).and_then(|choice| choice.changes_same);
        let is_changed = chosen.unwrap_or(why == "same_serial");
        Some(SameRecord { record: (kind, id), name: word("name").unwrap_or_default(), why, is_changed })
    }

    /// Changes the record that may be the same in place of making a new one, or the other way round.
    pub fn toggle_same(&mut self) {
        let found = self.same_record().zip(self.draft().map(|draft| draft.name.clone()));
        let (Some((same, draft)), Some(open)) = (found, &mut self.open) else { return };
        open.choices.entry(draft).or_default().changes_same = Some(!same.is_changed);
        open.selected = 0;
    }

    /// The title of the shown draft, as it is taken. None: it has none.
    pub fn title(&self) -> Option<String> {
        let title = resource(self.draft()?.kind).title;
        let value = self.fields().into_iter().find(|(name, _)| *name == title)?.1;
        value.as_str().map(str::to_owned)
    }

    /// The field under the cursor.
    fn field(&self) -> Option<&'static Field> {
        let name = self.fields().get(self.open.as_ref()?.selected)?.0;
        resource(self.draft()?.kind).field(name)
    }

    /// Opens the capture under the cursor, at the draft that is taken first.
    pub fn open_current(&mut self) {
        let Some(capture) = self.captures.get(self.selected).filter(|capture| !capture.drafts.is_empty()) else {
            return;
        };
        let first = capture.draft(None);
        let draft = capture.drafts.iter().position(|draft| Some(draft) == first).unwrap_or(0);
        self.open = Some(OpenCapture { id: capture.id.clone(), draft, ..OpenCapture::default() });
    }

    /// Shows the next draft of the open capture.
    pub fn next_draft(&mut self) {
        let number = self.opened().map_or(0, |capture| capture.drafts.len());
        if let Some(open) = &mut self.open {
            (open.draft, open.selected, open.fault) = ((open.draft + 1) % number.max(1), 0, None);
        }
    }

    /// Takes the field under the cursor, or leaves it out.
    pub fn toggle_field(&mut self) {
        let named = self.field().zip(self.draft()).map(|(field, draft)| (field.name, draft.name.clone()));
        let is_taken = named.as_ref().is_some_and(|(field, _)| self.is_marked(field));
        let (Some((field, draft)), Some(open)) = (named, &mut self.open) else { return };
        open.choices.entry(draft).or_default().marks.insert(field.to_owned(), !is_taken);
    }

    /// Opens the line for another value of the field under the cursor.
    pub fn type_value(&mut self) {
        let Some((field, kind)) = self.field().zip(self.draft().map(|draft| draft.kind)) else { return };
        let value = self.fields().into_iter().find(|(name, _)| *name == field.name).map(|(_, value)| value);
        let line = typed_value::line_of(field, value.unwrap_or(&Value::Null), self.area_unit);
        let Some(open) = &mut self.open else { return };
        (open.typing, open.fault) = match typed_value::is_typed(field) {
            true => (Some(line), None),
            false => {
                let label = field_label(kind, field.name);
                (None, Some(format!("{label} refers to a record: accept, then choose another in the form.")))
            }
        };
    }

    /// Takes the typed value, or shows its fault. An empty value is left out.
    pub fn take_value(&mut self, today: Date) {
        let Some((field, (kind, draft))) = self.field().zip(self.draft().map(|draft| (draft.kind, draft.name.clone())))
        else {
            return;
        };
        let unit = self.area_unit;
        let Some(open) = &mut self.open else { return };
        let Some(line) = &open.typing else { return };
        match typed_value::value_of(kind, field, line, unit, today) {
            Err(sentence) => open.fault = Some(sentence),
            Ok(value) => {
                (open.typing, open.fault) = (None, None);
                let choice = open.choices.entry(draft).or_default();
                choice.marks.insert(field.name.to_owned(), !value.is_null());
                if value.is_null() {
                    choice.typed.remove(field.name);
                } else {
                    choice.typed.insert(field.name.to_owned(), value);
                }
            }
        }
    }

    /// Closes the line without taking the value.
    pub fn drop_value(&mut self) {
        if let Some(open) = &mut self.open {
            (open.typing, open.fault) = (None, None);
        }
    }

    /// Whether a value is being typed.
    pub fn is_typing(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.typing.is_some())
    }

    /// The line in which a value is being typed. A change of it removes the fault.
    pub fn line_mut(&mut self) -> Option<&mut Line> {
        let open = self.open.as_mut()?;
        open.fault = None;
        open.typing.as_mut()
    }

    /// Whether leaving would lose a typed value.
    pub fn has_typed(&self) -> bool {
        let is_typed =
            |open: &OpenCapture| open.typing.is_some() || open.choices.values().any(|choice| !choice.typed.is_empty());
        self.open.as_ref().is_some_and(is_typed)
    }

    /// What the person takes of the open capture.
    pub fn acceptance(&self) -> Option<Acceptance> {
        let draft = self.draft()?;
        let others = self.opened()?.drafts.iter().filter(|other| other.kind == Kind::Document && *other != draft);
        let documents = others.map(|other| (other.name.clone(), self.taken(other)));
        Some(Acceptance {
            draft: Some(draft.name.clone()),
            taken: self.taken(draft),
            documents: documents.filter(|(_, taken)| *taken != Taken::default()).collect(),
            into: self.same_record().filter(|same| same.is_changed).map(|same| same.record),
        })
    }

    /// The file to look at: that of the field under the cursor, else the first of the capture.
    pub fn file(&self) -> Option<String> {
        let field = self.field().map(|field| field.name);
        let of_field = field.and_then(|field| self.draft()?.evidence.get(field)?["file"].as_str());
        let of_field =
            of_field.filter(|file| self.current().is_some_and(|found| found.files.iter().any(|f| f == file)));
        of_field.map(str::to_owned).or_else(|| self.current()?.files.first().cloned())
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::schema::Kind;
    use hearth_replica::{CapturePurpose, CaptureState};
    use serde_json::json;

    use super::*;

    fn capture(id: &str) -> Capture {
        let drafts = json!([
            { "name": "document", "source": "reader", "type": "document", "fields": { "title": "Receipt" } },
            { "name": "item", "source": "reader", "type": "inventory", "fields": { "name": "Drill", "model": "X1" },
              "evidence": { "model": { "file": "b" } } },
        ]);
        Capture {
            id: id.to_owned(),
            server_id: None,
            purpose: CapturePurpose::SmartAdd,
            state: CaptureState::Ready,
            is_unsent: false,
            files: vec!["a".to_owned(), "b".to_owned()],
            room_id: None,
            note: None,
            subject: None,
            created_at: String::new(),
            drafts: serde_json::from_value(drafts).unwrap(),
            problem: None,
            accepted: None,
        }
    }

    #[test]
    fn fields_are_left_out_one_by_one() {
        let mut inbox = Inbox::default();
        inbox.set_captures(vec![capture("1"), capture("2")]);
        inbox.open_current();
        assert_eq!(inbox.draft().unwrap().kind, Kind::Inventory, "the record comes before its document");
        assert_eq!(inbox.acceptance().unwrap().taken, Taken::default());
        let at = inbox.fields().iter().position(|(name, _)| *name == "model").unwrap();
        inbox.open.as_mut().unwrap().selected = at;
        assert_eq!(inbox.file().as_deref(), Some("b"));
        inbox.toggle_field();
        let only = Some(vec!["name".to_owned()]);
        assert_eq!(inbox.acceptance().unwrap().taken.only, only);
        inbox.next_draft();
        let document = inbox.acceptance().unwrap();
        assert_eq!((document.draft.as_deref(), document.taken), (Some("document"), Taken::default()));
        inbox.next_draft();
        assert_eq!(inbox.acceptance().unwrap().taken.only, only, "each draft keeps what was chosen of it");
        inbox.set_captures(vec![capture("2")]);
        assert_eq!((inbox.open.is_none(), inbox.selected), (true, 0), "the open capture has ended");
    }

    #[test]
    fn same_serial_number_changes_the_known_record() {
        let mut known = capture("1");
        known.drafts[1].matches =
            vec![json!({ "type": "inventory", "id": "i1", "name": "Old drill", "why": "same_serial" })];
        let mut inbox = Inbox::default();
        inbox.set_captures(vec![known]);
        inbox.open_current();
        assert_eq!(inbox.same_record(), None, "the record has not come yet");
        let stored = json!({ "name": "Old drill", "model": null }).as_object().cloned().unwrap();
        inbox.known.fields.insert("i1".to_owned(), stored);
        let record = Some((Kind::Inventory, "i1".to_owned()));
        let only = |inbox: &Inbox| inbox.acceptance().unwrap().taken.only;
        assert_eq!(inbox.acceptance().unwrap().into, record);
        assert_eq!(only(&inbox), Some(vec!["model".to_owned()]), "its own name stays");
        inbox.toggle_field();
        assert_eq!(only(&inbox).map(|names| names.len()), Some(2), "the person replaces the name");
        let at = inbox.fields().iter().position(|(name, _)| *name == "model").unwrap();
        inbox.open.as_mut().unwrap().selected = at;
        inbox.toggle_field();
        assert_eq!(only(&inbox), Some(vec!["name".to_owned()]), "leaving one field out marks no other");
        inbox.toggle_same();
        assert_eq!(inbox.acceptance().unwrap().into, None, "the person makes a new one");
        inbox.toggle_same();
        assert_eq!(inbox.acceptance().unwrap().into, record);
        inbox.captures[0].drafts[1].matches[0]["why"] = json!("looks_alike");
        inbox.open_current();
        assert_eq!(
            (inbox.acceptance().unwrap().into, inbox.same_record().map(|same| same.is_changed)),
            (None, Some(false))
        );
    }

    #[test]
    fn typed_values_come_before_those_of_the_draft() {
        let today = hearth_contract::formats::parse_date("2026-11-21").unwrap();
        let mut inbox = Inbox::default();
        let mut unnamed = capture("1");
        drop(unnamed.drafts[1].fields.remove("name"));
        inbox.set_captures(vec![unnamed]);
        inbox.open_current();
        assert_eq!(inbox.fields()[0], ("name", &Value::Null), "a new record needs a name");
        let type_text = |inbox: &mut Inbox, at: usize, text: &str| {
            inbox.open.as_mut().unwrap().selected = at;
            inbox.type_value();
            inbox.open.as_mut().unwrap().typing = Some(Line::with_text(text));
            inbox.take_value(today);
        };
        type_text(&mut inbox, 0, "Drill");
        let at = inbox.fields().iter().position(|(name, _)| *name == "model").unwrap();
        type_text(&mut inbox, at, &"x".repeat(1000));
        assert!(inbox.open.as_ref().unwrap().fault.is_some(), "too long");
        assert!(inbox.has_typed());
        inbox.drop_value();
        type_text(&mut inbox, at, "");
        inbox.next_draft();
        type_text(&mut inbox, 0, "Invoice");
        inbox.next_draft();
        let wish = inbox.acceptance().unwrap();
        assert_eq!(json!(wish.taken.set), json!({ "name": "Drill" }));
        assert_eq!(wish.taken.only, Some(Vec::new()), "an empty value leaves the field out");
        assert_eq!(json!(wish.documents["document"].set), json!({ "title": "Invoice" }));
    }
}
