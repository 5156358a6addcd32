//! What an import would do or did, for people and as JSON. Must not know files.

use hearth_exchange::import::plan::TableReport;
use hearth_exchange::import::{Action, Counts, Plan, PlannedRow};
use serde_json::{Value, json};

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::{output, text};

/// The most rows of each sort that a preview shows to people.
const SHOWN_MAX: usize = 10;
/// The most refused rows that a preview shows to people.
const REFUSED_SHOWN_MAX: usize = 100;

/// Prints what the file would do. `is_nothing`: the file changes nothing, and that is the result.
pub(super) fn preview(context: &Context, plan: &Plan, is_nothing: bool) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(&json_report(plan, is_nothing))?);
    }
    for table in plan.tables.iter().filter(|table| !table.used.is_empty()) {
        describe(table);
    }
    write_rows(plan, "new", |action| matches!(action, Action::Create(_)), SHOWN_MAX, "")?;
    write_rows(plan, "changed", |action| matches!(action, Action::Update(_)), SHOWN_MAX, "")?;
    write_rows(plan, "refused", |action| matches!(action, Action::Fail(_)), REFUSED_SHOWN_MAX, "; --json shows all")?;
    Ok(output::line(&sum(plan.counts(), ["to make", "to change", "unchanged", "refused"]))?)
}

/// Prints what was written.
pub(super) fn done(context: &Context, plan: &Plan) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(&json_report(plan, true))?);
    }
    Ok(output::line(&sum(plan.counts(), ["made", "changed", "unchanged", "refused"]))?)
}

/// Prints the first rows of one sort, and how many more there are.
fn write_rows(plan: &Plan, word: &str, is: fn(&Action) -> bool, max: usize, hint: &str) -> Result<(), Failure> {
    let rows: Vec<&PlannedRow> = plan.rows.iter().filter(|row| is(&row.action)).collect();
    for row in rows.iter().take(max) {
        output::line(&line(word, row))?;
    }
    if rows.len() > max {
        output::line(&format!("  … and {} more {word}{hint}", rows.len() - max))?;
    }
    Ok(())
}

/// Says which columns a table has, and which are kept out.
fn describe(table: &TableReport) {
    let used: Vec<String> =
        table.used.iter().map(|(column, field)| text::one_line(&format!("{column} → {field}"))).collect();
    output::message(&format!("{} ({} columns): {}", table.kind.collection(), table.product.as_str(), used.join(", ")));
    if !table.kept_out.is_empty() {
        output::message(&text::one_line(&format!("kept out: {}", table.kept_out.join(", "))));
    }
}

fn line(word: &str, row: &PlannedRow) -> String {
    let title = row.title.as_deref().unwrap_or_default();
    let what = match &row.action {
        Action::Fail(fault) => format!(" {fault}"),
        Action::Update(fields) => format!(": {}", fields.keys().cloned().collect::<Vec<_>>().join(", ")),
        _ => String::new(),
    };
    text::one_line(&format!("  {word:8} row {:<5} {} {title}{what}", row.number, row.kind))
}

fn sum(counts: Counts, words: [&str; 4]) -> String {
    let numbers = [counts.created, counts.updated, counts.unchanged, counts.failed];
    numbers.iter().zip(words).map(|(number, word)| format!("{number} {word}")).collect::<Vec<_>>().join(", ")
}

fn json_report(plan: &Plan, is_applied: bool) -> Value {
    let Counts { created, updated, unchanged, failed } = plan.counts();
    let tables = plan.tables.iter().map(|table| {
        let columns: serde_json::Map<String, Value> =
            table.used.iter().map(|(column, field)| (column.clone(), (*field).into())).collect();
        json!({ "type": table.kind.as_str(), "product": table.product.as_str(), "columns": columns, "kept_out": table.kept_out })
    });
    json!({
        "applied": is_applied,
        "counts": { "created": created, "updated": updated, "unchanged": unchanged, "failed": failed },
        "tables": tables.collect::<Vec<_>>(),
        "rows": plan.rows.iter().map(PlannedRow::to_json).collect::<Vec<_>>(),
    })
}
