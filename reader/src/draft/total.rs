//! Finds the sum to pay and proves it by an equation: total = paid, cash − change, net + tax, parts, or the sum of the positions.
//! Must not know rows of text.

use std::collections::BTreeMap;

use super::amounts::Form;
use super::model::{Confidence, Source};
use super::sums::{Sum, Sums};
use super::words::money::Money;

/// The most rivals of a total.
const RIVALS_MAX: usize = 4;

/// The most sums of parts of a paper that are added in pairs.
const TOTALS_MAX: usize = 12;

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
    /// Whether it is a sum without tax, or a tax, and the sum with tax is printed too.
    part: bool,
}

/// The total of a paper. `positions` are the prices of the positions.
pub(super) fn total(sums: &Sums, positions: &[i64]) -> Option<Total> {
    let mut candidates = labelled(sums, &[Money::Total, Money::Due, Money::Rounded]);
    let named = !candidates.is_empty();
    if !named {
        candidates = labelled(sums, &[Money::Subtotal, Money::Net]);
    }
    let change = sums.with(&[Money::Change]).any(|sum| sum.amount.cents != 0);
    if candidates.is_empty() && !change {
        candidates = labelled(sums, &[Money::Paid]);
    }
    if candidates.is_empty() && !change {
        return None;
    }
    let totals: Vec<i64> = candidates.keys().copied().collect();
    let equations = equations(sums, positions, &totals);
    let proves = |proof: Proof| match proof {
        Proof::PaidLessChange => true,
        Proof::Rounding => named,
        Proof::NetAndTax | Proof::Parts => !named,
        Proof::Twice | Proof::Positions | Proof::Paid => false,
    };
    for (cents, ..) in equations.iter().filter(|(_, proof, _)| proves(*proof)) {
        if let Some(sum) = printed(sums, *cents) {
            candidates.entry(*cents).or_insert(Candidate { sum, proofs: Vec::new(), part: false });
        }
    }
    for (cents, proof, text) in equations {
        if let Some(candidate) = candidates.get_mut(&cents) {
            candidate.proofs.push((proof, text));
        }
    }
    for (cents, candidate) in &mut candidates {
        candidate.part = is_part(sums, *cents);
    }
    choose(candidates, named, sums)
}

/// The sums with one of the labels, each once.
fn labelled(sums: &Sums, labels: &[Money]) -> BTreeMap<i64, Candidate> {
    let mut candidates: BTreeMap<i64, Candidate> = BTreeMap::new();
    for sum in sums.with(labels).filter(|sum| sum.amount.cents != 0) {
        let fresh = || Candidate { sum: *sum, proofs: Vec::new(), part: false };
        let known = candidates.entry(sum.amount.cents).or_insert_with(fresh);
        if known.sum.row != sum.row {
            known.proofs.push((Proof::Twice, format!("{0} = {0}", money(sum.amount.cents))));
        }
        if rank(sum) >= rank(&known.sum) {
            known.sum = *sum;
        }
    }
    candidates
}

/// Where a sum is printed that has no label of a total.
fn printed(sums: &Sums, cents: i64) -> Option<Sum> {
    let all = sums.rows.iter().enumerate().flat_map(|(row, amounts)| amounts.iter().map(move |amount| (row, amount)));
    let found = all.filter(|(_, amount)| amount.cents == cents && amount.form != Form::Bare).last();
    found.map(|(row, amount)| Sum { label: Money::Total, row, amount: *amount })
}

/// Whether a sum is a net sum or its tax, and their sum is printed.
fn is_part(sums: &Sums, cents: i64) -> bool {
    let nets = sums.with(&[Money::Net, Money::Subtotal]).map(|sum| sum.amount.cents).filter(|net| *net == cents);
    let taxes: Vec<i64> = sums.with(&[Money::Tax]).map(|sum| sum.amount.cents).collect();
    let labelled = nets.flat_map(|net| taxes.iter().map(move |tax| (net, *tax)));
    let tabled = sums.taxed.iter().map(|(net, tax, _)| (*net, *tax));
    let mut parts = tabled.chain(labelled).filter(|(net, tax)| *tax > 0 && (*net == cents || *tax == cents));
    parts.any(|(net, tax)| [-1, 0, 1, 2, -2].iter().any(|off| printed(sums, net + tax + off).is_some()))
}

