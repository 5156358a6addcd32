//! A conflict as its state: each field that was changed here and there, and what a person chose for it. Must not know how it
//! is drawn or carried out.

use std::collections::BTreeMap;

use hearth_contract::check::{Intent, check_field};
use hearth_contract::resources::resource;
use hearth_replica::{Choice, Conflict, Resolution};
use time::Date;

use crate::editor::Editor;
use crate::faults;
use crate::input::Line;
use crate::words::{Names, field_label, plain};

/// The conflict of one edit.
#[derive(Debug)]
pub struct ConflictScreen {
    /// The edit that waits.
    pub edit: i64,
    /// Whether the edit deletes the record; then there is one choice for all of it.
    pub deletes: bool,
    /// Its fields, and what was chosen for each.
    pub fields: Vec<(Conflict, Option<Choice>)>,
    /// Names of what their values point at.
    pub names: Names,
    /// Which of them is under the cursor.
    pub selected: usize,
    /// A value that is being typed for it.
    pub typing: Option<Line>,
    /// Why that value cannot be taken, or the conflict not be settled.
    pub fault: Option<String>,
    /// Whether it has been read.
    pub loaded: bool,
}

impl ConflictScreen {
    /// The conflict of an edit, still to be read.
    pub fn of(edit: i64, deletes: bool) -> ConflictScreen {
        let (fields, names) = (Vec::new(), Names::new());
        ConflictScreen { edit, deletes, fields, names, selected: 0, typing: None, fault: None, loaded: false }
    }

    /// Takes what was read; what was chosen stays chosen unless the server has another value by now.
    pub fn take(&mut self, all: Vec<Conflict>) {
        let mut before: BTreeMap<String, (Conflict, Option<Choice>)> =
            self.fields.drain(..).map(|field| (field.0.field.clone(), field)).collect();
        let ours = all.into_iter().filter(|conflict| conflict.edit_id == self.edit);
        self.fields = ours
            .map(|conflict| {
                let chosen = before.remove(&conflict.field).filter(|(was, _)| was.theirs == conflict.theirs);
                (conflict, chosen.and_then(|(_, choice)| choice))
            })
            .collect();
        self.selected = self.selected.min(self.fields.len().saturating_sub(1));
        self.loaded = true;
    }

    /// Chooses for the field under the cursor and goes on to the next that waits; for all where there is one choice.
    pub fn choose(&mut self, choice: Choice) {
        self.fault = None;
        if self.deletes {
            return self.choose_all(&choice);
        }
        if let Some((_, chosen)) = self.fields.get_mut(self.selected) {
            *chosen = Some(choice);
        }
        let number = self.fields.len();
        let next = (1..number).map(|step| (self.selected + step) % number).find(|at| self.fields[*at].1.is_none());
        self.selected = next.unwrap_or(self.selected);
    }

    /// Chooses the same for every field.
    pub fn choose_all(&mut self, choice: &Choice) {
        self.fault = None;
        for (_, chosen) in &mut self.fields {
            *chosen = Some(choice.clone());
        }
    }

    /// Begins to type a value.
    pub fn type_value(&mut self) {
        if self.deletes {
            self.fault = Some("A deletion is kept or given up; there is no third value.".into());
        } else if let Some((conflict, _)) = self.fields.get(self.selected) {
            self.typing = Some(Line::holding(&plain(&conflict.mine)));
        }
    }

    /// Takes the typed value, or says why not.
    pub fn take_value(&mut self, today: Date) {
        let (Some(line), Some((conflict, _))) = (&self.typing, self.fields.get(self.selected)) else { return };
        let Some(field) = resource(conflict.kind).field(&conflict.field) else { return };
        let value = Editor::Line(line.clone()).value(field, today);
        match check_field(field, Intent::Patch, &value) {
            Ok(value) => {
                self.typing = None;
                self.choose(Choice::Value(value));
            }
            Err(fault) => self.fault = Some(faults::said(conflict.kind, &fault, Some(&value))),
        }
    }

    /// Whether a value was typed, or is being typed, that leaving would lose; what is only chosen is chosen again with a key.
    pub fn has_typed(&self) -> bool {
        self.typing.is_some() || self.fields.iter().any(|(_, choice)| matches!(choice, Some(Choice::Value(_))))
    }

    /// How it ends; None, with the reason, while something is not chosen. Where nothing differs any more, the change goes to
    /// the server as it is.
    pub fn resolution(&mut self) -> Option<Resolution> {
        if self.fields.is_empty() {
            return self.loaded.then(Resolution::mine);
        }
        let waiting: Vec<String> = self
            .fields
            .iter()
            .filter(|(_, choice)| choice.is_none())
            .map(|(conflict, _)| field_label(conflict.kind, &conflict.field))
            .collect();
        if !waiting.is_empty() {
            self.fault = Some(format!("Choose first: {}.", waiting.join(", ")));
            return None;
        }
        if self.deletes {
            return Some(Resolution { rest: self.fields[0].1.clone(), ..Resolution::default() });
        }
        let fields =
            self.fields.iter().filter_map(|(conflict, choice)| Some((conflict.field.clone(), choice.clone()?)));
        Some(Resolution { fields: fields.collect(), rest: None })
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.fields.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;
    use hearth_contract::schema::Kind;
    use serde_json::json;

    use super::*;

    fn conflict(field: &str, theirs: &str) -> Conflict {
        Conflict {
            edit_id: 4,
            kind: Kind::Task,
            record_id: "a".into(),
            field: field.into(),
            base: json!("2026-11-18"),
            mine: json!("2026-11-20"),
            theirs: json!(theirs),
            theirs_at: None,
            title: "Clean gutters".into(),
        }
    }

    #[test]
    fn each_field_is_mine_theirs_or_typed_and_all_must_be_chosen() {
        let today = parse_date("2026-11-21").unwrap();
        let mut screen = ConflictScreen::of(4, false);
        let other = Conflict { edit_id: 9, ..conflict("title", "x") };
        screen.take(vec![conflict("due_on", "2026-11-25"), conflict("assignee", "Ana"), other]);
        assert_eq!(screen.fields.len(), 2);
        assert!(screen.resolution().is_none());
        screen.choose(Choice::Mine);
        assert!(!screen.has_typed());
        (screen.selected, screen.fields[0].1) = (0, None);
        screen.type_value();
        screen.typing = Some(Line::holding("someday"));
        screen.take_value(today);
        assert!(screen.fault.as_deref().unwrap().contains("someday is no day"));
        screen.typing = Some(Line::holding("tomorrow"));
        screen.take_value(today);
        assert_eq!(screen.selected, 1, "the next that waits");
        assert!(screen.has_typed());
        screen.choose(Choice::Theirs);
        let resolution = screen.resolution().unwrap();
        assert_eq!(resolution.fields["due_on"], Choice::Value(json!("2026-11-22")));
        assert_eq!(resolution.fields["assignee"], Choice::Theirs);
        screen.take(Vec::new());
        assert_eq!(screen.resolution(), Some(Resolution::mine()), "nothing stands against it any more");
        // The server has moved on: the choice was about another value.
        screen.take(vec![conflict("due_on", "2026-12-01"), conflict("assignee", "Ana")]);
        assert!(screen.resolution().is_none());
    }
}
