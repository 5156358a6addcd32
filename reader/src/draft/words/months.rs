//! The names of months. Must not know dates.

use std::collections::HashMap;
use std::sync::LazyLock;

use time::Month;

/// The month that a word in lower case without accents names.
pub(in crate::draft) fn month(word: &str) -> Option<Month> {
    MONTHS.get(word).copied()
}

static MONTHS: LazyLock<HashMap<&'static str, Month>> =
    LazyLock::new(|| NAMES.iter().flat_map(|(month, names)| names.split('|').map(|name| (name, *month))).collect());

const NAMES: &[(Month, &str)] = &[
    (Month::January, "jan|january|januar|janner|janv|janvier|enero|ene|januari|gennaio|gen|jän|jaen"),
    (Month::February, "feb|february|februar|fev|fevr|fevrier|febrero|februari|febbraio|febr"),
    (Month::March, "mar|march|marz|maerz|mrz|mars|marzo|maart|mrt"),
    (Month::April, "apr|april|avr|avril|abril|abr|aprile"),
    (Month::May, "may|mai|mayo|mei|maggio|mag"),
    (Month::June, "jun|june|juni|juin|junio|giugno|giu"),
    (Month::July, "jul|july|juli|juil|juillet|julio|luglio|lug"),
    (Month::August, "aug|august|aout|agosto|ago|augustus"),
    (Month::September, "sep|sept|september|septembre|septiembre|setiembre|settembre|set"),
    (Month::October, "oct|october|okt|oktober|octobre|octubre|ottobre|ott"),
    (Month::November, "nov|november|novembre|noviembre"),
    (Month::December, "dec|december|dez|dezember|decembre|diciembre|dic|dicembre"),
];
