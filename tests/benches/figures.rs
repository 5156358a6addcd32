//! Figures as values: spread over the runs, targets, and the output as a table or JSON. Must not know the workloads.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};

/// Minimum, median and maximum of some runs.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of at least one run.
    pub(crate) fn of(runs: &[f64]) -> Spread {
        let mut runs = runs.to_vec();
        runs.sort_by(f64::total_cmp);
        Spread { min: runs[0], median: runs[runs.len() / 2], max: runs[runs.len() - 1] }
    }
}

/// The required median of a figure.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Target::AtLeast(least) => figure >= least,
            Target::AtMost(most) => figure <= most,
        }
    }

    fn text(self) -> String {
        match self {
            Target::AtLeast(least) => format!("≥ {}", number(least)),
            Target::AtMost(most) => format!("≤ {}", number(most)),
        }
    }
}

/// A line of the table: one figure at one number of records.
pub(crate) struct Row {
    pub(crate) workload: &'static str,
    pub(crate) records: usize,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) spread: Spread,
    pub(crate) target: Option<Target>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.target {
            None => "",
            Some(target) if target.is_met(self.spread.median) => "pass",
            Some(_) => "MISS",
        }
    }
}

/// The table as text. With `judged`, each line shows target and verdict.
pub(crate) fn table(rows: &[Row], judged: bool) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{:>8}  {:62} {:>9} {:>9} {:>9}  {:6} {:>8}",
        "records", "figure", "min", "median", "max", "", "target"
    );
    for row in rows {
        let Spread { min, median, max } = row.spread;
        let (target, verdict) = match row.target {
            Some(target) if judged => (target.text(), row.verdict()),
            _ => (String::new(), ""),
        };
        let _ = writeln!(
            out,
            "{:>8}  {:62} {:>9} {:>9} {:>9}  {:6} {:>8} {verdict}",
            row.records,
            format!("{}: {}", row.workload, row.what),
            number(min),
            number(median),
            number(max),
            row.unit,
            target
        );
    }
    out
}

/// A table of medians with one column for each number of records, which shows how the cost grows.
pub(crate) fn growth(rows: &[Row]) -> String {
    let sizes: BTreeSet<usize> = rows.iter().map(|row| row.records).collect();
    let mut figures: Vec<(String, &str, Vec<String>)> = Vec::new();
    for row in rows {
        let name = format!("{}: {}", row.workload, row.what);
        let place = figures.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
            figures.push((name, row.unit, vec![String::new(); sizes.len()]));
            figures.len() - 1
        });
        if let Some(column) = sizes.iter().position(|size| *size == row.records) {
            figures[place].2[column] = number(row.spread.median);
        }
    }
    let mut out = String::new();
    let mut line = |name: &str, unit: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!(" {cell:>9}")).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name:62} {unit:6}{cells}");
    };
    line("median at so many records", "", &sizes.iter().map(usize::to_string).collect::<Vec<_>>());
    figures.iter().for_each(|(name, unit, medians)| line(name, unit, medians));
    out
}

/// All figures as JSON text, for programs.
pub(crate) fn json(rows: &[Row]) -> String {
    let rows = rows.iter().map(|row| {
        let (at_least, at_most) = match row.target {
            Some(Target::AtLeast(least)) => (Some(least), None),
            Some(Target::AtMost(most)) => (None, Some(most)),
            None => (None, None),
        };
        json!({
            "records": row.records, "workload": row.workload, "figure": row.what, "unit": row.unit,
            "min": row.spread.min, "median": row.spread.median, "max": row.spread.max,
            "at_least": at_least, "at_most": at_most,
            "met": row.target.map(|target| target.is_met(row.spread.median)),
        })
    });
    format!("{:#}\n", Value::Array(rows.collect()))
}

/// A number with about three significant digits.
fn number(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}
