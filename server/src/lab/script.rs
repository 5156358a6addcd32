//! A timed list of the bench's tools, one on each line. Reads the times and splits the words; what the words mean is
//! for whoever knows the tools. Pure.
//!
//! ```text
//! # a bad night
//!       seed --records 500
//! 2s    churn --count 40 --rate 20
//! +1s   trim
//! ```
//!
//! A line may begin with a time since the start (`2s`), or since the end of the line before (`+1s`); without one it
//! follows at once. `#` begins a remark. Words with blanks stand in double quotes.

use std::time::Duration;

use crate::config::parse_duration;

/// Lines that a script may have.
const LINES_MAX: usize = 10_000;

/// When a line is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// So long after the start.
    At(Duration),
    /// So long after the end of the line before.
    After(Duration),
}

/// One line that does something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<T> {
    /// Its number in the file, from 1.
    pub number: usize,
    /// When it is due.
    pub due: Due,
    /// What it says, for people.
    pub text: String,
    /// What it does.
    pub step: T,
}

/// Reads a script. `step` makes something of the words of a line, or says in a sentence why not. Err: a sentence that
/// begins with the line's number.
pub fn read<T>(text: &str, mut step: impl FnMut(&[String]) -> Result<T, String>) -> Result<Vec<Line<T>>, String> {
    let (mut lines, mut latest) = (Vec::new(), Duration::ZERO);
    // Some editors begin a file with a mark of its encoding.
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
        let due = due(&words[0]).map_err(at)?;
        if due.is_some() {
            words.remove(0);
        }
        let text = words.join(" ");
        if let Some(Due::At(time)) = due {
            if time < latest {
                return Err(at(format!("{time:?} is before the line above, which is due at {latest:?}")));
            }
            latest = time;
        }
        if words.is_empty() {
            return Err(at("there is a time, but nothing to do".to_owned()));
        }
        let step = step(&words).map_err(at)?;
        lines.push(Line { number, due: due.unwrap_or(Due::After(Duration::ZERO)), text, step });
    }
    if lines.is_empty() {
        Err("the script does nothing: every line is blank or a remark".to_owned())
    } else {
        Ok(lines)
    }
}

/// A line's time. None: it begins with a word instead.
fn due(word: &str) -> Result<Option<Due>, String> {
    match (word.strip_prefix('+'), word.starts_with(|c: char| c.is_ascii_digit())) {
        (Some(time), _) => parse_duration(time).map(|time| Some(Due::After(time))),
        (None, true) => parse_duration(word).map(|time| Some(Due::At(time))),
        (None, false) => Ok(None),
    }
}

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
        read(text, |words| if words[0] == "fly" { Err("`fly` is no tool".to_owned()) } else { Ok(words.to_vec()) })
    }

    #[test]
    fn lines_have_times_words_and_remarks() {
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
    fn a_fault_names_its_line() {
        for (text, expected) in [
            ("seed\nfly", "line 2: `fly` is no tool"),
            ("\n2x trim", "line 2: `2x` needs a unit"),
            ("5s trim\n2s trim", "line 2: 2s is before"),
            ("3s # nothing", "line 1: there is a time"),
            ("churn \"a", "line 1: a double quote"),
            ("# nothing", "the script does nothing"),
        ] {
            let problem = words(text).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}");
        }
    }
}
