//! The contract's formats as SQL conditions for triggers. The sentences are those of `hearth_contract::check`. Must not use a
//! function that stock SQLite 3.40 lacks, because any program may fire the triggers.

use hearth_contract::currency;
use hearth_contract::schema::{
    Field, Format, IMPORT_REF, Kind, Lines, Presence, Resource, SUBJECT_ID, SUBJECT_TYPE, URL_MAX,
};
use hearth_contract::time_zone;

/// One rule for a new row: the row is refused with the sentence when the condition holds.
pub(crate) struct Rule {
    /// An SQL condition over `NEW`; true or false, never NULL.
    pub broken_when: String,
    /// The message to the writer.
    pub sentence: String,
}

/// The rules of a field, the most specific first: that of null, and those of a value that is not null.
pub(crate) fn field_rules(field: &Field) -> Vec<Rule> {
    let name = field.name;
    let null = match field.presence {
        Presence::Required => Some("is required"),
        Presence::Default(_) => Some("cannot be null"),
        Presence::Optional | Presence::ReadOnly | Presence::OnCompletion => None,
    };
    let null = null.map(|text| (format!("NEW.{name} IS NULL"), text.to_owned()));
    let values = value_rules(field)
        .into_iter()
        .map(|(condition, text)| (format!("NEW.{name} IS NOT NULL AND ({condition})"), text));
    let rule = |(broken_when, text)| Rule { broken_when, sentence: format!("{name} {text}") };
    null.into_iter().chain(values).map(rule).collect()
}

/// The rules of a value that is not null: an SQL condition, and what follows the name of the field in the message.
fn value_rules(field: &Field) -> Vec<(String, String)> {
    let value = format!("NEW.{}", field.name);
    let has_nul = has_nul(&value);
    let rule = match field.format {
        Format::Text { max, lines } => return text_rules(field, max, lines),
        Format::Vin => (
            format!(
                "{has_nul} OR length({value}) NOT BETWEEN 11 AND 17 OR {value} GLOB '*[^0-9A-HJ-NPR-Za-hj-npr-z]*'"
            ),
            "must be 11 to 17 of the letters A-Z and digits, without I, O and Q".to_owned(),
        ),
        Format::Url => return url_rules(&value),
        Format::Choice(words) => {
            let list = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ");
            (format!("{value} NOT IN ({list})"), format!("must be one of {}", words.join(", ")))
        }
        Format::Count { min, max } => {
            (format!("{value} NOT BETWEEN {min} AND {max}"), format!("must be from {min} to {max}"))
        }
        Format::Year => (format!("{value} NOT BETWEEN 1000 AND 9999"), "must be from 1000 to 9999".to_owned()),
        Format::Money => (
            format!(
                "{has_nul} OR {value} GLOB '*[^0-9.]*' OR NOT CASE instr({value}, '.') \
                 WHEN 0 THEN length({value}) BETWEEN 1 AND 12 \
                 ELSE instr({value}, '.') BETWEEN 2 AND 13 AND length({value}) - instr({value}, '.') BETWEEN 1 AND 2 \
                 AND instr(substr({value}, instr({value}, '.') + 1), '.') = 0 END"
            ),
            "must be a decimal string such as \"1299.00\", at most 12 digits and 2 decimals".to_owned(),
        ),
        // The modifier makes SQLite calculate the date; without the modifier 30 February is returned unchanged.
        Format::Date => (
            format!("{value} NOT GLOB '{DATE}' OR date({value}, '+0 days') IS NOT {value}"),
            "must be a calendar date written YYYY-MM-DD".to_owned(),
        ),
        Format::Timestamp => (
            format!(
                "({value} NOT GLOB '{DATE}' AND {value} NOT GLOB '{DATE}T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]*[Z0-9]') \
                 OR date(substr({value}, 1, 10), '+0 days') IS NOT substr({value}, 1, 10) OR strftime('%s', {value}) IS NULL"
            ),
            "must be a timestamp such as 2026-06-01T12:00:00Z".to_owned(),
        ),
        Format::TimeZone => {
            let wrong = not_among(&value, time_zone::names());
            (wrong, "must be a time zone such as Europe/Berlin".to_owned())
        }
        Format::Currency => {
            let wrong = format!("{has_nul} OR {}", not_among(&format!("upper({value})"), currency::codes()));
            (wrong, "must be a code of ISO 4217 such as EUR".to_owned())
        }
        Format::Sha256 => (
            format!("{has_nul} OR length({value}) <> 64 OR {value} GLOB '*[^0-9A-Fa-f]*'"),
            "must be 64 hex digits".to_owned(),
        ),
        Format::Reference(_) | Format::Subject => {
            (not_canonical_id(&value), "must be a UUID with hyphens, in lower case".to_owned())
        }
    };
    vec![rule]
}

