//! Finds the sum to pay and proves it by an equation: total = paid, cash − change, net + tax, parts, or the sum of the positions.
//! Must not know rows of text.

use std::collections::BTreeMap;

use super::model::{Confidence, Source};
use super::sums::{Sum, Sums};
use super::words::money::Money;

/// The most rivals of a total.
const RIVALS_MAX: usize = 4;

/// A total, and why it is the total.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Total {
    /// The labelled sum. Its row and words are the place of the total.
    pub(super) sum: Sum,
    /// How sure it is.
    pub(super) confidence: Confidence,
    /// `Equation` when an equation proves it.
    pub(super) from: Source,
    /// The equation. None: no equation holds.
    pub(super) equation: Option<String>,
    /// Other sums that may be the total, the likeliest first, in hundredths.
    pub(super) rivals: Vec<i64>,
}

/// Why a sum is the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    /// The same sum stands beside another label.
    Twice,
    /// The prices of the positions add up to it.
    Positions,
    /// Subtotal, taxes, service, discounts and rounding add up to it.
    Parts,
    /// A sum without tax and its tax add up to it.
    NetAndTax,
    /// A total and its rounding add up to it.
    Rounding,
    /// It was paid, and nothing was given back.
    Paid,
    /// What was paid less what was given back.
    PaidLessChange,
}

/// A sum that may be the total.
struct Candidate {
    sum: Sum,
    proofs: Vec<(Proof, String)>,
}

/// The total of a paper. `positions` are the prices of the positions.
pub(super) fn total(sums: &Sums, positions: &[i64]) -> Option<Total> {
    let mut candidates: BTreeMap<i64, Candidate> = BTreeMap::new();
    for sum in sums.with(&[Money::Total, Money::Due, Money::Rounded]).filter(|sum| sum.amount.cents != 0) {
        let known = candidates.entry(sum.amount.cents).or_insert_with(|| Candidate { sum: *sum, proofs: Vec::new() });
        if known.sum.row != sum.row && known.sum.amount.form == sum.amount.form {
            known.proofs.push((Proof::Twice, format!("{0} = {0}", money(sum.amount.cents))));
        }
        if rank(sum) >= rank(&known.sum) {
            known.sum = *sum;
        }
    }
    if candidates.is_empty() {
        return without_label(sums);
    }
    let equations = equations(sums, positions);
    for (cents, candidate) in &mut candidates {
        candidate.proofs.extend(equations.iter().filter(|(value, ..)| value == cents).map(|(_, proof, text)| (*proof, text.clone())));
    }
    choose(candidates)
}

/// How much a label says, later rows of equal labels more.
fn rank(sum: &Sum) -> (u8, u8) {
    let label = match sum.label {
        Money::Rounded => 3,
        Money::Due => 2,
        _ => 1,
    };
    (u8::from(!sum.amount.repaired), label)
}

fn choose(candidates: BTreeMap<i64, Candidate>) -> Option<Total> {
    let weight = |candidate: &Candidate| {
        let best = candidate.proofs.iter().map(|(proof, _)| *proof).max();
        let paid = best.is_some_and(|proof| proof >= Proof::Rounding);
        (paid, candidate.sum.label == Money::Rounded, best, candidate.proofs.len(), rank(&candidate.sum), candidate.sum.row)
    };
    let mut order: Vec<Candidate> = candidates.into_values().collect();
    order.sort_by(|one, other| weight(other).cmp(&weight(one)));
    let best = order.first()?;
    let proof = best.proofs.iter().max_by_key(|(proof, _)| *proof).cloned();
    let contradicted = order[1..].iter().any(|other| contradicts(best, other));
    let plain = best.sum.amount.form == super::amounts::Form::Decimals;
    let confidence = match &proof {
        Some(_) if !contradicted => Confidence::Certain,
        Some(_) => Confidence::Likely,
        None if plain && !best.sum.amount.repaired && order.len() == 1 => Confidence::Likely,
        None => Confidence::Guess,
    };
    Some(Total {
        sum: best.sum,
        confidence,
        from: if proof.is_some() { Source::Equation } else { Source::Text },
        equation: proof.map(|(_, text)| text),
        rivals: order[1..].iter().take(RIVALS_MAX).map(|other| other.sum.amount.cents).collect(),
    })
}

/// Whether another candidate makes a proved one doubtful: it is paid too, or it is paid or rounded and the proved one is not.
fn contradicts(best: &Candidate, other: &Candidate) -> bool {
    let paid = |candidate: &Candidate| candidate.proofs.iter().any(|(proof, _)| *proof >= Proof::Paid);
    let rounded = |candidate: &Candidate| candidate.sum.label == Money::Rounded;
    match (paid(best), paid(other)) {
        (true, true) => best.proofs.iter().all(|(proof, _)| *proof != Proof::PaidLessChange),
        (false, true) => true,
        (true, false) => false,
        (false, false) => rounded(other) && !rounded(best),
    }
}

