//! The import of a table: path, preview, question, write, result. Must not know how a file is read.

use hearth_replica::Imported;

use super::layers::SAVING;
use super::model::{App, Layer};
use super::scrolling::scrolled;
use crate::keys::Action;
use crate::layout::{Layout, import_header};
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::state::confirm::{Confirm, Then};
use crate::state::import::{ImportScreen, ImportStage};
use crate::state::import_file::{ImportFault, ImportPreview, UNDO_MAX};
use crate::words::glyphs::Tone;
use crate::words::imports::last_top;
use crate::words::{capital, figure};

impl App {
    pub(super) fn open_import(&mut self) -> Vec<Effect> {
        self.push_layer(Layer::Import(Box::default()))
    }

    fn import_screen(&mut self) -> Option<&mut ImportScreen> {
        self.layers.iter_mut().rev().find_map(|layer| match layer {
            Layer::Import(screen) => Some(screen.as_mut()),
            _ => None,
        })
    }

    /// Whether an action of the import has an effect now.
    pub(super) fn applies_in_import(&self, action: Action) -> bool {
        let Some(Layer::Import(screen)) = self.top_layer() else { return false };
        match action {
            Action::Import => screen.counts().is_some_and(|counts| counts.created + counts.updated > 0),
            _ => screen.takes_options(),
        }
    }

    pub(super) fn act_in_import(&mut self, action: Action) -> Vec<Effect> {
        let ticket = self.ticket();
        let Some(screen) = self.import_screen() else { return Vec::new() };
        match (action, &screen.stage) {
            (Action::Back, ImportStage::Path | ImportStage::Done(_)) => self.close(),
            (Action::Back, ImportStage::Writing(..)) => {
                self.notify(self.now, Tone::Notice, SAVING.to_owned());
                Vec::new()
            }
            (Action::Back, ImportStage::Mapping) => read(screen, ticket),
            (Action::Back, _) => {
                screen.back_to_path();
                Vec::new()
            }
            (Action::Complete, ImportStage::Path) => {
                screen.ticket = ticket;
                vec![Effect::CompletePath(ticket, screen.line.text().to_owned())]
            }
            (Action::Save, ImportStage::Path) => read(screen, ticket),
            (Action::Complete, ImportStage::Mapping) => {
                screen.complete_mapping();
                Vec::new()
            }
            (Action::Save, ImportStage::Mapping) => match screen.take_mapping() {
                true => read(screen, ticket),
                false => Vec::new(),
            },
            (Action::ImportMapping, _) if screen.takes_options() => {
                screen.type_mapping();
                Vec::new()
            }
            (Action::ImportKind, _) if screen.takes_options() => {
                screen.next_kind();
                read(screen, ticket)
            }
            (Action::ImportFormat, _) if screen.takes_options() => {
                screen.next_format();
                read(screen, ticket)
            }
            (Action::Import, ImportStage::Done(_)) => self.close(),
            (Action::Import, ImportStage::Preview(_)) => self.ask_import(),
            _ => {
                self.scroll_import(action);
                Vec::new()
            }
        }
    }

    fn scroll_import(&mut self, action: Action) {
        let screen = Layout::for_height(self.height).screen();
        let page = usize::from(screen.saturating_sub(import_header(screen)));
        let columns = usize::from(self.width).saturating_sub(2);
        if let Some(screen) = self.import_screen() {
            let most = last_top(&screen.entries, screen.plan(), columns, page);
            screen.scroll = scrolled(screen.scroll, action, page, most);
        }
    }

    /// Asks whether the shown rows are imported.
    fn ask_import(&mut self) -> Vec<Effect> {
        let Some(screen) = self.import_screen() else { return Vec::new() };
        let (Some(write), Some(counts)) = (screen.write(), screen.counts()) else { return Vec::new() };
        let changes = counts.created + counts.updated;
        if changes == 0 {
            screen.refusal = Some("The file changes nothing, so there is nothing to import.".to_owned());
            return Vec::new();
        }
        let records = if changes == 1 { "1 record".to_owned() } else { format!("{} records", figure(changes)) };
        let undo = match changes <= UNDO_MAX {
            true => "Undo takes the whole import back.".to_owned(),
            false => format!("Undo does not take back an import of more than {} records.", figure(UNDO_MAX)),
        };
        let consequence = match counts.failed {
            0 => undo,
            1 => format!("The refused row is left out. Correct it, and import the file again. {undo}"),
            failed => {
                format!("{} refused rows are left out. Correct them, and import the file again. {undo}", figure(failed))
            }
        };
        let question = format!("Import {records}?");
        self.push_layer(Layer::Confirm(Confirm { question, consequence, then: Then::Write(Box::new(write)) }))
    }

    /// The file was read, or the reason why not.
    pub(super) fn import_is_read(&mut self, ticket: u64, read: Result<ImportPreview, ImportFault>) {
        if let Some(screen) = self.import_screen() {
            screen.take_preview(ticket, read);
        }
    }

    /// A write was confirmed: the screen of an import shows its progress.
    pub(super) fn import_begins(&mut self, write: &Write) {
        if matches!(write, Write::Import { .. })
            && let Some(screen) = self.import_screen()
        {
            screen.begin_write(write.clone());
        }
    }

    /// Takes the progress of an import. False: another write is in progress.
    pub(super) fn take_import_progress(&mut self, changes: usize) -> bool {
        self.import_screen().is_some_and(|screen| screen.take_progress(changes))
    }

    /// After an import: the screen shows the result.
    pub(super) fn after_import(&mut self, now: Now, result: Result<Imported, String>) -> Vec<Effect> {
        let result = result.map(|imported| (imported.plan, imported.applied)).map_err(|sentence| capital(&sentence));
        match self.import_screen() {
            Some(screen) => screen.take_result(result),
            None => {
                if let Err(sentence) = result {
                    self.notify(now, Tone::Alarm, sentence);
                }
            }
        }
        self.reload()
    }
}

/// Reads the file with the present options.
fn read(screen: &mut ImportScreen, ticket: u64) -> Vec<Effect> {
    screen.read(ticket).map(|file| Effect::ReadImport(ticket, file)).into_iter().collect()
}