/// How much a label says.
fn rank(sum: &Sum) -> (bool, u8) {
    let label = match sum.label {
        Money::Rounded => 3,
        Money::Due => 2,
        _ => 1,
    };
    (!sum.amount.repaired, label)
}

impl Candidate {
    fn best(&self) -> Option<Proof> {
        self.proofs.iter().map(|(proof, _)| *proof).max()
    }

    fn is_paid(&self) -> bool {
        self.best() >= Some(Proof::Paid)
    }

    /// Of two candidates the one with the greater weight is the likelier total.
    fn weight(&self) -> impl Ord + use<> {
        let best = self.best();
        let label = match self.sum.label {
            Money::Rounded => 2,
            Money::Due => 1,
            _ => 0,
        };
        let settled = best >= Some(Proof::Rounding);
        (settled.then_some(best), !self.part, label, best.is_some(), self.sum.row, self.proofs.len())
    }
}

fn choose(candidates: BTreeMap<i64, Candidate>, named: bool, sums: &Sums) -> Option<Total> {
    let mut order: Vec<Candidate> = candidates.into_values().collect();
    order.sort_by_cached_key(|candidate| std::cmp::Reverse(candidate.weight()));
    let best = order.first()?;
    let proof = best.proofs.iter().max_by_key(|(proof, _)| *proof).cloned();
    let rounded = sums.with(&[Money::Rounding]).any(|sum| sum.amount.cents != 0);
    let open = rounded && best.best() < Some(Proof::Parts) && best.sum.label != Money::Rounded;
    let doubtful = open || order[1..].iter().any(|other| contradicts(best, other));
    let weak = best.best() <= Some(Proof::Twice) && !named;
    let well_read = best.sum.amount.form != Form::Bare && !best.sum.amount.repaired;
    let confidence = match &proof {
        Some(_) if !doubtful && !weak => Confidence::Certain,
        Some(_) => Confidence::Likely,
        None if named && well_read && !doubtful && !best.part => Confidence::Likely,
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

/// Whether another candidate makes the best one doubtful: both are paid, or the other stands below it with a label as good and is no
/// part.
fn contradicts(best: &Candidate, other: &Candidate) -> bool {
    if best.is_paid() || other.is_paid() {
        return other.is_paid() && best.best() <= other.best();
    }
    let later = other.sum.row > best.sum.row && rank(&other.sum) >= rank(&best.sum);
    let proved = other.best() >= best.best() && best.best() < Some(Proof::Rounding);
    !other.part && (later || proved)
}

/// All sums that the labelled sums prove: value, proof, and the equation as text.
fn equations(sums: &Sums, positions: &[i64], totals: &[i64]) -> Vec<(i64, Proof, String)> {
    let mut found = paid(sums);
    found.extend(taxed(sums));
    for (at, one) in totals.iter().take(TOTALS_MAX).enumerate() {
        found.extend(
            totals[at + 1..].iter().take(TOTALS_MAX).map(|other| (one + other, Proof::Parts, plus(*one, *other))),
        );
    }
    found.extend(parts(sums));
    if let Some(sum) =
        positions.iter().try_fold(0_i64, |sum, price| sum.checked_add(*price)).filter(|_| !positions.is_empty())
    {
        let text = positions.iter().map(|price| money(*price)).collect::<Vec<_>>().join(" + ");
        found.push((sum, Proof::Positions, format!("{text} = {}", money(sum))));
    }
    found
}

fn paid(sums: &Sums) -> Vec<(i64, Proof, String)> {
    let paid: Vec<i64> =
        sums.with(&[Money::Paid]).map(|sum| sum.amount.cents.abs()).filter(|cents| *cents > 0).collect();
    let changes: Vec<i64> = sums.with(&[Money::Change]).map(|sum| sum.amount.cents.abs()).collect();
    let mut found = Vec::new();
    let all: i64 = paid.iter().sum();
    let change = changes.iter().copied().max().unwrap_or(0);
    for handed in paid.iter().copied().chain((paid.len() > 1).then_some(all)) {
        match changes.iter().filter(|change| **change > 0 && **change < handed) {
            some if change > 0 => {
                found.extend(some.map(|change| (handed - change, Proof::PaidLessChange, less(handed, *change))))
            }
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
                        let proof = if text.is_empty() { Proof::Twice } else { Proof::Parts };
                        found.push((value, proof, format!("{}{text} = {}", money(cents), money(value))));
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