/// A paper without a labelled total: what was paid less what was given back, else the sum of the positions of the paper.
fn without_label(sums: &Sums) -> Option<Total> {
    let paid: Vec<&Sum> = sums.with(&[Money::Paid]).filter(|sum| sum.amount.cents > 0).collect();
    let guess = |sum: Sum| Total { sum, confidence: Confidence::Guess, from: Source::Text, equation: None, rivals: Vec::new() };
    let change = sums.with(&[Money::Change]).last().map(|sum| sum.amount.cents.abs());
    if let (Some(paid), Some(change)) = (paid.last(), change) {
        let cents = paid.amount.cents - change;
        let stands = (0..sums.rows.len()).flat_map(|at| sums.rows[at].iter().map(move |amount| (at, amount)));
        let place = stands.filter(|(_, amount)| amount.cents == cents).last();
        if let Some((row, amount)) = place.filter(|_| cents > 0) {
            let sum = Sum { label: Money::Total, row, amount: *amount };
            let equation = Some(less(paid.amount.cents, change));
            return Some(Total { confidence: Confidence::Certain, from: Source::Equation, equation, ..guess(sum) });
        }
    }
    let last = sums.with(&[Money::Paid, Money::Subtotal, Money::Net]).filter(|sum| sum.amount.cents > 0).last();
    last.map(|sum| guess(*sum))
}

/// All sums that the labelled sums prove: value, proof, and the equation as text.
fn equations(sums: &Sums, positions: &[i64]) -> Vec<(i64, Proof, String)> {
    let mut found = paid(sums);
    found.extend(taxed(sums));
    found.extend(parts(sums));
    if let Some(sum) = positions.iter().try_fold(0_i64, |sum, price| sum.checked_add(*price)).filter(|_| !positions.is_empty()) {
        let text = positions.iter().map(|price| money(*price)).collect::<Vec<_>>().join(" + ");
        found.push((sum, Proof::Positions, format!("{text} = {}", money(sum))));
    }
    found
}

fn paid(sums: &Sums) -> Vec<(i64, Proof, String)> {
    let paid: Vec<i64> = sums.with(&[Money::Paid]).map(|sum| sum.amount.cents.abs()).filter(|cents| *cents > 0).collect();
    let changes: Vec<i64> = sums.with(&[Money::Change]).map(|sum| sum.amount.cents.abs()).collect();
    let mut found = Vec::new();
    let all: i64 = paid.iter().sum();
    let change = changes.iter().copied().max().unwrap_or(0);
    for handed in paid.iter().copied().chain((paid.len() > 1).then_some(all)) {
        match changes.iter().filter(|change| **change > 0 && **change < handed) {
            some if change > 0 => found.extend(some.map(|change| (handed - change, Proof::PaidLessChange, less(handed, *change)))),
            _ => found.push((handed, Proof::Paid, format!("{0} = {0}", money(handed)))),
        }
    }
    found
}

fn taxed(sums: &Sums) -> Vec<(i64, Proof, String)> {
    let mut found = Vec::new();
    let mut all = (0_i64, 0_i64, None);
    for (net, tax, row) in &sums.taxed {
        found.push((net + tax, Proof::NetAndTax, plus(*net, *tax)));
        all = if all.2 == Some(*row) { (all.0, all.1, all.2) } else { (all.0 + net, all.1 + tax, Some(*row)) };
        found.push((all.0 + all.1, Proof::NetAndTax, plus(all.0, all.1)));
    }
    let taxes: Vec<i64> = sums.with(&[Money::Tax]).map(|sum| sum.amount.cents).filter(|cents| *cents > 0).collect();
    let every: i64 = taxes.iter().sum();
    for net in sums.with(&[Money::Net, Money::Subtotal]).map(|sum| sum.amount.cents).filter(|cents| *cents > 0) {
        for tax in taxes.iter().copied().chain((taxes.len() > 1).then_some(every)) {
            if tax * 100 <= net * 35 {
                found.push((net + tax, Proof::NetAndTax, plus(net, tax)));
            }
        }
    }
    found
}

/// Each base with the sums that are added or taken off before the total.
fn parts(sums: &Sums) -> Vec<(i64, Proof, String)> {
    let once = |labels: &[Money]| -> i64 {
        let mut all: Vec<i64> = sums.with(labels).map(|sum| sum.amount.cents).collect();
        all.dedup();
        all.iter().sum()
    };
    let rounding = sums.with(&[Money::Rounding]).map(|sum| sum.amount.cents).last().unwrap_or(0);
    let (tax, extra) = (once(&[Money::Tax]), once(&[Money::Extra]));
    let discount = sums.with(&[Money::Discount]).map(|sum| sum.amount.cents.abs()).sum::<i64>();
    let mut found = Vec::new();
    for base in sums.with(&[Money::Subtotal, Money::Net, Money::Total, Money::Due]) {
        let cents = base.amount.cents;
        if rounding != 0 {
            for signed in [rounding, -rounding] {
                found.push((cents + signed, Proof::Rounding, plus(cents, signed)));
            }
        }
        if matches!(base.label, Money::Total | Money::Due) {
            continue;
        }
        for tax in [0, tax] {
            for extra in [0, extra] {
                for discount in [0, discount] {
                    for rounding in [0, rounding] {
                        let text: String = [tax, extra, -discount, rounding]
                            .iter()
                            .filter(|part| **part != 0)
                            .map(|part| format!(" {} {}", if *part < 0 { '−' } else { '+' }, money(part.abs())))
                            .collect();
                        let value = cents + tax + extra - discount + rounding;
                        found.push((value, Proof::Parts, format!("{}{text} = {}", money(cents), money(value))));
                    }
                }
            }
        }
    }
    found
}

fn plus(one: i64, other: i64) -> String {
    let sign = if other < 0 { '−' } else { '+' };
    format!("{} {sign} {} = {}", money(one), money(other.abs()), money(one + other))
}

fn less(one: i64, other: i64) -> String {
    format!("{} − {} = {}", money(one), money(other), money(one - other))
}

/// A sum as a decimal with a point.
pub(super) fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.unsigned_abs() / 100, cents.unsigned_abs() % 100)
}
