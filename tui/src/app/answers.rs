//! What answers change: pages, records, hits, and what became of a write. An answer to an older request changes nothing.

use std::collections::BTreeSet;

use hearth_contract::schema::Kind;
use hearth_replica::{Latest, Row, RowPage, RowQuery};

use super::{App, Layer, NOTICE_MILLIS, Notice, Results};
use crate::keys::{Action, Context};
use crate::message::{Answer, Decision, Effect, Place, Write};
use crate::now::Now;
use crate::state::list::{List, MARKS_MAX};
use crate::words::glyphs::Tone;
use crate::words::{self, capital};

/// One is, several are.
const fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// One was, several were.
const fn were(number: usize) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

impl App {
    pub(super) fn answer(&mut self, now: Now, answer: Answer) -> Vec<Effect> {
        let mut effects = Vec::new();
        if matches!(
            answer,
            Answer::Written(..)
                | Answer::Overtaken(..)
                | Answer::Gone(_)
                | Answer::Decided(..)
                | Answer::ManyWritten(..)
        ) {
            // What was written stands elsewhere now; a page must not be read from where it stood.
            self.lists.iter_mut().for_each(List::stale);
        }
        let outcome = match answer {
            Answer::Page { ticket, kind, offset, page } => page.map(|page| {
                self.hear_news(now, kind, &page);
                let first = self.is_first_sync();
                let list = self.lists.iter_mut().find(|list| list.kind == kind && list.ticket == ticket);
                let taken = list.map(|list| {
                    if first && list.selected == 0 {
                        list.let_go();
                    }
                    list.take(offset, page)
                });
                if taken == Some(true) {
                    effects = self.ask_page();
                } else if taken == Some(false) {
                    effects = self.ask_place(kind);
                }
            }),
            Answer::Place { ticket, kind, id, place } => place.map(|place| {
                effects = self.take_place(now, kind, ticket, &id, place);
            }),
            Answer::Totals { ticket, kind, totals } => totals.map(|totals| {
                let list = self.lists.iter_mut().find(|list| list.kind == kind && list.sums == ticket);
                if let Some(list) = list {
                    list.take_totals(totals);
                }
            }),
            Answer::Overview(ticket, overview) => overview.map(|overview| {
                if self.home.ticket == ticket {
                    self.hear_latest(now, overview.latest.as_ref());
                    let first = self.is_first_sync();
                    self.home.take(overview, self.today, first);
                }
            }),
            Answer::Figures(figures) => figures.map(|figures| self.home.figures = Some(figures)),
            Answer::Record { ticket, kind, full } => full.map(|full| {
                let page = self.page();
                let mut all = self.layers.iter_mut().filter_map(|layer| match layer {
                    Layer::Detail(detail) => Some(detail),
                    _ => None,
                });
                if let Some(detail) = all.find(|detail| detail.kind == kind && detail.ticket == ticket) {
                    detail.take(full, page);
                }
            }),
            Answer::About(ticket, about) => {
                let mut lines = self.layers.iter_mut().filter_map(|layer| match layer {
                    Layer::Quick(quick) => Some(quick),
                    _ => None,
                });
                if let Some(quick) = lines.find(|quick| quick.ticket == ticket) {
                    (quick.about, quick.looking) = (about, false);
                }
                Ok(())
            }
            Answer::All(query, records) => records.map(|records| self.mark_these(now, &query, records)),
            Answer::Reopened(result) => result,
            Answer::Exported(Ok(what)) => {
                self.notify(now, Tone::Good, format!("Exported {what}"));
                Ok(())
            }
            Answer::Exported(Err(sentence)) => Err(sentence),
            Answer::Hits { ticket, hits } => hits.map(|hits| {
                if let Some(Layer::Search(search)) = self.layers.last_mut()
                    && search.ticket == ticket
                {
                    search.take(hits);
                }
            }),
            Answer::Titles { ticket, titles } => titles.map(|titles| {
                let mut forms = self.layers.iter_mut().filter_map(|layer| match layer {
                    Layer::Form(form) => Some(form),
                    _ => None,
                });
                if let Some(form) = forms.find(|form| form.ticket == ticket) {
                    form.found(titles);
                }
            }),
            Answer::Status(status) => status.map(|status| {
                if status.is_in_contact() {
                    self.stopped.take_if(|(_, again)| *again);
                }
                let is_first = self.status.replace(status).is_none();
                // A form that was found again has more to say than the sign in the status bar, which stays.
                if is_first && self.halt().is_some() && self.notice.is_none() {
                    let key = self.setup.keys.key_of(Context::Home, Action::Sync).unwrap_or("?");
                    let text = format!("Changes stay here for now; {key} says why and what to do.");
                    self.notify(now, Tone::Notice, text);
                }
            }),
            Answer::Counts(counts) => {
                self.counts = counts.into_iter().collect();
                Ok(())
            }
            Answer::Edits(edits) => edits.map(|(edits, names)| {
                if let Some(Layer::Edits(screen)) = self.layers.last_mut() {
                    screen.names = names;
                    screen.take(edits);
                }
            }),
            Answer::UnderWay(doing, done, of) => {
                let far = format!("{doing}: {} of {}", words::figure(done), words::figure(of));
                self.notify(now, Tone::Notice, far);
                Ok(())
            }
            Answer::Written(write, result) => {
                effects = self.written(now, &write, result);
                Ok(())
            }
            Answer::Overtaken(write, row) => {
                effects = self.overtaken(now, &write, &row);
                Ok(())
            }
            Answer::Gone(write) => {
                effects = self.gone(now, &write);
                Ok(())
            }
            Answer::Decided(write, result) => {
                effects = self.decided(now, &write, result);
                Ok(())
            }
            Answer::Log(log) => log.map(|log| self.log = log),
            Answer::Conflicts(conflicts) => conflicts.map(|(conflicts, names)| {
                if let Some(Layer::Conflict(screen)) = self.layers.last_mut() {
                    screen.names = names;
                    screen.take(conflicts);
                }
            }),
            Answer::ManyWritten(write, each) => {
                effects = self.many_written(now, &write, each);
                Ok(())
            }
        };
        if let Err(sentence) = outcome {
            self.notify(now, Tone::Alarm, sentence);
        }
        effects
    }

