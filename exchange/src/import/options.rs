//! What a person may state about a file: form, kind, columns, locale, encoding, delimiter, key. Must not know the content of a
//! file, except its first bytes.

use encoding_rs::Encoding;
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::error::{Cause, ImportError};
use super::locale::Locale;

/// The first bytes of a zip file.
const ZIP_START: &[u8] = b"PK\x03\x04";
/// The byte order mark of UTF-8, which may precede JSON.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table with a heading.
    Csv,
    /// An array of objects, or an export of a home.
    Json,
    /// A zip of CSV files: an export of a home.
    Zip,
}

impl Form {
    /// The form by the first bytes of a file.
    pub fn of(bytes: &[u8]) -> Form {
        if bytes.starts_with(ZIP_START) {
            return Form::Zip;
        }
        let text = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes).trim_ascii_start();
        if text.starts_with(b"[") || text.starts_with(b"{") { Form::Json } else { Form::Csv }
    }
}

/// The mark between the cells of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// The tab character.
    Tab,
}

impl Delimiter {
    /// All delimiters; of two that are equally frequent in a heading, the first one counts.
    pub const ALL: [Delimiter; 3] = [Delimiter::Comma, Delimiter::Semicolon, Delimiter::Tab];

    /// The character as one byte of ASCII.
    pub const fn byte(self) -> u8 {
        match self {
            Delimiter::Comma => b',',
            Delimiter::Semicolon => b';',
            Delimiter::Tab => b'\t',
        }
    }

    /// Parses the character itself or its name. Error: another text.
    pub fn parse(text: &str) -> Result<Delimiter, ImportError> {
        match text {
            "," | "comma" => Ok(Delimiter::Comma),
            ";" | "semicolon" => Ok(Delimiter::Semicolon),
            "\t" | "\\t" | "tab" => Ok(Delimiter::Tab),
            _ => Err(ImportError::new(
                Cause::Parameter("delimiter"),
                "delimiter must be , or ; or tab (comma, semicolon and tab are taken too).",
            )),
        }
    }
}

/// What is stated about a file. All parts may be left out.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The form. None: the first bytes decide.
    pub form: Option<Form>,
    /// The kind of the rows. None: the file says it, or the rows are inventory. Of an export of a home only this kind is read.
    pub kind: Option<Kind>,
    /// Columns and their fields. An empty field: the column is kept out.
    pub mapping: Vec<(String, String)>,
    /// Decimal mark and order of dates. None: the columns decide.
    pub locale: Option<Locale>,
    /// The encoding. None: the byte order mark decides, then the bytes.
    pub encoding: Option<&'static Encoding>,
    /// The delimiter of CSV. None: the heading decides.
    pub delimiter: Option<Delimiter>,
    /// The columns that together name one record. Empty: rows match by id, then by import_ref.
    pub key: Vec<String>,
    /// The most bytes of all unpacked files of a zip.
    pub unpacked_max: Option<u64>,
}

impl Options {
    /// Parses the name of an encoding, such as `latin1` or `utf-16le`.
    pub fn parse_encoding(name: &str) -> Result<&'static Encoding, ImportError> {
        Encoding::for_label_no_replacement(name.as_bytes()).ok_or_else(|| {
            let known = "utf-8, utf-16le, utf-16be, latin1, windows-1252 or iso-8859-15";
            ImportError::new(Cause::Parameter("encoding"), format!("encoding must be a name such as {known}."))
        })
    }

    /// Parses a mapping: a JSON object with the field of each column; null or an empty text keeps a column out.
    pub fn parse_mapping(json: &str) -> Result<Vec<(String, String)>, ImportError> {
        let wrong = |what: &str| {
            let form = r#"mapping must be a JSON object such as {"Bezeichnung":"name","Raum":"room"}"#;
            ImportError::new(Cause::Parameter("mapping"), format!("{form}; {what}."))
        };
        let Ok(Value::Object(members)) = serde_json::from_str(json) else { return Err(wrong("this is none")) };
        let field = |column: String, value: Value| match value {
            Value::String(field) => Ok((column, field)),
            Value::Null => Ok((column, String::new())),
            _ => Err(wrong("a field is a text")),
        };
        members.into_iter().map(|(column, value)| field(column, value)).collect()
    }

    /// Parses the key: columns with commas between them.
    pub fn parse_key(text: &str) -> Result<Vec<String>, ImportError> {
        let columns: Vec<String> = text.split(',').map(|column| column.trim().to_owned()).collect();
        if columns.iter().any(String::is_empty) {
            let message = "key must be one or more columns with commas between them, such as key=serial_number.";
            return Err(ImportError::new(Cause::Parameter("key"), message));
        }
        Ok(columns)
    }
}
