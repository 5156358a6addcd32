//! `export`: writes the home to one file, in the format that the file's name ends with. Must not change the original.

mod copy;
mod file;
mod report;
mod tables;

use std::path::PathBuf;

use clap::Args;
use hearth_contract::schema::Kind;
use hearth_exchange::table::Options;
use hearth_replica::kind_by_name;
use serde_json::json;

use self::file::write_new_file;
use super::context::Context;
use super::failure::{Exit, Failure};
use super::values::kind_parser;
use super::{output, text};

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Path of the file, which must not exist: .db for a copy of the database with its pending edits, .json for all records, .csv
    /// for one kind, .html for a report of all things with their values, .ics for a calendar of due and expiring days
    file: PathBuf,
    /// The kind of the records in a CSV file [default: the kind that the file is named after, else inventory]
    #[arg(long, value_parser = kind_parser())]
    kind: Option<Kind>,
    /// In a CSV file, write the name of each referenced record before its id: `room` before `room_id`
    #[arg(long)]
    names: bool,
    /// Begin a CSV file with a byte order mark, which Excel needs to read letters such as ä
    #[arg(long)]
    bom: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// Path of the file, which must not exist and must end with .html
    file: PathBuf,
}

impl ReportArguments {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let export = Export { file: self.file, kind: None, names: false, bom: false };
        if !matches!(export.format(), Ok(Format::Report)) {
            let text = format!("{}: the name of a report must end with .html", export.file.display());
            return Err(Failure::new(Exit::Usage, text).hint("hearth-replica report things.html"));
        }
        export.run(context)
    }
}

/// The format that the extension of the file selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Copy,
    Json,
    Csv(Kind),
    Report,
    Calendar,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let format = self.format()?;
        let options = Options { names: self.names, bom: self.bom };
        let replica = context.open_existing()?;
        if self.file.exists() {
            return Err(Failure::new(Exit::Failure, format!("{} exists already", self.file.display()))
                .hint("hearth-replica export with another name"));
        }
        if format == Format::Copy {
            return copy::write(context, &replica, &self.file);
        }
        let records = write_new_file(&self.file, |out| {
            // One snapshot, because a sync may write between two pages.
            replica.in_snapshot(|replica| match format {
                Format::Csv(kind) => tables::write_csv(replica, kind, options, out),
                Format::Report => report::write(replica, out),
                Format::Calendar => report::write_calendar(replica, out),
                Format::Copy | Format::Json => tables::write_json(replica, out),
            })
        })
        .map_err(|failure| failure.explained(&context.profile.db, &self.file))?;
        let what = if format == Format::Calendar { "day" } else { "record" };
        output::message(&text::count(records, what));
        if context.json {
            return Ok(output::json(&json!({ "file": output::path(&self.file), "records": records }))?);
        }
        Ok(output::line(&self.file.display().to_string())?)
    }

    fn format(&self) -> Result<Format, Failure> {
        let extension =
            self.file.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_lowercase();
        let format = match extension.as_str() {
            "db" | "sqlite" | "sqlite3" => Format::Copy,
            "json" => Format::Json,
            "csv" => Format::Csv(self.kind.or_else(|| kind_by_name(&self.file)).unwrap_or(Kind::Inventory)),
            "html" | "htm" => Format::Report,
            "ics" => Format::Calendar,
            _ => {
                let text = format!("{}: the name must end with .db, .json, .csv, .html or .ics", self.file.display());
                return Err(Failure::new(Exit::Usage, text).hint("hearth-replica export home.json"));
            }
        };
        let is_set = self.kind.is_some() || self.names || self.bom;
        if is_set && !matches!(format, Format::Csv(_)) {
            return Err(Failure::new(Exit::Usage, "--kind, --names and --bom are for CSV files, which hold one kind")
                .hint("hearth-replica export inventory.csv"));
        }
        Ok(format)
    }
}
