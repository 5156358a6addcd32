//! Answers after the last picture: the results of writes that were in progress. Must not know how a failure is shown.

use super::model::App;
use crate::message::{Answer, Message};
use crate::now::Now;
use crate::state::session::Session;
use crate::words;

impl App {
    /// Takes the messages after the last picture. Gives a sentence for each failed write, and the session when it
    /// differs from the saved session: a form whose write failed is part of the session again.
    pub fn end(&mut self, now: Now, messages: impl Iterator<Item = Message>) -> (Vec<String>, Option<Session>) {
        let mut undone = Vec::new();
        for message in messages {
            if let Message::Answer(answer) = message {
                undone.extend(not_done(&answer));
                self.answer(now, answer);
            }
        }
        let session = self.session();
        (undone, Some(session).filter(|session| *session != self.saved_session))
    }
}

/// A sentence for each write that failed.
fn not_done(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Written(write, Err(sentence)) | Answer::Decided(write, Err(sentence)) => {
            vec![format!("{}: {sentence}", crate::write_text::step_name(write))]
        }
        Answer::RecordChanged(write, _) => {
            vec![format!("{}: the record was changed by someone else", crate::write_text::step_name(write))]
        }
        Answer::RecordDeleted(write) => vec![format!("{}: {}", crate::write_text::step_name(write), words::GONE)],
        Answer::Imported(write, result) => match result {
            Ok(imported) if imported.applied => Vec::new(),
            Ok(_) => vec![format!("{}: the home changed meanwhile", crate::write_text::step_name(write))],
            Err(sentence) => vec![format!("{}: {sentence}", crate::write_text::step_name(write))],
        },
        Answer::ManyWritten(_, each) => {
            let failed = each.iter().filter_map(|(title, result)| Some((title, result.as_ref().err()?)));
            failed.map(|(title, sentence)| format!("“{title}”: {sentence}")).collect()
        }
        _ => Vec::new(),
    }
}
