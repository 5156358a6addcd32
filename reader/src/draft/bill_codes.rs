//! Matrix codes on receipts and bills that state sum and day: tills of Germany, Austria and Portugal, bills of Spain, and payment codes
//! of Europe and Switzerland. Must not know text.

use hearth_contract::currency;
use hearth_contract::formats::{normalize_money, parse_date};
use time::Date;

use crate::reading::{Code, CodeFormat};

/// What a code on a receipt or bill states. The error correction of the code and its fixed form prove it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bill {
    /// The number of the code in its file.
    pub(super) code: usize,
    /// The sum to pay, in hundredths.
    pub(super) cents: Option<i64>,
    /// The day of the receipt.
    pub(super) day: Option<Date>,
    /// Who is to be paid.
    pub(super) payee: Option<String>,
    /// The currency, as a code.
    pub(super) currency: Option<String>,
}

/// The first code of a file that states a sum or a day.
pub(super) fn bill(codes: &[Code]) -> Option<Bill> {
    let readers = [german_till, austrian_till, portuguese, spanish, european_payment, swiss_payment];
    codes.iter().enumerate().filter(|(_, code)| code.proved && code.format != CodeFormat::Gtin).find_map(
        |(at, code)| {
            let found = readers.iter().find_map(|read| read(&code.text))?;
            (found.cents.is_some() || found.day.is_some()).then_some(Bill { code: at, ..found })
        },
    )
}

/// `V0;…;Kassenbeleg-V1;Beleg^0.00_2.55_0.00_0.00_0.00^2.55:Bar;…;2024-07-10T18:41:04.000Z;…` (DSFinV-K). The time is universal: late
/// in the evening the day of the till may be the next one.
fn german_till(text: &str) -> Option<Bill> {
    let fields: Vec<&str> = text.split(';').collect();
    let data = fields.get(3).filter(|_| fields[0] == "V0" && fields[2].starts_with("Kassenbeleg"))?;
    let payments = data.strip_prefix("Beleg^")?.split('^').nth(1)?;
    let sums = payments.split('_').map(|payment| cents(payment.split(':').next().unwrap_or_default()));
    let sum = sums.sum::<Option<i64>>()?;
    let (day, time) = fields.get(6)?.split_once('T')?;
    let evening = time.get(..2).is_none_or(|hour| hour >= "21");
    let day = parse_date(day).filter(|_| !evening);
    Some(Bill { cents: Some(sum), day, currency: Some("EUR".to_owned()), ..Bill::default() })
}

/// `_R1-AT1_BOX_4711_2024-07-10T18:41:04_0,00_2,55_0,00_0,00_0,00_…` (RKSV): local time and the sums of five tax rates.
fn austrian_till(text: &str) -> Option<Bill> {
    let fields: Vec<&str> = text.strip_prefix("_R1-")?.split('_').collect();
    let day = parse_date(fields.get(3)?.split('T').next()?)?;
    let sum = fields.get(4..9)?.iter().map(|sum| cents(sum)).sum::<Option<i64>>()?;
    Some(Bill { cents: Some(sum), day: Some(day), currency: Some("EUR".to_owned()), ..Bill::default() })
}

/// `A:500…*B:…*F:20240710*…*O:148.00*…`.
fn portuguese(text: &str) -> Option<Bill> {
    let field = |name: &str| text.split('*').find_map(|field| field.strip_prefix(name));
    let day = field("F:").filter(|day| text.starts_with("A:") && day.len() == 8 && day.is_ascii())?;
    let day = parse_date(&format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..]))?;
    Some(Bill { cents: cents(field("O:")?), day: Some(day), currency: Some("EUR".to_owned()), ..Bill::default() })
}

/// `https://….agenciatributaria.gob.es/…?nif=…&numserie=…&fecha=10-07-2024&importe=241.40`.
fn spanish(text: &str) -> Option<Bill> {
    let (address, query) = text.split_once('?')?;
    let field = |name: &str| query.split('&').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let date: Vec<&str> = field("fecha").filter(|_| address.contains("agenciatributaria"))?.split('-').collect();
    let day = date.get(..3).and_then(|date| parse_date(&format!("{}-{}-{}", date[2], date[1], date[0])))?;
    Some(Bill { cents: cents(field("importe")?), day: Some(day), currency: Some("EUR".to_owned()), ..Bill::default() })
}

