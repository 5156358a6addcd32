//! Exports a list to a new CSV or JSON file, page by page. Must not know the screen.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use hearth_contract::formats::format_date;
use hearth_exchange::table::{self, Options};
use hearth_replica::{Replica, RowQuery, new_private_file};
use serde_json::Value;
use time::Date;

use crate::keys::ExportFormat;
use crate::{record_text, words};

/// The most files of one kind and day in a directory.
const FILES_MAX: usize = 1_000;

/// Writes every row of a list to a new file in `directory`. Returns a text with the number of rows and the path. Err: a
/// sentence for the person.
pub fn write_file(
    replica: &Replica,
    directory: &Path,
    form: ExportFormat,
    query: &RowQuery,
    today: Date,
) -> Result<String, String> {
    let extension = match form {
        ExportFormat::Csv => "csv",
        ExportFormat::Json => "json",
    };
    let stem = format!("hearth-{}-{}", query.kind.collection(), format_date(today));
    let (path, file) =
        create_file(directory, &stem, extension).map_err(|error| format!("No file could be created: {error}"))?;
    let number = write_rows(replica, BufWriter::new(file), form, query)
        .map_err(|error| format!("{} is incomplete: {error}", path.display()))?;
    Ok(format!("{} in {}", words::counted(query.kind, number), path.display()))
}

/// Creates a file with a free name. An existing file is never overwritten.
fn create_file(directory: &Path, stem: &str, extension: &str) -> io::Result<(PathBuf, File)> {
    for number in 1..=FILES_MAX {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{stem}{suffix}.{extension}"));
        match new_private_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|file| (path, file)),
        }
    }
    Err(io::Error::other(format!("{FILES_MAX} files named {stem} already exist")))
}

/// Writes the rows of one database snapshot. Without a snapshot, a write of another process between two pages could
/// repeat or skip a row.
fn write_rows(replica: &Replica, file: impl io::Write, form: ExportFormat, query: &RowQuery) -> anyhow::Result<usize> {
    replica.in_snapshot(|replica| write_pages(replica, file, form, query))
}

fn write_pages(
    replica: &Replica,
    mut file: impl io::Write,
    form: ExportFormat,
    query: &RowQuery,
) -> anyhow::Result<usize> {
    let (kind, options) = (query.kind, Options::default());
    match form {
        ExportFormat::Csv => write!(file, "{}", table::heading(kind, options))?,
        ExportFormat::Json => write!(file, "[")?,
    }
    let mut comma = "\n";
    let number = replica.each_row(query, |row| -> anyhow::Result<()> {
        let members = record_text::members(row);
        match form {
            ExportFormat::Csv => write!(file, "{}", table::row(kind, options, &members, |_| None))?,
            ExportFormat::Json => write!(file, "{comma}{}", Value::Object(members))?,
        }
        comma = ",\n";
        Ok(())
    })?;
    if form == ExportFormat::Json {
        file.write_all(b"\n]\n")?;
    }
    file.flush()?;
    Ok(number)
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::formats::parse_date;
    use hearth_contract::schema::Kind;
    use hearth_replica::{Origin, PAGE_ROWS, Sort};
    use serde_json::json;

    use super::*;

    #[test]
    fn export_keeps_order_and_existing_files() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        for name in ["Hall", "=1+1", "Attic, \"upper\""] {
            let Value::Object(fields) = json!({ "name": name }) else { unreachable!() };
            replica.create(Kind::Room, &fields).unwrap();
        }
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, usize::MAX >> 1);
        let today = parse_date("2026-11-21").unwrap();
        let sentence = write_file(&replica, directory.path(), ExportFormat::Csv, &query, today).unwrap();
        assert!(sentence.starts_with("3 rooms in ") && sentence.ends_with("hearth-rooms-2026-11-21.csv"), "{sentence}");
        let again = write_file(&replica, directory.path(), ExportFormat::Json, &query, today).unwrap();
        write_file(&replica, directory.path(), ExportFormat::Json, &query, today).unwrap();
        assert!(directory.path().join("hearth-rooms-2026-11-21-2.json").exists(), "{again}");
        let csv = std::fs::read_to_string(directory.path().join("hearth-rooms-2026-11-21.csv")).unwrap();
        let names: Vec<String> =
            csv::Reader::from_reader(csv.as_bytes()).records().map(|row| row.unwrap()[2].to_owned()).collect();
        assert_eq!(names, ["'=1+1", "Attic, \"upper\"", "Hall"]);
        let json = std::fs::read_to_string(directory.path().join("hearth-rooms-2026-11-21.json")).unwrap();
        let rooms: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!((rooms.len(), &rooms[2]["name"]), (3, &json!("Hall")));
    }

    #[test]
    fn own_export_is_unchanged_when_imported() {
        use hearth_exchange::import;
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        let today = parse_date("2026-11-21").unwrap();
        for fields in [
            json!({ "name": "Lamp", "notes": "", "serial_number": "" }),
            json!({ "name": "=1+1", "serial_number": null }),
        ] {
            replica.create(Kind::Inventory, fields.as_object().unwrap()).unwrap();
        }
        let query = RowQuery::all(Kind::Inventory, Sort { column: "name", descending: false }, usize::MAX >> 1);
        write_file(&replica, directory.path(), ExportFormat::Csv, &query, today).unwrap();
        let bytes = std::fs::read(directory.path().join("hearth-inventory-2026-11-21.csv")).unwrap();
        let options = import::Options { kind: Some(Kind::Inventory), ..import::Options::default() };
        let plan = replica.plan_import(&import::read(&bytes, &options).unwrap()).unwrap();
        let counts = plan.counts();
        assert_eq!((counts.unchanged, counts.failed, plan.rows.len()), (2, 0, 2), "{:?}", plan.rows);
    }

    /// A file that calls `then` when the first record is written.
    struct CallbackFile<F> {
        text: Vec<u8>,
        then: Option<F>,
    }

    impl<F: FnOnce()> io::Write for CallbackFile<F> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(then) = self.then.take_if(|_| bytes.contains(&b'{')) {
                then();
            }
            self.text.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn write_during_export_skips_no_record() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let [replica, other] = [Origin::Tui, Origin::Cli].map(|origin| Replica::open(&db, origin).unwrap());
        let named = |name: String| Fields::from_iter([("name".to_owned(), name.into())]);
        let make = |number: usize| replica.create(Kind::Room, &named(format!("Room {number:03}"))).unwrap();
        let ids: Vec<String> = (0..=PAGE_ROWS).map(make).collect();
        // Renaming moves the room of the second page to the top of the list.
        let rename = || other.update(Kind::Room, &ids[PAGE_ROWS], &named("Attic".to_owned())).unwrap();
        let mut file = CallbackFile { text: Vec::new(), then: Some(rename) };
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, PAGE_ROWS);
        assert_eq!(write_rows(&replica, &mut file, ExportFormat::Json, &query).unwrap(), PAGE_ROWS + 1);
        assert!(file.then.is_none());
        let rooms: Vec<Value> = serde_json::from_slice(&file.text).unwrap();
        assert_eq!(rooms[PAGE_ROWS]["name"], json!(format!("Room {PAGE_ROWS:03}")));
    }
}