/// The condition that a text is none of the words, which contain no spaces. One text holds all words: every program parses the
/// triggers when it opens the database, and SQLite parses one text faster than hundreds.
fn not_among<'a>(value: &str, words: impl Iterator<Item = &'a str>) -> String {
    let words = words.collect::<Vec<_>>().join(" ");
    format!("instr({value}, ' ') > 0 OR instr(' {words} ', ' ' || {value} || ' ') = 0")
}

/// A GLOB pattern for the form of a date.
const DATE: &str = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]";

/// The condition that a value contains a NUL character. `length` and GLOB stop at NUL, and a GLOB pattern cannot contain NUL, so
/// the bytes are searched.
fn has_nul(value: &str) -> String {
    format!("instr(CAST({value} AS BLOB), x'00') > 0")
}

fn text_rules(field: &Field, max: usize, lines: Lines) -> Vec<(String, String)> {
    let value = format!("NEW.{}", field.name);
    let has_nul = has_nul(&value);
    let (control, text) = match lines {
        Lines::One => ("char(1) || '-' || char(31)".to_owned(), "must be one line without control characters"),
        Lines::Many => (
            "char(1) || '-' || char(8) || char(11) || '-' || char(31)".to_owned(),
            "must have no control characters but line breaks and tabs",
        ),
    };
    let class = format!("'*[' || {control} || char(127) || '-' || char(159) || ']*'");
    let mut rules = vec![
        (format!("{has_nul} OR {value} GLOB {class}"), text.to_owned()),
        (format!("length({value}) > {max}"), format!("must have at most {max} characters")),
    ];
    if field.presence == Presence::Required {
        rules.push((format!("trim({value}, {BLANKS}) = ''"), "must not be blank".to_owned()));
    }
    rules
}

fn url_rules(value: &str) -> Vec<(String, String)> {
    let has_nul = has_nul(value);
    let too_long = (format!("length({value}) > {URL_MAX}"), format!("must have at most {URL_MAX} characters"));
    // The authority ends before the first of / ? #. The host begins after the last @ of the authority: rtrim removes every
    // character but @ from the end.
    let authority = format!(
        "SELECT substr(rest, 1, instr(replace(replace(rest, '?', '/'), '#', '/') || '/', '/') - 1) AS place \
         FROM (SELECT substr({value}, instr({value}, '://') + 3) AS rest)"
    );
    let host = format!("SELECT substr(place, length(rtrim(place, replace(place, '@', ''))) + 1, 1) FROM ({authority})");
    let wrong = (
        format!(
            "{has_nul} OR NOT (lower({value}) GLOB 'http://*' OR lower({value}) GLOB 'https://*') \
             OR ({host}) IN ('', ':') OR {value} GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || \
             char(159) || {BLANKS} || ']*'"
        ),
        "must be an absolute http or https address".to_owned(),
    );
    vec![too_long, wrong]
}

