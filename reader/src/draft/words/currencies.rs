//! The names and signs of currencies on papers. Must not know sums.

/// A currency as papers write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::draft) enum Currency {
    /// A sign that stands for one currency.
    One(&'static str),
    /// A sign that several currencies have. Each is the code of one of them.
    Several(&'static [&'static str]),
}

const DOLLARS: Currency = Currency::Several(&["USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "TWD"]);
const CROWNS: Currency = Currency::Several(&["SEK", "NOK", "DKK", "ISK", "CZK"]);
const YENS: Currency = Currency::Several(&["JPY", "CNY"]);
const POUNDS: Currency = Currency::Several(&["GBP", "EGP"]);

/// Each sign in lower case, the longer before those that begin it.
const SIGNS: &[(&str, Currency)] = &[
    ("us$", Currency::One("USD")),
    ("usd", Currency::One("USD")),
    ("ca$", Currency::One("CAD")),
    ("cad", Currency::One("CAD")),
    ("c$", Currency::One("CAD")),
    ("au$", Currency::One("AUD")),
    ("aud", Currency::One("AUD")),
    ("a$", Currency::One("AUD")),
    ("nz$", Currency::One("NZD")),
    ("nzd", Currency::One("NZD")),
    ("sgd", Currency::One("SGD")),
    ("s$", Currency::One("SGD")),
    ("hk$", Currency::One("HKD")),
    ("r$", Currency::One("BRL")),
    ("$", DOLLARS),
    ("euros", Currency::One("EUR")),
    ("euro", Currency::One("EUR")),
    ("eur", Currency::One("EUR")),
    ("€", Currency::One("EUR")),
    ("gbp", Currency::One("GBP")),
    ("£", POUNDS),
    ("chf", Currency::One("CHF")),
    ("sfr.", Currency::One("CHF")),
    ("sfr", Currency::One("CHF")),
    ("fr.", Currency::One("CHF")),
    ("myr", Currency::One("MYR")),
    ("rm", Currency::One("MYR")),
    ("sek", Currency::One("SEK")),
    ("nok", Currency::One("NOK")),
    ("dkk", Currency::One("DKK")),
    ("kr.", CROWNS),
    ("kr", CROWNS),
    ("czk", Currency::One("CZK")),
    ("kc", Currency::One("CZK")),
    ("pln", Currency::One("PLN")),
    ("zl", Currency::One("PLN")),
    ("huf", Currency::One("HUF")),
    ("jpy", Currency::One("JPY")),
    ("cny", Currency::One("CNY")),
    ("¥", YENS),
    ("inr", Currency::One("INR")),
    ("rs.", Currency::One("INR")),
    ("₹", Currency::One("INR")),
    ("idr", Currency::One("IDR")),
    ("rp", Currency::One("IDR")),
    ("thb", Currency::One("THB")),
    ("php", Currency::One("PHP")),
    ("krw", Currency::One("KRW")),
    ("₩", Currency::One("KRW")),
    ("try", Currency::One("TRY")),
    ("zar", Currency::One("ZAR")),
    ("brl", Currency::One("BRL")),
    ("mxn", Currency::One("MXN")),
];

/// The currency at the start of a word in lower case, and what follows.
pub(in crate::draft) fn prefix(word: &str) -> Option<(Currency, &str)> {
    SIGNS.iter().find_map(|(sign, currency)| word.strip_prefix(sign).map(|rest| (*currency, rest)))
}

/// The currency at the end of a word in lower case, and what stands before.
pub(in crate::draft) fn suffix(word: &str) -> Option<(Currency, &str)> {
    SIGNS.iter().find_map(|(sign, currency)| word.strip_suffix(sign).map(|rest| (*currency, rest)))
}

/// The currency that a whole word in lower case names, also in brackets.
pub(in crate::draft) fn whole_word(word: &str) -> Option<Currency> {
    let word = word.trim_matches(['(', ')', ':', '[', ']', '*', '=']);
    SIGNS.iter().find_map(|(sign, currency)| (*sign == word).then_some(*currency))
}

impl Currency {
    /// Whether the sign may stand for a currency.
    pub(in crate::draft) fn allows(self, code: &str) -> bool {
        match self {
            Currency::One(only) => only == code,
            Currency::Several(codes) => codes.contains(&code),
        }
    }

    /// The code, or all codes that the sign may stand for.
    pub(in crate::draft) fn name(self) -> String {
        match self {
            Currency::One(only) => only.to_owned(),
            Currency::Several(codes) => codes.join(" or "),
        }
    }
}
