//! The definitions of columns in the text of a CREATE TABLE statement. Must not know the purpose of a column.

/// The definition of a column in a CREATE TABLE statement. None when the statement does not show the column, or is damaged.
pub(super) fn definition_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    definitions(text).into_iter().find(|definition| defined_name(definition) == name)
}

/// The definitions of columns and constraints in a CREATE TABLE statement. Empty when the statement is damaged.
fn definitions(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let Some(mut from) = text.find('(').map(|at| at + 1) else { return Vec::new() };
    let past = |at: usize, end: &str| text[at..].find(end).map_or(text.len(), |found| at + found + end.len());
    let (mut definitions, mut depth, mut at) = (Vec::new(), 0, from);
    while let Some(byte) = bytes.get(at) {
        at = match (byte, bytes.get(at + 1)) {
            // A doubled quote inside quotes reads as an end and a new beginning.
            (b'\'', _) => past(at + 1, "'"),
            (b'"', _) => past(at + 1, "\""),
            (b'`', _) => past(at + 1, "`"),
            (b'[', _) => past(at + 1, "]"),
            (b'-', Some(b'-')) => past(at + 2, "\n"),
            (b'/', Some(b'*')) => past(at + 2, "*/"),
            (b',' | b')', _) if depth == 0 => {
                definitions.push(text[from..at].trim());
                if *byte == b')' {
                    return definitions;
                }
                from = at + 1;
                from
            }
            (b'(', _) => {
                depth += 1;
                at + 1
            }
            (b')', _) => {
                depth -= 1;
                at + 1
            }
            _ => at + 1,
        };
    }
    definitions
}

/// The name of a definition, without quotes.
fn defined_name(definition: &str) -> String {
    let quoted = |end: char| {
        let mut name = String::new();
        let mut rest = definition.chars().skip(1).peekable();
        while let Some(next) = rest.next() {
            if next == end && rest.next_if_eq(&end).is_none() {
                break;
            }
            name.push(next);
        }
        name
    };
    match definition.chars().next() {
        Some(quote @ ('"' | '`' | '\'')) => quoted(quote),
        Some('[') => quoted(']'),
        _ => definition.split(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_table_text_splits_into_definitions() {
        let text = "CREATE TABLE t (\n  -- it's, (all) that\n  a TEXT DEFAULT ('x, ''y)'), -- one, two)\n  b TEXT /* , */\n, \
                    \"my \"\"own, x\" TEXT CHECK (b IN ('1', '2')), [c d] TEXT, e(2)) STRICT";
        let all = definitions(text);
        let last: Vec<&str> = all[2..].to_vec();
        assert_eq!(last, ["\"my \"\"own, x\" TEXT CHECK (b IN ('1', '2'))", "[c d] TEXT", "e(2)"], "{all:?}");
        let names: Vec<String> = last.into_iter().map(defined_name).collect();
        assert_eq!(names, ["my \"own, x", "c d", "e"]);
        for broken in ["CREATE TABLE t", "CREATE TABLE t (a TEXT 'x", "CREATE TABLE t (a, b"] {
            assert!(definitions(broken).len() < 2, "{broken}");
        }
    }
}
