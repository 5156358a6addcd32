//! What one thing cost, where and when it was bought: from the receipt or electronic invoice among the files. Must not know plates.

use hearth_contract::formats::normalize_money;

use super::build::{Builder, placeless};
use super::document::put_sum;
use super::equations::money;
use super::model::{Confidence, Evidence, FileReading, Known, Source};
use super::paper::Paper;
use super::positions::Position;
use super::rows::fold;
use super::total::Total;
use super::words::makes::MAKES;
use super::words::things::THINGS;

/// The most other prices that are named.
const RIVALS_MAX: usize = 4;

/// Words of this many letters tell one thing from another.
const TELLING_LETTERS: usize = 4;

/// The most letters of a name (contract 3).
const NAME_MAX: usize = 200;

/// Sets price, day, shop and name from the receipt of a file. `words` are those of the thing: name, make and model.
pub(super) fn put(
    draft: &mut Builder,
    files: &[FileReading],
    number: usize,
    paper: &Paper<'_>,
    words: &str,
    known: &Known,
) {
    put_invoice(draft, &files[number], words, known);
    let Some(position) = position(&paper.positions, paper, words) else {
        if let Some(total) = &paper.total {
            let evidence = super::document::total_evidence(files, paper, total);
            // The total may be the price of several things.
            let evidence = Evidence { confidence: Confidence::Guess, ..evidence };
            put_sum(draft, "purchase_price", total.sum.amount.cents, evidence, paper, known);
        }
        put_day_and_shop(draft, files, paper);
        return;
    };
    match with_tax(paper, position) {
        Some(total) => {
            let evidence = super::document::total_evidence(files, paper, total);
            put_sum(draft, "purchase_price", total.sum.amount.cents, evidence, paper, known);
        }
        None => {
            let evidence = price_evidence(files, paper, position);
            put_sum(draft, "purchase_price", position.unit_cents, evidence, paper, known);
        }
    }
    if let Some(name) = position.name {
        let named = &paper.rows[name.row];
        let evidence = named.evidence(files, name.from, name.to, Confidence::Guess);
        let others = paper.positions.iter().filter(|other| other.row != position.row).filter_map(|other| other.name);
        let rivals = others.take(RIVALS_MAX).map(|name| paper.rows[name.row].raw(name.from, name.to).into()).collect();
        let text: String = named.raw(name.from, name.to).chars().take(NAME_MAX).collect();
        draft.put("name", text, Evidence { rivals, ..evidence });
        let inside = |from: usize, to: usize| from >= name.from && to <= name.to;
        if let Some(hit) = THINGS.find(named).into_iter().find(|hit| inside(hit.from, hit.to)) {
            draft.put("category", hit.class, named.evidence(files, hit.from, hit.to, Confidence::Guess));
        }
        if let Some(hit) = MAKES.find(named).into_iter().find(|hit| inside(hit.from, hit.to)) {
            draft.put("make", hit.class, named.evidence(files, hit.from, hit.to, Confidence::Guess));
        }
    }
    put_day_and_shop(draft, files, paper);
}

fn put_day_and_shop(draft: &mut Builder, files: &[FileReading], paper: &Paper<'_>) {
    if let Some(day) = &paper.issued {
        let place = day.place;
        let evidence = paper.rows[place.row].evidence(files, place.written.from, place.written.to, day.confidence);
        draft.put_day("purchase_date", day, evidence);
    }
    if let Some(vendor) = &paper.vendor {
        let evidence = paper.rows[vendor.row].evidence(files, vendor.from, vendor.to, vendor.confidence);
        draft.put("purchased_from", vendor.name.clone(), evidence);
    }
}

/// The total of a paper that adds the tax to its only position.
fn with_tax<'p>(paper: &'p Paper<'_>, position: &Position) -> Option<&'p Total> {
    let only = paper.positions.len() == 1 && position.is_unit_certain() && position.unit_cents == position.price.cents;
    let net = format!("{} + ", money(position.unit_cents));
    let total = paper.total.as_ref().filter(|total| only && total.sum.amount.cents > position.unit_cents)?;
    total.equation.as_ref().is_some_and(|equation| equation.starts_with(&net)).then_some(total)
}

