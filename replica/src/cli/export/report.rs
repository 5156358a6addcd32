//! A report of a home's things for people, such as an insurer: one HTML file that prints well. Must not know how a file is
//! created.

use std::io::Write;

use hearth_contract::schema::Kind;
use hearth_contract::units::Units;
use hearth_replica::{Replica, Row};
use serde_json::Value;

use super::super::text::value_text;
use super::file::{ExportError, each_row};

/// The style of the page: dark text on white, also on paper; a table is not torn inside a row.
const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}\
    h1{margin-bottom:0}h2{margin-top:2rem;break-after:avoid}p.about{color:#555;margin-top:.25rem}\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .5rem;border-bottom:1px solid #ddd;vertical-align:top}\
    th.number,td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr{break-inside:avoid}\
    small{color:#555}tfoot td{font-weight:600;border-bottom:0}";

/// The things of one room, or the vehicles.
#[derive(Default)]
struct Section {
    title: String,
    rows: String,
    records: usize,
    cents: u64,
}

/// Writes the report. Returns the number of records in the report.
pub(super) fn write(replica: &Replica, out: &mut dyn Write) -> Result<usize, ExportError> {
    let today = hearth_replica::now().to_string();
    let today = today.split('T').next().unwrap_or_default();
    let status = replica.status()?;
    let (home, units) = (status.home.unwrap_or_else(|| "Home".to_owned()), status.units);
    let title = escaped(&format!("Things of {home}"));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\
         <p class=\"about\">As of {today}. A value is the current value, or else the purchase price, times the quantity.</p>\n"
    )?;
    let mut all = Section::default();
    let mut section = Section::default();
    // Ordered by room, so a section is complete when another room begins.
    each_row(replica, Kind::Inventory, "room_id", |row| {
        let room = row.names.get("room_id").map_or("Without a room", String::as_str);
        if section.records > 0 && section.title != room {
            write_section(out, units, &std::mem::take(&mut section), &mut all)?;
        }
        room.clone_into(&mut section.title);
        section.add(row);
        Ok(())
    })?;
    write_section(out, units, &section, &mut all)?;
    let mut vehicles = Section { title: "Vehicles".to_owned(), ..Section::default() };
    each_row(replica, Kind::Vehicle, "name", |row| {
        vehicles.add(row);
        Ok(())
    })?;
    write_section(out, units, &vehicles, &mut all)?;
    writeln!(out, "<h2>Total</h2><p>{} in {}</p></body></html>", units.sum(&sum(all.cents)), things(all.records))?;
    Ok(all.records)
}

impl Section {
    fn add(&mut self, row: &Row) {
        let text = |name: &str| row.fields.get(name).filter(|value| !value.is_null()).map(value_text);
        let each = text("current_value").or_else(|| text("purchase_price")).and_then(|sum| cents(&sum));
        let quantity = row.fields.get("quantity").and_then(Value::as_u64).unwrap_or(1);
        let worth = row.worth_cents().and_then(|cents| u64::try_from(cents).ok());
        let model = ["make", "model"].into_iter().filter_map(text).collect::<Vec<_>>().join(" ");
        let number = text("serial_number").or_else(|| text("vin")).or_else(|| text("license_plate"));
        let details = [model].into_iter().chain(number.map(|number| format!("No. {number}")));
        let details = details.filter(|detail| !detail.is_empty()).collect::<Vec<_>>().join(", ");
        self.rows.push_str(&format!(
            "<tr><td>{}<br><small>{}</small></td><td>{}</td><td class=\"number\">{quantity}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td></tr>\n",
            escaped(&row.title),
            escaped(&details),
            escaped(&text("purchase_date").unwrap_or_default()),
            each.map(sum).unwrap_or_default(),
            worth.map(sum).unwrap_or_default(),
        ));
        self.records += 1;
        self.cents = self.cents.saturating_add(worth.unwrap_or(0));
    }
}

/// Writes a section, if the section has a row, and adds the section to the totals.
fn write_section(out: &mut dyn Write, units: Units, section: &Section, all: &mut Section) -> Result<(), ExportError> {
    if section.records == 0 {
        return Ok(());
    }
    all.records += section.records;
    all.cents = all.cents.saturating_add(section.cents);
    Ok(write!(
        out,
        "<h2>{}</h2><table><thead><tr><th>Thing</th><th>Bought</th><th class=\"number\">Quantity</th>\
         <th class=\"number\">{}</th><th class=\"number\">{}</th></tr></thead><tbody>\n{}</tbody>\
         <tfoot><tr><td colspan=\"4\">{}</td><td class=\"number\">{}</td></tr></tfoot></table>\n",
        escaped(&section.title),
        units.sum_heading("Each"),
        units.sum_heading("Value"),
        section.rows,
        things(section.records),
        sum(section.cents)
    )?)
}

fn things(records: usize) -> String {
    if records == 1 { "1 thing".to_owned() } else { format!("{records} things") }
}

/// A sum in the contract's form, such as `1299.00`, in cents.
fn cents(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "00"));
    Some(whole.parse::<u64>().ok()? * 100 + format!("{decimals:0<2}").parse::<u64>().ok()?)
}

/// Cents as a sum with grouped thousands: `1,299.00`.
fn sum(cents: u64) -> String {
    let whole = (cents / 100).to_string();
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{}.{:02}", groups.join(","), cents % 100)
}

/// A text as HTML, also inside an attribute.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        for (text, expected) in [("1299.00", "1,299.00"), ("0.5", "0.50"), ("1234567", "1,234,567.00")] {
            assert_eq!(cents(text).map(sum).as_deref(), Some(expected));
        }
    }

    #[test]
    fn html_is_escaped() {
        assert_eq!(escaped("<b onclick='x'>\"&"), "&lt;b onclick=&#39;x&#39;&gt;&quot;&amp;");
    }
}