    /// Marks every record of a list. What is not marked after that, though somebody may think so, is counted.
    fn mark_these(&mut self, now: Now, query: &RowQuery, records: Vec<(String, String)>) {
        let kind = query.kind;
        let Some(list) = self.lists.iter_mut().find(|list| list.kind == kind) else { return };
        // It is another list by now.
        if list.whole() != *query {
            return;
        }
        let listed = records.len();
        let dropped = list.mark_all(records);
        let left = list.total.saturating_sub(listed);
        let is_short = left > 0 && listed >= MARKS_MAX && !list.marks.is_empty();
        let mut said = Vec::new();
        if is_short {
            let (listed, more) = (words::counted(kind, listed), words::figure(left));
            said.push(format!("Only the first {listed} are marked; {more} more {} not.", are(left)));
        }
        if dropped > 0 {
            let (marks, most) = (if dropped == 1 { "mark" } else { "marks" }, words::figure(MARKS_MAX));
            let (gone, are) = (words::figure(dropped), are(dropped));
            said.push(format!("{gone} {marks} outside this list {are} gone: no more than {most} are kept."));
        }
        if !said.is_empty() {
            self.notify(now, Tone::Notice, said.join(" "));
        }
    }

    /// Asks where the record stands that the list's page should have had: it is new, and the list is long.
    fn ask_place(&mut self, kind: Kind) -> Vec<Effect> {
        let ask = |list: &mut List| Some(Effect::Place(list.ticket, list.whole(), list.missed()?));
        self.list_mut().filter(|list| list.kind == kind).and_then(ask).into_iter().collect()
    }

