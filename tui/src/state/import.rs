//! The import of a table: the typed path, the preview of what each row does, the typed mapping of columns, the write, its
//! result. Must not know how a file is read or an import drawn.

use hearth_contract::schema::Kind;
use hearth_exchange::import::{Counts, Plan};

use crate::message::Write;
use crate::parse::mapping::{complete_mapping, mapping_text, parse_mapping};
use crate::parse::path::typed_path;
use crate::state::import_file::{FORMATS, ImportFault, ImportPreview, ImportRequest};
use crate::state::input::Line;
use crate::words::imports::{Entry, done_entries, preview_entries};

/// How far an import has come.
#[derive(Debug)]
pub enum ImportStage {
    /// The path is being typed.
    Path,
    /// The file is being read.
    Reading,
    /// The file cannot be used as it was stated; the refusal says why.
    Unusable,
    /// Columns and their fields are being typed.
    Mapping,
    /// The rows are shown; nothing is written.
    Preview(ImportPreview),
    /// The rows are being written: the preview, and how many changes are made.
    Writing(ImportPreview, usize),
    /// The rows were written, or left out.
    Done(Plan),
}

/// The screen of an import.
#[derive(Debug)]
pub struct ImportScreen {
    /// The typed path.
    pub line: Line,
    /// The typed columns and fields, while they are not yet part of `mapping`.
    pub mapping_line: Line,
    /// The columns whose fields a person has stated.
    pub mapping: Vec<(String, String)>,
    /// The columns of the file, as the last preview has shown them.
    pub columns: Vec<String>,
    /// The kind of these columns.
    pub columns_kind: Kind,
    /// Names that continue the typed text.
    pub choices: Vec<String>,
    /// The kind of the rows. None: the file tells.
    pub kind: Option<Kind>,
    /// The place in [`FORMATS`].
    pub format: usize,
    /// How far the import has come.
    pub stage: ImportStage,
    /// Why the last step failed.
    pub refusal: Option<String>,
    /// The lines of the list: of the preview or of the result.
    pub entries: Vec<Entry>,
    /// The number of entries scrolled off the top.
    pub scroll: usize,
    /// The ticket of the newest request.
    pub ticket: u64,
    /// The write, while its answer is missing.
    pub saving: Option<Box<Write>>,
}

impl Default for ImportScreen {
    fn default() -> ImportScreen {
        ImportScreen {
            line: Line::default(),
            mapping_line: Line::default(),
            mapping: Vec::new(),
            columns: Vec::new(),
            columns_kind: Kind::Inventory,
            choices: Vec::new(),
            kind: None,
            format: 0,
            stage: ImportStage::Path,
            refusal: None,
            entries: Vec::new(),
            scroll: 0,
            ticket: 0,
            saving: None,
        }
    }
}

