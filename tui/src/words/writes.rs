//! Texts about edits: the word for a method, the state, and sentences about deleted records and rebuilt databases. Must
//! not know how a write is carried out.

use hearth_replica::Rescue;

use super::glyphs::Tone;

/// The past participle for an edit's method: `made`, `changed`, `deleted`.
pub fn method(method: &str) -> &str {
    match method {
        "create" => "made",
        "delete" => "deleted",
        _ => "changed",
    }
}

/// The state or outcome of an edit in words, and the tone of the words.
pub fn edit_state(state: &str) -> (&str, Tone) {
    match state {
        "waiting" => ("waiting", Tone::Notice),
        "sending" | "sent" => ("on its way", Tone::Notice),
        "blocked" => ("blocked", Tone::Alarm),
        "rejected" => ("rejected", Tone::Alarm),
        "conflict" => ("in conflict", Tone::Alarm),
        "merged" => ("on the server, merged", Tone::Quiet),
        "confirmed" => ("on the server", Tone::Quiet),
        "superseded" => ("overtaken by a later change", Tone::Quiet),
        other => (other, Tone::Quiet),
    }
}

/// The sentence for a write to a record that no longer exists.
pub const GONE: &str = "This record no longer exists: someone has deleted it.";

/// The notice after a damaged database was rebuilt from the server.
pub fn rebuilt_sentence(rescue: &Rescue) -> String {
    let edits = match rescue.edits {
        0 => "no edit was waiting".to_owned(),
        1 => "the waiting edit is kept".to_owned(),
        many => format!("the {many} waiting edits are kept"),
    };
    let lost = if rescue.lost.is_empty() { "" } else { "; the log lists the parts that could not be read" };
    format!("The database was damaged and is downloaded again from the server: {edits}{lost}.")
}
