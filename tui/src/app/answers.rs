//! Answers to requests: pages, records, hits, status. An answer to an older request changes nothing. Must not know how an
//! answer was read.

use hearth_contract::schema::Kind;
use hearth_replica::{Conflict, Edit, Hit, Latest, Overview, Phase, RowPage, RowQuery, Status, Totals};

use super::model::{App, Layer, NOTICE_MILLIS, Notice};
use crate::keys::{Action, Context};
use crate::message::{Answer, Effect, RowPosition};
use crate::now::Now;
use crate::state::detail::FullRecord;
use crate::state::list::{List, MARKS_MAX};
use crate::words::glyphs::Tone;
use crate::words::{self, Names};

/// The verb for a number of records: `is` for 1, else `are`.
const fn is_or_are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

impl App {
    /// Takes an answer and gives the effects that follow. An error becomes a notice.
    pub(super) fn answer(&mut self, now: Now, answer: Answer) -> Vec<Effect> {
        if answer.ends_write() {
            // The write may have moved rows: the numbers of loaded rows may be wrong.
            self.lists.iter_mut().for_each(List::mark_stale);
        }
        let outcome = match answer {
            Answer::Page { ticket, kind, offset, page } => {
                page.map(|page| self.take_page(now, kind, ticket, offset, page))
            }
            Answer::RowPosition { ticket, kind, id, position } => {
                position.map(|position| self.go_to_position(now, kind, ticket, &id, position))
            }
            Answer::Totals { ticket, kind, totals } => totals.map(|totals| self.take_totals(kind, ticket, totals)),
            Answer::Overview(ticket, overview) => overview.map(|overview| self.take_overview(now, ticket, overview)),
            Answer::Figures(figures) => figures.map(|figures| {
                self.home.figures = Some(figures);
                Vec::new()
            }),
            Answer::Record { ticket, kind, full } => full.map(|full| self.take_record(kind, ticket, full)),
            Answer::About(ticket, about) => Ok(self.take_about(ticket, about)),
            Answer::Assignees(names) => Ok(self.take_assignees(names)),
            Answer::All(query, records) => records.map(|records| self.mark_all_of(now, &query, records)),
            Answer::Reopened(result) => result.map(|()| Vec::new()),
            Answer::Exported(file) => file.map(|file| {
                self.notify(now, Tone::Good, format!("Exported {file}"));
                Vec::new()
            }),
            Answer::Hits { ticket, hits } => hits.map(|hits| self.take_hits(ticket, hits)),
            Answer::Titles { ticket, titles } => titles.map(|titles| self.take_titles(ticket, titles)),
            Answer::FileOpened(opened) => opened.map(|sentence| {
                self.notify(now, Tone::Good, sentence);
                Vec::new()
            }),
            Answer::FileFetching { file, title, is_new } => {
                self.file_is_fetched(now, file, title, is_new);
                Ok(Vec::new())
            }
            Answer::PathCompleted { ticket, path, choices } => {
                match self.layers.last_mut() {
                    Some(Layer::Attach(prompt)) => prompt.complete(ticket, &path, choices),
                    Some(Layer::Import(screen)) => screen.complete(ticket, &path, choices),
                    _ => {}
                }
                Ok(Vec::new())
            }
            Answer::ImportRead(ticket, read) => {
                self.import_is_read(ticket, read.map(|preview| *preview));
                Ok(Vec::new())
            }
            Answer::Imported(_, result) => Ok(self.after_import(now, result)),
            Answer::Status(status) => status.map(|status| self.take_status(now, status)),
            Answer::Counts(counts) => {
                self.counts = counts.into_iter().collect();
                Ok(Vec::new())
            }
            Answer::Edits(edits) => edits.map(|(edits, names)| self.take_edits(edits, names)),
            Answer::Conflicts(conflicts) => conflicts.map(|(conflicts, names)| self.take_conflicts(conflicts, names)),
            Answer::Captures(captures) => captures.map(|(captures, known)| self.take_captures(captures, known)),
            Answer::Log(log) => log.map(|log| {
                self.log = log;
                Vec::new()
            }),
            Answer::Progress(_, done, _) if self.take_import_progress(done) => Ok(Vec::new()),
            Answer::Progress(verb, done, total) => {
                let text = format!("{verb}: {} of {}", words::figure(done), words::figure(total));
                self.notify(now, Tone::Notice, text);
                Ok(Vec::new())
            }
            Answer::Written(write, result) => Ok(self.after_write(now, &write, result)),
            Answer::RecordChanged(write, row) => Ok(self.after_record_changed(now, &write, &row)),
            Answer::RecordDeleted(write) => Ok(self.after_record_deleted(now, &write)),
            Answer::Decided(write, result) => Ok(self.after_decision(now, &write, result)),
            Answer::ManyWritten(write, each) => Ok(self.after_bulk_write(now, &write, each)),
        };
        outcome.unwrap_or_else(|sentence| {
            self.notify(now, Tone::Alarm, sentence);
            Vec::new()
        })
    }

