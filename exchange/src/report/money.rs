//! Sums of money, exact in cents. Must not know currencies.

/// An amount in cents.
pub(super) type Cents = u128;

/// A sum in the contract's form, such as `1299.00`, in cents. None: the text has another form.
pub(super) fn cents(text: &str) -> Option<Cents> {
    let text = hearth_contract::formats::normalize_money(text)?;
    let (whole, decimals) = text.split_once('.')?;
    Some(whole.parse::<Cents>().ok()? * 100 + decimals.parse::<Cents>().ok()?)
}

/// Cents as a sum with grouped thousands: `1,299.00`.
pub(super) fn sum(cents: Cents) -> String {
    let whole = (cents / 100).to_string();
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{}.{:02}", groups.join(","), cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        for (text, expected) in [
            ("1299.00", Some("1,299.00")),
            ("0.5", Some("0.50")),
            ("1234567", Some("1,234,567.00")),
            ("999999999999.99", Some("999,999,999,999.99")),
            ("1.299,00", None),
            ("", None),
        ] {
            assert_eq!(cents(text).map(sum).as_deref(), expected, "{text}");
        }
    }
}
