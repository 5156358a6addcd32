//! The text format of a fault plan, and its parser. Pure. Must not know when a rule strikes, nor how.
//!
//! ```text
//! faults    = item *( ";" item )                 a line end counts as ";", "#" starts a comment
//! item      = "seed=" NUMBER | FAULT "=" when *( " " attribute )
//! when      = NUMBER "%" | "always" | "first:" N | "once:" N | "every:" N | "burst:" N "/" TIME
//! FAULT     = on requests: latency, lost-request, lost-answer, duplicate, 429, 500, 502, 503, 504
//!             on frames of streams with an event: cut, mute, repeat
//! attribute = "route=" ROUTE *( "," ROUTE )      operations of /openapi/v1, or reads, writes, bulk, streams
//!           | "key=" KEY *( "," KEY )            ids or names of keys; "my phone" in double quotes
//!           | "by=" TIME [ "-" TIME ]            of latency: the delay; default 1s
//!           | "for=" TIME                        of mute: the silence; default until the client closes
//!           | "comments=pass"                    of mute: comments are still sent, so the stream seems alive
//!           | "retry-after=" SECONDS             of 429 and 503
//! ```
//!
//! `once:N` is only the Nth time. N may have the unit `requests` or `frames`, as the fault counts. A rule counts all
//! requests (or frames) that match its attributes. `_` and capitals in an operation do not matter: `createTask` is
//! `create_task`. The parser refuses rules that could never strike: a fault of frames on a route without frames, any fault
//! on a route that needs no key.

use std::fmt;
use std::time::Duration;

use hearth_contract::key::holds_key;
use hearth_contract::paths;
use hearth_contract::problem::nearest;

use super::plan::{FaultKind, FaultPlan, RouteSet, Rule, When};
use crate::app::limits::RateClass;
use crate::config::parse_duration;
use crate::http::route::Access;
use crate::routes::ROUTES;

/// Rules in a plan, at most.
const RULES_MAX: usize = 100;
/// Default of `by=`.
const LATENCY: Duration = Duration::from_secs(1);

/// An error in the text of a plan. `Display` writes the position, the problem, and the line with a mark below the column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Number of the line, from 1.
    line: usize,
    /// Number of the character in the line, from 1.
    column: usize,
    problem: String,
    /// The whole line.
    text: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ParseError { line, column, problem, text } = self;
        write!(f, "line {line}, column {column}: {problem}\n  {text}\n  {:>column$}", "^")
    }
}

impl std::error::Error for ParseError {}

/// A word and the byte offset of its first byte in the line.
type Word<'a> = (usize, &'a str);
/// Err: the byte offset of the problem in the line, and the problem as a sentence.
type Fallible<T> = Result<T, (usize, String)>;

/// Parses a plan. `on_live` is false in the result.
pub fn parse(text: &str) -> Result<FaultPlan, ParseError> {
    let mut plan = FaultPlan { seed: 1, rules: Vec::new(), on_live: false };
    // Some editors start a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        parse_line(&mut plan, line).map_err(|(at, problem)| ParseError {
            line: index + 1,
            column: line[..at].chars().count() + 1,
            problem,
            text: line.to_owned(),
        })?;
    }
    if plan.rules.is_empty() {
        let problem = "the plan has no fault; write a fault as in lost-answer=5%".to_owned();
        return Err(ParseError {
            line: 1,
            column: 1,
            problem,
            text: text.lines().next().unwrap_or_default().to_owned(),
        });
    }
    Ok(plan)
}

fn parse_line(plan: &mut FaultPlan, line: &str) -> Fallible<()> {
    let Some(code) = split((0, line), |c| c == '#').into_iter().next() else { return Ok(()) };
    if let (1, Some(at)) = (code.1.matches('"').count() % 2, code.1.rfind('"')) {
        return Err((at, "a double quote is not closed".to_owned()));
    }
    split(code, |c| c == ';').into_iter().try_for_each(|item| parse_item(plan, item))
}