    fn take_page(&mut self, now: Now, kind: Kind, ticket: u64, offset: usize, page: RowPage) -> Vec<Effect> {
        self.note_list_news(now, kind, &page);
        let is_first = self.is_first_sync();
        let Some(list) = self.lists.iter_mut().find(|list| list.kind == kind && list.ticket == ticket) else {
            return Vec::new();
        };
        if is_first && list.selected == 0 {
            list.release_selection();
        }
        if list.set_page(offset, page) { self.ask_page() } else { self.ask_position(kind) }
    }

    fn take_totals(&mut self, kind: Kind, ticket: u64, totals: Totals) -> Vec<Effect> {
        let list = self.lists.iter_mut().find(|list| list.kind == kind && list.sums == ticket);
        if let Some(list) = list {
            list.set_totals(totals);
        }
        Vec::new()
    }

    fn take_overview(&mut self, now: Now, ticket: u64, overview: Overview) -> Vec<Effect> {
        if self.home.ticket == ticket {
            self.note_home_news(now, overview.latest.as_ref());
            let is_first = self.is_first_sync();
            self.home.set_overview(overview, self.today, is_first);
        }
        Vec::new()
    }

    fn take_record(&mut self, kind: Kind, ticket: u64, full: Option<FullRecord>) -> Vec<Effect> {
        let page = self.page();
        let mut details = self.layers.iter_mut().filter_map(|layer| match layer {
            Layer::Detail(detail) => Some(detail),
            _ => None,
        });
        if let Some(detail) = details.find(|detail| detail.kind == kind && detail.ticket == ticket) {
            detail.set_record(full, page);
        }
        Vec::new()
    }

    fn take_about(&mut self, ticket: u64, about: Option<(Kind, String, String)>) -> Vec<Effect> {
        if let Some(quick) = self.quick_line().filter(|quick| quick.ticket == ticket) {
            (quick.about, quick.is_looking_up) = (about, false);
        }
        Vec::new()
    }

    fn take_assignees(&mut self, names: Vec<String>) -> Vec<Effect> {
        let Some(quick) = self.quick_line() else { return Vec::new() };
        quick.people.known = names;
        self.reparse_quick()
    }

    fn take_hits(&mut self, ticket: u64, hits: Vec<Hit>) -> Vec<Effect> {
        if let Some(Layer::Search(search)) = self.layers.last_mut()
            && search.ticket == ticket
        {
            search.set_hits(hits);
        }
        Vec::new()
    }

    fn take_titles(&mut self, ticket: u64, titles: Vec<(Kind, String, String)>) -> Vec<Effect> {
        let mut forms = self.layers.iter_mut().filter_map(|layer| match layer {
            Layer::Form(form) => Some(form),
            _ => None,
        });
        if let Some(form) = forms.find(|form| form.ticket == ticket) {
            form.set_options(titles);
        }
        Vec::new()
    }

    fn take_status(&mut self, now: Now, status: Status) -> Vec<Effect> {
        if status.is_in_contact() {
            self.sync_stop.take_if(|stop| stop.will_retry);
        }
        let before = self.units();
        let is_first = self.status.replace(status).is_none();
        // The notice about a restored form is more useful than this hint; the status bar shows the problem anyway.
        if is_first && self.halt().is_some() && self.notice.is_none() {
            let key = self.setup.keys.key_of(Context::Home, Action::Sync).unwrap_or("?");
            let text = format!("Changes stay here for now; {key} says why and what to do.");
            self.notify(now, Tone::Notice, text);
        }
        if self.units() == before { Vec::new() } else { self.units_changed() }
    }

    /// Shows areas in the units of the profile, which another device may have changed, and reads filters by them.
    fn units_changed(&mut self) -> Vec<Effect> {
        let units = self.units();
        for list in &mut self.lists {
            list.area_unit = units.area;
            list.understand(self.today);
            list.mark_stale();
        }
        self.layers.iter_mut().for_each(|layer| layer.set_units(units));
        self.reload()
    }

    fn take_edits(&mut self, edits: Vec<Edit>, names: Names) -> Vec<Effect> {
        if let Some(Layer::Edits(screen)) = self.layers.last_mut() {
            screen.names = names;
            screen.set_edits(edits);
        }
        Vec::new()
    }

