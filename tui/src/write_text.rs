//! Texts about writes: names of undo steps, progress, results and refusals. No text claims more than is known. Must not
//! know how a write is carried out.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;

use crate::message::{Decision, Write};
use crate::words::{capital, choice, counted, full_day, singular, text_field, with_any_labels, with_labels};

/// The name of an undo step for a decision about an edit: `Undone: the decision about “Kettle”`.
pub fn decision_name(decision: &Decision, title: &str) -> String {
    match decision {
        Decision::Retry => format!("sending “{title}” again"),
        Decision::Discard => format!("discarding the change of “{title}”"),
        Decision::Undo => format!("undoing the change of “{title}”"),
        Decision::Change(_) => format!("the new values for “{title}”"),
        Decision::Resolve(_) => format!("the decision about “{title}”"),
    }
}

/// The kind of the records that a write changes. None: the write names no record.
pub fn kind_of_write(write: &Write) -> Option<Kind> {
    match write {
        Write::Create { kind, .. }
        | Write::Update { kind, .. }
        | Write::Many { kind, .. }
        | Write::Delete { kind, .. } => Some(*kind),
        Write::Attach { .. } => Some(Kind::Document),
        Write::Accept { .. } | Write::RetryCapture { .. } | Write::DiscardCapture { .. } => None,
        Write::Import { .. } | Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::SyncNow => None,
    }
}

/// The sentence why a write was refused, with labels in place of field names.
pub fn refusal_sentence(write: &Write, sentence: &str) -> String {
    kind_of_write(write).map_or_else(|| with_any_labels(sentence), |kind| with_labels(kind, sentence))
}

/// The notice after a write. The server does not have the change yet, therefore the notice does not mention the server.
pub fn done_sentence(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("New {}: {}", singular(*kind), name_in(fields)),
        Write::Update { fields, title, again, .. } if is_status(fields) => {
            let again = again.map(|date| format!("; comes again on {}", full_day(date)));
            let status = capital(&choice(text_field(fields, "status").unwrap_or_default()));
            format!("{status}: {title}{}", again.unwrap_or_default())
        }
        Write::Update { kind: Kind::Property, .. } => "Saved the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("Saved: {}", new_name(*kind, fields, title)),
        Write::Attach { title, .. } => format!("Attached to {title}"),
        Write::Delete { title, .. } => format!("Deleted: {title}"),
        Write::Accept { title, .. } => format!("Accepted: {title}"),
        Write::RetryCapture { title, .. } => format!("Read again: {title}"),
        Write::DiscardCapture { title, .. } => format!("Discarded: {title}"),
        Write::Import { name, .. } => format!("the import of {name}"),
        Write::Many { kind, records, .. } => counted(*kind, records.len()),
        Write::Undo | Write::Redo | Write::Decide(..) | Write::Pause(_) | Write::SyncNow => String::new(),
    }
}

/// The word before the progress of a long write: `Deleting: 40 of 200`.
pub fn progress_word(write: &Write) -> &'static str {
    match write {
        Write::Many { change: None, .. } | Write::Delete { .. } => "Deleting",
        Write::Import { .. } => "Importing",
        Write::Undo => "Undoing",
        Write::Redo => "Doing again",
        _ => "Changing",
    }
}

/// The name of an undo step: `Undone: the deletion of “Kettle”`.
pub fn step_name(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => format!("the new {} “{}”", singular(*kind), name_in(fields)),
        Write::Update { fields, title, .. } if is_status(fields) => {
            format!("“{title}” as {}", choice(text_field(fields, "status").unwrap_or_default()))
        }
        Write::Update { kind: Kind::Property, .. } => "the change of the home profile".into(),
        Write::Update { kind, fields, title, .. } => format!("the change of “{}”", new_name(*kind, fields, title)),
        Write::Attach { title, .. } => format!("the file of “{title}”"),
        Write::Delete { title, .. } => format!("the deletion of “{title}”"),
        Write::Accept { title, .. } => format!("the draft “{title}”"),
        other => done_sentence(other),
    }
}

/// What undo leaves on the server: the task that follows a completed recurring task. None: undo leaves nothing.
pub fn remains_note(write: &Write) -> Option<String> {
    match write {
        Write::Update { again: Some(date), .. } => Some(format!("the one for {} stays", full_day(*date))),
        _ => None,
    }
}

fn name_in(fields: &Fields) -> &str {
    ["title", "name"].iter().find_map(|field| text_field(fields, field)).unwrap_or_default()
}

/// The name of a record after the write.
fn new_name<'a>(kind: Kind, fields: &'a Fields, title: &'a str) -> &'a str {
    text_field(fields, resource(kind).title).unwrap_or(title)
}

fn is_status(fields: &Fields) -> bool {
    fields.len() == 1 && fields.contains_key("status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_sentence_uses_field_labels() {
        let write = Write::Delete { kind: Kind::Task, id: String::new(), title: String::new() };
        let sentence = refusal_sentence(&write, "subject_id names no inventory of this home.");
        assert_eq!(sentence, "subject names no inventory of this home.");
        let sentence = refusal_sentence(&Write::Undo, "room_id names no room of this home.");
        assert_eq!(sentence, "room names no room of this home.");
        assert_eq!(with_any_labels("task Sweep: due_on changed there too"), "task Sweep: due on changed there too");
    }
}
