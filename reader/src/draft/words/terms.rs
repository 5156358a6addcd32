//! Words of warranties and terms: what lasts, units of time, and small numbers as words. Must not know dates.

use std::sync::LazyLock;

use super::super::phrases::Phrases;

/// What a term is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::draft) enum Term {
    /// A warranty.
    Warranty,
    /// A contract or policy.
    Contract,
}

/// Words that a term belongs to.
pub(in crate::draft) static TERMS: LazyLock<Phrases<Term>> = LazyLock::new(|| {
    Phrases::new(&[
        (
            Term::Warranty,
            "warranty|warrantied|warrants|warrant|garantit|garantiza|garantisce|garandeert|guarantee|guaranteed|garantie|garantiezeit|garantiedauer|herstellergarantie|gewahrleistung|gewaehrleistung|garanti|garantia|garantiert\
            |fabrieksgarantie|garanzia|jahresgarantie|monatsgarantie|waarborg|limited warranty|warranty period",
        ),
        (
            Term::Contract,
            "term of contract|contract term|minimum term|initial term|contract period|policy term|policy period|term|mindestlaufzeit|laufzeit|mindestvertragslaufzeit|vertragslaufzeit|vertragsdauer\
            |duree|duree du contrat|duree d engagement|engagement|duracion|duracion del contrato|permanencia|plazo|looptijd|contractduur|contracttermijn|durata|durata del contratto|valid for|gultig fur|valable|valido por|geldig",
        ),
    ])
});

/// Words of a condition, an offer, or a part of the thing: a term beside them is no term of the paper.
pub(in crate::draft) static CONDITIONS: LazyLock<Phrases<()>> = LazyLock::new(|| {
    Phrases::whole(&[(
        (),
        "optional|not purchased|nicht abgeschlossen|en option|register within|register your|registered within|if registered|bei registrierung|registriert\
        |to extend|extend the warranty|verlangern|battery|batteries|akku|akkus|batterie|batterien|batteria|bateria|batterij",
    )])
});

/// Units of time, each with its months.
pub(in crate::draft) static UNITS: LazyLock<Phrases<u32>> = LazyLock::new(|| {
    Phrases::new(&[
        (1, "month|months|mth|mths|mos|monat|monate|monaten|monats|mois|mes|meses|maand|maanden|mnd|mese|mesi"),
        (
            12,
            "year|years|yr|yrs|jahr|jahre|jahren|jahres|jahresgarantie|jahrige|ans|an|annee|annees|ano|anos|jaar|jaren|jarige|anno|anni",
        ),
    ])
});

/// The number that a word in lower case states, in digits or letters, also with a unit that sticks to it: `24-month`.
pub(in crate::draft) fn number(word: &str) -> Option<u32> {
    let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
    let digits = word.len() - word.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    if digits > 0 {
        let rest = word[digits..].trim_start_matches('-');
        return (rest.is_empty() || rest.bytes().all(|byte| byte.is_ascii_alphabetic()))
            .then(|| word[..digits].parse().ok())
            .flatten();
    }
    let named = WORDS.iter().find(|(names, _)| names.split('|').any(|name| name == word));
    named.map(|(_, number)| *number)
}

const WORDS: &[(&str, u32)] = &[
    ("one|ein|eine|einem|einer|un|une|uno|una|een|1-year", 1),
    ("two|zwei|deux|dos|twee|due", 2),
    ("three|drei|trois|tres|drie|tre", 3),
    ("four|vier|quatre|cuatro|quattro", 4),
    ("five|funf|fuenf|cinq|cinco|vijf|cinque", 5),
    ("six|sechs|seis|zes|sei", 6),
    ("seven|sieben|sept|siete|zeven|sette", 7),
    ("ten|zehn|dix|diez|tien|dieci", 10),
    ("twelve|zwolf|douze|doce|twaalf|dodici", 12),
    ("twentyfour|vierundzwanzig", 24),
];
