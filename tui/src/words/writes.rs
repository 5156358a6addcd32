//! Texts about edits: the word for a method, the state, and sentences about deleted records and rebuilt databases. Must
//! not know how a write is carried out.

use hearth_replica::{EditOutcome, EditProgress, EditState, Method, RebuildReport};

use super::glyphs::Tone;

/// The past participle for an edit's method: `made`, `changed`, `deleted`.
pub fn method(method: Method) -> &'static str {
    match method {
        Method::Create => "made",
        Method::Delete => "deleted",
        Method::Update => "changed",
    }
}

/// The state or outcome of an edit in words, and the tone of the words.
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

/// The sentence for a write to a record that no longer exists.
pub const GONE: &str = "This record no longer exists: someone has deleted it.";

/// The notice after a damaged database was rebuilt from the server.
pub fn rebuilt_sentence(rescue: &RebuildReport) -> String {
    let edits = match rescue.edits {
        0 => "no edit was waiting".to_owned(),
        1 => "the waiting edit is kept".to_owned(),
        many => format!("the {many} waiting edits are kept"),
    };
    let lost = if rescue.lost.is_empty() { "" } else { "; the log lists the parts that could not be read" };
    format!("The database was damaged and is downloaded again from the server: {edits}{lost}.")
}
