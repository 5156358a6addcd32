//! How faults are written. Pure.
//!
//! ```text
//! faults    = item *( ";" item )                 a line end counts as ";", "#" begins a remark
//! item      = "seed=" NUMBER | FAULT "=" when *( " " attribute )
//! when      = NUMBER "%" | "always" | "first:" N | "once:" N | "every:" N | "burst:" N "/" TIME
//! FAULT     = on requests: latency, lost-request, lost-answer, duplicate, 429, 500, 502, 503, 504
//!             on the frames of streams that carry events: cut, mute, repeat
//! attribute = "route=" ROUTE *( "," ROUTE )      operations as /openapi/v1 names them, or reads, writes, bulk, streams
//!           | "key=" KEY *( "," KEY )            ids or names of keys; "my phone" in double quotes
//!           | "by=" TIME [ "-" TIME ]            of latency: how long; 1s if not said
//!           | "for=" TIME                        of mute: how long; until the client goes if not said
//!           | "comments=pass"                    of mute: comments still come, so that the line seems alive
//!           | "retry-after=" SECONDS             of 429 and 503
//! ```
//!
//! `once:N` is the Nth time alone. N may be followed by `requests` or `frames`, whichever the fault is counted in. Counts
//! are the rule's, over everything that its attributes match. An operation may be written with or without `_` and
//! capitals: `createTask` is `create_task`. What could never strike is refused: a fault of frames on a route that has
//! none, any on a route that needs no key.

use std::fmt;
use std::time::Duration;

use hearth_contract::key::holds_key;
use hearth_contract::paths;
use hearth_contract::problem::nearest;

use crate::app::limits::RateClass;
use crate::config::parse_duration;
use crate::http::route::Access;
use crate::routes::ROUTES;

/// Rules that there may be.
const RULES_MAX: usize = 100;
/// Latency when none is said.
const LATENCY: Duration = Duration::from_secs(1);

/// All that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What chance begins with.
    pub seed: u64,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// Whether live keys are touched too.
    pub on_live: bool,
}

/// One fault with its turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// What happens.
    pub fault: Fault,
    /// When.
    pub when: When,
    /// On which routes; none: on all that need a key.
    pub routes: Vec<Routes>,
    /// To which keys, by id or name; none: to all.
    pub keys: Vec<String>,
    /// As it was written.
    pub text: String,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The request waits before anything is done.
    Latency {
        /// At least so long.
        from: Duration,
        /// At most so long.
        to: Duration,
    },
    /// The connection ends before anything is done.
    LostRequest,
    /// The connection ends after everything was done.
    LostAnswer,
    /// The request is carried out twice; the second answer is given.
    Duplicate,
    /// An answer of this status, and nothing is done. 502 and 504 are a proxy's: no JSON.
    Status {
        /// The status.
        status: u16,
        /// Seconds in `Retry-After`.
        retry_after: u64,
    },
    /// A stream breaks off before a frame.
    Cut,
    /// A stream says nothing more, and does not end.
    Mute {
        /// For so long; None: until the client goes.
        lasting: Option<Duration>,
        /// Whether comments still come.
        comments: bool,
    },
    /// A frame comes twice.
    Repeat,
}

/// When a rule strikes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Each time.
    Always,
    /// With this chance, from 0 to 1.
    Chance(f64),
    /// The first so many times.
    First(u64),
    /// This time alone.
    Once(u64),
    /// Every so many times.
    Every(u64),
    /// The first so many times of each window, which begins with its first time.
    Burst {
        /// So many times.
        count: u64,
        /// The window.
        within: Duration,
    },
}

/// Routes that are named together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Routes {
    /// One operation.
    Operation(&'static str),
    /// All that count in a window.
    Class(RateClass),
    /// The event stream.
    Streams,
}

impl Fault {
    /// Whether it is counted in frames of streams, not in requests.
    pub fn is_of_frames(&self) -> bool {
        matches!(self, Fault::Cut | Fault::Mute { .. } | Fault::Repeat)
    }
}

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelt {
    line: usize,
    column: usize,
    problem: String,
    text: String,
}

impl fmt::Display for Misspelt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misspelt { line, column, problem, text } = self;
        write!(f, "line {line}, column {column}: {problem}\n  {text}\n  {:>column$}", "^")
    }
}

impl std::error::Error for Misspelt {}

/// A word and where it begins, in bytes of its line.
type Word<'a> = (usize, &'a str);
/// A problem and where it is, in bytes of its line.
type Fallible<T> = Result<T, (usize, String)>;

