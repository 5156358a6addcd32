//! What answers change: pages, records, hits, and what became of a write. An answer to an older request changes nothing.

use hearth_contract::schema::Kind;
use hearth_replica::RowPage;

use super::{App, Layer, NOTICE_MILLIS, Notice};
use crate::glyphs::Tone;
use crate::message::{Answer, Effect, Write};
use crate::now::Now;
use crate::words;

impl App {
    pub(super) fn answer(&mut self, now: Now, answer: Answer) -> Vec<Effect> {
        let mut effects = Vec::new();
        let outcome = match answer {
            Answer::Page { ticket, kind, offset, page } => page.map(|page| {
                self.hear_news(now, kind, &page);
                let list = self.lists.iter_mut().find(|list| list.kind == kind && list.ticket == ticket);
                if list.is_some_and(|list| list.take(offset, page)) {
                    effects = self.ask_page();
                }
            }),
            Answer::Record { ticket, kind, row } => row.map(|row| {
                let tops = self.layers.iter_mut().filter_map(|layer| match layer {
                    Layer::Detail(detail) => Some(detail),
                    _ => None,
                });
                let mut all = tops.chain([&mut self.home]);
                if let Some(detail) = all.find(|detail| detail.kind == kind && detail.ticket == ticket) {
                    detail.take(row);
                }
            }),
            Answer::Hits { ticket, hits } => hits.map(|hits| {
                if let Some(Layer::Search(search)) = self.layers.last_mut()
                    && search.ticket == ticket
                {
                    search.take(hits);
                }
            }),
            Answer::Titles { ticket, titles } => titles.map(|titles| {
                if let Some(Layer::Form(form)) = self.layers.last_mut()
                    && form.ticket == ticket
                {
                    form.found(titles);
                }
            }),
            Answer::Status(status) => status.map(|status| self.status = Some(status)),
            Answer::Counts(counts) => {
                self.counts = counts.into_iter().collect();
                Ok(())
            }
            Answer::Edits(edits) => edits.map(|edits| {
                if let Some(Layer::Edits(screen)) = self.layers.last_mut() {
                    screen.take(edits);
                }
            }),
            Answer::Written(write, result) => {
                effects = self.written(now, &write, result);
                Ok(())
            }
        };
        if let Err(sentence) = outcome {
            self.notify(now, Tone::Alarm, sentence);
        }
        effects
    }

    /// While in step, what lies after the position that was last read is news. The status is read after the page, so the
    /// position still is the one before it.
    fn hear_news(&mut self, now: Now, kind: Kind, page: &RowPage) {
        let Some(status) = self.status.as_ref().filter(|status| matches!(status.phase.as_str(), "live" | "polling"))
        else {
            return;
        };
        let until = now.moment.plus_millis(NOTICE_MILLIS);
        let list = self.lists.iter_mut().find(|list| list.kind == kind);
        if let Some(title) = list.and_then(|list| list.note_news(status.position, now.moment, until, page)) {
            self.news = Some(Notice { text: title, tone: Tone::Good, until });
        }
    }

    fn written(&mut self, now: Now, write: &Write, result: Result<String, String>) -> Vec<Effect> {
        let form = self.layers.iter_mut().rev().find_map(|layer| match layer {
            Layer::Form(form) if form.saving => Some(form),
            _ => None,
        });
        match (result, form) {
            (Err(sentence), Some(form)) => form.refused(sentence),
            (Err(sentence), None) => self.notify(now, Tone::Alarm, sentence),
            (Ok(id), form) => {
                if form.is_some() {
                    self.layers.retain(|layer| !matches!(layer, Layer::Form(form) if form.saving));
                }
                if let Write::Create { kind, .. } = write {
                    self.lists.iter_mut().filter(|list| list.kind == *kind).for_each(|list| list.seek(&id));
                }
                self.notify(now, Tone::Good, said(write));
            }
        }
        self.reload()
    }
}

/// What was done, as a sentence. It claims no more than that: the server has not heard of it yet.
fn said(write: &Write) -> String {
    match write {
        Write::Create { kind, fields } => {
            let name = ["title", "name"].iter().find_map(|field| words::text(fields, field)).unwrap_or_default();
            format!("New {}: {name}", words::singular(*kind))
        }
        Write::Update { fields, title, .. } if fields.len() == 1 && fields.contains_key("status") => {
            format!("{}: {title}", words::choice(words::text(fields, "status").unwrap_or_default()))
        }
        Write::Update { kind: Kind::Property, .. } => "Saved the home profile".into(),
        Write::Update { title, .. } => format!("Saved: {title}"),
        Write::Delete { title, .. } => format!("Deleted: {title}"),
    }
}
