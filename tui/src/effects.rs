//! Carries effects out on the replica, on a thread of its own, so that no key ever waits for the disk. The only caller of
//! [`Replica`]; must not decide anything.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use hearth_contract::schema::Kind;
use hearth_replica::{EditError, Replica, RowQuery, Sort};

use crate::message::{Answer, Effect, Message, Write};
use crate::search::HITS_MAX;

/// More names than this are not chosen from but typed on.
const TITLES_MAX: usize = 50;

/// Starts the thread. What is sent to it is answered with messages; it ends when the sender is dropped.
pub fn start(replica: Replica, answers: Sender<Message>) -> std::io::Result<Sender<Effect>> {
    let (requests, receiver) = channel();
    thread::Builder::new().name("replica".into()).spawn(move || work(&replica, &receiver, &answers))?;
    Ok(requests)
}

fn work(replica: &Replica, requests: &Receiver<Effect>, answers: &Sender<Message>) {
    let mut queue = VecDeque::new();
    loop {
        if queue.is_empty() {
            match requests.recv() {
                Ok(effect) => queue.push_back(effect),
                Err(_) => return,
            }
        }
        for effect in requests.try_iter() {
            enqueue(&mut queue, effect);
        }
        let Some(effect) = queue.pop_front() else { continue };
        if let Some(answer) = fulfil(replica, effect)
            && answers.send(Message::Answer(answer)).is_err()
        {
            return;
        }
    }
}

/// Adds a request. One of the same slot that still waits is dropped: nobody looks at its answer any more.
fn enqueue(queue: &mut VecDeque<Effect>, effect: Effect) {
    if let Some(slot) = effect.slot() {
        queue.retain(|waiting| waiting.slot() != Some(slot));
    }
    queue.push_back(effect);
}

fn fulfil(replica: &Replica, effect: Effect) -> Option<Answer> {
    Some(match effect {
        Effect::Page(ticket, query) => {
            let page = replica.rows(&query).map_err(|error| error.to_string());
            Answer::Page { ticket, kind: query.kind, offset: query.offset, page }
        }
        Effect::Record(ticket, kind, id) => {
            let row = replica.row(kind, &id).map_err(|error| error.to_string());
            Answer::Record { ticket, kind, row }
        }
        Effect::Search(ticket, words) => {
            let hits = replica.search(&words, HITS_MAX).map_err(|error| error.to_string());
            Answer::Hits { ticket, hits }
        }
        Effect::Titles(ticket, kind, words) => {
            let titles = replica.titles(kind, &words, TITLES_MAX).map_err(|error| error.to_string());
            Answer::Titles { ticket, titles }
        }
        Effect::Status => Answer::Status(replica.status().map_err(|error| error.to_string())),
        Effect::Counts => Answer::Counts(counts(replica)),
        Effect::Edits => Answer::Edits(replica.edits().map_err(|error| error.to_string())),
        Effect::Write(write) => {
            let result = carry_out(replica, &write).map_err(|error| sentence(&error));
            Answer::Written(write, result)
        }
        Effect::Redraw | Effect::Quit => return None,
    })
}

/// How many records there are of each kind. A kind that cannot be counted is left out; its page will say why.
fn counts(replica: &Replica) -> Vec<(Kind, usize)> {
    let count = |kind: Kind| {
        let sort = Sort { column: "updated_at", descending: false };
        let page = replica.rows(&RowQuery::of(kind, sort, 0));
        page.ok().map(|page| (kind, page.total))
    };
    Kind::COLLECTIONS.into_iter().filter_map(count).collect()
}

fn carry_out(replica: &Replica, write: &Write) -> Result<String, EditError> {
    match write {
        Write::Create { kind, fields } => replica.create(*kind, fields),
        Write::Update { kind, id, fields, .. } => replica.update(*kind, id, fields).map(|()| id.clone()),
        Write::Delete { kind, id, .. } => replica.delete(*kind, id).map(|()| id.clone()),
    }
}

fn sentence(error: &EditError) -> String {
    match error {
        EditError::NotFound => "It is not there any more: someone has deleted it.".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_request_of_a_slot_replaces_the_waiting_one_and_writes_stay() {
        let write = || {
            let (kind, id, title) = (Kind::Room, "1".to_owned(), String::new());
            Effect::Write(Write::Delete { kind, id, title })
        };
        let mut queue = VecDeque::new();
        for effect in [Effect::Search(1, "a".into()), write(), Effect::Status, Effect::Search(2, "ab".into()), write()]
        {
            enqueue(&mut queue, effect);
        }
        assert_eq!(Vec::from(queue), [write(), Effect::Status, Effect::Search(2, "ab".into()), write()]);
    }
}
