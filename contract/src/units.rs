//! The units in which a home reads and types its sums and areas. Records always hold sums without a currency, and areas in
//! whole square feet. Pure. Must not know screens, or where a profile is stored.

use crate::amounts;
use crate::currency;
use crate::typed_text;

/// The field of the profile that names the currency of all sums.
pub const CURRENCY: &str = "currency";

/// The field of the profile that names the system of units.
pub const UNIT_SYSTEM: &str = "unit_system";

/// The word of [`UNIT_SYSTEM`] for metres.
const METRIC: &str = "metric";

/// Hundred-millionths of a square metre in a square foot: a foot is exactly 0.3048 m.
const SQUARE_FOOT: i64 = 9_290_304;

/// Hundred-millionths of a square metre in a hundredth of one.
const SQUARE_METRE_HUNDREDTH: i64 = 1_000_000;

/// Names of the units as people type them behind a number, in lower case. The longer names come first.
const TYPED_UNITS: [(&str, AreaUnit); 9] = [
    ("square metres", AreaUnit::SquareMetres),
    ("square meters", AreaUnit::SquareMetres),
    ("sq m", AreaUnit::SquareMetres),
    ("sqm", AreaUnit::SquareMetres),
    ("m²", AreaUnit::SquareMetres),
    ("m2", AreaUnit::SquareMetres),
    ("sq ft", AreaUnit::SquareFeet),
    ("sqft", AreaUnit::SquareFeet),
    ("ft²", AreaUnit::SquareFeet),
];

/// How a home reads its sums and areas, as its profile says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Units {
    /// The code of the currency of all sums. None: the profile names none, or one that this version does not know.
    pub currency: Option<&'static str>,
    /// The unit of areas.
    pub area: AreaUnit,
}

/// A unit of areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AreaUnit {
    /// The unit of the records themselves.
    #[default]
    SquareFeet,
    /// The unit of homes whose profile says `metric`.
    SquareMetres,
}

impl Units {
    /// The units of a profile with these values of [`CURRENCY`] and [`UNIT_SYSTEM`].
    pub fn new(currency: Option<&str>, unit_system: Option<&str>) -> Units {
        let area = if unit_system == Some(METRIC) { AreaUnit::SquareMetres } else { AreaUnit::SquareFeet };
        Units { currency: currency.and_then(currency::known), area }
    }

    /// A stored sum in groups of three digits, with the decimals of the currency and without its code.
    pub fn amount(self, stored: &str) -> String {
        amounts::sum(stored, self.currency)
    }

    /// A written sum with the currency behind it: `1,299.00 EUR`. Without a currency, the sum alone.
    pub fn sum(self, written: &str) -> String {
        self.currency.map_or_else(|| written.to_owned(), |code| format!("{written} {code}"))
    }

    /// The heading of a column of sums: `Value, EUR`. Without a currency, the heading alone.
    pub fn sum_heading(self, heading: &str) -> String {
        self.currency.map_or_else(|| heading.to_owned(), |code| format!("{heading}, {code}"))
    }
}

impl AreaUnit {
    /// The sign of the unit behind a number.
    pub const fn sign(self) -> &'static str {
        match self {
            AreaUnit::SquareFeet => "sq ft",
            AreaUnit::SquareMetres => "m²",
        }
    }

    /// An area of whole square feet as a number in this unit: `215`, in square metres `20`. It has as few decimals as lead
    /// back to the same square feet by [`AreaUnit::parse`], two at most.
    pub fn number(self, square_feet: i64) -> String {
        if self == AreaUnit::SquareFeet {
            return square_feet.to_string();
        }
        let Some(exact) = square_feet.checked_mul(SQUARE_FOOT) else { return square_feet.to_string() };
        let hundredths = |step: i64| divide_rounded(exact, SQUARE_METRE_HUNDREDTH * step) * step;
        let leads_back = |hundredths: &i64| square_feet_of(*hundredths) == square_feet;
        let hundredths = [100, 10].into_iter().map(hundredths).find(leads_back).unwrap_or_else(|| hundredths(1));
        let (whole, decimals) = (hundredths / 100, format!("{:02}", hundredths % 100));
        match decimals.trim_end_matches('0') {
            "" => whole.to_string(),
            decimals => format!("{whole}.{decimals}"),
        }
    }

    /// The whole square feet that a typed area means: `20`, `19,9`, `20 m²` or `215 sq ft`. A number without a unit is in
    /// this unit. None: the text is no area, or is ambiguous.
    pub fn parse(self, text: &str) -> Option<i64> {
        let text = text.trim().to_lowercase();
        let typed = TYPED_UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?.trim_end(), *unit)));
        let (number, unit) = typed.unwrap_or((&text, self));
        if unit == AreaUnit::SquareFeet {
            return typed_text::parse_whole(number);
        }
        let number = typed_text::parse_decimal(number)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((&number, ""));
        let hundredths = whole.parse::<i64>().ok()?.checked_mul(100)?;
        let hundredths = hundredths.checked_add(format!("{decimals:0<2}").parse().ok()?)?;
        // Beyond this, the square feet are far more than any field takes.
        hundredths.checked_mul(SQUARE_METRE_HUNDREDTH)?;
        Some(square_feet_of(hundredths))
    }
}

