//! Answers to writes: a form closes or shows the reason, a list follows the record, a notice names the change. Must not know
//! how a write was carried out.

use std::collections::BTreeSet;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::Row;

use super::model::{App, Layer};
use crate::message::{Decision, Effect, Write};
use crate::now::Now;
use crate::state::form::Form;
use crate::state::results::Results;
use crate::words::glyphs::Tone;
use crate::words::{self, capital};

impl App {
    /// After a bulk change: one sentence when every record succeeded, else a list of results, the failed records first.
    pub(super) fn after_bulk_write(
        &mut self,
        now: Now,
        write: &Write,
        each: Vec<(String, Result<bool, String>)>,
    ) -> Vec<Effect> {
        let Write::Many { kind, change, records } = write else { return Vec::new() };
        let unchanged = each.iter().filter(|(_, result)| *result == Ok(false)).count();
        let plain = |(title, result): (String, Result<bool, String>)| {
            (title, result.map(drop).map_err(|sentence| crate::write_text::refusal_sentence(write, &sentence)))
        };
        let each: Vec<_> = each.into_iter().map(plain).collect();
        // The user is still in the form that sent the write: the results may open over it.
        let is_awaited = self.layers.last().is_some_and(|layer| layer.has_sent(write));
        self.close_or_refuse_bulk(write, &each);
        self.unmark_done(*kind, records, &each);
        let (failed, done): (Vec<_>, Vec<_>) = each.into_iter().partition(|(_, result)| result.is_err());
        let sentence = bulk_sentence(*kind, change.as_ref(), done.len() - unchanged, unchanged);
        // The progress notice is out of date.
        self.notice = None;
        if failed.is_empty() {
            self.notify(now, Tone::Good, sentence);
            return self.reload();
        }
        let did = if change.is_some() { "changed" } else { "deleted" };
        let sentence = format!("{sentence}; {} not {did}", words::counted(*kind, failed.len()));
        let later = format!("{sentence}; the list opens when you have finished here.");
        let results = Results { done: sentence, did, each: failed.into_iter().chain(done).collect(), scroll: 0 };
        if is_awaited || !self.is_typing() {
            self.layers.push(Layer::Results(results));
        } else {
            self.results.push(results);
            self.notify(now, Tone::Alarm, later);
        }
        self.reload()
    }

    /// Closes the form that sent a bulk change. When no record succeeded, the form stays with the first reason, so that
    /// the typed values can be used again.
    fn close_or_refuse_bulk(&mut self, write: &Write, each: &[(String, Result<(), String>)]) {
        let reason = each.first().and_then(|(_, result)| result.clone().err());
        let reason = reason.filter(|_| each.iter().all(|(_, result)| result.is_err()));
        match (self.layers.iter_mut().find(|layer| layer.has_sent(write)), reason) {
            (Some(Layer::Form(form)), Some(sentence)) => form.refuse(format!("Not saved: {sentence}")),
            _ => self.layers.retain(|layer| !layer.has_sent(write)),
        }
    }

    /// Unmarks the changed records. Failed records stay marked for another try, as do records marked during the change.
    fn unmark_done(&mut self, kind: Kind, records: &[(String, String)], each: &[(String, Result<(), String>)]) {
        // Compared by id: several records may have the same title.
        let failed = records.iter().zip(each).filter(|(_, (_, result))| result.is_err());
        let failed: BTreeSet<&String> = failed.map(|((id, _), _)| id).collect();
        let tried: BTreeSet<&String> = records.iter().map(|(id, _)| id).collect();
        if let Some(list) = self.lists.iter_mut().find(|list| list.kind == kind) {
            list.marks.retain(|id, _| failed.contains(id) || !tried.contains(id));
        }
    }

    /// After a decision about edits.
    pub(super) fn after_decision(&mut self, now: Now, write: &Write, result: Result<String, String>) -> Vec<Effect> {
        match result {
            Ok(sentence) => {
                self.layers.retain(|layer| match (layer, write) {
                    (Layer::Conflict(screen), Write::Decide(edit, Decision::Resolve(_))) => screen.edit != *edit,
                    _ => !layer.has_sent(write),
                });
                self.notify(now, Tone::Good, capital(&sentence));
            }
            Err(sentence) => self.show_refusal(now, write, &sentence),
        }
        self.reload()
    }