/// Reads what was written.
pub fn read(text: &str) -> Result<Plan, Misspelt> {
    let mut plan = Plan { seed: 1, rules: Vec::new(), on_live: false };
    // Some editors begin a file with a mark of its encoding.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        read_line(&mut plan, line).map_err(|(at, problem)| Misspelt {
            line: index + 1,
            column: line[..at].chars().count() + 1,
            problem,
            text: line.to_owned(),
        })?;
    }
    if plan.rules.is_empty() {
        let problem = "there is no fault; write one as in lost-answer=5%".to_owned();
        return Err(Misspelt { line: 1, column: 1, problem, text: text.lines().next().unwrap_or_default().to_owned() });
    }
    Ok(plan)
}

fn read_line(plan: &mut Plan, line: &str) -> Fallible<()> {
    let Some(code) = split((0, line), |c| c == '#').into_iter().next() else { return Ok(()) };
    if let (1, Some(at)) = (code.1.matches('"').count() % 2, code.1.rfind('"')) {
        return Err((at, "a double quote is not closed".to_owned()));
    }
    split(code, |c| c == ';').into_iter().try_for_each(|item| read_item(plan, item))
}

fn read_item(plan: &mut Plan, item: Word<'_>) -> Fallible<()> {
    let mut words = split(item, char::is_whitespace).into_iter().filter(|(_, word)| !word.is_empty());
    let Some((at, first)) = words.next() else { return Ok(()) };
    let (name, (value_at, value)) = pair((at, first), "a fault is written as in lost-answer=5%")?;
    if name == "seed" {
        plan.seed =
            value.parse().map_err(|_| (value_at, format!("`{value}` is not a whole number from 0 to {}", u64::MAX)))?;
        return match words.next() {
            Some((at, word)) => Err((at, format!("`{word}` is one too many here; a `;` may be missing before it"))),
            None => Ok(()),
        };
    }
    if plan.rules.len() == RULES_MAX {
        return Err((at, format!("there are more than {RULES_MAX} faults")));
    }
    let mut fault = fault(at, name)?;
    let when = when(&fault, (value_at, value))?;
    let (mut routes, mut keys) = (Vec::new(), Vec::new());
    let mut said = Vec::new();
    for word in words {
        let name = word.1.split_once('=').map_or(word.1, |(name, _)| name);
        if !matches!(name, "route" | "key") && said.contains(&name) {
            return Err((word.0, format!("`{name}` was said already")));
        }
        said.push(name);
        attribute(word, &mut fault, &mut routes, &mut keys)?;
    }
    plan.rules.push(Rule { fault, when, routes, keys, text: item.1.trim().to_owned() });
    Ok(())
}

const FAULTS: [&str; 12] =
    ["latency", "lost-request", "lost-answer", "duplicate", "cut", "mute", "repeat", "429", "500", "502", "503", "504"];

fn fault(at: usize, name: &str) -> Fallible<Fault> {
    Ok(match name {
        "latency" => Fault::Latency { from: LATENCY, to: LATENCY },
        "lost-request" => Fault::LostRequest,
        "lost-answer" => Fault::LostAnswer,
        "duplicate" => Fault::Duplicate,
        "cut" => Fault::Cut,
        "mute" => Fault::Mute { lasting: None, comments: false },
        "repeat" => Fault::Repeat,
        "429" | "500" | "502" | "503" | "504" => Fault::Status { status: name.parse().unwrap_or(503), retry_after: 1 },
        _ => return Err((at, format!("there is no fault `{name}`{}", hint(name, FAULTS)))),
    })
}

