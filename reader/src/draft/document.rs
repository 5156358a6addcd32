//! The draft of a document: one for each file. Must not know items and vehicles beyond their names.

use hearth_contract::currency;
use hearth_contract::formats::{format_date, normalize_money};
use hearth_contract::schema::Kind;

use super::build::{Builder, placeless};
use super::category::Sort;
use super::equations::money;
use super::model::{Confidence, Draft, Evidence, FileReading, Known, KnownRecord, Source};
use super::paper::Paper;
use super::serial::code_evidence;
use super::total::Total;
use super::warranty::End;
use super::words::papers::{NoPurchase, Paperwork};

/// The most letters of a title (contract 3).
const TITLE_MAX: usize = 200;

/// The most letters of a file's name (contract 3).
const FILE_NAME_MAX: usize = 255;

/// What is known of a file when its document is drafted.
pub(super) struct Facts<'r, 'f> {
    /// The paper.
    pub(super) paper: &'r Paper<'f>,
    /// What sort of paper it is.
    pub(super) sort: Option<Sort>,
    /// The last day of the warranty or contract.
    pub(super) end: Option<End>,
    /// The record that it is about, and the evidence of that.
    pub(super) subject: Option<(&'r KnownRecord, Evidence)>,
    /// What the item or vehicle is called.
    pub(super) thing: Option<String>,
}

/// The draft of the document of one file.
pub(super) fn document(
    name: &str,
    files: &[FileReading],
    number: usize,
    facts: &Facts<'_, '_>,
    known: &Known,
) -> Draft {
    let (paper, file) = (facts.paper, &files[number]);
    let mut draft = Builder::new(name, Kind::Document, None);
    if let Some(sort) = facts.sort {
        let evidence = match sort.place {
            Some((row, from, to)) => paper.rows[row].evidence(files, from, to, sort.confidence),
            None => match &paper.total {
                Some(total) => Evidence { confidence: sort.confidence, ..total_evidence(files, paper, total) },
                None => placeless(Source::Text, Some(&file.sha256), "", sort.confidence),
            },
        };
        draft.put("category", sort.paper.word(), evidence);
    }
    put_invoice(&mut draft, file, known);
    put_bill(&mut draft, files, number, paper, known);
    // A card or registration has no shop at its top: other words stand there.
    let card = facts.sort.is_some_and(|sort| sort.paper == Paperwork::Identification);
    if let Some(vendor) = paper.vendor.as_ref().filter(|vendor| !card || vendor.confidence > Confidence::Guess) {
        let evidence = paper.rows[vendor.row].evidence(files, vendor.from, vendor.to, vendor.confidence);
        draft.put("issuer", vendor.name.clone(), evidence);
    }
    if let Some(day) = &paper.issued {
        let place = day.place;
        let evidence = paper.rows[place.row].evidence(files, place.written.from, place.written.to, day.confidence);
        draft.put_day("issued_on", day, evidence);
    }
    if let Some(end) = &facts.end {
        draft.put("expires_on", end.day.clone(), end.evidence.clone());
    }
    if let Some(total) = &paper.total {
        put_sum(&mut draft, "amount", total.sum.amount.cents, total_evidence(files, paper, total), paper, known);
    }
    if let Some((record, evidence)) = &facts.subject {
        draft.put("subject_type", record.kind.as_str(), evidence.clone());
        draft.put("subject_id", record.id.clone(), evidence.clone());
    }
    put_title(&mut draft, file, facts);
    draft.state("file_sha256", file.sha256.clone());
    if let Some(name) = &file.name {
        draft.state("file_name", name.chars().take(FILE_NAME_MAX).collect::<String>());
    }
    draft.done()
}

/// The evidence of a total: its place, and the equation that proves it.
pub(super) fn total_evidence(files: &[FileReading], paper: &Paper<'_>, total: &Total) -> Evidence {
    let amount = total.sum.amount;
    let evidence = paper.rows[total.sum.row].evidence(files, amount.from, amount.to, total.confidence);
    Evidence {
        from: total.from,
        text: total.equation.clone().unwrap_or_else(|| evidence.text.clone()),
        rivals: total.rivals.iter().map(|cents| money(*cents).into()).collect(),
        ..evidence
    }
}

/// Sets a sum of the text. A negative one is a refund.
pub(super) fn put_sum(
    draft: &mut Builder,
    field: &str,
    cents: i64,
    evidence: Evidence,
    paper: &Paper<'_>,
    known: &Known,
) {
    let foreign = match (paper.currency, known.currency.as_deref()) {
        (Some(found), Some(home)) if !found.allows(home) => Some(found.name()),
        _ => None,
    };
    put_money(draft, field, (&*money(cents.abs()), foreign.as_deref()), cents < 0, evidence);
}

/// Sets a sum, given with its currency where that is not the home's. No field of sums can hold a refund: a note says it. A sum in
/// another currency is no sum of the home: its number is a guess, and a note names the currency.
fn put_money(draft: &mut Builder, field: &str, sum: (&str, Option<&str>), is_refund: bool, evidence: Evidence) {
    let (number, foreign) = sum;
    let currency = foreign.map(|code| format!(" {code}")).unwrap_or_default();
    if is_refund {
        draft.put("notes", format!("Refund of {number}{currency}."), evidence);
        return;
    }
    let mut evidence = evidence;
    if foreign.is_some() {
        draft.put("notes", format!("The sum is {number}{currency}."), evidence.clone());
        evidence.confidence = Confidence::Guess;
    }
    draft.put(field, number, evidence);
}

/// The fields of an electronic invoice are exact.
fn put_invoice(draft: &mut Builder, file: &FileReading, known: &Known) {
    let Some(invoice) = &file.reading.invoice else { return };
    let exact = |text: &str| placeless(Source::Code, Some(&file.sha256), text, Confidence::Certain);
    draft.put("category", Paperwork::Receipt.word(), exact(invoice.number.as_deref().unwrap_or("")));
    if let Some(seller) = &invoice.seller {
        draft.put("issuer", seller.chars().take(TITLE_MAX).collect::<String>(), exact(seller));
    }
    if let Some(day) = &invoice.issued_on {
        draft.put("issued_on", day.clone(), exact(day));
    }
    let Some((text, sum)) = invoice.total.as_deref().and_then(|text| Some((text, normalize_money(text)?))) else {
        return;
    };
    let home = known.currency.as_deref();
    let foreign = invoice.currency.as_deref().filter(|code| home.is_some_and(|home| home != *code));
    let foreign = foreign.and_then(currency::normalize);
    put_money(draft, "amount", (&*sum, foreign.as_deref()), invoice.is_credit, exact(text));
}

/// What a code on the paper states.
fn put_bill(draft: &mut Builder, files: &[FileReading], number: usize, paper: &Paper<'_>, known: &Known) {
    let Some(bill) = &paper.bill else { return };
    let exact = |confidence| code_evidence(files, number, &files[number].reading.codes[bill.code], confidence);
    draft.put("category", Paperwork::Receipt.word(), exact(Confidence::Likely));
    if let Some(day) = bill.day {
        draft.put("issued_on", format_date(day), exact(Confidence::Certain));
    }
    if let Some(payee) = &bill.payee {
        draft.put("issuer", payee.chars().take(TITLE_MAX).collect::<String>(), exact(Confidence::Certain));
    }
    let home = known.currency.as_ref();
    if let Some(sum) = bill.cents.filter(|cents| *cents > 0) {
        let foreign = bill.currency.as_ref().filter(|code| home.is_some_and(|home| home != *code));
        let is_refund = paper.no_purchase == Some(NoPurchase::Credit);
        let sum = (&*money(sum), foreign.map(String::as_str));
        put_money(draft, "amount", sum, is_refund, exact(Confidence::Certain));
    }
}

/// The title names the sort of paper and who issued it, else what the paper is about, else the name of the file.
fn put_title(draft: &mut Builder, file: &FileReading, facts: &Facts<'_, '_>) {
    let invoice = file.reading.invoice.is_some();
    let sort = if invoice { Some(Paperwork::Receipt) } else { facts.sort.map(|sort| sort.paper) };
    let subject = facts.subject.as_ref().map(|(record, _)| record.name.clone()).or_else(|| facts.thing.clone());
    let about = match sort {
        Some(Paperwork::Manual | Paperwork::Warranty) => subject.or_else(|| draft.text("issuer").map(str::to_owned)),
        Some(_) => draft.text("issuer").map(str::to_owned).or(subject),
        None => subject,
    };
    let title = match (sort, about) {
        (Some(sort), Some(about)) => format!("{}: {about}", sort.title()),
        (Some(sort), None) => sort.title().to_owned(),
        (None, Some(about)) => format!("Photo: {about}"),
        (None, None) => file.name.clone().unwrap_or_else(|| "Photo".to_owned()),
    };
    let title: String = title.chars().filter(|letter| !letter.is_control()).take(TITLE_MAX).collect();
    let from =
        draft.evidence("issuer").cloned().filter(|_| draft.text("issuer").is_some_and(|issuer| title.contains(issuer)));
    let evidence = from.unwrap_or_else(|| placeless(Source::Text, Some(&file.sha256), &title, Confidence::Guess));
    draft.put("title", title, Evidence { confidence: Confidence::Guess, rivals: Vec::new(), ..evidence });
}
