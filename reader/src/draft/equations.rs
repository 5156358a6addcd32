//! The equations that the sums of a paper allow: what was paid less what was given back, net and tax, parts, positions. Must not know
//! which sum is the total.

use super::sums::Sums;
use super::words::money::Money;

/// The most sums of parts of a paper that are added in pairs.
const TOTALS_MAX: usize = 12;

/// Why a sum is the total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
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

/// A value, why it may be the total, and the equation as text.
pub(super) type Equation = (i64, Proof, String);

/// All sums that the labelled sums prove: value, proof, and the equation as text.
pub(super) fn equations(sums: &Sums, positions: &[i64], totals: &[i64]) -> Vec<Equation> {
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

fn paid(sums: &Sums) -> Vec<Equation> {
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

fn taxed(sums: &Sums) -> Vec<Equation> {
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
fn parts(sums: &Sums) -> Vec<Equation> {
    let rounding = sums.with(&[Money::Rounding]).map(|sum| sum.amount.cents).last().unwrap_or(0);
    let mut found = Vec::new();
    for base in sums.with(&[Money::Subtotal, Money::Net, Money::Total, Money::Due]) {
        let cents = base.amount.cents;
        if rounding != 0 {
            for signed in [rounding, -rounding] {
                found.push((cents + signed, Proof::Rounding, plus(cents, signed)));
            }
        }
        // What stands above the base is inside of it.
        let below = |labels: &[Money]| -> i64 {
            let mut all: Vec<i64> = sums
                .labelled
                .iter()
                .filter(|sum| sum.row > base.row && labels.contains(&sum.label))
                .map(|sum| sum.amount.cents)
                .collect();
            all.dedup();
            all.iter().sum()
        };
        let (tax, extra, discount) = (below(&[Money::Tax]), below(&[Money::Extra]), below(&[Money::Discount]).abs());
        if matches!(base.label, Money::Total | Money::Due) {
            if extra > 0 {
                found.push((cents + extra, Proof::Parts, plus(cents, extra)));
            }
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
