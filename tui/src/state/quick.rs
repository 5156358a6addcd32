//! Quick add: a task in one line. Must not know how the line is drawn or the task saved.

use std::collections::BTreeMap;

use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::problem::FieldFault;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::Value;

use crate::message::Write;
use crate::parse::quick::{People, Quick};
use crate::state::input::Line;
use crate::state::session::Draft;
use crate::words::{self, faults};

/// The line of quick add.
#[derive(Debug, Default)]
pub struct QuickLine {
    /// The typed line.
    pub line: Line,
    /// The parsed line.
    pub understood: Quick,
    /// The persons that the line may name.
    pub people: People,
    /// The subject of the task: kind, id, title. The home itself has the kind `Property` and no id.
    pub about: Option<(Kind, String, String)>,
    /// The subject when no other name is typed.
    pub preset: Option<(Kind, String, String)>,
    /// The ticket of the newest request for a subject.
    pub ticket: u64,
    /// Whether the answer to this request is missing.
    pub is_looking_up: bool,
    /// Why the task was not saved.
    pub refusal: Option<String>,
    /// The write of the task, while its answer is missing.
    pub saving: Option<Box<Write>>,
}

impl QuickLine {
    /// The write that creates the task. None: the line has a fault; `refusal` has the reason.
    pub fn write(&mut self) -> Option<Write> {
        let mut fields = self.understood.fields.clone();
        self.add_subject(&mut fields);
        let checked = check(Kind::Task, Intent::Create, &Value::Object(fields.clone()));
        let missing = self.understood.about.as_ref().filter(|_| self.about.is_none());
        let missing = missing.map(|name| format!("nothing here is called {name}"));
        let fault = self.understood.faults.first().cloned().or(missing);
        let sentence = |fault: &FieldFault| faults::fault_sentence(Kind::Task, fault, fields.get(&fault.field));
        self.refusal = fault.or_else(|| checked.faults.first().map(sentence));
        if self.refusal.is_some() {
            return None;
        }
        let fields = checked.fields.into_iter().filter(|(name, _)| fields.contains_key(name)).collect();
        let write = Write::Create { kind: Kind::Task, fields };
        self.saving = Some(Box::new(write.clone()));
        Some(write)
    }

    fn add_subject(&self, fields: &mut Fields) {
        match &self.about {
            Some((Kind::Property, ..)) => drop(fields.insert(SUBJECT_TYPE.into(), "home".into())),
            Some((kind, id, _)) => {
                fields.insert(SUBJECT_TYPE.into(), kind.as_str().into());
                fields.insert(SUBJECT_ID.into(), id.clone().into());
            }
            None => {}
        }
    }

    /// Whether the line has an unknown `+name`, or one that was taken as a person.
    pub fn can_assign(&self) -> bool {
        self.understood.unknown_person.is_some() || self.people.confirmed.is_some()
    }

    /// Takes the unknown `+name` as a person, or takes that back.
    pub fn confirm_person(&mut self) {
        self.people.confirmed = self.understood.unknown_person.take();
    }

    /// Whether the line has no text to lose.
    pub fn is_empty(&self) -> bool {
        self.line.text().trim().is_empty()
    }

    /// The draft for the session; None: the line is empty.
    pub fn draft_to_keep(&self) -> Option<Draft> {
        (!self.is_empty()).then(|| self.draft())
    }

    /// The line as the draft of a form.
    pub fn draft(&self) -> Draft {
        let mut typed = self.understood.fields.clone();
        let mut names = BTreeMap::new();
        self.add_subject(&mut typed);
        if let Some((_, _, title)) = self.about.as_ref().filter(|(kind, ..)| *kind != Kind::Property) {
            names.insert(SUBJECT_ID.to_owned(), title.clone());
        }
        // Parts that were not understood go into the title, where the user sees them.
        let missing = self.understood.about_part.as_deref().filter(|_| self.about.is_none());
        let rest = self.understood.unread.iter().map(String::as_str).chain(missing);
        let title = words::text_field(&typed, "title").into_iter().chain(rest).filter(|part| !part.is_empty());
        let title = title.collect::<Vec<_>>().join(" ");
        typed.insert("title".into(), title.into());
        let before = check(Kind::Task, Intent::Create, &Value::Object(Default::default())).fields;
        let kind = Kind::Task.as_str().to_owned();
        Draft { kind, before, typed: typed.into_iter().collect(), names, ..Draft::default() }
    }
}