fn parse_item(plan: &mut FaultPlan, item: Word<'_>) -> Fallible<()> {
    let mut words = split(item, char::is_whitespace).into_iter().filter(|(_, word)| !word.is_empty());
    let Some((at, first)) = words.next() else { return Ok(()) };
    let (name, (value_at, value)) = split_pair((at, first), "a fault is written as in lost-answer=5%")?;
    if name == "seed" {
        plan.seed =
            value.parse().map_err(|_| (value_at, format!("`{value}` is not a whole number from 0 to {}", u64::MAX)))?;
        return match words.next() {
            Some((at, word)) => Err((at, format!("unexpected `{word}`; put a `;` before the next fault"))),
            None => Ok(()),
        };
    }
    if plan.rules.len() == RULES_MAX {
        return Err((at, format!("a plan has at most {RULES_MAX} faults")));
    }
    let mut fault = parse_fault(at, name)?;
    let when = parse_when(&fault, (value_at, value))?;
    let (mut routes, mut keys) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    for word in words {
        let name = word.1.split_once('=').map_or(word.1, |(name, _)| name);
        if !matches!(name, "route" | "key") && names.contains(&name) {
            return Err((word.0, format!("`{name}` appears twice; give `{name}` once")));
        }
        names.push(name);
        parse_attribute(word, &mut fault, &mut routes, &mut keys)?;
    }
    plan.rules.push(Rule { fault, when, routes, keys, text: item.1.trim().to_owned() });
    Ok(())
}

const FAULTS: [&str; 12] =
    ["latency", "lost-request", "lost-answer", "duplicate", "cut", "mute", "repeat", "429", "500", "502", "503", "504"];

fn parse_fault(at: usize, name: &str) -> Fallible<FaultKind> {
    Ok(match name {
        "latency" => FaultKind::Latency { from: LATENCY, to: LATENCY },
        "lost-request" => FaultKind::LostRequest,
        "lost-answer" => FaultKind::LostAnswer,
        "duplicate" => FaultKind::Duplicate,
        "cut" => FaultKind::Cut,
        "mute" => FaultKind::Mute { lasting: None, comments: false },
        "repeat" => FaultKind::Repeat,
        "429" | "500" | "502" | "503" | "504" => {
            FaultKind::Status { status: name.parse().unwrap_or(503), retry_after: 1 }
        }
        _ => return Err((at, format!("there is no fault `{name}`{}", hint(name, FAULTS)))),
    })
}

/// Parses the schedule of a fault.
fn parse_when(fault: &FaultKind, (at, text): Word<'_>) -> Fallible<When> {
    if text == "always" {
        return Ok(When::Always);
    }
    if let Some(percent) = text.strip_suffix('%') {
        let chance = percent.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        return chance
            .map(|percent| When::Chance(percent / 100.0))
            .ok_or_else(|| (at, format!("`{text}` is not a percentage from 0% to 100%")));
    }
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    if let ("first" | "once" | "every" | "burst", "") = (word, rest) {
        let example = if word == "burst" { "burst:3/60s".to_owned() } else { format!("{word}:3") };
        return Err((at + text.len(), format!("`{text}` has no number; write {example}")));
    }
    let rest_at = at + word.len() + 1;
    match word {
        "first" => parse_count(fault, (rest_at, rest)).map(When::First),
        "once" => parse_count(fault, (rest_at, rest)).map(When::Once),
        "every" => parse_count(fault, (rest_at, rest)).map(When::Every),
        "burst" => parse_burst(fault, (rest_at, rest)),
        _ => {
            let known = "write 5%, always, first:3, once:3, every:100 or burst:3/60s";
            Err((at, format!("`{text}` is not a schedule; {known}")))
        }
    }
}

/// Parses a count from 1, with the optional unit `requests` or `frames`.
fn parse_count(fault: &FaultKind, (at, text): Word<'_>) -> Fallible<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let known = if fault.is_of_frames() { "frames" } else { "requests" };
    if digits == 0 {
        return Err((at, format!("`{text}` is not a number from 1")));
    }
    if !unit.is_empty() && unit != known && Some(unit) != known.strip_suffix('s') {
        return Err((at + digits, format!("unknown unit `{unit}`; this fault counts {known}")));
    }
    let number = number.parse().map_err(|_| (at, format!("`{number}` is too large; the limit is {}", u64::MAX)))?;
    if number == 0 { Err((at, format!("`{text}` is not a number from 1"))) } else { Ok(number) }
}

/// Parses `N/TIME`.
fn parse_burst(fault: &FaultKind, (at, text): Word<'_>) -> Fallible<When> {
    let Some((count, within)) = text.split_once('/') else {
        return Err((at, "write a burst as in burst:3/60s".to_owned()));
    };
    let within_at = at + count.len() + 1;
    let within = match parse_duration(within) {
        Ok(Duration::ZERO) => return Err((within_at, format!("`{within}` must be longer than 0"))),
        within => within.map_err(|problem| (within_at, problem))?,
    };
    Ok(When::Burst { count: parse_count(fault, (at, count))?, within })
}

const ATTRIBUTES: [&str; 6] = ["route", "key", "by", "for", "comments", "retry-after"];

