//! The filter line of a list, understood: `status:open due<fri room:garage words`. What is no condition is a word to be
//! searched. Told what day it is; must not know how rows are found.

use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Presence, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Condition, Test, WAITING};
use time::Date;

use crate::typed::{dates, numbers};
use crate::words::{choice, choice_meant};

/// What a filter line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Words that must begin words of the record.
    pub words: String,
    /// Conditions on fields.
    pub conditions: Vec<Condition>,
    /// What could not be understood, in a sentence; it filters nothing.
    pub fault: Option<String>,
}

/// Comparisons as they are typed, the longer first.
const SIGNS: [&str; 7] = ["!=", "<=", ">=", ":", "=", "<", ">"];

/// Short names that people use.
const ALIASES: [(&str, &str); 12] = [
    ("about", "subject_id"),
    ("who", "assignee"),
    ("for", "assignee"),
    ("due", "due_on"),
    ("room", "room_id"),
    ("value", "current_value"),
    ("cost", "estimated_cost"),
    ("price", "purchase_price"),
    ("warranty", "warranty_expires_on"),
    ("type", "room_type"),
    ("qty", "quantity"),
    ("expires", "expires_on"),
];

/// The choice whose words rise in the contract's table, so that one is more than another.
const RISING: &str = "priority";

/// What may stand after `is:`.
const STATES: [&str; 5] = ["waiting", "overdue", "open", "done", "doing"];

/// Understands a line for a kind.
pub fn understand(kind: Kind, text: &str, today: Date) -> Filter {
    let mut filter = Filter::default();
    let parts = parts(text);
    let mut rest = parts.as_slice();
    while let Some((part, after)) = rest.split_first() {
        rest = after;
        match sign_in(part) {
            Some((at, sign)) if at > 0 => {
                let (name, value) = (part[..at].to_lowercase(), &part[at + sign.len()..]);
                let is_quoted = value.starts_with('"');
                let value = value.trim_matches('"');
                // A filter is understood while it is typed: what has no value yet filters nothing.
                if value.trim().is_empty() {
                    continue;
                }
                let (value, more) = with_day(kind, &name, value, after, today);
                rest = &after[more..];
                match condition(kind, &name, sign, (&value, is_quoted), today) {
                    Ok(conditions) => filter.conditions.extend(conditions),
                    Err(fault) => filter.fault = filter.fault.or(Some(fault)),
                }
            }
            _ => {
                if !filter.words.is_empty() {
                    filter.words.push(' ');
                }
                filter.words.push_str(part.trim_matches('"'));
            }
        }
    }
    filter
}

/// The sign of a condition and where it is. Between quotation marks it is a letter, `"10:30"`.
fn sign_in(part: &str) -> Option<(usize, &'static str)> {
    part.char_indices().take_while(|(_, letter)| *letter != '"').find_map(|(at, _)| {
        let sign = SIGNS.iter().find(|sign| part[at..].starts_with(**sign))?;
        Some((at, *sign))
    })
}

/// A value with the words that follow it, where together they are a day, `dec 24`; and how many of those words there are.
fn with_day(kind: Kind, name: &str, value: &str, after: &[&str], today: Date) -> (String, usize) {
    let is_day = field_named(kind, name).is_ok_and(|field| matches!(field.format, Format::Date | Format::Timestamp));
    let words: Vec<&str> = std::iter::once(value).chain(after.iter().copied()).collect();
    let taken = dates::leading(&words, today).filter(|_| is_day).map_or(1, |(_, taken)| taken);
    (words[..taken].join(" "), taken - 1)
}

