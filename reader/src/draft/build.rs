//! Builds a draft field by field: of two values of a field the surer one stays. Must not know where values come from.

use hearth_contract::check::{Intent, check_field};
use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value};
use time::Date;

use super::days::Chosen;
use super::model::{Confidence, Draft, Evidence, Source};

/// A draft that is being made. Each value keeps the rules of its field, so that a person can accept it.
pub(super) struct Builder {
    kind: Kind,
    draft: Draft,
}

impl Builder {
    /// An empty draft. `id` is the record that it changes.
    pub(super) fn new(name: &str, kind: Kind, id: Option<&str>) -> Builder {
        Builder {
            kind,
            draft: Draft {
                name: name.to_owned(),
                kind: kind.as_str().to_owned(),
                id: id.map(str::to_owned),
                fields: Map::new(),
                evidence: Default::default(),
            },
        }
    }

    /// Sets a field, unless a value is there that is as sure. A value that breaks the rules of its field is left out.
    pub(super) fn put(&mut self, field: &str, value: impl Into<Value>, evidence: Evidence) {
        let known = self.draft.evidence.get(field).map(|known| known.confidence);
        let surer = known.is_none_or(|known| known < evidence.confidence);
        if let Some(value) = self.checked(field, value.into()).filter(|_| surer) {
            self.draft.fields.insert(field.to_owned(), value);
            self.draft.evidence.insert(field.to_owned(), evidence);
        }
    }

    /// The normal form of a value. None: it breaks the rules of contract 3.
    fn checked(&self, field: &str, value: Value) -> Option<Value> {
        let value = match value {
            Value::String(text) => {
                let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
                Value::String(Some(text.trim().to_owned()).filter(|text| !text.is_empty())?)
            }
            other => other,
        };
        check_field(resource(self.kind).field(field)?, Intent::Patch, &value).ok()
    }

    /// Sets a field that is no reading of the file, such as its hash.
    pub(super) fn state(&mut self, field: &str, value: impl Into<Value>) {
        if let Some(value) = self.checked(field, value.into()) {
            self.draft.fields.entry(field.to_owned()).or_insert(value);
        }
    }

    /// Sets a date.
    pub(super) fn put_day(&mut self, field: &str, chosen: &Chosen, evidence: Evidence) {
        let rivals = chosen.rivals.iter().map(|day| Value::from(format_date(*day))).collect();
        self.put(field, format_date(chosen.date), Evidence { confidence: chosen.confidence, rivals, ..evidence });
    }

    /// Takes a field out.
    pub(super) fn remove(&mut self, field: &str) {
        self.draft.fields.remove(field);
        self.draft.evidence.remove(field);
    }

    /// The text of a field.
    pub(super) fn text(&self, field: &str) -> Option<&str> {
        self.draft.fields.get(field).and_then(Value::as_str)
    }

    /// The evidence of a field.
    pub(super) fn evidence(&self, field: &str) -> Option<&Evidence> {
        self.draft.evidence.get(field)
    }

    /// Whether no field was read.
    pub(super) fn is_empty(&self) -> bool {
        self.draft.evidence.is_empty()
    }

    /// The finished draft.
    pub(super) fn done(self) -> Draft {
        self.draft
    }
}

/// The evidence of a value that is no place in a file.
pub(super) fn placeless(from: Source, file: Option<&str>, text: &str, confidence: Confidence) -> Evidence {
    Evidence {
        from,
        file: file.map(str::to_owned),
        page: 0,
        area: None,
        text: text.to_owned(),
        confidence,
        rivals: Vec::new(),
    }
}

/// A date and its text.
pub(super) fn day_text(day: Date) -> String {
    format_date(day)
}
