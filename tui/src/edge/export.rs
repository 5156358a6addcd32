//! The current list as a file: CSV or JSON, page by page, into a name that nothing has yet. Must not know the screen.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use hearth_contract::formats::date_text;
use hearth_contract::resources::resource;
use hearth_replica::{Near, Replica, RowQuery};
use time::Date;

use crate::keys::Form;
use crate::words;
use crate::words::copying;

/// Rows that are in memory at once.
const PAGE: usize = 500;
/// Files of one day and kind; whoever has more should give them away first.
const NAMES_MAX: usize = 1_000;

/// Writes every row of a list and says how many and where, or why not.
pub fn write(replica: &Replica, directory: &Path, form: Form, query: &RowQuery, today: Date) -> Result<String, String> {
    let extension = match form {
        Form::Csv => "csv",
        Form::Json => "json",
    };
    let stem = format!("hearth-{}-{}", query.kind.collection(), date_text(today));
    let (path, file) =
        create(directory, &stem, extension).map_err(|error| format!("No file could be made: {error}"))?;
    let number = fill(replica, BufWriter::new(file), form, query)
        .map_err(|error| format!("{} is not complete: {error}", path.display()))?;
    Ok(format!("{} in {}", words::counted(query.kind, number), path.display()))
}

/// A new file: what is there already is not written over.
fn create(directory: &Path, stem: &str, extension: &str) -> io::Result<(PathBuf, File)> {
    for number in 1..=NAMES_MAX {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = directory.join(format!("{stem}{suffix}.{extension}"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|file| (path, file)),
        }
    }
    Err(io::Error::other(format!("there are {NAMES_MAX} files {stem} already")))
}

/// Writes the rows as they are at one moment: where others write between two pages, a row could come twice or not at all.
fn fill(replica: &Replica, file: impl io::Write, form: Form, query: &RowQuery) -> anyhow::Result<usize> {
    replica.at_one_moment(|replica| pages(replica, file, form, query))
}

fn pages(replica: &Replica, mut file: impl io::Write, form: Form, query: &RowQuery) -> anyhow::Result<usize> {
    let names: Vec<&str> = ["id"]
        .into_iter()
        .chain(resource(query.kind).fields.iter().map(|field| field.name))
        .chain(["created_at", "updated_at", "rev"])
        .collect();
    let mut number = 0;
    let mut near: Option<Near> = None;
    let mut csv = (form == Form::Csv).then(|| csv::Writer::from_writer(Vec::new()));
    if let Some(csv) = &mut csv {
        csv.write_record(&names)?;
    } else {
        file.write_all(b"[")?;
    }
    loop {
        let page = replica.rows(&RowQuery { offset: number, limit: PAGE, near: near.take(), ..query.clone() })?;
        for row in &page.rows {
            let record = copying::object(row);
            match &mut csv {
                Some(csv) => csv.write_record(names.iter().map(|name| safe(&words::plain(&record[*name]))))?,
                None => {
                    let comma = if number == 0 { "\n" } else { ",\n" };
                    write!(file, "{comma}{record}")?;
                }
            }
            near = Some(Near { id: row.id.clone(), number });
            number += 1;
        }
        if let Some(csv) = &mut csv {
            csv.flush()?;
            let text = std::mem::replace(csv, csv::Writer::from_writer(Vec::new())).into_inner()?;
            file.write_all(&text)?;
        }
        if page.rows.len() < PAGE {
            break;
        }
    }
    if csv.is_none() {
        file.write_all(b"\n]\n")?;
    }
    file.flush()?;
    Ok(number)
}

/// What a spreadsheet would take for a formula is marked as text (contract 16).
fn safe(text: &str) -> String {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::formats::parse_date;
    use hearth_contract::schema::Kind;
    use hearth_replica::{Origin, Sort};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_list_becomes_a_file_in_its_order_and_no_file_is_written_over() {
        let directory = tempfile::tempdir().unwrap();
        let replica = Replica::open(&directory.path().join("replica.db"), Origin::Tui).unwrap();
        for name in ["Hall", "=1+1", "Attic, \"upper\""] {
            let Value::Object(fields) = json!({ "name": name }) else { unreachable!() };
            replica.create(Kind::Room, &fields).unwrap();
        }
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, usize::MAX >> 1);
        let today = parse_date("2026-11-21").unwrap();
        let said = write(&replica, directory.path(), Form::Csv, &query, today).unwrap();
        assert!(said.starts_with("3 rooms in ") && said.ends_with("hearth-rooms-2026-11-21.csv"), "{said}");
        let again = write(&replica, directory.path(), Form::Json, &query, today).unwrap();
        write(&replica, directory.path(), Form::Json, &query, today).unwrap();
        assert!(directory.path().join("hearth-rooms-2026-11-21-2.json").exists(), "{again}");
        let csv = std::fs::read_to_string(directory.path().join("hearth-rooms-2026-11-21.csv")).unwrap();
        let names: Vec<String> =
            csv::Reader::from_reader(csv.as_bytes()).records().map(|row| row.unwrap()[1].to_owned()).collect();
        assert_eq!(names, ["'=1+1", "Attic, \"upper\"", "Hall"]);
        let json = std::fs::read_to_string(directory.path().join("hearth-rooms-2026-11-21.json")).unwrap();
        let rooms: Vec<Value> = serde_json::from_str(&json).unwrap();
        assert_eq!((rooms.len(), &rooms[2]["name"]), (3, &json!("Hall")));
    }

    /// A file; with its first record something happens elsewhere.
    struct Beside<F> {
        text: Vec<u8>,
        then: Option<F>,
    }

    impl<F: FnOnce()> io::Write for Beside<F> {
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
    fn what_others_write_while_a_list_is_exported_takes_no_record_out_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let [replica, other] = [Origin::Tui, Origin::Cli].map(|origin| Replica::open(&db, origin).unwrap());
        let named = |name: String| Fields::from_iter([("name".to_owned(), name.into())]);
        let make = |number: usize| replica.create(Kind::Room, &named(format!("Room {number:03}"))).unwrap();
        let ids: Vec<String> = (0..=PAGE).map(make).collect();
        // The one of the second page goes to the top of the list.
        let rename = || other.update(Kind::Room, &ids[PAGE], &named("Attic".to_owned())).unwrap();
        let mut file = Beside { text: Vec::new(), then: Some(rename) };
        let query = RowQuery::all(Kind::Room, Sort { column: "name", descending: false }, PAGE);
        assert_eq!(fill(&replica, &mut file, Form::Json, &query).unwrap(), PAGE + 1);
        assert!(file.then.is_none());
        let rooms: Vec<Value> = serde_json::from_slice(&file.text).unwrap();
        assert_eq!(rooms[PAGE]["name"], json!(format!("Room {PAGE:03}")));
    }
}
