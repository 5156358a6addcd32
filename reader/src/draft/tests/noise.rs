//! Texts made at random: a total of a noisy receipt that is certain is right, and no text makes a panic or a value that breaks the
//! rules of its field.

use hearth_contract::check::{Intent, check};
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::{draft, field, file, sure};
use crate::draft::equations::money;
use crate::draft::{Known, smart_add};

/// Receipts that are made.
const RECEIPTS: u64 = 1_500;

/// A generator of numbers from a seed (xorshift): each run makes the same receipts.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("small")]
    }
}

/// A receipt and its total, in hundredths.
fn receipt(chance: &mut Chance) -> (String, i64) {
    let comma = chance.below(2) == 0;
    let written = |cents: i64| if comma { money(cents).replace('.', ",") } else { money(cents) };
    let mut lines = vec!["Store GmbH".to_owned(), "14.05.2024 12:30".to_owned()];
    let mut sum = 0;
    for _ in 0..1 + chance.below(6) {
        let price = i64::try_from(50 + chance.below(20_000)).expect("small");
        sum += price;
        lines.push(format!(
            "{:<24}{:>10}",
            chance.of(&["Kaffee", "Lampe", "Cable 3m", "Vin rouge", "Jabón"]),
            written(price)
        ));
    }
    let discount = if chance.below(4) == 0 { sum / 10 } else { 0 };
    if discount > 0 {
        lines.push(format!("{:<24}{:>10}", chance.of(&["Subtotal", "Zwischensumme", "Sous-total"]), written(sum)));
        lines.push(format!("{:<24}{:>10}", chance.of(&["Rabatt", "Discount", "Remise"]), written(-discount)));
    }
    let total = sum - discount;
    lines.push(format!(
        "{:<24}{:>10}",
        chance.of(&["TOTAL", "Summe", "Total TTC", "Importe", "Totaal", "Totale", "Grand total"]),
        written(total)
    ));
    if chance.below(3) == 0 {
        let net = total * 100 / 119;
        lines.push(format!("{:<24}{:>10}", chance.of(&["Netto", "Net amount", "Total HT"]), written(net)));
        lines.push(format!("{:<24}{:>10}", chance.of(&["MwSt 19%", "VAT 19%", "TVA 19%"]), written(total - net)));
    }
    match chance.below(3) {
        0 => {
            let handed = (total / 1_000 + 1) * 1_000;
            lines.push(format!("{:<24}{:>10}", chance.of(&["Bar", "CASH", "Contant"]), written(handed)));
            lines.push(format!(
                "{:<24}{:>10}",
                chance.of(&["Rückgeld", "Change", "Wisselgeld"]),
                written(handed - total)
            ));
        }
        1 => lines.push(format!("{:<24}{:>10}", chance.of(&["VISA", "Carte bancaire", "EC-Karte"]), written(total))),
        _ => {}
    }
    (lines.join("\n"), total)
}

#[test]
fn same_misreading_at_two_places_is_no_proof() {
    // The first digit was taken for a zero at both places.
    let paper = draft("Store\n14.05.2024\nLamp 300.00\nSubTotal: 035.00\nMASTER 035.00", "document");
    assert_ne!(sure(&paper, "amount"), "certain", "{}", field(&paper, "amount"));
    let read_well = draft("Store\n14.05.2024\nLamp 635.00\nSubTotal: 635.00\nMASTER 635.00", "document");
    assert_eq!((field(&read_well, "amount"), sure(&read_well, "amount")), ("635.00", "certain"));
}

/// Changes letters as recognition does. Digits become other digits, letters that look alike, or nothing.
fn noise(text: &str, chance: &mut Chance, one_of: u64) -> String {
    let letters = text.chars().flat_map(|letter| {
        let changed = chance.below(one_of) == 0 && letter != '\n';
        let other = match (changed, letter) {
            (false, _) => Some(letter),
            (_, '0') => Some('O'),
            (_, '1') => Some('l'),
            (_, '5') => Some('S'),
            (_, '8') => Some('B'),
            (_, '.') => Some(','),
            (_, '3') => Some('8'),
            (_, '6') => Some('5'),
            (_, '7') => Some('1'),
            _ => None,
        };
        other.into_iter()
    });
    letters.collect()
}

#[test]
fn certain_totals_of_noisy_receipts_are_right() {
    let mut chance = Chance(0x9E37_79B9_7F4A_7C15);
    let (mut certain, mut wrong) = (0, Vec::new());
    for number in 0..RECEIPTS {
        let (clean, total) = receipt(&mut chance);
        let text = if number % 3 == 0 { clean.clone() } else { noise(&clean, &mut chance, 40) };
        let draft = draft(&text, "document");
        if sure(&draft, "amount") == "certain" {
            certain += 1;
            if field(&draft, "amount") != money(total) {
                wrong.push(format!("{} read as {}:\n{text}", money(total), field(&draft, "amount")));
            }
        } else if number % 3 == 0 {
            wrong.push(format!("not certain: {}\n{text}\n{:?}", field(&draft, "amount"), draft.evidence.get("amount")));
        }
    }
    assert!(
        wrong.len() * 200 <= certain,
        "{} of {certain} are wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(6)].join("\n\n")
    );
    assert!(certain * 10 >= RECEIPTS as usize * 7, "only {certain} are certain");
}

#[test]
fn random_texts_give_drafts_that_can_be_accepted() {
    let mut chance = Chance(42);
    let signs: Vec<char> = "0123456789.,-/:%€$ \nTOTALtotalRMS/N VINéß№½²١٢٣🏠'()°".chars().collect();
    for _ in 0..400 {
        let length = chance.below(400);
        let text: String =
            (0..length).map(|_| signs[usize::try_from(chance.below(signs.len() as u64)).expect("small")]).collect();
        let drafts = smart_add(&[file("file", &text)], &Known::default());
        for draft in drafts {
            let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == draft.kind).expect("a kind");
            let checked = check(kind, Intent::Patch, &Value::Object(draft.fields.clone()));
            assert!(checked.faults.is_empty(), "{:?} in {:?}", checked.faults, draft.fields);
        }
    }
}
