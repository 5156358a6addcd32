//! Sums of money, exact in cents. Must not know where the currency stands.

use hearth_contract::amounts;

/// An amount in cents.
pub(super) type Cents = u128;

/// A sum in the contract's form, such as `1299.00`, in cents. None: the text has another form.
pub(super) fn cents(text: &str) -> Option<Cents> {
    let text = hearth_contract::formats::normalize_money(text)?;
    let (whole, decimals) = text.split_once('.')?;
    Some(whole.parse::<Cents>().ok()? * 100 + decimals.parse::<Cents>().ok()?)
}

/// Cents as people read them, with the decimals of a currency: `1,299.00`.
pub(super) fn sum(cents: Cents, currency: &str) -> String {
    amounts::sum(&amounts::stored(i128::try_from(cents).unwrap_or(i128::MAX)), Some(currency))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact() {
        for (text, currency, expected) in [
            ("1299.00", "EUR", Some("1,299.00")),
            ("0.5", "", Some("0.50")),
            ("1234567", "JPY", Some("1,234,567")),
            ("999999999999.99", "USD", Some("999,999,999,999.99")),
            ("1.299,00", "EUR", None),
            ("", "", None),
        ] {
            assert_eq!(cents(text).map(|cents| sum(cents, currency)).as_deref(), expected, "{text}");
        }
    }
}