    /// Goes to the record that was sought. Where the list does not have it, that is said.
    fn take_place(&mut self, now: Now, kind: Kind, ticket: u64, id: &str, place: Place) -> Vec<Effect> {
        let Some(list) = self.list_mut().filter(|list| list.kind == kind) else { return Vec::new() };
        if list.ticket != ticket {
            // It was sought in a list that is another by now; the newest page has it or asks again.
            list.seek(id);
            return Vec::new();
        }
        let hides = place == Place::Nowhere && !list.filter.text().trim().is_empty();
        if let Place::At(number) = place
            && list.go(number)
        {
            list.seek(id);
            return self.ask_page();
        }
        if let Some(notice) = self.notice.as_mut().filter(|_| hides) {
            notice.text.push_str("; the filter hides it");
            notice.until = now.moment.plus_millis(NOTICE_MILLIS);
        }
        Vec::new()
    }

    /// Whether the home is still on its way here for the first time. A cursor at the top then stays there instead of following the
    /// record that happened to come first.
    fn is_first_sync(&self) -> bool {
        self.status.as_ref().is_some_and(|status| matches!(status.phase.as_str(), "new" | "backfilling"))
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

    /// The same for the home screen, which knows only the newest change.
    fn hear_latest(&mut self, now: Now, latest: Option<&Latest>) {
        let before =
            self.home.overview.as_ref().map(|overview| overview.latest.as_ref().map_or(0, |latest| latest.rev));
        let is_live = self.status.as_ref().is_some_and(|status| matches!(status.phase.as_str(), "live" | "polling"));
        if let (Some(before), Some(latest), true) = (before, latest, is_live)
            && latest.rev > before
        {
            let until = now.moment.plus_millis(NOTICE_MILLIS);
            self.news = Some(Notice { text: latest.title.clone(), tone: Tone::Good, until });
        }
    }

    /// After a change of many: a sentence where all went well, every record with its own where not.
    fn many_written(&mut self, now: Now, write: &Write, each: Vec<(String, Result<bool, String>)>) -> Vec<Effect> {
        let Write::Many { kind, change, records } = write else { return Vec::new() };
        let same = each.iter().filter(|(_, result)| *result == Ok(false)).count();
        // Those that are listed beside what was refused are as they should be, whoever made them so.
        let said = |(title, result): (String, Result<bool, String>)| {
            (title, result.map(drop).map_err(|sentence| crate::write_text::refusal_sentence(write, &sentence)))
        };
        let each: Vec<_> = each.into_iter().map(said).collect();
        // Nothing is done: what was typed for all of them is wanted again.
        let in_vain = each.first().and_then(|(_, result)| result.clone().err());
        let in_vain = in_vain.filter(|_| each.iter().all(|(_, result)| result.is_err()));
        // Who is still in the form that sent it waits for this; who is in another is not disturbed.
        let is_awaited = self.layers.last().is_some_and(|layer| layer.has_sent(write));
        match (self.layers.iter_mut().find(|layer| layer.has_sent(write)), in_vain) {
            (Some(Layer::Form(form)), Some(sentence)) => form.refused(format!("Not saved: {sentence}")),
            _ => self.layers.retain(|layer| !layer.has_sent(write)),
        }
        // By id: several records may have the same title.
        let failed = records.iter().zip(&each).filter(|(_, (_, result))| result.is_err());
        let failed: BTreeSet<&String> = failed.map(|((id, _), _)| id).collect();
        let tried: BTreeSet<&String> = records.iter().map(|(id, _)| id).collect();
        let (bad, good): (Vec<_>, Vec<_>) = each.into_iter().partition(|(_, result)| result.is_err());
        let verb = match change {
            None => "Deleted",
            Some(fields) if fields.len() == 1 && words::text_field(fields, "status") == Some("done") => "Done:",
            Some(_) => "Changed",
        };
        let done = match (good.len() - same, same) {
            (done, 0) => format!("{verb} {}", words::counted(*kind, done)),
            (0, same) => format!("Nothing to change: {} {} so already", words::counted(*kind, same), are(same)),
            (done, same) => {
                format!("{verb} {}; {} {} so already", words::counted(*kind, done), words::figure(same), were(same))
            }
        };
        if let Some(list) = self.lists.iter_mut().find(|list| list.kind == *kind) {
            // What was not done stays marked, so that it can be tried again; and what was marked meanwhile.
            list.marks.retain(|id, _| failed.contains(id) || !tried.contains(id));
        }
        // How far it was is said no more.
        self.notice = None;
        if bad.is_empty() {
            self.notify(now, Tone::Good, done);
        } else {
            let did = if change.is_some() { "changed" } else { "deleted" };
            let done = format!("{done}; {} not {did}", words::counted(*kind, bad.len()));
            let later = format!("{done}; the list of them opens when you are done here.");
            let results = Results { done, did, each: bad.into_iter().chain(good).collect(), scroll: 0 };
            if is_awaited || !self.is_typing() {
                self.layers.push(Layer::Results(results));
            } else {
                self.results.push(results);
                self.notify(now, Tone::Alarm, later);
            }
        }
        self.reload()
    }

    /// After a decision about edits.
    fn decided(&mut self, now: Now, write: &Write, result: Result<String, String>) -> Vec<Effect> {
        match result {
            Ok(sentence) => {
                self.layers.retain(|layer| match (layer, write) {
                    (Layer::Conflict(screen), Write::Decide(edit, Decision::Resolve(_))) => screen.edit != *edit,
                    _ => !layer.has_sent(write),
                });
                self.notify(now, Tone::Good, capital(&sentence));
            }
            Err(sentence) => self.refused(now, write, &sentence),
        }
        self.reload()
    }

    /// After a write that was not carried out, because its record is another by now.
    fn overtaken(&mut self, now: Now, write: &Write, row: &Row) -> Vec<Effect> {
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.overtaken(now, row),
            _ => {
                let text =
                    format!("Not saved, because it was changed meanwhile: {}", crate::write_text::done_sentence(write));
                self.notify(now, Tone::Alarm, text);
            }
        }
        self.reload()
    }

