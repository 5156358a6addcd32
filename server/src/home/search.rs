//! What of a record can be found, and how a question becomes words (contract 8). Pure.

use hearth_contract::check::Fields;
use hearth_contract::problem::Problem;
use hearth_contract::question;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::Value;

/// Characters of a question after trimming, at least and at most.
pub const QUESTION: (usize, usize) = (2, 200);

/// The title of a record, and the rest of its words.
pub fn texts(kind: Kind, fields: &Fields) -> (String, String) {
    let resource = resource(kind);
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let rest: Vec<&str> = resource
        .searchable()
        .filter(|field| field.name != resource.title)
        .filter_map(|field| text(field.name))
        .collect();
    (text(resource.title).unwrap_or_default().to_owned(), rest.join("\n"))
}

/// The words of a question. As many as it has room for: the time that a search may take bounds what they cost.
pub fn words(question: &str) -> Result<Vec<String>, Problem> {
    let refuse = |message: String| Err(Problem::parameter("q", question, None, message));
    let length = question.trim().chars().count();
    if !(QUESTION.0..=QUESTION.1).contains(&length) {
        return refuse(format!("q must have {} to {} characters.", QUESTION.0, QUESTION.1));
    }
    let words = saying_more(&question::words(question).collect::<Vec<_>>());
    if words.is_empty() {
        return refuse("q must have a word to look for.".to_owned());
    }
    Ok(words)
}

/// The words without those that ask for nothing more: one that stands there already, in whatever case, and the beginning
/// of another. What begins like the longer one begins like the shorter.
fn saying_more(words: &[&str]) -> Vec<String> {
    let folded: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let says_more = |index: usize| {
        let is_said_by = |(other, word): (usize, &String)| {
            word.starts_with(&folded[index]) && (word.len() > folded[index].len() || other < index)
        };
        !folded.iter().enumerate().any(is_said_by)
    };
    words.iter().enumerate().filter(|(index, _)| says_more(*index)).map(|(_, word)| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_words_whatever_it_looks_like() {
        for (question, expected) in [
            ("fil hvac", &["fil", "hvac"][..]),
            ("a AND \"b\" NEAR(c) col:x -y ^z*", &["AND", "b", "NEAR", "col", "x", "y", "z"]),
            ("Fil filter FILTER hvac fi", &["filter", "hvac"]),
            ("a b c d e f g h i j k l A B C", &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]),
            ("serial_number", &["serial", "number"]),
            ("Crème brûlée", &["Crème", "brûlée"]),
            ("OPS-306", &["OPS", "306"]),
        ] {
            assert_eq!(words(question).unwrap(), expected, "{question}");
        }
        for bad in ["", " a ", "--", "\u{301}\u{301}", &"x".repeat(201)] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }
}
