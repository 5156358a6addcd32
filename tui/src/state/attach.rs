//! The prompt for the path of a file to attach. Must not know how the prompt is drawn, nor read a directory.

use hearth_contract::schema::Kind;

use crate::message::Write;
use crate::state::input::Line;

/// The prompt for a path.
#[derive(Debug)]
pub struct AttachPrompt {
    /// The typed path.
    pub line: Line,
    /// The kind of the record that gets the file.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// The title of the record.
    pub title: String,
    /// Names that continue the typed path; shown under the line.
    pub choices: Vec<String>,
    /// Why the file was not attached.
    pub refusal: Option<String>,
    /// The write, while its answer is missing.
    pub saving: Option<Box<Write>>,
    /// The ticket of the newest request for a completion.
    pub ticket: u64,
}

impl AttachPrompt {
    /// An empty prompt for a record.
    pub fn new(kind: Kind, id: String, title: String) -> AttachPrompt {
        let line = Line::default();
        AttachPrompt { line, kind, id, title, choices: Vec::new(), refusal: None, saving: None, ticket: 0 }
    }

    /// The write that attaches the file. None: no path is typed, and `refusal` says so.
    pub fn write(&mut self) -> Option<Write> {
        let path = self.line.text().trim().to_owned();
        if path.is_empty() {
            self.refusal = Some("Type the path of a file, or drag the file here.".to_owned());
            return None;
        }
        self.refusal = None;
        let write = Write::Attach { path, kind: self.kind, id: self.id.clone(), title: self.title.clone() };
        self.saving = Some(Box::new(write.clone()));
        Some(write)
    }

    /// The text has changed: hints about the earlier text are out of date.
    pub fn text_changed(&mut self) {
        self.choices.clear();
        self.refusal = None;
    }

    /// Takes a completion of the typed path. An older answer changes nothing.
    pub fn complete(&mut self, ticket: u64, path: &str, choices: Vec<String>) {
        if self.ticket == ticket {
            self.line = Line::with_text(path);
            self.choices = choices;
        }
    }
}