/// The position that has most words of the thing; without one, the position with the highest price.
fn position<'p>(positions: &'p [Position], paper: &Paper<'_>, words: &str) -> Option<&'p Position> {
    let telling: Vec<String> = words_of(words);
    let score = |position: &Position| {
        let name =
            position.name.map(|name| words_of(&paper.rows[name.row].raw(name.from, name.to))).unwrap_or_default();
        telling.iter().filter(|word| name.contains(word)).count()
    };
    positions
        .iter()
        .filter(|position| position.unit_cents > 0)
        .max_by_key(|position| (score(position), position.unit_cents))
}

fn words_of(text: &str) -> Vec<String> {
    let folded = text.split_whitespace().map(fold);
    let plain = folded.map(|word| word.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>());
    plain.filter(|word| word.len() >= TELLING_LETTERS).collect()
}

/// A price that is the whole total is as sure as the total. Of several prices the choice is a guess.
fn price_evidence(files: &[FileReading], paper: &Paper<'_>, position: &Position) -> Evidence {
    let price = position.price;
    let whole = paper.total.as_ref().filter(|total| total.sum.amount.cents == position.unit_cents);
    let confidence = match whole {
        _ if !position.is_unit_certain() => Confidence::Guess,
        Some(total) => total.confidence,
        None if paper.positions.iter().filter(|other| other.unit_cents > 0).count() == 1 => Confidence::Likely,
        None => Confidence::Guess,
    };
    let total = paper.total.as_ref().map(|total| total.sum.amount.cents);
    let others = paper.positions.iter().flat_map(|other| [other.unit_cents, other.price.cents]);
    let mut rivals: Vec<i64> = Vec::new();
    for cents in total.into_iter().chain(others).filter(|cents| *cents > 0 && *cents != position.unit_cents) {
        if !rivals.contains(&cents) && rivals.len() < RIVALS_MAX {
            rivals.push(cents);
        }
    }
    let evidence = paper.rows[position.row].evidence(files, price.from, price.to, confidence);
    let text = whole.and_then(|total| total.equation.clone());
    Evidence {
        from: if text.is_some() { Source::Equation } else { Source::Text },
        text: text.unwrap_or_else(|| evidence.text.clone()),
        rivals: rivals.into_iter().map(|cents| money(cents).into()).collect(),
        ..evidence
    }
}

/// An electronic invoice is exact. The price of one of several positions stands there without taxes: it is a guess.
fn put_invoice(draft: &mut Builder, file: &FileReading, words: &str, known: &Known) {
    let Some(invoice) = &file.reading.invoice else { return };
    let exact = |text: &str, confidence: Confidence| placeless(Source::Code, Some(&file.sha256), text, confidence);
    if let Some(day) = &invoice.issued_on {
        draft.put("purchase_date", day.clone(), exact(day, Confidence::Certain));
    }
    if let Some(seller) = &invoice.seller {
        draft.put(
            "purchased_from",
            seller.chars().take(NAME_MAX).collect::<String>(),
            exact(seller, Confidence::Certain),
        );
    }
    let telling = words_of(words);
    let cents = |text: &Option<String>| {
        text.as_deref().and_then(normalize_money).and_then(|text| text.replace('.', "").parse::<i64>().ok())
    };
    let best = invoice.positions.iter().max_by_key(|position| {
        let name = words_of(&position.name);
        (telling.iter().filter(|word| name.contains(word)).count(), cents(&position.unit_price))
    });
    let Some(position) = best else { return };
    let only = invoice.positions.len() == 1;
    draft.put(
        "name",
        position.name.chars().take(NAME_MAX).collect::<String>(),
        exact(&position.name, Confidence::Likely),
    );
    if let Some(gtin) = &position.gtin {
        draft.put("barcode", gtin.clone(), exact(gtin, Confidence::Certain));
    }
    let single = only && position.quantity.as_deref().is_none_or(|count| count.trim_end_matches(['0', '.']) == "1");
    let foreign =
        invoice.currency.as_deref().is_some_and(|code| known.currency.as_deref().is_some_and(|home| home != code));
    let (price, confidence) = match (single, &invoice.total) {
        (true, Some(total)) if !foreign => (Some(total), Confidence::Certain),
        _ => (position.unit_price.as_ref(), Confidence::Guess),
    };
    if let Some((text, price)) = price.and_then(|text| Some((text, normalize_money(text)?))) {
        draft.put("purchase_price", price, exact(text, confidence));
    }
}