fn when(fault: &Fault, (at, text): Word<'_>) -> Fallible<When> {
    let counted = |at: usize, text: &str| -> Fallible<u64> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let known = if fault.is_of_frames() { "frames" } else { "requests" };
        if digits == 0 {
            return Err((at, format!("`{text}` is not a number from 1")));
        }
        if !unit.is_empty() && unit != known && Some(unit) != known.strip_suffix('s') {
            return Err((at + digits, format!("`{unit}` is no unit here; this fault is counted in {known}")));
        }
        let number = number.parse().map_err(|_| (at, format!("`{number}` is too many; the most is {}", u64::MAX)))?;
        if number == 0 { Err((at, format!("`{text}` is not a number from 1"))) } else { Ok(number) }
    };
    if text == "always" {
        return Ok(When::Always);
    }
    if let Some(percent) = text.strip_suffix('%') {
        let chance = percent.parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        return chance
            .map(|percent| When::Chance(percent / 100.0))
            .ok_or_else(|| (at, format!("`{text}` is not a share from 0% to 100%")));
    }
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    if let ("first" | "once" | "every" | "burst", "") = (word, rest) {
        let example = if word == "burst" { "burst:3/60s".to_owned() } else { format!("{word}:3") };
        return Err((at + text.len(), format!("`{text}` does not say how often; write it as in {example}")));
    }
    let rest_at = at + word.len() + 1;
    match word {
        "first" => counted(rest_at, rest).map(When::First),
        "once" => counted(rest_at, rest).map(When::Once),
        "every" => counted(rest_at, rest).map(When::Every),
        "burst" => {
            let Some((count, within)) = rest.split_once('/') else {
                return Err((rest_at, "a burst is written as in burst:3/60s".to_owned()));
            };
            let within_at = rest_at + count.len() + 1;
            let within = match parse_duration(within) {
                Ok(Duration::ZERO) => return Err((within_at, format!("`{within}` is no time that could pass"))),
                within => within.map_err(|problem| (within_at, problem))?,
            };
            Ok(When::Burst { count: counted(rest_at, count)?, within })
        }
        _ => {
            let known = "write 5%, always, first:3, once:3, every:100 or burst:3/60s";
            Err((at, format!("`{text}` does not say when; {known}")))
        }
    }
}

const ATTRIBUTES: [&str; 6] = ["route", "key", "by", "for", "comments", "retry-after"];

fn attribute(word: Word<'_>, fault: &mut Fault, routes: &mut Vec<Routes>, keys: &mut Vec<String>) -> Fallible<()> {
    let (name, (at, value)) = pair(word, "an attribute is written as in route=create_task")?;
    let time = |at: usize, text: &str| parse_duration(text).map_err(|problem| (at, problem));
    match (name, fault) {
        ("route", fault) => {
            for name in split((at, value), |c| c == ',') {
                routes.push(route(name, fault)?);
            }
        }
        ("key", _) => {
            for (at, key) in split((at, value), |c| c == ',') {
                let key = key.replace('"', "");
                if key.is_empty() {
                    return Err((at, "there is no id or name of a key here".to_owned()));
                }
                if holds_key(&key) {
                    return Err((at, "this is the text of a key; name it by its id or name".to_owned()));
                }
                keys.push(key);
            }
        }
        ("by", Fault::Latency { from, to }) => {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
            if low.is_empty() || high.is_empty() {
                return Err((at, format!("`{value}` is not a time such as 200ms, nor a range such as 100ms-2s")));
            }
            let high_at = at + value.len() - high.len();
            (*from, *to) = (time(at, low)?, time(high_at, high)?);
            if *to < *from {
                return Err((high_at, format!("{high} is less than {low}")));
            }
        }
        ("for", Fault::Mute { lasting, .. }) => *lasting = Some(time(at, value)?),
        ("comments", Fault::Mute { comments, .. }) if value == "pass" => *comments = true,
        ("comments", Fault::Mute { .. }) => return Err((at, format!("`{value}`: comments can only pass"))),
        ("retry-after", Fault::Status { status: 429 | 503, retry_after }) => {
            *retry_after = value.parse().map_err(|_| (at, format!("`{value}` is not a whole number of seconds")))?;
        }
        (name, _) if ATTRIBUTES.contains(&name) => {
            return Err((word.0, format!("this fault has no attribute `{name}`")));
        }
        (name, _) => return Err((word.0, format!("there is no attribute `{name}`{}", hint(name, ATTRIBUTES)))),
    }
    Ok(())
}

fn route((at, name): Word<'_>, fault: &Fault) -> Fallible<Routes> {
    let routes = routes(at, name)?;
    let is_of = |routes: Routes, is: fn(&crate::http::route::Route) -> bool| match routes {
        Routes::Operation(operation) => ROUTES.iter().any(|route| route.operation == operation && is(route)),
        _ => false,
    };
    if is_of(routes, |route| route.access == Access::Open) {
        return Err((at, format!("`{name}` needs no key, and what needs none is left alone")));
    }
    if fault.is_of_frames() && routes != Routes::Streams && !is_of(routes, |route| route.path == paths::STREAM) {
        return Err((
            at,
            format!("`{name}` has no frames, which this fault is about; leave route out, or write streams"),
        ));
    }
    Ok(routes)
}