    /// After a write that was refused because the record has changed.
    pub(super) fn after_record_changed(&mut self, now: Now, write: &Write, row: &Row) -> Vec<Effect> {
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.record_changed(now, row),
            _ => {
                let text = format!(
                    "Not saved, because the record was changed by someone else: {}",
                    crate::write_text::done_sentence(write)
                );
                self.notify(now, Tone::Alarm, text);
            }
        }
        self.reload()
    }

    /// After a write that was refused because the record was deleted. A form keeps its values for a new record.
    pub(super) fn after_record_deleted(&mut self, now: Now, write: &Write) -> Vec<Effect> {
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.record_deleted(),
            _ => return self.after_write(now, write, Err(words::GONE.to_owned())),
        }
        self.reload()
    }

    pub(super) fn after_write(&mut self, now: Now, write: &Write, result: Result<String, String>) -> Vec<Effect> {
        if let Write::Update { kind, id, .. } = write {
            let lists = self.lists.iter_mut().filter(|list| list.kind == *kind);
            lists.for_each(|list| list.end_release(id, result.is_err()));
        }
        match result {
            Ok(id) => {
                self.close_saved(write);
                if let Some(form) = self.form_making(write) {
                    form.take_made(id.clone());
                }
                if let Write::Create { kind, .. } = write {
                    self.lists
                        .iter_mut()
                        .filter(|list| list.kind == *kind)
                        .for_each(|list| list.select_when_loaded(&id));
                }
                self.notify(now, Tone::Good, crate::write_text::done_sentence(write));
            }
            Err(sentence) => self.show_refusal(now, write, &sentence),
        }
        self.reload()
    }

    /// The form that makes a record with this write for one of its fields.
    fn form_making(&mut self, write: &Write) -> Option<&mut Form> {
        self.layers.iter_mut().find_map(|layer| match layer {
            Layer::Form(form) => {
                Some(form.as_mut()).filter(|form| matches!(&form.making, Some((made, _)) if made == write))
            }
            _ => None,
        })
    }

    /// Closes the layer that sent a write. A form for the next new record takes the place of a form that asked for one.
    fn close_saved(&mut self, write: &Write) {
        let Some(place) = self.layers.iter().position(|layer| layer.has_sent(write)) else { return };
        let next = match &self.layers[place] {
            Layer::Form(form) if form.has_next => Some(Layer::Form(Box::new(form.next()))),
            _ => None,
        };
        self.layers.splice(place..=place, next);
    }

    /// Shows the reason of a refusal: in the layer that sent the write, else as a notice.
    fn show_refusal(&mut self, now: Now, write: &Write, sentence: &str) {
        let sentence = crate::write_text::refusal_sentence(write, sentence);
        if let Some(form) = self.form_making(write) {
            return form.refuse_made(sentence);
        }
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.refuse(sentence),
            Some(Layer::Quick(quick)) => (quick.saving, quick.refusal) = (None, Some(sentence)),
            Some(Layer::Attach(prompt)) => (prompt.saving, prompt.refusal) = (None, Some(sentence)),
            Some(Layer::Conflict(screen)) => (screen.saving, screen.fault) = (None, Some(sentence)),
            _ => self.notify(now, Tone::Alarm, capital(&sentence)),
        }
    }
}

/// The sentence about the records of a bulk change that succeeded: `changed` of them differ now, `unchanged` had the
/// wanted values before.
fn bulk_sentence(kind: Kind, change: Option<&Fields>, changed: usize, unchanged: usize) -> String {
    let verb = match change {
        None => "Deleted",
        Some(fields) if fields.len() == 1 && words::text_field(fields, "status") == Some("done") => "Done:",
        Some(_) => "Changed",
    };
    match (changed, unchanged) {
        (changed, 0) => format!("{verb} {}", words::counted(kind, changed)),
        (0, unchanged) => format!("Nothing to change in {}", words::counted(kind, unchanged)),
        (changed, unchanged) => {
            format!("{verb} {}; {} needed no change", words::counted(kind, changed), words::figure(unchanged))
        }
    }
}