/// The rules that concern `subject_type` and `subject_id` together.
pub(crate) fn subject_rules(resource: &Resource) -> Vec<Rule> {
    let Some(Format::Choice(words)) = resource.field(SUBJECT_TYPE).map(|field| field.format) else { return Vec::new() };
    let mut rules = vec![Rule {
        broken_when: format!("NEW.{SUBJECT_TYPE} IS NULL AND NEW.{SUBJECT_ID} IS NOT NULL"),
        sentence: format!("{SUBJECT_ID} must be null when {SUBJECT_TYPE} is null"),
    }];
    for word in words {
        // A word that names a kind needs the id of a record. `home` has no record.
        let (test, verb) = match Kind::parse(word) {
            Some(_) => ("IS NULL", "is required"),
            None => ("IS NOT NULL", "must be null"),
        };
        rules.push(Rule {
            broken_when: format!("NEW.{SUBJECT_TYPE} = '{word}' AND NEW.{SUBJECT_ID} {test}"),
            sentence: format!("{SUBJECT_ID} {verb} when {SUBJECT_TYPE} is {word}"),
        });
    }
    rules
}

/// The rule that no other row of the table has the same `import_ref`. None for a kind without the field.
///
/// The sentence has the query that finds the other row, and not its title: RAISE takes a computed text only since SQLite
/// 3.47. The replica's own programs name the title (`edits::write`).
pub(crate) fn import_ref_rule(resource: &Resource) -> Option<Rule> {
    resource.field(IMPORT_REF)?;
    let (table, title) = (resource.kind.collection(), resource.title);
    Some(Rule {
        broken_when: format!(
            "NEW.{IMPORT_REF} IS NOT NULL AND EXISTS (SELECT 1 FROM {table} \
             WHERE {IMPORT_REF} = NEW.{IMPORT_REF} AND id IS NOT NEW.id)"
        ),
        sentence: format!(
            "{IMPORT_REF} is taken by another row of {table}; find it with SELECT id, {title} FROM {table} WHERE \
             {IMPORT_REF} = ..., and change that row or write another {IMPORT_REF}"
        ),
    })
}

/// The condition that a text is not a UUID in the server's form: lower case, with hyphens.
pub(crate) fn not_canonical_id(value: &str) -> String {
    let hex = |count: usize| "[0-9a-f]".repeat(count);
    let pattern = [8, 4, 4, 4, 12].map(hex).join("-");
    // GLOB stops at a NUL character, so the bytes are counted.
    format!("length(CAST({value} AS BLOB)) <> 36 OR {value} NOT GLOB '{pattern}'")
}

/// The condition that a text is not UTF-8: a character, read and written again, has other bytes. Only texts beyond ASCII are
/// searched. They are cut into blocks of 64 characters, because SQLite counts from the first character to reach another.
/// U+FFFE and U+FFFF are valid UTF-8, although SQLite reads them as the replacement character.
pub(crate) fn not_utf8(value: &str) -> String {
    format!(
        "{value} GLOB '*[^' || char(1) || '-' || char(127) || ']*' AND EXISTS (\n    \
         WITH RECURSIVE block(part, rest) AS (VALUES (substr({value}, 1, 64), substr({value}, 65))\n    \
         UNION ALL SELECT substr(rest, 1, 64), substr(rest, 65) FROM block WHERE length(rest) > 0),\n    \
         step(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM step WHERE n < 64)\n    \
         SELECT 1 FROM block, step WHERE n <= length(part)\n      \
         AND char(unicode(substr(part, n, 1))) <> substr(part, n, 1)\n      \
         AND hex(substr(part, n, 1)) NOT IN ('EFBFBE', 'EFBFBF'))"
    )
}

/// SQL for a random UUID of version 4.
pub(crate) const NEW_ID: &str = "lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-' || \
     substr('89AB', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))";

/// SQL for Unicode's white space, which counts as blank.
const BLANKS: &str = "char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, \
     8201, 8202, 8232, 8233, 8239, 8287, 12288)";
