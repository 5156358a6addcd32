//! The parameters of an import, as texts by name, in the API and in the stored job. Must not know where they come from.

use hearth_contract::schema::Kind;
use hearth_exchange::import::locale::Locale;
use hearth_exchange::import::{Delimiter, Form, ImportError, Options};
use serde_json::{Map, Value};

/// The names of the parameters that are stored with a job.
pub const PARAMETERS: [&str; 8] = ["kind", "mapping", "dry_run", "partial", "locale", "encoding", "delimiter", "key"];
/// The name under which the media type of the file is stored.
const MEDIA: &str = "media";

/// The parameters of an import.
pub struct Request {
    /// How the file is read.
    pub options: Options,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether the other rows are written although some are refused.
    pub partial: bool,
}

impl Request {
    /// Parses the stored form. Error: a parameter is malformed.
    pub fn parse(texts: &Map<String, Value>) -> Result<Request, ImportError> {
        let text = |name: &str| texts.get(name).and_then(Value::as_str);
        let is = |name: &str| text(name) == Some("true");
        let form = match text(MEDIA) {
            Some("application/zip") => Some(Form::Zip),
            Some("application/json") => Some(Form::Json),
            Some("text/csv") => Some(Form::Csv),
            _ => None,
        };
        let options = Options {
            form,
            kind: text("kind").and_then(Kind::parse),
            mapping: text("mapping").map(Options::parse_mapping).transpose()?.unwrap_or_default(),
            locale: text("locale").map(Locale::parse).transpose()?,
            encoding: text("encoding").map(Options::parse_encoding).transpose()?,
            delimiter: text("delimiter").map(Delimiter::parse).transpose()?,
            key: text("key").map(Options::parse_key).transpose()?.unwrap_or_default(),
            unpacked_max: None,
        };
        Ok(Request { options, dry_run: is("dry_run"), partial: is("partial") })
    }

    /// The stored form: the given parameters, and the media type of the file.
    pub fn stored<'a>(given: impl Iterator<Item = (&'static str, &'a str)>, media: &str) -> Map<String, Value> {
        let mut texts: Map<String, Value> = given.map(|(name, text)| (name.to_owned(), text.into())).collect();
        texts.insert(MEDIA.to_owned(), media.into());
        texts
    }
}
