//! How numbers and dates are written: the decimal mark and the order of day and month. Must not know columns.

use super::error::{Cause, ImportError};

/// Languages that write a decimal comma.
const COMMA_LANGUAGES: [&str; 32] = [
    "af", "be", "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "is", "it", "lt", "lv", "nb",
    "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk",
];
/// Languages that write a decimal point and the day first.
const POINT_LANGUAGES: [&str; 6] = ["en", "ga", "he", "mt", "th", "hi"];
/// Languages that write the year first, and a decimal point.
const YEAR_FIRST_LANGUAGES: [&str; 3] = ["ja", "ko", "zh"];
/// Locales with another decimal mark than their language.
const POINT_LOCALES: [&str; 8] = ["de-ch", "de-li", "it-ch", "es-mx", "es-us", "es-pr", "es-gt", "es-pa"];
/// English is written with a decimal comma in South Africa.
const COMMA_LOCALES: [&str; 1] = ["en-za"];
/// Locales with the month first.
const MONTH_FIRST_LOCALES: [&str; 3] = ["en-us", "en-ph", "es-pr"];

/// The mark before the decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalMark {
    /// `1,50`
    Comma,
    /// `1.50`
    Point,
}

/// The order of day and month in dates with `/` or `-`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// `21/10/2022`
    DayFirst,
    /// `10/21/2022`
    MonthFirst,
}

/// How a file writes numbers and dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Locale {
    /// The decimal mark. None: unknown.
    pub decimal: Option<DecimalMark>,
    /// The order of dates. None: unknown.
    pub order: Option<DateOrder>,
}

impl Locale {
    /// Parses a tag such as `de-DE`, `en_US.UTF-8` or `fr`. `en` alone does not tell the order of dates. Error: an unknown
    /// language.
    pub fn parse(tag: &str) -> Result<Locale, ImportError> {
        let tag = tag.split('.').next().unwrap_or_default().replace('_', "-").to_ascii_lowercase();
        let language = tag.split('-').next().unwrap_or_default();
        let is_comma = COMMA_LANGUAGES.contains(&language);
        if !is_comma && !POINT_LANGUAGES.contains(&language) && !YEAR_FIRST_LANGUAGES.contains(&language) {
            let message = "locale must be a tag such as de-DE, en-US, en-GB or fr-FR.";
            return Err(ImportError::new(Cause::Parameter("locale"), message));
        }
        let tag = tag.as_str();
        let is_comma = (is_comma && !POINT_LOCALES.contains(&tag)) || COMMA_LOCALES.contains(&tag);
        let order = match tag {
            "en" => None,
            _ if YEAR_FIRST_LANGUAGES.contains(&language) => None,
            _ if MONTH_FIRST_LOCALES.contains(&tag) => Some(DateOrder::MonthFirst),
            _ => Some(DateOrder::DayFirst),
        };
        Ok(Locale { decimal: Some(if is_comma { DecimalMark::Comma } else { DecimalMark::Point }), order })
    }

    /// This locale, with what is unknown taken from another.
    pub fn or(self, other: Locale) -> Locale {
        Locale { decimal: self.decimal.or(other.decimal), order: self.order.or(other.order) }
    }
}

/// What the cells of a column prove. Two cells that contradict each other prove nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    comma: bool,
    point: bool,
    day_first: bool,
    month_first: bool,
}

impl Evidence {
    pub(super) fn decimal(&mut self, mark: Option<DecimalMark>) {
        self.comma |= mark == Some(DecimalMark::Comma);
        self.point |= mark == Some(DecimalMark::Point);
    }

    pub(super) fn order(&mut self, order: Option<DateOrder>) {
        self.day_first |= order == Some(DateOrder::DayFirst);
        self.month_first |= order == Some(DateOrder::MonthFirst);
    }

    pub(super) fn add(&mut self, other: Evidence) {
        self.comma |= other.comma;
        self.point |= other.point;
        self.day_first |= other.day_first;
        self.month_first |= other.month_first;
    }

    pub(super) fn locale(self) -> Locale {
        let decimal = match (self.comma, self.point) {
            (true, false) => Some(DecimalMark::Comma),
            (false, true) => Some(DecimalMark::Point),
            _ => None,
        };
        let order = match (self.day_first, self.month_first) {
            (true, false) => Some(DateOrder::DayFirst),
            (false, true) => Some(DateOrder::MonthFirst),
            _ => None,
        };
        Locale { decimal, order }
    }
}
