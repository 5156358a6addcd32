//! `attach`: files become documents of an item, a vehicle or the home. Works without a server.
//! Must not know how files reach the server.

use std::path::PathBuf;

use clap::Args;
use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::doctor::shell_quoted;
use hearth_replica::{AttachError, Replica};
use serde_json::json;

use super::context::{Context, hint_to_send};
use super::failure::{Exit, Failure};
use super::{output, text, values};

/// The word for documents about the home itself.
const HOME: &str = "home";

/// Arguments of `attach`.
#[derive(Debug, Args)]
pub(super) struct Attach {
    /// The files to attach: receipts, manuals, photos
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// An item or a vehicle, by name or id, or home: each file becomes a new document. A document: its file is replaced
    #[arg(long, value_name = "ID")]
    to: String,
    /// The title of the document [default: the name of the file]
    #[arg(long)]
    title: Option<String>,
    /// The category of the document, such as receipt or manual
    #[arg(long)]
    category: Option<String>,
}

impl Attach {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_or_create()?;
        let (fields, document) = self.target(&replica)?;
        let made = replica.attach(&self.files, &fields, document.as_deref()).map_err(attach_failure)?;
        let mut attached = Vec::new();
        for (file, one) in self.files.iter().zip(made) {
            if !context.json {
                output::message(&format!(
                    "attached {}, {}",
                    text::one_line(&file.display().to_string()),
                    super::files::size_text(i64::try_from(one.facts.size_bytes).ok())
                ));
                output::line(&one.document)?;
            }
            attached.push(json!({
                "document": one.document, "file": output::path(file), "sha256": one.facts.sha256,
                "size_bytes": one.facts.size_bytes, "content_type": one.facts.content_type,
            }));
        }
        hint_to_send(&replica)?;
        if context.json {
            output::json(&attached)?;
        }
        Ok(())
    }

    /// The fields of new documents, or the document that gets the file.
    fn target(&self, replica: &Replica) -> Result<(Fields, Option<String>), Failure> {
        let mut fields = Fields::new();
        for (name, value) in [("title", &self.title), ("category", &self.category)] {
            let (Some(value), Some(field)) = (value, resource(Kind::Document).field(name)) else { continue };
            let checked = check_field(field, Intent::Create, &value.as_str().into());
            let checked = checked.map_err(|fault| {
                Failure::new(Exit::Usage, text::one_line(&fault.message)).hint("hearth-replica fields documents")
            })?;
            fields.insert(name.to_owned(), checked);
        }
        if self.to == HOME {
            fields.insert(SUBJECT_TYPE.to_owned(), HOME.into());
            return Ok((fields, None));
        }
        let (kind, id) = values::find_record(replica, &self.to, false)?;
        match kind {
            Kind::Inventory | Kind::Vehicle => {
                fields.insert(SUBJECT_TYPE.to_owned(), kind.as_str().into());
                fields.insert(SUBJECT_ID.to_owned(), id.into());
                Ok((fields, None))
            }
            Kind::Document if self.files.len() > 1 => {
                Err(Failure::new(Exit::Usage, "a document has one file; give one, or attach the files to an item")
                    .hint("hearth-replica attach FILE --to ID"))
            }
            Kind::Document if !fields.is_empty() => {
                Err(Failure::new(Exit::Usage, "--title and --category are for new documents")
                    .hint(format!("hearth-replica set {id} title=TEXT")))
            }
            Kind::Document => Ok((fields, Some(id))),
            Kind::Property => {
                fields.insert(SUBJECT_TYPE.to_owned(), HOME.into());
                Ok((fields, None))
            }
            Kind::Room | Kind::Task => {
                let sentence = format!("a {kind} has no documents: attach the file to an item, a vehicle or the home");
                Err(Failure::new(Exit::Usage, sentence).hint("hearth-replica attach FILE --to home"))
            }
        }
    }
}

pub(super) fn attach_failure(error: AttachError) -> Failure {
    let sentence = error.to_string();
    match error {
        AttachError::Source(file, cause) => {
            let is_missing = cause.kind() == std::io::ErrorKind::NotFound;
            let exit = if is_missing { Exit::NotFound } else { Exit::Failure };
            Failure::new(exit, sentence).hint(format!("ls -l {}", shell_quoted(&file)))
        }
        AttachError::NotAFile(_) => Failure::new(Exit::Usage, sentence).hint("hearth-replica attach FILE --to ID"),
        AttachError::TooLarge { .. } => Failure::new(Exit::Usage, sentence)
            .hint("make it smaller, then attach it; or keep its address in the field url"),
        AttachError::Edit(error) => error.into(),
    }
}