/// The square feet nearest to hundredths of a square metre.
fn square_feet_of(hundredths: i64) -> i64 {
    divide_rounded(hundredths * SQUARE_METRE_HUNDREDTH, SQUARE_FOOT)
}

/// The whole number nearest to a quotient; a half is rounded up.
fn divide_rounded(number: i64, by: i64) -> i64 {
    number.div_euclid(by) + i64::from(number.rem_euclid(by) * 2 >= by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::COUNT_MAX;

    #[test]
    fn areas_are_shown_with_few_decimals() {
        for (square_feet, expected) in
            [(0, "0"), (1, "0.1"), (5, "0.5"), (11, "1"), (214, "19.9"), (215, "20"), (1_000, "92.9"), (2_740, "254.6")]
        {
            assert_eq!(AreaUnit::SquareMetres.number(square_feet), expected, "{square_feet}");
        }
        assert_eq!(AreaUnit::SquareFeet.number(2_740), "2740");
    }

    #[test]
    fn shown_area_typed_back_changes_nothing() {
        for unit in [AreaUnit::SquareFeet, AreaUnit::SquareMetres] {
            for square_feet in (0..20_000).chain(COUNT_MAX - 20_000..=COUNT_MAX) {
                let shown = unit.number(square_feet);
                assert_eq!(unit.parse(&shown), Some(square_feet), "{shown}");
                assert_eq!(AreaUnit::default().parse(&format!("{shown} {}", unit.sign())), Some(square_feet));
            }
        }
    }

    #[test]
    fn typed_areas() {
        let (feet, metres) = (AreaUnit::SquareFeet, AreaUnit::SquareMetres);
        for (unit, text, expected) in [
            (metres, "20", Some(215)),
            (metres, " 20,5 ", Some(221)),
            (metres, "20.5", Some(221)),
            (metres, "1,299.50", Some(13_988)),
            (metres, "215 sq ft", Some(215)),
            (metres, "20M²", Some(215)),
            (feet, "20 m2", Some(215)),
            (feet, "20 sqm", Some(215)),
            (feet, "1,200", Some(1_200)),
            (feet, "1,200 ft²", Some(1_200)),
            (feet, "20.5", None),
            (metres, "1.299", None),
            (metres, "20 €", None),
            (metres, "", None),
            (metres, "m²", None),
            (metres, "wide", None),
            (metres, "99999999999999999999", None),
            (metres, "999999999999999", None),
        ] {
            assert_eq!(unit.parse(text), expected, "{unit:?} {text}");
        }
    }

    #[test]
    fn profile_sets_the_units() {
        for (currency, system, expected) in [
            (Some("EUR"), Some("metric"), ("9.00 EUR", "Value, EUR", AreaUnit::SquareMetres)),
            (None, Some("imperial"), ("9.00", "Value", AreaUnit::SquareFeet)),
            (Some("DEM"), None, ("9.00", "Value", AreaUnit::SquareFeet)),
        ] {
            let units = Units::new(currency, system);
            let (sum, heading) = (units.sum("9.00"), units.sum_heading("Value"));
            assert_eq!((&sum[..], &heading[..], units.area), expected);
        }
    }
}
