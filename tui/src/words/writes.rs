//! What is done to records, in words: what an edit does and how it stands, what was written, refused or decided. It claims no
//! more than is known. Must not know how a write is carried out.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_replica::{EditOutcome, EditProgress, EditState, Method, RebuildReport};

use super::glyphs::Tone;
use super::{capital, choice, counted, full_day, of_any, reason, singular, text};
use crate::message::{Decision, Write};
use crate::typed::dates::Again;

/// What an edit does, in a word.
pub fn method(method: Method) -> &'static str {
    match method {
        Method::Create => "made",
        Method::Delete => "deleted",
        Method::Update => "changed",
    }
}

/// How an edit stands or how it ended, in words, and how much that wants to be seen.
pub fn edit_progress(progress: EditProgress) -> (&'static str, Tone) {
    match progress {
        EditProgress::Open(EditState::Waiting) => ("waiting", Tone::Notice),
        EditProgress::Open(EditState::Sending | EditState::Sent) => ("on its way", Tone::Notice),
        EditProgress::Open(EditState::Blocked) => ("blocked", Tone::Alarm),
        EditProgress::Open(EditState::Rejected) => ("rejected", Tone::Alarm),
        EditProgress::Open(EditState::Conflict) => ("in conflict", Tone::Alarm),
        EditProgress::Ended(EditOutcome::Merged) => ("on the server, merged", Tone::Quiet),
        EditProgress::Ended(EditOutcome::Confirmed) => ("on the server", Tone::Quiet),
        EditProgress::Ended(EditOutcome::Superseded) => ("overtaken by a later change", Tone::Quiet),
        EditProgress::Ended(outcome @ (EditOutcome::Discarded | EditOutcome::Undone)) => {
            (outcome.as_str(), Tone::Quiet)
        }
    }
}

/// What is said of a record that was to be written to.
pub const GONE: &str = "It is not there any more: someone has deleted it.";

/// What became of a database that was damaged.
pub fn rebuilt(rescue: &RebuildReport) -> String {
    let edits = match rescue.edits {
        0 => "no change waited in it".to_owned(),
        1 => "the change that waited goes on".to_owned(),
        many => format!("the {many} changes that waited go on"),
    };
    let lost = if rescue.lost.is_empty() { "" } else { "; what could not be read is in the log" };
    format!("The database was damaged and is read anew from the server: {edits}{lost}.")
}

/// What was decided about an edit, as undoing it says.
pub fn decision(decision: &Decision, title: &str) -> String {
    match decision {
        Decision::Retry => format!("sending “{title}” again"),
        Decision::Discard => format!("giving up the change of “{title}”"),
        Decision::Undo => format!("taking back the change of “{title}”"),
        Decision::Change(_) => format!("the other values for “{title}”"),
        Decision::Resolve(_) => format!("the decision about “{title}”"),
    }
}

/// The kind of the records that a write is about, where it names them.
pub fn kind_of(write: &Write) -> Option<Kind> {
    match write {
        Write::Create { kind, .. }
        | Write::Update { kind, .. }
        | Write::Many { kind, .. }
        | Write::Delete { kind, .. } => Some(*kind),
        Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry => None,
    }
}

/// Why a write was not carried out, with the names of fields as people write them.
pub fn refusal(write: &Write, sentence: &str) -> String {
    kind_of(write).map_or_else(|| of_any(sentence), |kind| reason(kind, sentence))
}

/// What was done, as a sentence. It claims no more than that: the server has not heard of it yet.
pub fn written(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("New {}: {}", singular(*kind), name_in(fields)),
        Write::Update { fields, title, again, .. } if is_status(fields) => {
            let again = again.map(|again| match again {
                Again::On(date) => format!("; comes again on {}", full_day(date)),
                Again::Later => "; comes again".to_owned(),
            });
            let status = capital(&choice(text(fields, "status").unwrap_or_default()));
            format!("{status}: {title}{}", again.unwrap_or_default())
        }
        Write::Update { kind: Kind::Property, .. } => "Saved the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("Saved: {}", new_name(*kind, fields, title)),
        Write::Delete { title, .. } => format!("Deleted: {title}"),
        Write::Many { kind, records, .. } => counted(*kind, records.len()),
        Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::Hurry => String::new(),
    }
}

/// What is being done while a write takes long.
pub fn doing(write: &Write) -> &'static str {
    match write {
        Write::Many { change: None, .. } | Write::Delete { .. } => "Deleting",
        Write::Undo => "Undoing",
        Write::Redo => "Doing again",
        _ => "Changing",
    }
}

/// What was done, as that which is undone or done again.
pub fn step(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("the new {} “{}”", singular(*kind), name_in(fields)),
        Write::Update { fields, title, .. } if is_status(fields) => {
            format!("“{title}” as {}", choice(text(fields, "status").unwrap_or_default()))
        }
        Write::Update { kind: Kind::Property, .. } => "the change of the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("the change of “{}”", new_name(*kind, fields, title)),
        Write::Delete { title, .. } => format!("the deletion of “{title}”"),
        other => written(other),
    }
}

/// What stays elsewhere when a change is undone that the server has heard of.
pub fn stays(write: &Write) -> Option<String> {
    match write {
        Write::Update { again: Some(Again::On(date)), .. } => Some(format!("the one for {} stays", full_day(*date))),
        Write::Update { again: Some(Again::Later), .. } => Some("the next one stays".to_owned()),
        _ => None,
    }
}

fn name_in(fields: &Fields) -> &str {
    ["title", "name"].iter().find_map(|field| text(fields, field)).unwrap_or_default()
}

/// The name that a record has from now on.
fn new_name<'a>(kind: Kind, fields: &'a Fields, title: &'a str) -> &'a str {
    text(fields, resource(kind).title).unwrap_or(title)
}

fn is_status(fields: &Fields) -> bool {
    fields.len() == 1 && fields.contains_key("status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_fields_as_they_are_labelled() {
        let write = Write::Delete { kind: Kind::Task, id: String::new(), title: String::new() };
        let said = refusal(&write, "subject_id names no inventory of this home.");
        assert_eq!(said, "subject names no inventory of this home.");
        assert_eq!(refusal(&Write::Undo, "room_id names no room of this home."), "room names no room of this home.");
        assert_eq!(of_any("task Sweep: due_on changed there too"), "task Sweep: due on changed there too");
    }
}