impl ImportScreen {
    /// The line that is being typed. None: no text is typed at this stage.
    pub const fn typed_line(&self) -> Option<&Line> {
        match self.stage {
            ImportStage::Path => Some(&self.line),
            ImportStage::Mapping => Some(&self.mapping_line),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub const fn typed_line_mut(&mut self) -> Option<&mut Line> {
        match self.stage {
            ImportStage::Path => Some(&mut self.line),
            ImportStage::Mapping => Some(&mut self.mapping_line),
            _ => None,
        }
    }

    /// Whether kind, number format and mapping can be stated.
    pub const fn takes_options(&self) -> bool {
        matches!(self.stage, ImportStage::Preview(_) | ImportStage::Unusable)
    }

    /// The name of the file, without its directory.
    pub fn name(&self) -> String {
        let path = typed_path(self.line.text(), None);
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The plan that is shown.
    pub const fn plan(&self) -> Option<&Plan> {
        match &self.stage {
            ImportStage::Preview(preview) | ImportStage::Writing(preview, _) => Some(&preview.plan),
            ImportStage::Done(plan) => Some(plan),
            ImportStage::Path | ImportStage::Reading | ImportStage::Unusable | ImportStage::Mapping => None,
        }
    }

    /// Another path is typed: what was stated about the columns of the file before does not belong to it.
    pub fn back_to_path(&mut self) {
        let (line, ticket) = (std::mem::take(&mut self.line), self.ticket);
        *self = ImportScreen { line, ticket, ..ImportScreen::default() };
    }

    /// Begins to type which column is which field. A refusal of the file stays: it names the columns.
    pub fn type_mapping(&mut self) {
        self.mapping_line = Line::with_text(&mapping_text(&self.mapping));
        self.stage = ImportStage::Mapping;
    }

    /// Continues the typed column or field.
    pub fn complete_mapping(&mut self) {
        let kind = self.kind.unwrap_or(self.columns_kind);
        let (text, choices) = complete_mapping(self.mapping_line.text(), &self.columns, kind);
        (self.mapping_line, self.choices) = (Line::with_text(&text), choices);
    }

    /// Takes the typed mapping. False: it is none, and `refusal` says why.
    pub fn take_mapping(&mut self) -> bool {
        match parse_mapping(self.mapping_line.text()) {
            Ok(mapping) => self.mapping = mapping,
            Err(sentence) => {
                self.refusal = Some(sentence);
                return false;
            }
        }
        true
    }

    /// The text has changed: hints about the earlier text are out of date.
    pub fn text_changed(&mut self) {
        self.choices.clear();
        self.refusal = None;
    }

    /// Takes a completion of the typed path. An older answer changes nothing.
    pub fn complete(&mut self, ticket: u64, path: &str, choices: Vec<String>) {
        if self.ticket == ticket && matches!(self.stage, ImportStage::Path) {
            self.line = Line::with_text(path);
            self.choices = choices;
        }
    }

    /// Begins to read the file. None: no path is typed, and `refusal` says so.
    pub fn read(&mut self, ticket: u64) -> Option<ImportRequest> {
        let path = self.line.text().trim().to_owned();
        if path.is_empty() {
            self.refusal = Some("Type the path of a file, or drag the file here.".to_owned());
            return None;
        }
        (self.ticket, self.stage, self.refusal) = (ticket, ImportStage::Reading, None);
        self.choices.clear();
        let (locale, mapping) = (FORMATS[self.format].0, self.mapping.clone());
        Some(ImportRequest { path, kind: self.kind, locale, mapping })
    }

    /// States the next kind.
    pub fn next_kind(&mut self) {
        let at = Kind::COLLECTIONS.iter().position(|kind| Some(*kind) == self.kind);
        self.kind = Kind::COLLECTIONS.get(at.map_or(0, |at| at + 1)).copied();
    }

    /// States the next number format.
    pub const fn next_format(&mut self) {
        self.format = (self.format + 1) % FORMATS.len();
    }

    /// Takes the file that was read. An older answer changes nothing.
    pub fn take_preview(&mut self, ticket: u64, read: Result<ImportPreview, ImportFault>) {
        if self.ticket != ticket || !matches!(self.stage, ImportStage::Reading) {
            return;
        }
        match read {
            Ok(preview) => self.show_preview(preview),
            Err(ImportFault::Path(sentence)) => {
                (self.stage, self.refusal) = (ImportStage::Path, Some(sentence));
            }
            Err(ImportFault::Content(sentence)) => {
                (self.stage, self.refusal) = (ImportStage::Unusable, Some(sentence));
            }
        }
    }

    fn show_preview(&mut self, preview: ImportPreview) {
        (self.entries, self.scroll) = (preview_entries(&preview.plan), 0);
        let tables = preview.plan.tables.iter();
        let columns = tables.flat_map(|table| table.used.iter().map(|(name, _)| name).chain(&table.kept_out));
        self.columns = columns.cloned().collect();
        self.columns_kind = preview.plan.tables.first().map_or(Kind::Inventory, |table| table.kind);
        self.stage = ImportStage::Preview(preview);
    }

    /// What the shown rows do. None: no preview is shown.
    pub fn counts(&self) -> Option<Counts> {
        match &self.stage {
            ImportStage::Preview(preview) => Some(preview.plan.counts()),
            _ => None,
        }
    }

    /// The write of the shown rows. Refused rows are left out. None: no preview is shown.
    pub fn write(&self) -> Option<Write> {
        let ImportStage::Preview(preview) = &self.stage else { return None };
        let counts = preview.plan.counts();
        Some(Write::Import {
            draft: preview.draft.clone(),
            name: self.name(),
            changes: counts.created + counts.updated,
            partial: counts.failed > 0,
        })
    }

    /// The write is sent.
    pub fn begin_write(&mut self, write: Write) {
        let stage = std::mem::replace(&mut self.stage, ImportStage::Reading);
        self.stage = match stage {
            ImportStage::Preview(preview) => ImportStage::Writing(preview, 0),
            other => other,
        };
        (self.saving, self.refusal) = (Some(Box::new(write)), None);
    }

    /// Takes the progress of the write. False: no write is in progress here.
    pub const fn take_progress(&mut self, changes: usize) -> bool {
        match &mut self.stage {
            ImportStage::Writing(_, done) => {
                *done = changes;
                true
            }
            _ => false,
        }
    }

    /// Takes the end of the write. `Err`: nothing was written, and the sentence says why. `applied`: false when a row was
    /// refused that was not before; then the new plan is shown.
    pub fn take_result(&mut self, result: Result<(Plan, bool), String>) {
        self.saving = None;
        let ImportStage::Writing(preview, _) = std::mem::replace(&mut self.stage, ImportStage::Reading) else { return };
        match result {
            Ok((plan, true)) => {
                (self.entries, self.scroll) = (done_entries(&plan), 0);
                self.stage = ImportStage::Done(plan);
            }
            Ok((plan, false)) => {
                self.show_preview(ImportPreview { draft: preview.draft, plan });
                self.refusal = Some("The home changed meanwhile, so nothing was imported.".to_owned());
            }
            Err(sentence) => (self.stage, self.refusal) = (ImportStage::Preview(preview), Some(sentence)),
        }
    }
}
