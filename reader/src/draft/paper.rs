//! Reads one file by rules: its rows, sums, dates, positions, vendor and currency. Must not know drafts.

use time::Date;

use hearth_contract::formats::parse_date;

use super::bill_codes::{Bill, bill};
use super::dates::Order;
use super::days::{Chosen, Dates};
use super::model::{Confidence, FileReading, Known};
use super::positions::{Position, positions};
use super::rows::{Row, rows};
use super::sums::{Sums, sums};
use super::total::{Total, total};
use super::vendor::{Vendor, vendor};
use super::words::currencies::{Currency, whole_word};
use super::words::money::Money;
use super::words::papers::{NO_PURCHASES, NoPurchase, PAPERS, Paperwork};

/// The rows at the top of a paper in which its title stands.
const TITLE_ROWS: usize = 6;

/// The contents of one file, as the rules read them.
pub(super) struct Paper<'r> {
    /// The rows of all pages.
    pub(super) rows: Vec<Row<'r>>,
    /// The dates of all rows.
    pub(super) dates: Dates,
    /// The day on which the paper was issued.
    pub(super) issued: Option<Chosen>,
    /// The sum to pay.
    pub(super) total: Option<Total>,
    /// The things that a receipt or invoice lists.
    pub(super) positions: Vec<Position>,
    /// The shop or company that issued the paper.
    pub(super) vendor: Option<Vendor>,
    /// The currency of the sums.
    pub(super) currency: Option<Currency>,
    /// The bill that a code on the paper states.
    pub(super) bill: Option<Bill>,
    /// Why the paper tells of no purchase, although it has the words of a receipt. None: the paper may tell of a purchase.
    pub(super) no_purchase: Option<NoPurchase>,
}

impl<'r> Paper<'r> {
    /// Reads one file. `number` is its number in the capture, from 0.
    pub(super) fn read(number: usize, file: &'r FileReading, known: &Known) -> Paper<'r> {
        let rows = rows(number, file);
        let sums = sums(&rows);
        let mut positions = positions(&rows, &sums);
        let prices: Vec<i64> = positions.iter().map(|position| position.price.cents).collect();
        let currency = currency(&rows, &sums);
        let bill = bill(&file.reading.codes);
        let mut exact: Vec<Date> = exact_days(file);
        exact.extend(bill.as_ref().and_then(|bill| bill.day));
        let dates = Dates::read(&rows, &exact, usual_order(&rows, currency, known));
        let issued = dates.issued(known.today, &exact);
        let mut total = total(&sums, &prices);
        if let Some(total) = &mut total
            && bill.as_ref().and_then(|bill| bill.cents) == Some(total.sum.amount.cents)
        {
            // Two sources agree: the code and the text.
            total.confidence = Confidence::Certain;
        }
        let all = prices.iter().sum::<i64>();
        let is_all = |cents: i64| cents == all;
        let is_net = sums.with(&[Money::Net, Money::Subtotal]).any(|sum| is_all(sum.amount.cents));
        // The prices add up: each is the price of all pieces of its position.
        if is_net || total.as_ref().is_some_and(|total| is_all(total.sum.amount.cents)) {
            positions.iter_mut().for_each(Position::divide);
        }
        let no_purchase = no_purchase(&rows, &sums, file);
        if let Some(total) = total.as_mut().filter(|_| no_purchase == Some(NoPurchase::Credit)) {
            total.sum.amount.cents = -total.sum.amount.cents.abs();
        }
        Paper { issued, total, vendor: vendor(&rows), dates, positions, currency, rows, bill, no_purchase }
    }
}

/// Why the paper tells of no purchase: a row without a price begins with the title of a credit note or an offer. An invoice may name
/// the offer before it.
fn no_purchase(rows: &[Row<'_>], sums: &Sums, file: &FileReading) -> Option<NoPurchase> {
    if file.reading.invoice.as_ref().is_some_and(|invoice| invoice.is_credit) {
        return Some(NoPurchase::Credit);
    }
    let top = rows.iter().take(TITLE_ROWS).enumerate();
    let titles: Vec<&Row<'_>> = top.filter(|(at, _)| sums.decimals(*at).next().is_none()).map(|(_, row)| row).collect();
    let begins = |row: &Row<'_>| NO_PURCHASES.find(row).into_iter().find(|hit| hit.from == 0).map(|hit| hit.class);
    let is_receipt = |row: &Row<'_>| {
        begins(row).is_none() && PAPERS.find(row).iter().any(|hit| hit.from == 0 && hit.class == Paperwork::Receipt)
    };
    let found: Vec<NoPurchase> = titles.iter().filter_map(|row| begins(row)).collect();
    if found.contains(&NoPurchase::Credit) {
        return Some(NoPurchase::Credit);
    }
    found.first().copied().filter(|_| !titles.iter().any(|row| is_receipt(row)))
}

/// The days that the file states exactly: in its electronic invoice, or by the camera.
fn exact_days(file: &FileReading) -> Vec<Date> {
    let invoice = file.reading.invoice.as_ref().and_then(|invoice| invoice.issued_on.as_deref());
    [invoice, file.reading.taken_on.as_deref()].into_iter().flatten().filter_map(parse_date).collect()
}

/// The currency that most sums have; else the first that a word names.
fn currency(rows: &[Row<'_>], sums: &Sums) -> Option<Currency> {
    let mut counts: Vec<(Currency, usize)> = Vec::new();
    for found in sums.rows.iter().flatten().filter_map(|amount| amount.currency) {
        match counts.iter_mut().find(|(known, _)| *known == found) {
            Some((_, count)) => *count += 1,
            None => counts.push((found, 1)),
        }
    }
    let most = counts.iter().max_by_key(|(_, count)| *count).map(|(currency, _)| *currency);
    most.or_else(|| rows.iter().flat_map(|row| row.text.split(' ')).find_map(whole_word))
}

/// The order of day and month in the country of the paper. The United States put the month first.
fn usual_order(rows: &[Row<'_>], currency: Option<Currency>, known: &Known) -> Option<Order> {
    let dollars = currency.is_none_or(|currency| currency.allows("USD"));
    let names_dollar = matches!(currency, Some(Currency::One("USD")));
    let home = known.currency.as_deref() == Some("USD");
    let american = dollars && (names_dollar || home || (currency.is_some() && rows.iter().any(is_american)));
    american.then_some(Order::MonthFirst)
}

/// A state and its postal code, or the tax of a state.
fn is_american(row: &Row<'_>) -> bool {
    let state = row.words.windows(2).any(|pair| {
        let (state, code) = (pair[0].text.trim_end_matches(','), pair[1].text.as_str());
        state.len() == 2
            && state.bytes().all(|byte| byte.is_ascii_uppercase())
            && code.len() >= 5
            && code.bytes().take(5).all(|byte| byte.is_ascii_digit())
            && (code.len() == 5 || code.as_bytes()[5] == b'-')
    });
    state || row.text.contains("sales tax")
}
