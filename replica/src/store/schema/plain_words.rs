//! The plain form of searched texts: letters without strokes (ø, ł), and signs of scripts without spaces apart from each other.
//! FTS5 makes neither. The same form in Rust, for the sync, and as SQL, for the triggers. Must not know records.

use hearth_contract::search_text::letters::{PLAIN_LETTERS, SIGNS, is_sign, plain_letters};

/// The plain form of a title and a body; empty when the plain form has no other words than the texts.
pub(super) fn plain_form(title: &str, body: &str) -> String {
    if title.is_ascii() && body.is_ascii() {
        return String::new();
    }
    let text = format!("{title}\n{body}");
    if !text.chars().any(|c| is_sign(c) || plain_letter(c).is_some()) {
        return String::new();
    }
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        match plain_letter(c) {
            Some(plain) => out.push_str(plain),
            None if is_sign(c) => out.extend([' ', c, ' ']),
            None => out.push(c),
        }
    }
    out
}

/// SQL for [`plain_form`] of two SQL expressions. The text is cut into blocks of 64 characters, because SQLite counts from the
/// first character to reach another. One list of cases instead of nested replacements, because the parser of older SQLite
/// versions has a small stack.
pub(super) fn plain_form_sql(title: &str, body: &str) -> String {
    let signs: String = SIGNS.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let letters: Vec<(char, &str)> = PLAIN_LETTERS
        .iter()
        .flat_map(|(letter, plain)| [Some(*letter), upper_case(*letter)].into_iter().flatten().map(|c| (c, *plain)))
        .collect();
    let class: String = letters.iter().map(|(letter, _)| *letter).collect();
    let cases: String = letters.iter().map(|(letter, plain)| format!(" WHEN '{letter}' THEN '{plain}'")).collect();
    let text = format!("{title} || char(10) || {body}");
    format!(
        "CASE WHEN {text} GLOB '*[{class}{signs}]*' THEN (\n    \
         WITH RECURSIVE block(b, part, rest) AS (SELECT 0, substr({text}, 1, 64), substr({text}, 65)\n    \
         UNION ALL SELECT b + 1, substr(rest, 1, 64), substr(rest, 65) FROM block WHERE length(rest) > 0),\n    \
         step(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM step WHERE n < 64)\n    \
         SELECT group_concat(CASE c{cases} ELSE CASE WHEN c GLOB '[{signs}]' THEN ' ' || c || ' ' ELSE c END END, '')\n    \
         FROM (SELECT substr(part, n, 1) AS c FROM block, step WHERE n <= length(part) ORDER BY b, n)) ELSE '' END"
    )
}

/// The plain letters of a letter in either case.
fn plain_letter(c: char) -> Option<&'static str> {
    let mut lower = c.to_lowercase();
    plain_letters(c).or_else(|| lower.next().filter(|_| !c.is_ascii()).and_then(plain_letters))
}

/// The upper-case letter, if it is one character beyond ASCII.
fn upper_case(letter: char) -> Option<char> {
    let mut upper = letter.to_uppercase();
    upper.next().filter(|c| !c.is_ascii() && *c != letter && upper.next().is_none())
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn sql_makes_same_form_as_rust() {
        let connection = Connection::open_in_memory().unwrap();
        let select = format!("SELECT {} FROM (SELECT ?1 AS title, ?2 AS body)", plain_form_sql("title", "body"));
        for (title, body, expected) in [
            ("Lamp", "Café", ""),
            ("Łódź", "Ærø ı I", "lódź\naero i I"),
            ("冷蔵庫", "A製", " 冷  蔵  庫 \nA 製 "),
            ("ตู้", "", " ต  \u{e39}  \u{e49} \n"),
            ("Straße ẞ", &"ø".repeat(130), &format!("Strasse ss\n{}", "o".repeat(130))),
        ] {
            assert_eq!(plain_form(title, body), expected);
            let by_sql: String = connection.query_row(&select, [title, body], |row| row.get(0)).unwrap();
            assert_eq!(by_sql, expected, "{title}");
        }
    }
}