fn parse_attribute(
    word: Word<'_>,
    fault: &mut FaultKind,
    routes: &mut Vec<RouteSet>,
    keys: &mut Vec<String>,
) -> Fallible<()> {
    let (name, (at, value)) = split_pair(word, "an attribute is written as in route=create_task")?;
    let time = |at: usize, text: &str| parse_duration(text).map_err(|problem| (at, problem));
    match (name, fault) {
        ("route", fault) => {
            for name in split((at, value), |c| c == ',') {
                routes.push(parse_route(name, fault)?);
            }
        }
        ("key", _) => {
            for (at, key) in split((at, value), |c| c == ',') {
                let key = key.replace('"', "");
                if key.is_empty() {
                    return Err((at, "an id or name of a key is missing here".to_owned()));
                }
                if holds_key(&key) {
                    return Err((at, "this is the secret text of a key; use the id or name of the key".to_owned()));
                }
                keys.push(key);
            }
        }
        ("by", FaultKind::Latency { from, to }) => {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            if low.is_empty() || high.is_empty() {
                return Err((at, format!("`{value}` is not a time such as 200ms, nor a range such as 100ms-2s")));
            }
            let high_at = at + value.len() - high.len();
            (*from, *to) = (time(at, low)?, time(high_at, high)?);
            if *to < *from {
                return Err((high_at, format!("{high} is shorter than {low}")));
            }
        }
        ("for", FaultKind::Mute { lasting, .. }) => *lasting = Some(time(at, value)?),
        ("comments", FaultKind::Mute { comments, .. }) if value == "pass" => *comments = true,
        ("comments", FaultKind::Mute { .. }) => {
            return Err((at, format!("`{value}` is not possible; write comments=pass")));
        }
        ("retry-after", FaultKind::Status { status: 429 | 503, retry_after }) => {
            *retry_after = value.parse().map_err(|_| (at, format!("`{value}` is not a whole number of seconds")))?;
        }
        (name, _) if ATTRIBUTES.contains(&name) => {
            return Err((word.0, format!("this fault has no attribute `{name}`")));
        }
        (name, _) => return Err((word.0, format!("there is no attribute `{name}`{}", hint(name, ATTRIBUTES)))),
    }
    Ok(())
}

/// Parses a name of `route=` and refuses routes that the fault can never strike.
fn parse_route((at, name): Word<'_>, fault: &FaultKind) -> Fallible<RouteSet> {
    let routes = find_routes(at, name)?;
    let all_are = |routes: RouteSet, is: fn(&crate::http::route::Route) -> bool| match routes {
        RouteSet::Operation(operation) => ROUTES.iter().any(|route| route.operation == operation && is(route)),
        _ => false,
    };
    if all_are(routes, |route| route.access == Access::Open) {
        return Err((at, format!("`{name}` needs no key; faults strike only requests with a key")));
    }
    if fault.is_of_frames() && routes != RouteSet::Streams && !all_are(routes, |route| route.path == paths::STREAM) {
        return Err((
            at,
            format!("`{name}` has no frames, but this fault strikes frames; write route=streams, or leave route out"),
        ));
    }
    Ok(routes)
}

/// The routes with this name.
fn find_routes(at: usize, name: &str) -> Fallible<RouteSet> {
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let operations = || ROUTES.iter().map(|route| route.operation.as_str());
    Ok(match name {
        "reads" => RouteSet::Class(RateClass::Read),
        "writes" => RouteSet::Class(RateClass::Write),
        "bulk" => RouteSet::Class(RateClass::Bulk),
        "streams" => RouteSet::Streams,
        _ => match operations().find(|operation| fold(operation) == fold(name)) {
            Some(operation) => RouteSet::Operation(operation),
            None => {
                let words = ["reads", "writes", "bulk", "streams"].into_iter().chain(operations());
                return Err((at, format!("there is no operation `{name}`{}", hint(name, words))));
            }
        },
    })
}

/// Splits `NAME=VALUE`. `example`: how to write the pair, for the error.
fn split_pair<'a>((at, word): Word<'a>, example: &str) -> Fallible<(&'a str, Word<'a>)> {
    match word.split_once('=') {
        Some((name, value)) if !value.is_empty() => Ok((name, (at + name.len() + 1, value))),
        Some(_) => Err((at + word.len(), format!("`{word}` has no value after the `=`"))),
        None => Err((at, format!("`{word}` has no `=`; {example}"))),
    }
}

/// Splits a word at separators outside of double quotes.
fn split((begin, text): Word<'_>, is_separator: impl Fn(char) -> bool) -> Vec<Word<'_>> {
    let (mut parts, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '"';
        if !is_quoted && is_separator(letter) {
            parts.push((begin + from, &text[from..at]));
            from = at + letter.len_utf8();
        }
    }
    parts.push((begin + from, &text[from..]));
    parts
}

/// `; did you mean …?` with the most similar known name, or "".
fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
