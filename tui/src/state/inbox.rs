//! The inbox: captures whose drafts wait for a person, and the choice of fields of one draft. Must not know how the screen is drawn.

use std::collections::BTreeSet;

use hearth_contract::resources::resource;
use hearth_replica::{Acceptance, Capture, Draft};
use serde_json::Value;

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
}

/// The drafts of one capture, with the choice of fields.
#[derive(Debug, PartialEq, Eq)]
pub struct OpenCapture {
    /// The id of the capture.
    pub id: String,
    /// The number of the shown draft.
    pub draft: usize,
    /// The number of the field under the cursor.
    pub selected: usize,
    /// The fields that are not taken.
    pub left_out: BTreeSet<String>,
}

impl Inbox {
    /// Takes the captures that were read; the cursor stays on its capture. An open capture that has ended is closed.
    pub fn set_captures(&mut self, captures: Vec<Capture>) {
        let before = self.captures.get(self.selected).map(|capture| capture.id.clone());
        let found = before.and_then(|id| captures.iter().position(|capture| capture.id == id));
        self.selected = found.unwrap_or(self.selected).min(captures.len().saturating_sub(1));
        self.captures = captures;
        self.is_loaded = true;
        let number_of_drafts = self.opened().map(|capture| capture.drafts.len());
        match (number_of_drafts, &mut self.open) {
            (Some(number), Some(open)) => open.draft = open.draft.min(number.saturating_sub(1)),
            _ => self.open = None,
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

    /// The fields of the shown draft in the order of their kind, with their values.
    pub fn fields(&self) -> Vec<(&'static str, &Value)> {
        let Some(draft) = self.draft() else { return Vec::new() };
        let fields = resource(draft.kind).fields.iter();
        fields.filter_map(|field| Some((field.name, draft.fields.get(field.name)?))).collect()
    }

    /// Opens the capture under the cursor, at the draft that is taken first.
    pub fn open_current(&mut self) {
        let Some(capture) = self.captures.get(self.selected).filter(|capture| !capture.drafts.is_empty()) else {
            return;
        };
        let first = capture.draft(None);
        let draft = capture.drafts.iter().position(|draft| Some(draft) == first).unwrap_or(0);
        self.open = Some(OpenCapture { id: capture.id.clone(), draft, selected: 0, left_out: BTreeSet::new() });
    }

    /// Shows the next draft of the open capture.
    pub fn next_draft(&mut self) {
        let number = self.opened().map_or(0, |capture| capture.drafts.len());
        if let Some(open) = &mut self.open {
            (open.draft, open.selected) = ((open.draft + 1) % number.max(1), 0);
            open.left_out.clear();
        }
    }

    /// Takes the field under the cursor, or leaves it out.
    pub fn toggle_field(&mut self) {
        let field = self.open.as_ref().and_then(|open| Some(self.fields().get(open.selected)?.0.to_owned()));
        let (Some(field), Some(open)) = (field, &mut self.open) else { return };
        if !open.left_out.remove(&field) {
            open.left_out.insert(field);
        }
    }

    /// What the person takes of the open capture.
    pub fn acceptance(&self) -> Option<Acceptance> {
        let (open, draft) = (self.open.as_ref()?, self.draft()?);
        let taken = draft.fields.keys().filter(|name| !open.left_out.contains(*name)).cloned().collect();
        Some(Acceptance {
            draft: Some(draft.name.clone()),
            only: (!open.left_out.is_empty()).then_some(taken),
            ..Acceptance::default()
        })
    }

    /// The file to look at: that of the field under the cursor, else the first of the capture.
    pub fn file(&self) -> Option<String> {
        let field = self.open.as_ref().and_then(|open| Some(self.fields().get(open.selected)?.0));
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
        assert_eq!(inbox.acceptance().unwrap().only, None);
        let at = inbox.fields().iter().position(|(name, _)| *name == "model").unwrap();
        inbox.open.as_mut().unwrap().selected = at;
        assert_eq!(inbox.file().as_deref(), Some("b"));
        inbox.toggle_field();
        assert_eq!(inbox.acceptance().unwrap().only, Some(vec!["name".to_owned()]));
        inbox.next_draft();
        assert_eq!(inbox.acceptance().unwrap().draft.as_deref(), Some("document"));
        inbox.set_captures(vec![capture("2")]);
        assert_eq!((inbox.open.is_none(), inbox.selected), (true, 0), "the open capture has ended");
    }
}