/// The parts of a line: at spaces that are not between quotation marks. A mark in the middle of a word is a letter, `5" pipe`,
/// and one that is never closed is a mark only where a value begins: that is still being typed.
pub fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut before, mut inside) = (0, ' ', false);
    for (at, letter) in text.char_indices() {
        if letter == '"' {
            let is_closed = text[at + 1..].contains('"');
            let opens = ":=<>@+".contains(before) || (before.is_whitespace() && is_closed);
            inside = !inside && opens;
        } else if letter.is_whitespace() && !inside {
            parts.push(&text[start..at]);
            start = at + letter.len_utf8();
        }
        before = letter;
    }
    parts.push(&text[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

fn condition(
    kind: Kind,
    name: &str,
    sign: &str,
    (value, is_quoted): (&str, bool),
    today: Date,
) -> Result<Vec<Condition>, String> {
    if name == "is" {
        return state(kind, sign, &value.to_lowercase(), today);
    }
    let field = field_named(kind, name)?;
    let is_not = sign == "!=";
    let is_order = sign.starts_with(['<', '>']);
    let is_pointer = matches!(field.format, Format::Reference(_) | Format::Subject);
    let is_choice = matches!(field.format, Format::Choice(_));
    if is_order && (is_pointer || (is_choice && field.name != RISING)) {
        return Err(format!("{name} has no more and no less: write {name}: or {name}!="));
    }
    let one = |test: Test| Ok(vec![Condition { field: field.name, test }]);
    // What is about the home itself is about something, and names no record.
    let is_about = matches!(field.format, Format::Subject) && !name.eq_ignore_ascii_case(SUBJECT_ID);
    let whether = |test: Test| Ok(vec![Condition { field: if is_about { SUBJECT_TYPE } else { field.name }, test }]);
    let is_text = matches!(field.format, Format::Text { .. } | Format::Vin | Format::Url);
    // In a text these may be words of it: between quotation marks they are, and where a text is never unset.
    let is_word = is_text && (is_quoted || field.presence == Presence::Required);
    match (value.to_lowercase().as_str(), is_text) {
        _ if is_word => {}
        ("none", _) | ("unset", false) => return whether(if is_not { Test::Set } else { Test::Unset }),
        ("any", _) | ("set", false) => return whether(if is_not { Test::Unset } else { Test::Set }),
        _ => {}
    }
    let value = match field.format {
        Format::Date | Format::Timestamp => format_date(
            dates::understood(value, today).ok_or_else(|| format!("{value} is no day: try {}", dates::HOW))?,
        ),
        Format::Choice(words) => {
            let shown = || words.iter().map(|word| choice(word).replace(' ', "_")).collect::<Vec<_>>().join(", ");
            let word = choice_meant(words, value).ok_or_else(|| format!("{name} is one of {}", shown()))?;
            if is_order {
                return Ok(by_place(field, words, sign, word));
            }
            word.to_owned()
        }
        // As a form takes it: what could be two sums is none.
        Format::Money => numbers::sum(value).ok_or_else(|| format!("{value} is no sum: try {}", numbers::SUM))?,
        Format::Count | Format::Year => {
            numbers::whole(value).ok_or_else(|| format!("{value} is no whole number"))?.to_string()
        }
        _ => value.to_owned(),
    };
    let has = is_pointer || is_text;
    one(match sign {
        ":" if has => Test::Has(value),
        "!=" if has => Test::HasNot(value),
        "=" if is_pointer => Test::Has(value),
        ":" | "=" => Test::Is(value),
        "!=" => Test::IsNot(value),
        "<" => Test::Below(value),
        "<=" => Test::AtMost(value),
        ">=" => Test::AtLeast(value),
        _ => Test::Above(value),
    })
}

/// More or less than a word of a choice, by its place: none of the words on the other side.
fn by_place(field: &'static Field, words: &[&str], sign: &str, word: &str) -> Vec<Condition> {
    let place = |word: &str| words.iter().position(|known| *known == word);
    let fits = |known: &&&str| {
        let order = place(known).cmp(&place(word));
        match sign {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            _ => order.is_gt(),
        }
    };
    let others = words.iter().filter(|known| !fits(known));
    others.map(|other| Condition { field: field.name, test: Test::IsNot((*other).to_owned()) }).collect()
}

fn state(kind: Kind, sign: &str, value: &str, today: Date) -> Result<Vec<Condition>, String> {
    if !matches!(sign, ":" | "=") {
        let known: &[&str] = if kind == Kind::Task { &STATES } else { &STATES[..1] };
        let known: Vec<String> = known.iter().map(|state| format!("is:{state}")).collect();
        return Err(format!("is takes no sign but the colon: {}", known.join(", ")));
    }
    let is = |field, test| Condition { field, test };
    let done = || "done".to_owned();
    // Its beginning is enough, as for any choice.
    let value = STATES.into_iter().find(|state| state.starts_with(value)).unwrap_or(value);
    match (kind, value) {
        (_, "waiting") => Ok(vec![is(WAITING, Test::Set)]),
        (Kind::Task, "open") => Ok(vec![is("status", Test::IsNot(done()))]),
        (Kind::Task, "done") => Ok(vec![is("status", Test::Is(done()))]),
        (Kind::Task, "doing") => Ok(vec![is("status", Test::Is("in_progress".to_owned()))]),
        (Kind::Task, "overdue") => {
            Ok(vec![is("status", Test::IsNot(done())), is("due_on", Test::Below(format_date(today)))])
        }
        _ if kind == Kind::Task => Err(format!("is: takes {}", STATES.join(", "))),
        _ => Err("is: takes waiting".to_owned()),
    }
}

fn field_named(kind: Kind, name: &str) -> Result<&'static Field, String> {
    let resource = resource(kind);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).and_then(|(_, field)| resource.field(field));
    let begins = || {
        let mut found = resource.fields.iter().filter(|field| field.name.starts_with(name));
        found.next().filter(|_| name.len() >= 3)
    };
    resource.field(name).or(alias).or_else(begins).ok_or_else(|| {
        let nearest = resource
            .fields
            .iter()
            .max_by(|a, b| strsim::jaro(a.name, name).total_cmp(&strsim::jaro(b.name, name)))
            .map_or("", |field| field.name);
        // By the name that people use, where there is one.
        let nearest = ALIASES.iter().find(|(_, field)| *field == nearest).map_or(nearest, |(alias, _)| alias);
        format!("there is no field {name}; the nearest is {nearest}")
    })
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;

    use super::*;

    fn understood(kind: Kind, text: &str) -> Filter {
        understand(kind, text, parse_date("2026-11-21").unwrap())
    }

    #[test]
    fn conditions_words_and_days_are_told_apart() {
        let filter = understood(Kind::Task, "status:open due<fri long ladder about:\"living room\"");
        assert_eq!(filter.words, "long ladder");
        let is = |field, test| Condition { field, test };
        assert_eq!(
            filter.conditions,
            [
                is("status", Test::Is("open".into())),
                is("due_on", Test::Below("2026-11-27".into())),
                is("subject_id", Test::Has("living room".into())),
            ]
        );
        assert_eq!(filter.fault, None);
        for (line, field) in [("about:none", "subject_type"), ("subject_id:none", "subject_id")] {
            assert_eq!(understood(Kind::Task, line).conditions, [is(field, Test::Unset)], "{line}");
        }
        let items = understood(Kind::Inventory, "value>=1,000 room:none category:app");
        assert_eq!(
            items.conditions,
            [
                is("current_value", Test::AtLeast("1000".into())),
                is("room_id", Test::Unset),
                is("category", Test::Is("appliance".into())),
            ]
        );
    }

    #[test]
    fn a_text_may_have_the_words_for_nothing_and_anything() {
        let test = |text: &str| understood(Kind::Inventory, text).conditions.remove(0).test;
        assert_eq!(test("name:set"), Test::Has("set".into()));
        assert_eq!(test("name:none"), Test::Has("none".into()), "it always has one");
        assert_eq!(test("notes:\"none\""), Test::Has("none".into()));
        assert_eq!(test("notes!=set"), Test::HasNot("set".into()));
        assert_eq!((test("notes:none"), test("notes:any")), (Test::Unset, Test::Set));
        assert_eq!((test("value:set"), test("room:unset")), (Test::Set, Test::Unset));
        assert_eq!(test("room:\"none\""), Test::Unset);
    }

    #[test]
    fn not_is_the_opposite_of_what_a_colon_matches() {
        let test = |kind, text: &str| understood(kind, text).conditions.remove(0).test;
        assert_eq!(test(Kind::Inventory, "room!=garage"), Test::HasNot("garage".into()));
        assert_eq!(test(Kind::Task, "about!=outback"), Test::HasNot("outback".into()));
        assert_eq!(test(Kind::Task, "title!=boiler"), Test::HasNot("boiler".into()));
        assert_eq!(test(Kind::Task, "status!=done"), Test::IsNot("done".into()));
        assert_eq!(test(Kind::Inventory, "value>=1.299,50"), Test::AtLeast("1299.50".into()));
        assert_eq!(test(Kind::Inventory, "qty>1'000"), Test::Above("1000".into()));
    }

    #[test]
    fn what_is_not_understood_is_said_and_filters_nothing() {
        for (text, words) in [
            ("colour:red", "there is no field colour"),
            ("deu_on<fri", "there is no field deu_on; the nearest is due"),
            ("due<someday", "someday is no day"),
            ("status:broken", "status is one of open, doing, done"),
            ("cost>much", "much is no sum"),
            ("cost>1.299", "1.299 is no sum: try 1299, 1,299.50 or 1299,50"),
            ("cost:100.000", "100.000 is no sum"),
            ("is:nice", "is: takes"),
            ("is!=open", "is takes no sign but the colon: is:waiting, is:overdue, is:open, is:done, is:doing"),
            ("is<open", "is takes no sign but the colon"),
            ("about>garage", "about has no more and no less: write about: or about!="),
            ("status<done", "status has no more and no less: write status: or status!="),
        ] {
            let filter = understood(Kind::Task, text);
            assert!(filter.fault.as_deref().unwrap().contains(words), "{:?}", filter.fault);
            assert_eq!(filter.conditions, []);
        }
        assert_eq!(understood(Kind::Task, "due:\"dec 24\" x"), understood(Kind::Task, "due:dec 24 x"));
        assert_eq!(understood(Kind::Task, "pipe 5\" long").words, "pipe 5 long");
        // Still being typed.
        for nothing in ["status:", "status:\"\"", "due:\"\"", "due:\""] {
            assert_eq!(understood(Kind::Task, nothing), Filter::default(), "{nothing}");
        }
        assert_eq!(understood(Kind::Task, "status:\"op"), understood(Kind::Task, "status:op"));
    }

    #[test]
    fn a_day_takes_no_word_behind_it() {
        let is = |field, test| Condition { field, test };
        let both = [is("due_on", Test::Below("2027-01-01".into())), is("status", Test::Is("done".into()))];
        assert_eq!(understood(Kind::Task, "due<1.1.2027 status:done").conditions, both);
        assert_eq!(understood(Kind::Task, "due<1.1.2027 rent").words, "rent");
    }

    #[test]
    fn more_or_less_than_a_priority_is_told_by_its_place() {
        let without = |text: &str| {
            let not = |condition: Condition| match condition.test {
                Test::IsNot(word) => word,
                other => panic!("{other:?}"),
            };
            understood(Kind::Task, text).conditions.into_iter().map(not).collect::<Vec<_>>()
        };
        assert_eq!(without("priority>=high"), ["low", "medium"]);
        assert_eq!(without("priority>high"), ["low", "medium", "high"]);
        assert_eq!(without("priority<medium"), ["medium", "high", "urgent"]);
        assert_eq!(without("priority<=urgent"), [""; 0]);
    }

    #[test]
    fn a_moment_is_asked_for_by_its_day() {
        let test = |text: &str| understood(Kind::Task, text).conditions.remove(0).test;
        for (text, expected) in [
            ("completed:yesterday", Test::Is("2026-11-20".into())),
            ("completed=yesterday", Test::Is("2026-11-20".into())),
            ("completed!=yesterday", Test::IsNot("2026-11-20".into())),
            ("completed<=today", Test::AtMost("2026-11-21".into())),
        ] {
            assert_eq!(test(text), expected, "{text}");
        }
    }

    #[test]
    fn capitals_and_signs_between_quotation_marks_are_letters() {
        for (typed, meant) in [("is:Open", "is:open"), ("due:None", "due:none"), ("Due:ANY", "due:any")] {
            assert_eq!(understood(Kind::Task, typed), understood(Kind::Task, meant), "{typed}");
        }
        assert_eq!(understood(Kind::Task, "\"10:30\" call").words, "10:30 call");
        assert_eq!(understood(Kind::Task, "\"10:30").words, "10:30", "still being typed");
    }

    #[test]
    fn is_names_states_that_span_fields() {
        assert_eq!(understood(Kind::Task, "is:overdue").conditions.len(), 2);
        assert_eq!(understood(Kind::Room, "is:waiting").conditions[0].field, WAITING);
        for text in ["status:doing", "is:doing", "status:in_progress", "status:\"in progress\"", "status:doi"] {
            let is_doing = Condition { field: "status", test: Test::Is("in_progress".into()) };
            assert_eq!(understood(Kind::Task, text).conditions, [is_doing], "{text}");
        }
        assert_eq!(understood(Kind::Task, "status:do"), understood(Kind::Task, "status:done"));
        assert_eq!(understood(Kind::Task, "is:ov"), understood(Kind::Task, "is:overdue"));
    }
}
