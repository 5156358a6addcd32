//! `import`: brings in the records of a file, after a preview. The changes become edits, as everywhere. Must not know columns.

mod report;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_contract::schema::Kind;
use hearth_exchange::import::locale::Locale;
use hearth_exchange::import::{self, Delimiter, Draft, ImportError, Options};
use hearth_replica::{Replica, kind_by_name};

use super::context::{Context, hint_to_send};
use super::failure::{Exit, Failure};
use super::values::kind_parser;
use super::{output, progress, text};

/// The changes between two movements of the progress bar.
const PROGRESS_STEP: usize = 50;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file: .csv, .json, or the .zip of a server's export; - reads standard input
    file: PathBuf,
    /// The kind of the rows [default: what the file says or is named after, else inventory]
    #[arg(long, value_parser = kind_parser())]
    kind: Option<Kind>,
    /// What a column becomes: COLUMN=FIELD, several times, or a JSON file of {"COLUMN": "FIELD"}; room is the room's name, an empty
    /// field keeps the column out
    #[arg(long, value_name = "COLUMN=FIELD|FILE")]
    mapping: Vec<String>,
    /// How the file writes numbers and dates, such as de-DE or en-US [default: as its cells prove]
    #[arg(long)]
    locale: Option<String>,
    /// The encoding, such as latin1 [default: UTF-8 or UTF-16 by its mark, else Windows-1252]
    #[arg(long)]
    encoding: Option<String>,
    /// The mark between cells: , ; or tab [default: what the heading has]
    #[arg(long)]
    delimiter: Option<String>,
    /// The columns that together name a record, such as serial_number [default: id, else import_ref]
    #[arg(long, value_name = "COLUMN[,COLUMN]")]
    key: Option<String>,
    /// Import the other rows although some are refused
    #[arg(long)]
    partial: bool,
    /// Import without a question
    #[arg(long)]
    yes: bool,
    /// Only show what would happen
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

impl Import {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let options = self.options()?;
        let draft = import::read(&read_file(&self.file)?, &options)?;
        let replica = context.open_existing()?;
        let plan = replica.plan_import(&draft)?;
        let counts = plan.counts();
        let is_refused = counts.failed > 0 && !self.partial;
        let changes = counts.created + counts.updated;
        let asks = !self.yes && !self.dry_run && !context.json;
        if self.dry_run || is_refused || changes == 0 || asks {
            report::preview(context, &plan, !self.dry_run && !is_refused && changes == 0)?;
        }
        if is_refused {
            let text = format!("{} of the rows are refused, so nothing was imported", counts.failed);
            return Err(Failure::new(Exit::Usage, text)
                .hint("correct the rows, or hearth-replica import --partial FILE to import the other rows"));
        }
        if self.dry_run || changes == 0 || (asks && !confirmed(changes)?) {
            return Ok(());
        }
        if !self.yes && context.json {
            return Err(
                Failure::new(Exit::Usage, "--json asks no question").hint("repeat with --yes, or with --dry-run")
            );
        }
        self.write(context, &replica, &draft, changes)
    }

    fn write(&self, context: &Context, replica: &Replica, draft: &Draft, changes: usize) -> Result<(), Failure> {
        let bar = progress::bar(changes, "importing");
        let mut step = |done: usize| {
            if done.is_multiple_of(PROGRESS_STEP) {
                bar.set_position(done as u64);
            }
        };
        let imported = replica.import(draft, self.partial, &mut step);
        bar.finish_and_clear();
        let imported = imported?;
        if !imported.applied {
            report::preview(context, &imported.plan, false)?;
            return Err(Failure::new(Exit::Failure, "the home changed meanwhile, so nothing was imported")
                .hint("hearth-replica import FILE again"));
        }
        report::done(context, &imported.plan)?;
        Ok(hint_to_send(replica)?)
    }

    fn options(&self) -> Result<Options, Failure> {
        Ok(Options {
            kind: self.kind.or_else(|| kind_by_name(&self.file)),
            mapping: mapping(&self.mapping)?,
            locale: self.locale.as_deref().map(Locale::parse).transpose()?,
            encoding: self.encoding.as_deref().map(Options::parse_encoding).transpose()?,
            delimiter: self.delimiter.as_deref().map(Delimiter::parse).transpose()?,
            key: self.key.as_deref().map(Options::parse_key).transpose()?.unwrap_or_default(),
            ..Options::default()
        })
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Failure {
        Failure::new(Exit::Usage, error.message).hint("hearth-replica import --help")
    }
}

fn mapping(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut mapping = Vec::new();
    for text in given {
        match text.split_once('=') {
            Some((column, field)) => mapping.push((column.to_owned(), field.to_owned())),
            None => {
                let json = std::fs::read_to_string(text).map_err(|error| {
                    Failure::new(Exit::Usage, format!("{text} cannot be read: {error}"))
                        .hint("hearth-replica import --help")
                })?;
                mapping.extend(Options::parse_mapping(&json)?);
            }
        }
    }
    Ok(mapping)
}

fn read_file(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = match file.as_os_str() == "-" {
        true => hearth_replica::read_import_source(file, io::stdin().lock()),
        false => hearth_replica::read_import_file(file),
    };
    read.map_err(|error| Failure::new(Exit::Usage, error.to_string()).hint("hearth-replica import --help"))
}

/// Asks on a terminal. Error: there is none.
fn confirmed(changes: usize) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Exit::Usage, "nothing was imported: the question needs a terminal")
            .hint("repeat with --yes to import, or with --dry-run to only look"));
    }
    let is_yes = output::is_confirmed(&format!("Import {}?", text::count(changes, "record")))?;
    if !is_yes {
        output::message("nothing was imported");
    }
    Ok(is_yes)
}
