//! Parser of lab scripts: a timed list of commands, one per line. Parses times and splits words. Pure. Must not know the
//! commands.
//!
//! ```text
//! # a bad night
//!       seed --records 500
//! 2s    churn --count 40 --rate 20
//! +1s   trim
//! ```
//!
//! A line may start with a time since the start of the script (`2s`) or since the end of the line before (`+1s`). A line
//! without a time runs immediately. `#` starts a comment. Double quotes enclose words with spaces.

use std::time::Duration;

use crate::config::parse_duration;

/// Lines of a script, at most.
const LINES_MAX: usize = 10_000;

/// The start time of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// This long after the start of the script.
    At(Duration),
    /// This long after the end of the line before.
    After(Duration),
}

/// A line with a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<T> {
    /// Number of the line in the file, from 1.
    pub number: usize,
    /// The start time.
    pub due: Due,
    /// The words of the command, for messages.
    pub text: String,
    /// The command, as the caller parsed the words.
    pub step: T,
}

/// Parses a script. `parse_step` parses the words of a line, or returns an error as a sentence. Err: a sentence that
/// starts with the number of the line.
pub fn parse<T>(
    text: &str,
    mut parse_step: impl FnMut(&[String]) -> Result<T, String>,
) -> Result<Vec<Line<T>>, String> {
    let (mut lines, mut latest) = (Vec::new(), Duration::ZERO);
    // Some editors start a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let at = |problem: String| format!("line {number}: {problem}");
        if number > LINES_MAX {
            return Err(at(format!("a script has at most {LINES_MAX} lines")));
        }
        let mut words = split(line).map_err(at)?;
        if words.is_empty() {
            continue;
        }
        let due = parse_due(&words[0]).map_err(at)?;
        if due.is_some() {
            words.remove(0);
        }
        let text = words.join(" ");
        if let Some(Due::At(time)) = due {
            if time < latest {
                return Err(at(format!("{time:?} is before the line above, which starts at {latest:?}")));
            }
            latest = time;
        }
        if words.is_empty() {
            return Err(at("the line has a time but no command".to_owned()));
        }
        let step = parse_step(&words).map_err(at)?;
        lines.push(Line { number, due: due.unwrap_or(Due::After(Duration::ZERO)), text, step });
    }
    if lines.is_empty() {
        Err("the script has no command: every line is empty or a comment".to_owned())
    } else {
        Ok(lines)
    }
}

/// The time at the start of a line. None: the word is not a time.
fn parse_due(word: &str) -> Result<Option<Due>, String> {
    match (word.strip_prefix('+'), word.starts_with(|c: char| c.is_ascii_digit())) {
        (Some(time), _) => parse_duration(time).map(|time| Some(Due::After(time))),
        (None, true) => parse_duration(word).map(|time| Some(Due::At(time))),
        (None, false) => Ok(None),
    }
}

/// Splits a line into words, without the comment.
fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '#' if !quoted && word.is_none() => break,
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    if quoted {
        return Err("a double quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<Line<Vec<String>>>, String> {
        parse(
            text,
            |words| if words[0] == "fly" { Err("unknown command `fly`".to_owned()) } else { Ok(words.to_vec()) },
        )
    }

    #[test]
    fn line_has_time_words_and_comment() {
        let script =
            words("\u{feff}# night\n\nseed --records 5 # few\n2s  churn --team \"Hill house\"\n+500ms trim\n").unwrap();
        let dues: Vec<_> = script.iter().map(|line| (line.number, line.due)).collect();
        let expected = [
            (3, Due::After(Duration::ZERO)),
            (4, Due::At(Duration::from_secs(2))),
            (5, Due::After(Duration::from_millis(500))),
        ];
        assert_eq!(dues, expected);
        assert_eq!(script[0].step, ["seed", "--records", "5"]);
        assert_eq!(script[1].step, ["churn", "--team", "Hill house"]);
    }

    #[test]
    fn error_names_line() {
        for (text, expected) in [
            ("seed\nfly", "line 2: unknown command `fly`"),
            ("\n2x trim", "line 2: `2x` needs a unit"),
            ("5s trim\n2s trim", "line 2: 2s is before"),
            ("3s # nothing", "line 1: the line has a time"),
            ("churn \"a", "line 1: a double quote"),
            ("# nothing", "the script has no command"),
        ] {
            let problem = words(text).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