    fn take_conflicts(&mut self, conflicts: Vec<Conflict>, names: Names) -> Vec<Effect> {
        if let Some(Layer::Conflict(screen)) = self.layers.last_mut() {
            screen.names = names;
            screen.set_conflicts(conflicts);
        }
        Vec::new()
    }

    /// Marks every record of a list. A notice counts the records that could not be marked and the marks that were lost.
    fn mark_all_of(&mut self, now: Now, query: &RowQuery, records: Vec<(String, String)>) -> Vec<Effect> {
        let kind = query.kind;
        let Some(list) = self.lists.iter_mut().find(|list| list.kind == kind) else { return Vec::new() };
        // The list has another filter or order now.
        if list.whole_query() != *query {
            return Vec::new();
        }
        let listed = records.len();
        let dropped = list.mark_all(records);
        let left = list.total.saturating_sub(listed);
        let is_short = left > 0 && listed >= MARKS_MAX && !list.marks.is_empty();
        let mut sentences = Vec::new();
        if is_short {
            let (listed, more) = (words::counted(kind, listed), words::figure(left));
            sentences.push(format!("Only the first {listed} are marked; {more} more {} not.", is_or_are(left)));
        }
        if dropped > 0 {
            let (marks, most) = (if dropped == 1 { "mark" } else { "marks" }, words::figure(MARKS_MAX));
            let (gone, are) = (words::figure(dropped), is_or_are(dropped));
            sentences
                .push(format!("{gone} {marks} outside this list {are} removed: at most {most} records can be marked."));
        }
        if !sentences.is_empty() {
            self.notify(now, Tone::Notice, sentences.join(" "));
        }
        Vec::new()
    }

    /// Asks for the position of a new record that the page should contain: the list is longer than a page.
    fn ask_position(&mut self, kind: Kind) -> Vec<Effect> {
        let ask =
            |list: &mut List| Some(Effect::RowPosition(list.ticket, list.whole_query(), list.take_missing_target()?));
        self.list_mut().filter(|list| list.kind == kind).and_then(ask).into_iter().collect()
    }

    /// Selects the new record at its position. The notice says when the filter hides the record.
    fn go_to_position(&mut self, now: Now, kind: Kind, ticket: u64, id: &str, position: RowPosition) -> Vec<Effect> {
        let Some(list) = self.list_mut().filter(|list| list.kind == kind) else { return Vec::new() };
        if list.ticket != ticket {
            // The list has changed since the request; the newest page contains the record or asks again.
            list.select_when_loaded(id);
            return Vec::new();
        }
        let hides = position == RowPosition::Absent && !list.filter.text().trim().is_empty();
        if let RowPosition::At(number) = position
            && list.select(number)
        {
            list.select_when_loaded(id);
            return self.ask_page();
        }
        if let Some(notice) = self.notice.as_mut().filter(|_| hides) {
            notice.text.push_str("; the filter hides it");
            notice.until = now.moment.plus_millis(NOTICE_MILLIS);
        }
        Vec::new()
    }

    /// Whether the first backfill is in progress. The cursor then stays at the top instead of following a record.
    fn is_first_sync(&self) -> bool {
        self.status.as_ref().is_some_and(|status| matches!(status.phase, Phase::New | Phase::Backfilling))
    }

    /// Shows changes by others as news: rows with a revision above the last known position. The status is read after
    /// the page, so the known position is older than the page.
    fn note_list_news(&mut self, now: Now, kind: Kind, page: &RowPage) {
        let Some(status) = self.status.as_ref().filter(|status| matches!(status.phase, Phase::Live | Phase::Polling))
        else {
            return;
        };
        let until = now.moment.plus_millis(NOTICE_MILLIS);
        let list = self.lists.iter_mut().find(|list| list.kind == kind);
        if let Some(title) = list.and_then(|list| list.record_news(status.position, now.moment, until, page)) {
            self.news = Some(Notice { text: title, tone: Tone::Good, until });
        }
    }

    /// Shows the newest change by others as news. The home screen knows only the newest change.
    fn note_home_news(&mut self, now: Now, latest: Option<&Latest>) {
        let before =
            self.home.overview.as_ref().map(|overview| overview.latest.as_ref().map_or(0, |latest| latest.rev));
        let is_live = self.status.as_ref().is_some_and(|status| matches!(status.phase, Phase::Live | Phase::Polling));
        if let (Some(before), Some(latest), true) = (before, latest, is_live)
            && latest.rev > before
        {
            let until = now.moment.plus_millis(NOTICE_MILLIS);
            self.news = Some(Notice { text: latest.title.clone(), tone: Tone::Good, until });
        }
    }
}
