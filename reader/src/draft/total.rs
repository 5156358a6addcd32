//! Finds the sum to pay and proves it by an equation: total = paid, cash − change, net + tax, parts, or the sum of the positions.
//! Must not know rows of text, nor how an equation is made.

use std::collections::{BTreeMap, BTreeSet};

use super::amounts::Form;
use super::equations::{Proof, equations, money};
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
    let only_paid = candidates.is_empty() && !change;
    if only_paid {
        // `3 bar` and `PIN: 4711` are no payments.
        candidates = labelled(sums, &[Money::Paid]);
        candidates.retain(|_, candidate| candidate.sum.amount.form != Form::Bare);
    }
    if candidates.is_empty() && !change {
        return None;
    }
    let totals: Vec<i64> = candidates.keys().copied().collect();
    let equations = equations(sums, positions, &totals);
    let is_paid = |cents: i64| sums.with(&[Money::Paid]).any(|sum| sum.amount.cents == cents);
    let proves = |cents: i64, proof: Proof| match proof {
        Proof::PaidLessChange => true,
        Proof::Rounding => named,
        Proof::NetAndTax | Proof::Parts => !named || is_paid(cents),
        Proof::Twice | Proof::Positions | Proof::Paid => false,
    };
    let most = totals.iter().copied().max().unwrap_or(0);
    for (cents, ..) in equations.iter().filter(|(cents, proof, _)| proves(*cents, *proof) && cents * 2 > most) {
        if let Some(sum) = printed(sums, *cents) {
            candidates.entry(*cents).or_insert(Candidate { sum, proofs: Vec::new(), part: false });
        }
    }
    let paid = equations.iter().filter(|(_, proof, _)| matches!(proof, Proof::Paid | Proof::PaidLessChange));
    let paid: Vec<i64> = paid.map(|(cents, ..)| *cents).collect();
    for (cents, proof, text) in equations {
        // A payment does not prove itself.
        let own = only_paid && proof == Proof::Paid;
        if let Some(candidate) = candidates.get_mut(&cents).filter(|_| !own) {
            candidate.proofs.push((proof, text));
        }
    }
    for (cents, candidate) in &mut candidates {
        candidate.part = is_part(sums, *cents);
    }
    choose(candidates, named, &paid, sums)
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
    let all =
        sums.rows.iter().enumerate().rev().flat_map(|(row, amounts)| amounts.iter().map(move |amount| (row, amount)));
    let found = all.into_iter().find(|(_, amount)| amount.cents == cents && amount.form != Form::Bare);
    found.map(|(row, amount)| Sum { label: Money::Total, row, amount: *amount })
}

/// Whether a sum is a net sum or its tax, and their sum is printed.
fn is_part(sums: &Sums, cents: i64) -> bool {
    let labelled = sums.with(&[Money::Tax]).map(|sum| (cents, sum.amount.cents));
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

fn choose(candidates: BTreeMap<i64, Candidate>, named: bool, paid: &[i64], sums: &Sums) -> Option<Total> {
    let mut order: Vec<Candidate> = candidates.into_values().collect();
    order.sort_by_cached_key(|candidate| std::cmp::Reverse(candidate.weight()));
    let best = order.first()?;
    let proof = best.proofs.iter().max_by_key(|(proof, _)| *proof).cloned();
    let part = best.part && !best.is_paid();
    let doubtful = part
        || is_open(best, sums)
        || !fits_payment(best, paid)
        || order[1..].iter().any(|other| contradicts(best, other));
    let weak = best.best() < Some(Proof::Paid) && !named;
    let well_read = best.sum.amount.form != Form::Bare && !best.sum.amount.repaired;
    // The same digits are misread in the same way at each place, so a badly read sum needs an equation of other sums.
    let repeated =
        best.sum.amount.repaired && best.best().is_some_and(|proof| matches!(proof, Proof::Twice | Proof::Paid));
    let confidence = match &proof {
        Some(_) if !doubtful && !weak && !repeated => Confidence::Certain,
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

/// Whether a discount, a service or a rounding stands below a sum that was not paid: it may change the sum.
fn is_open(best: &Candidate, sums: &Sums) -> bool {
    let later = |sum: &Sum| sum.amount.cents != 0 && (sum.row > best.sum.row || sum.label == Money::Rounding);
    let settled = best.best() >= Some(Proof::Rounding) || best.sum.label == Money::Rounded;
    !settled && sums.with(&[Money::Discount, Money::Extra, Money::Rounding]).any(later)
}

/// Whether what was paid agrees with a sum. Two other proofs outweigh a payment that was read badly.
fn fits_payment(best: &Candidate, paid: &[i64]) -> bool {
    let kinds: BTreeSet<Proof> = best.proofs.iter().map(|(proof, _)| *proof).collect();
    paid.is_empty() || paid.contains(&best.sum.amount.cents) || kinds.len() >= 2
}

/// Whether another candidate makes the best one doubtful: it is paid as well; or it stands below the best one, has a label as good, and
/// is no part of it.
fn contradicts(best: &Candidate, other: &Candidate) -> bool {
    let later = other.sum.row > best.sum.row && rank(&other.sum) >= rank(&best.sum);
    if best.is_paid() || other.is_paid() {
        let is_as_well_paid = other.is_paid() && best.best() <= other.best();
        // The card may have paid a deposit, and the total stands below.
        let is_deposit = best.best() == Some(Proof::Paid) && best.proofs.len() == 1 && later && !other.part;
        return is_as_well_paid || is_deposit;
    }
    let proved = other.best() >= best.best() && best.best() < Some(Proof::Rounding);
    !other.part && (later || proved)
}
