//! How faults are written. Pure.
//!
//! ```text
//! faults    = item *( ";" item )                 a line end counts as ";", "#" begins a remark
//! item      = "seed=" NUMBER | FAULT "=" when *( " " attribute )
//! when      = NUMBER "%" | "always" | "first:" N | "once:" N | "every:" N | "burst:" N "/" TIME
//! FAULT     = on requests: latency, lost-request, lost-answer, duplicate, 429, 500, 502, 503, 504
//!             on the frames of streams that carry events: cut, mute, repeat
//! attribute = "route=" ROUTE *( "," ROUTE )      operations as /openapi/v1 names them, or reads, writes, bulk, streams
//!           | "key=" KEY *( "," KEY )            ids or names of keys
//!           | "by=" TIME [ "-" TIME ]            of latency: how long; 1s if not said
//!           | "for=" TIME                        of mute: how long; until the client goes if not said
//!           | "comments=pass"                    of mute: comments still come, so that the line seems alive
//!           | "retry-after=" SECONDS             of 429 and 503
//! ```
//!
//! `once:N` is the Nth time alone. N may be followed by `requests` or `frames`, whichever the fault is counted in. Counts
//! are the rule's, over everything that its attributes match. An operation may be written with or without `_` and
//! capitals: `createTask` is `create_task`.

use std::fmt;
use std::time::Duration;

use hearth_contract::problem::nearest;

use crate::config::parse_duration;
use crate::http::limits::Class;
use crate::http::routes::ROUTES;

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
    Class(Class),
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
    for (index, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        let mut begin = 0;
        for item in code.split(';') {
            read_item(&mut plan, begin, item).map_err(|(at, problem)| Misspelt {
                line: index + 1,
                column: line[..at].chars().count() + 1,
                problem,
                text: line.to_owned(),
            })?;
            begin += item.len() + 1;
        }
    }
    if plan.rules.is_empty() {
        let problem = "there is no fault; write one as in lost-answer=5%".to_owned();
        return Err(Misspelt { line: 1, column: 1, problem, text: text.lines().next().unwrap_or_default().to_owned() });
    }
    Ok(plan)
}

fn read_item(plan: &mut Plan, begin: usize, item: &str) -> Fallible<()> {
    let mut words = words(begin, item).into_iter();
    let Some((at, first)) = words.next() else { return Ok(()) };
    let (name, (value_at, value)) = pair((at, first), "a fault is written as in lost-answer=5%")?;
    if name == "seed" {
        plan.seed = value.parse().map_err(|_| (value_at, format!("`{value}` is not a number")))?;
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
    for word in words {
        attribute(word, &mut fault, &mut routes, &mut keys)?;
    }
    plan.rules.push(Rule { fault, when, routes, keys, text: item.trim().to_owned() });
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
        if !unit.is_empty() && unit != known && Some(unit) != known.strip_suffix('s') {
            return Err((at + digits, format!("`{unit}` is no unit here; this fault is counted in {known}")));
        }
        number.parse().ok().filter(|n| *n > 0).ok_or_else(|| (at, format!("`{text}` is not a number from 1")))
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
            let within = parse_duration(within).map_err(|problem| (within_at, problem))?;
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
        ("route", _) => {
            let mut begin = at;
            for name in value.split(',') {
                routes.push(route(begin, name)?);
                begin += name.len() + 1;
            }
        }
        ("key", _) => keys.extend(value.split(',').map(str::to_owned)),
        ("by", Fault::Latency { from, to }) => {
            let (low, high) = value.split_once('-').unwrap_or((value, value));
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
            *retry_after = value.parse().map_err(|_| (at, format!("`{value}` is not a number of seconds")))?;
        }
        (name, _) if ATTRIBUTES.contains(&name) => {
            return Err((word.0, format!("this fault has no attribute `{name}`")));
        }
        (name, _) => return Err((word.0, format!("there is no attribute `{name}`{}", hint(name, ATTRIBUTES)))),
    }
    Ok(())
}

fn route(at: usize, name: &str) -> Fallible<Routes> {
    let fold = |name: &str| name.replace('_', "").to_lowercase();
    let operations = || ROUTES.iter().map(|route| route.operation.as_str());
    Ok(match name {
        "reads" => Routes::Class(Class::Read),
        "writes" => Routes::Class(Class::Write),
        "bulk" => Routes::Class(Class::Bulk),
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

fn words(begin: usize, item: &str) -> Vec<Word<'_>> {
    let at = |word: &str| begin + (word.as_ptr() as usize - item.as_ptr() as usize);
    item.split_whitespace().map(|word| (at(word), word)).collect()
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

        let file = "# slow\nlatency=always by=10ms-2s key=phone,laptop route=writes,streams\nmute=once:3 for=30s comments=pass # and mute\n";
        let plan = read(file).unwrap();
        let (from, to) = (Duration::from_millis(10), Duration::from_secs(2));
        assert_eq!(plan.rules[0].fault, Fault::Latency { from, to });
        assert_eq!(plan.rules[0].keys, ["phone", "laptop"]);
        assert_eq!(plan.rules[0].routes, [Routes::Class(Class::Write), Routes::Streams]);
        assert_eq!(plan.rules[1].fault, Fault::Mute { lasting: Some(Duration::from_secs(30)), comments: true });
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
            ("503=101%", 1, 5, "`101%` is not a share"),
            ("cut=1%\n503=1% rout=create_task", 2, 8, "there is no attribute `rout`; did you mean route?"),
            ("503=1% route=get_me,createTsk", 1, 21, "there is no operation `createTsk`; did you mean create_task?"),
            ("503=1% for=3s", 1, 8, "this fault has no attribute `for`"),
            ("latency=1% by=2s-1s", 1, 18, "1s is less than 2s"),
            ("503", 1, 1, "`503` has no `=`"),
            ("503=", 1, 5, "`503=` says nothing"),
            ("503=1% seed=3", 1, 8, "there is no attribute `seed`"),
            ("seed=x; 503=1%", 1, 6, "`x` is not a number"),
            ("# nothing", 1, 1, "there is no fault"),
        ] {
            let slip = read(text).unwrap_err();
            assert_eq!((slip.line, slip.column), (line, column), "{text}: {slip}");
            assert!(slip.problem.starts_with(problem), "{text}: {slip}");
        }
    }
}