/// `BCD`, version, character set, `SCT`, BIC, name, IBAN, `EUR12.30`, one a line (EPC069-12).
fn european_payment(text: &str) -> Option<Bill> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let sum = lines.get(7).filter(|_| lines[0] == "BCD" && lines[3] == "SCT")?;
    let payee = Some(lines[5]).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(Bill { cents: cents(sum.strip_prefix("EUR")?), payee, currency: Some("EUR".to_owned()), ..Bill::default() })
}

/// `SPC`, version, coding, IBAN, kind of address, name, …, the sum in line 19 and the currency in line 20 (SIX).
fn swiss_payment(text: &str) -> Option<Bill> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let code = lines.get(19).filter(|_| lines[0] == "SPC")?;
    let payee = Some(lines[5]).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(Bill { cents: cents(lines[18]), payee, currency: currency::normalize(code), ..Bill::default() })
}

/// Hundredths of a decimal with a point or comma, also with a minus.
fn cents(text: &str) -> Option<i64> {
    let text = text.trim().replace(',', ".");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.as_str()),
    };
    normalize_money(digits)?.replace('.', "").parse::<i64>().ok().map(|cents| sign * cents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Area;

    #[test]
    fn codes_state_sum_and_day() {
        let swiss = format!("SPC\n0200\n1\nCH44\nS\nStadtwerke\n{}250.50\nCHF\n", "\n".repeat(12));
        for (text, sum, day, payee) in [
            (
                "V0;955002;Kassenbeleg-V1;Beleg^0.00_2.55_0.00_0.00_0.00^2.00:Bar_0.55:Unbar;18;112;2024-07-10T18:41:04.000Z;2024-07-10T18:41:05.000Z;x",
                Some(255),
                Some("2024-07-10"),
                None,
            ),
            ("V0;9;Kassenbeleg-V1;Beleg^1.00_0.00^1.00:Bar;1;1;2024-07-10T22:41:04.000Z;;x", Some(100), None, None),
            ("_R1-AT1_BOX_4711_2024-07-10T23:41:04_0,00_2,55_0,45_0,00_-1,00_abc", Some(200), Some("2024-07-10"), None),
            (
                "A:500000000*B:999999990*C:PT*D:FT*F:20240710*G:FT 1/35*O:148.00*Q:abcd",
                Some(14_800),
                Some("2024-07-10"),
                None,
            ),
            (
                "https://www2.agenciatributaria.gob.es/wlpl/TIKE-CONT/ValidarQR?nif=89890001K&numserie=1&fecha=10-07-2024&importe=241.4",
                Some(24_140),
                Some("2024-07-10"),
                None,
            ),
            (
                "BCD\n002\n1\nSCT\nBIC\nHandwerk Meier\nDE02\nEUR119.00\n\n\nR-1",
                Some(11_900),
                None,
                Some("Handwerk Meier"),
            ),
            (swiss.as_str(), Some(25_050), None, Some("Stadtwerke")),
        ] {
            let code =
                Code { format: CodeFormat::Qr, text: text.to_owned(), page: 0, area: Area::default(), proved: true };
            let found = bill(&[code]).unwrap_or_else(|| panic!("nothing in {text}"));
            let read = (found.cents, found.day, found.payee.as_deref());
            assert_eq!(read, (sum, day.and_then(parse_date), payee), "{text}");
        }
        for text in ["", "V0;;", "BCD", "SPC", "_R1-", "A:*F:2024ééé1", "https://x?fecha=1"] {
            let code =
                Code { format: CodeFormat::Qr, text: text.to_owned(), page: 0, area: Area::default(), proved: true };
            assert_eq!(bill(&[code]), None, "{text}");
        }
    }
}