    /// After a write to a record that is not there any more. A form keeps what it holds, for a new one.
    fn gone(&mut self, now: Now, write: &Write) -> Vec<Effect> {
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.gone(),
            _ => return self.written(now, write, Err(words::GONE.to_owned())),
        }
        self.reload()
    }

    fn written(&mut self, now: Now, write: &Write, result: Result<String, String>) -> Vec<Effect> {
        if let Write::Update { kind, id, .. } = write {
            let lists = self.lists.iter_mut().filter(|list| list.kind == *kind);
            lists.for_each(|list| list.hold_again(id, result.is_err()));
        }
        match result {
            Ok(id) => {
                self.layers.retain(|layer| !layer.has_sent(write));
                if let Write::Create { kind, .. } = write {
                    self.lists.iter_mut().filter(|list| list.kind == *kind).for_each(|list| list.seek(&id));
                }
                self.notify(now, Tone::Good, crate::write_text::done_sentence(write));
            }
            Err(sentence) => self.refused(now, write, &sentence),
        }
        self.reload()
    }

    /// Says why a write was not carried out: where it was typed, as long as that waits for it, or else as a notice.
    fn refused(&mut self, now: Now, write: &Write, sentence: &str) {
        let sentence = crate::write_text::refusal_sentence(write, sentence);
        match self.layers.iter_mut().find(|layer| layer.has_sent(write)) {
            Some(Layer::Form(form)) => form.refused(sentence),
            Some(Layer::Quick(quick)) => (quick.saving, quick.refusal) = (None, Some(sentence)),
            Some(Layer::Conflict(screen)) => (screen.saving, screen.fault) = (None, Some(sentence)),
            _ => self.notify(now, Tone::Alarm, capital(&sentence)),
        }
    }
}
