//! The file of an import: reads it, plans it, writes its rows. Must not know screens or columns.

use std::path::Path;
use std::sync::Arc;

use hearth_exchange::import::locale::Locale;
use hearth_exchange::import::{self, Options};
use hearth_replica::{EditError, Imported, Replica, kind_by_name, read_import_file};

use super::files::home;
use crate::message::{Answer, Write};
use crate::parse::path::typed_path;
use crate::state::import_file::{ImportDraft, ImportFault, ImportPreview, ImportRequest};
use crate::write_text;

/// Reads a file and plans what its rows would do. Writes nothing.
pub(super) fn read(replica: &Replica, request: &ImportRequest) -> Result<ImportPreview, ImportFault> {
    let path = typed_path(&request.path, home().as_deref());
    let path = Path::new(&path);
    // A pipe is not opened: it may never give a byte.
    if path.exists() && !path.is_file() {
        return Err(ImportFault::Path(format!("{} is no file: give the path of one file.", path.display())));
    }
    let bytes = read_import_file(path).map_err(|error| ImportFault::Path(format!("{error}.")))?;
    let content = |error: import::ImportError| ImportFault::Content(error.message);
    let options = Options {
        kind: request.kind.or_else(|| kind_by_name(path)),
        mapping: request.mapping.clone(),
        locale: request.locale.map(Locale::parse).transpose().map_err(content)?,
        ..Options::default()
    };
    let draft = import::read(&bytes, &options).map_err(content)?;
    let plan = replica.plan_import(&draft).map_err(|error| {
        replica.report_damage(&error);
        ImportFault::Content(error.to_string())
    })?;
    Ok(ImportPreview { draft: ImportDraft(Arc::new(draft)), plan })
}

/// Writes the rows in one transaction. `progress` receives the changes made so far.
pub(super) fn write(replica: &Replica, write: &Write, progress: &mut dyn FnMut(Answer)) -> Result<Imported, EditError> {
    let Write::Import { draft, changes, partial, .. } = write else { return Err(EditError::NotFound) };
    let mut step = |done: usize| progress(Answer::Progress(write_text::progress_word(write), done, *changes));
    replica.import(&draft.0, *partial, &mut step)
}