fn routes(at: usize, name: &str) -> Fallible<Routes> {
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let operations = || ROUTES.iter().map(|route| route.operation.as_str());
    Ok(match name {
        "reads" => Routes::Class(RateClass::Read),
        "writes" => Routes::Class(RateClass::Write),
        "bulk" => Routes::Class(RateClass::Bulk),
        "streams" => Routes::Streams,
        _ => match operations().find(|operation| fold(operation) == fold(name)) {
            Some(operation) => Routes::Operation(operation),
            None => {
                let words = ["reads", "writes", "bulk", "streams"].into_iter().chain(operations());
                return Err((at, format!("there is no operation `{name}`{}", hint(name, words))));
            }
        },
    })
}

fn pair<'a>((at, word): Word<'a>, otherwise: &str) -> Fallible<(&'a str, Word<'a>)> {
    match word.split_once('=') {
        Some((name, value)) if !value.is_empty() => Ok((name, (at + name.len() + 1, value))),
        Some(_) => Err((at + word.len(), format!("`{word}` says nothing after its `=`"))),
        None => Err((at, format!("`{word}` has no `=`; {otherwise}"))),
    }
}

/// What stands between separators, those in double quotes left alone.
fn split((begin, text): Word<'_>, separates: impl Fn(char) -> bool) -> Vec<Word<'_>> {
    let (mut found, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        is_quoted ^= letter == '"';
        if !is_quoted && separates(letter) {
            found.push((begin + from, &text[from..at]));
            from = at + letter.len_utf8();
        }
    }
    found.push((begin + from, &text[from..]));
    found
}

fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let plan = read("lost-answer=5% route=createTask; cut=every:100frames; 503=burst:3/60s; seed=7").unwrap();
        let faults: Vec<_> = plan.rules.iter().map(|rule| (rule.fault.clone(), rule.when)).collect();
        let burst = When::Burst { count: 3, within: Duration::from_secs(60) };
        let expected = [
            (Fault::LostAnswer, When::Chance(0.05)),
            (Fault::Cut, When::Every(100)),
            (Fault::Status { status: 503, retry_after: 1 }, burst),
        ];
        assert_eq!((plan.seed, faults), (7, expected.to_vec()));
        assert_eq!(plan.rules[0].routes, [Routes::Operation("create_task")]);

        let file = "\u{feff}# slow\nlatency=always by=10ms-2s key=phone,laptop route=writes,streams\nmute=once:3 for=30s comments=pass # and mute\n";
        let plan = read(file).unwrap();
        let (from, to) = (Duration::from_millis(10), Duration::from_secs(2));
        assert_eq!(plan.rules[0].fault, Fault::Latency { from, to });
        assert_eq!(plan.rules[0].keys, ["phone", "laptop"]);
        assert_eq!(plan.rules[0].routes, [Routes::Class(RateClass::Write), Routes::Streams]);
        assert_eq!(plan.rules[1].fault, Fault::Mute { lasting: Some(Duration::from_secs(30)), comments: true });
    }

    #[test]
    fn a_key_may_have_any_name() {
        let keys = |text: &str| read(text).unwrap().rules.into_iter().map(|rule| rule.keys).collect::<Vec<_>>();
        assert_eq!(keys("503=1% key=\"my phone\",laptop route=writes"), [["my phone", "laptop"]]);
        assert_eq!(keys("503=1% key=\"a, b; c # d\" # not \"this"), [["a, b; c # d"]]);
        assert_eq!(keys("cut=1% key=\"a b\" route=stream_events; mute=1% key=c route=streams"), [["a b"], ["c"]]);
    }

    #[test]
    fn a_slip_is_shown_where_it_is() {
        for (text, line, column, problem) in [
            ("lots-answer=5%", 1, 1, "there is no fault `lots-answer`; did you mean lost-answer?"),
            ("cut=1%; lost-answer=5x", 1, 21, "`5x` does not say when"),
            ("cut=every:0", 1, 11, "`0` is not a number from 1"),
            ("cut=every:3requests", 1, 12, "`requests` is no unit here; this fault is counted in frames"),
            ("503=burst:3", 1, 11, "a burst is written"),
            ("503=burst:3/5", 1, 13, "`5` needs a unit"),
            ("503=first", 1, 10, "`first` does not say how often; write it as in first:3"),
            ("503=first route=reads", 1, 10, "`first` does not say how often"),
            ("cut=once; 503=1%", 1, 9, "`once` does not say how often"),
            ("503=every\u{3000}route=reads", 1, 10, "`every` does not say how often"),
            ("503=burst", 1, 10, "`burst` does not say how often; write it as in burst:3/60s"),
            ("503=first:", 1, 11, "`first:` does not say how often"),
            ("503=101%", 1, 5, "`101%` is not a share"),
            ("cut=1%\n503=1% rout=create_task", 2, 8, "there is no attribute `rout`; did you mean route?"),
            ("503=1% route=get_me,createTsk", 1, 21, "there is no operation `createTsk`; did you mean create_task?"),
            ("503=1% for=3s", 1, 8, "this fault has no attribute `for`"),
            ("latency=1% by=2s-1s", 1, 18, "1s is less than 2s"),
            ("503", 1, 1, "`503` has no `=`"),
            ("503=", 1, 5, "`503=` says nothing"),
            ("503=1% seed=3", 1, 8, "there is no attribute `seed`"),
            ("503=1% key=phone,svc_test_9f", 1, 18, "this is the text of a key"),
            ("seed=x; 503=1%", 1, 6, "`x` is not a whole number"),
            ("seed=-1; 503=1%", 1, 6, "`-1` is not a whole number from 0"),
            ("503=first:-1", 1, 11, "`-1` is not a number from 1"),
            (
                "503=first:99999999999999999999",
                1,
                11,
                "`99999999999999999999` is too many; the most is 18446744073709551615",
            ),
            ("latency=1% by=-1s", 1, 15, "`-1s` is not a time such as 200ms, nor a range"),
            ("latency=1% by=1s-", 1, 15, "`1s-` is not a time such as 200ms, nor a range"),
            ("503=burst:1/0s", 1, 13, "`0s` is no time that could pass"),
            ("503=1% key=,", 1, 12, "there is no id or name of a key here"),
            ("503=1% key=phone,", 1, 18, "there is no id or name of a key here"),
            ("503=1% key=\"\"", 1, 12, "there is no id or name of a key here"),
            ("503=1% key=\"my phone", 1, 12, "a double quote is not closed"),
            ("cut=1% route=create_task", 1, 14, "`create_task` has no frames"),
            ("mute=1% route=streams,reads", 1, 23, "`reads` has no frames"),
            ("503=1% route=get_index", 1, 14, "`get_index` needs no key"),
            ("# nothing", 1, 1, "there is no fault"),
            ("\u{feff}lots-answer=5%", 1, 1, "there is no fault `lots-answer`"),
        ] {
            let slip = read(text).unwrap_err();
            assert_eq!((slip.line, slip.column), (line, column), "{text}: {slip}");
            assert!(slip.problem.starts_with(problem), "{text}: {slip}");
        }
    }

    #[test]
    fn no_text_is_too_strange_to_be_told_what_is_wrong_with_it() {
        let pieces = [
            "503",
            "cut",
            "latency",
            "mute",
            "seed",
            "first",
            "once",
            "every",
            "burst",
            "always",
            "route",
            "key",
            "by",
            "for",
            "=",
            ":",
            ";",
            "/",
            ",",
            "-",
            "%",
            "#",
            "\"",
            " ",
            "\n",
            "\r\n",
            "\u{3000}",
            "\u{a0}",
            "\u{feff}",
            "\0",
            "é",
            "🏠",
            "3",
            "60s",
            "2s-1s",
            "frames",
            "reads",
            "create_task",
        ];
        let mut dice = fastrand::Rng::with_seed(1);
        for _ in 0..50_000 {
            let text: String = (0..dice.usize(1..14)).map(|_| pieces[dice.usize(..pieces.len())]).collect();
            let Err(slip) = read(&text) else { continue };
            let letters = text.lines().nth(slip.line - 1).map_or(0, |line| line.chars().count());
            assert!((1..=letters + 1).contains(&slip.column), "{text:?}: {slip}");
        }
    }

    #[test]
    fn what_can_be_said_once_is_said_once() {
        for (text, word) in [
            ("latency=always by=1s by=2s", "by=2s"),
            ("mute=always for=1s for=2s", "for=2s"),
            ("429=always retry-after=1 retry-after=2", "retry-after=2"),
        ] {
            let slip = read(text).unwrap_err();
            assert!(slip.to_string().contains("said already"), "{word}: {slip}");
        }
        assert!(read("503=always key=a key=b route=get_me route=list_rooms").is_ok());
    }
}
