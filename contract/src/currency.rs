//! Currencies by their codes in ISO 4217. Must not know fields, or how money is written.

/// The active codes of ISO 4217, list one ("current currency and funds code list") of 1 January 2026, in alphabetical
/// order. A crate would add names, signs and conversions, which nothing here reads.
const CODES: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD \
    CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF \
    GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL \
    LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN \
    PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD \
    TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT \
    XSU XTS XUA XXX YER ZAR ZMW ZWG";

/// Currencies without a minor unit, by the same list.
const WITHOUT_MINOR: [&str; 17] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF",
    "XPF",
];

/// Currencies whose minor unit is a thousandth.
const WITH_THOUSANDTHS: [&str; 7] = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];

/// The decimals that the list names for a currency: 0, 2 or 3. Every other code has 2.
pub fn minor_units(code: &str) -> u8 {
    if WITHOUT_MINOR.contains(&code) {
        0
    } else if WITH_THOUSANDTHS.contains(&code) {
        3
    } else {
        2
    }
}

/// All active codes, in alphabetical order.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CODES.split(' ')
}

/// The code, if an active currency has exactly this one.
pub fn known(code: &str) -> Option<&'static str> {
    codes().find(|known| *known == code)
}

/// Parses a code and upper-cases its letters. None: no active currency has the code.
pub fn normalize(text: &str) -> Option<String> {
    known(&text.to_ascii_uppercase()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_words_of_three_letters() {
        let all: Vec<&str> = codes().collect();
        assert!(all.is_sorted() && all.len() > 150);
        assert!(all.iter().all(|code| code.len() == 3 && code.bytes().all(|b| b.is_ascii_uppercase())));
    }

    #[test]
    fn minor_units_are_of_active_codes() {
        assert!(WITHOUT_MINOR.iter().chain(&WITH_THOUSANDTHS).all(|code| known(code).is_some()));
        assert_eq!(["JPY", "KRW", "EUR", "BHD", "none"].map(minor_units), [0, 0, 2, 3, 2]);
    }

    #[test]
    fn active_codes_only() {
        for (text, expected) in [
            ("EUR", Some("EUR")),
            ("eur", Some("EUR")),
            ("Usd", Some("USD")),
            ("DEM", None),
            ("HRK", None),
            ("EURO", None),
            ("€", None),
            ("EU", None),
            ("USD EUR", None),
            ("", None),
        ] {
            assert_eq!(normalize(text).as_deref(), expected, "{text}");
        }
    }
}
