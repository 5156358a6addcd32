//! What is still heard once the screen is gone: what became of the changes that were being written. Must not know how it is
//! told.

use super::App;
use crate::message::{Answer, Message};
use crate::now::Now;
use crate::state::session::Session;
use crate::words;

impl App {
    /// Takes what came after the last picture. Gives what was not done, in sentences, and the session, if it is another than
    /// was kept: a form whose saving failed is in it again.
    pub fn end(&mut self, now: Now, messages: impl Iterator<Item = Message>) -> (Vec<String>, Option<Session>) {
        let mut undone = Vec::new();
        for message in messages {
            if let Message::Answer(answer) = message {
                undone.extend(not_done(&answer));
                self.answer(now, answer);
            }
        }
        let session = self.session();
        (undone, Some(session).filter(|session| *session != self.kept))
    }
}

/// What was not done, where an answer says so.
fn not_done(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Written(write, Err(sentence)) | Answer::Decided(write, Err(sentence)) => {
            vec![format!("{}: {sentence}", crate::write_text::step_name(write))]
        }
        Answer::Overtaken(write, _) => {
            vec![format!("{}: somebody else changed it meanwhile", crate::write_text::step_name(write))]
        }
        Answer::Gone(write) => vec![format!("{}: {}", crate::write_text::step_name(write), words::GONE)],
        Answer::ManyWritten(_, each) => {
            let failed = each.iter().filter_map(|(title, result)| Some((title, result.as_ref().err()?)));
            failed.map(|(title, sentence)| format!("“{title}”: {sentence}")).collect()
        }
        _ => Vec::new(),
    }
}
