//! Parses the filter line of a list: `status:open due<fri room:garage words`. A part without a comparison sign is a
//! search word. Callers pass the current day. Must not know how rows are found.

use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Presence, SUBJECT_ID, SUBJECT_TYPE};
use hearth_contract::typed_text;
use hearth_contract::units::AreaUnit;
use hearth_replica::{Condition, Test, WAITING, WORTH};
use time::Date;

use crate::parse::dates;
use crate::words::direction::Direction;
use crate::words::{AREA_EXAMPLES, MONEY_EXAMPLES, choice, choice_meant};

/// A parsed filter line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Search words, joined by spaces. Each must start some word of the record.
    pub words: String,
    /// Conditions on fields; a record must meet all.
    pub conditions: Vec<Condition>,
    /// A sentence about the first part that does not parse. Such a part adds no condition.
    pub fault: Option<String>,
}

/// Comparison signs. The longer signs come first, because the first match counts.
const SIGNS: [&str; 7] = ["!=", "<=", ">=", ":", "=", "<", ">"];

/// Short field names and the fields they stand for.
const ALIASES: [(&str, &str); 11] = [
    ("about", "subject_id"),
    ("who", "assignee"),
    ("for", "assignee"),
    ("due", "due_on"),
    ("room", "room_id"),
    ("cost", "estimated_cost"),
    ("price", "purchase_price"),
    ("warranty", "warranty_expires_on"),
    ("type", "room_type"),
    ("qty", "quantity"),
    ("expires", "expires_on"),
];

/// The only choice field whose words have an order: the contract lists them from low to high.
const ORDERED_CHOICE: &str = "priority";

/// The states that `is:` accepts.
const STATES: [&str; 5] = ["waiting", "overdue", "open", "done", "doing"];

/// Parses the filter line of a list of `kind`. An area without a unit is in `unit`.
pub fn parse_filter(kind: Kind, text: &str, today: Date, unit: AreaUnit) -> Filter {
    let mut filter = Filter::default();
    let parts = split_parts(text);
    let mut rest = parts.as_slice();
    while let Some((part, after)) = rest.split_first() {
        rest = after;
        match find_sign(part) {
            Some((at, sign)) if at > 0 => {
                let (name, value) = (part[..at].to_lowercase(), &part[at + sign.len()..]);
                // The line is parsed at each key. A condition without a value yet is ignored.
                if value.trim_matches(['"', ',']).trim().is_empty() {
                    continue;
                }
                let (value, more) = extend_day(kind, &name, value, after, today);
                rest = &after[more..];
                match alternatives(kind, &name, sign, &value, (today, unit)) {
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

/// The first comparison sign of a part and its byte position. Inside quotation marks a sign is a letter: `"10:30"`.
fn find_sign(part: &str) -> Option<(usize, &'static str)> {
    part.char_indices().take_while(|(_, letter)| *letter != '"').find_map(|(at, _)| {
        let sign = SIGNS.iter().find(|sign| part[at..].starts_with(**sign))?;
        Some((at, *sign))
    })
}

/// The words of a day with its weekday: `tue 1 dec`.
const DAY_WITH_WEEKDAY: usize = 3;

/// Extends the value of a day field by the following words that belong to the day (`dec 24`). Returns the value and the
/// number of words taken from `after`.
fn extend_day(kind: Kind, name: &str, value: &str, after: &[&str], today: Date) -> (String, usize) {
    let unquoted = value.trim_matches('"');
    let field = find_field(kind, name).ok();
    let day = field.filter(|field| matches!(field.format, Format::Date | Format::Timestamp));
    let words: Vec<&str> = std::iter::once(unquoted).chain(after.iter().copied()).collect();
    let taken = match day.map(Direction::of) {
        None => 1,
        Some(direction) => match dates::parse_leading_day(&words, today, direction) {
            Some((_, taken)) => taken,
            // The weekday contradicts the day after it. All three words are the value, which is then refused.
            None if unquoted == value && dates::parse_day(value, today, direction).is_some() => {
                words.len().min(DAY_WITH_WEEKDAY)
            }
            None => 1,
        },
    };
    if taken == 1 { (value.to_owned(), 0) } else { (words[..taken].join(" "), taken - 1) }
}

/// The conditions of a part whose value may name several values: `room:kitchen,attic` is either room, `room!=kitchen,attic`
/// neither. A comma in a number, or between quotation marks, separates nothing.
fn alternatives(
    kind: Kind,
    name: &str,
    sign: &str,
    value: &str,
    given: (Date, AreaUnit),
) -> Result<Vec<Condition>, String> {
    let one = |value: &str| condition(kind, name, sign, (value.trim_matches('"'), value.starts_with('"')), given);
    let values: Vec<&str> = split_at_commas(value).filter(|value| !value.trim_matches('"').trim().is_empty()).collect();
    let whole = one(value);
    let is_number = find_field(kind, name)
        .is_ok_and(|field| matches!(field.format, Format::Money | Format::Count { .. } | Format::Year))
        || is_worth(kind, name);
    if sign.starts_with(['<', '>']) || values.len() < 2 && value == values.concat() || is_number && whole.is_ok() {
        return whole;
    }
    let each: Vec<Vec<Condition>> = values.into_iter().map(one).collect::<Result<_, _>>()?;
    Ok(match sign {
        "!=" => each.into_iter().flatten().collect(),
        _ if each.len() == 1 => each.into_iter().flatten().collect(),
        _ => vec![Condition::Any(each.into_iter().map(all_of).collect())],
    })
}

/// One condition in place of several.
fn all_of(mut conditions: Vec<Condition>) -> Condition {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => Condition::All(conditions),
    }
}

/// The parts of a value between commas. A comma between quotation marks is a letter.
fn split_at_commas(value: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    value.split(move |letter| {
        inside ^= letter == '"';
        letter == ',' && !inside
    })
}

/// Splits a line at spaces outside quotation marks. A mark inside a word is a letter: `5" pipe`. An unclosed mark
/// counts at the start of a value only, where a person may still be typing.
pub fn split_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut before, mut inside) = (0, ' ', false);
    for (at, letter) in text.char_indices() {
        if letter == '"' {
            let is_closed = text[at + 1..].contains('"');
            let is_next_value = before == ',' && find_sign(&text[start..at]).is_some();
            let opens = ":=<>@+".contains(before) || is_next_value || (before.is_whitespace() && is_closed);
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
    (today, unit): (Date, AreaUnit),
) -> Result<Vec<Condition>, String> {
    if name == "is" {
        return state_condition(kind, sign, &value.to_lowercase(), today);
    }
    if is_worth(kind, name) {
        return worth_condition(sign, value);
    }
    let field = find_field(kind, name)?;
    let is_order = sign.starts_with(['<', '>']);
    let is_choice = matches!(field.format, Format::Choice(_));
    if is_order && (is_pointer(field) || (is_choice && field.name != ORDERED_CHOICE)) {
        return Err(format!("{name} cannot be more or less: write {name}: or {name}!="));
    }
    if let Some(test) = presence_test(field, sign, value, is_quoted) {
        // A task about the home itself has a subject type and no subject id. `about:none` therefore tests the type.
        let is_about = matches!(field.format, Format::Subject) && !name.eq_ignore_ascii_case(SUBJECT_ID);
        return Ok(vec![Condition::field(if is_about { SUBJECT_TYPE } else { field.name }, test)]);
    }
    match field.format {
        Format::Choice(words) if is_order => Ok(choice_range(field, words, sign, choice_word(name, words, value)?)),
        _ => {
            let value = stored_value(field, name, value, today, unit)?;
            Ok(vec![Condition::field(field.name, value_test(field, sign, value))])
        }
    }
}

/// Whether a name means what a record is worth: the column “Value” of a list.
fn is_worth(kind: Kind, name: &str) -> bool {
    matches!(kind, Kind::Inventory | Kind::Vehicle) && matches!(name, "value" | WORTH)
}

/// The condition on what a record is worth, in units of money.
fn worth_condition(sign: &str, value: &str) -> Result<Vec<Condition>, String> {
    let test = match (value.to_lowercase().as_str(), sign) {
        ("none" | "unset", "!=") | ("any" | "set", ":" | "=") => Test::Set,
        ("none" | "unset", _) | ("any" | "set", "!=") => Test::Unset,
        _ => whole_test(sign, sum(value)?),
    };
    Ok(vec![Condition::field(WORTH, test)])
}

/// A sum as the contract writes it. Like in a form, an ambiguous sum is an error.
fn sum(value: &str) -> Result<String, String> {
    typed_text::parse_money(value).ok_or_else(|| format!("{value} is no sum: try {MONEY_EXAMPLES}"))
}

fn is_pointer(field: &Field) -> bool {
    matches!(field.format, Format::Reference(_) | Format::Subject)
}

fn is_text(field: &Field) -> bool {
    matches!(field.format, Format::Text { .. } | Format::Vin | Format::Url)
}

/// The test for `none`, `any`, `unset` and `set`. None: the value is an ordinary value. In a text field, `none` may be
/// a word of the text: always between quotation marks, and always in a required field.
fn presence_test(field: &Field, sign: &str, value: &str, is_quoted: bool) -> Option<Test> {
    let is_text = is_text(field);
    if is_text && (is_quoted || field.presence == Presence::Required) {
        return None;
    }
    let is_not = sign == "!=";
    match (value.to_lowercase().as_str(), is_text) {
        ("none", _) | ("unset", false) => Some(if is_not { Test::Set } else { Test::Unset }),
        ("any", _) | ("set", false) => Some(if is_not { Test::Unset } else { Test::Set }),
        _ => None,
    }
}

/// The value as the contract writes it, or a sentence why the text is no value of the field.
fn stored_value(field: &Field, name: &str, value: &str, today: Date, unit: AreaUnit) -> Result<String, String> {
    Ok(match field.format {
        Format::Date | Format::Timestamp => {
            let direction = Direction::of(field);
            let day = dates::parse_day(value, today, direction);
            format_date(day.ok_or_else(|| format!("{value} is no day: try {}", direction.examples()))?)
        }
        Format::Choice(words) => choice_word(name, words, value)?.to_owned(),
        Format::Money => sum(value)?,
        _ if field.is_area() => {
            let area = unit.parse(value).ok_or_else(|| format!("{value} is no area: try {AREA_EXAMPLES}"))?;
            area.to_string()
        }
        Format::Count { .. } | Format::Year => {
            typed_text::parse_whole(value).ok_or_else(|| format!("{value} is no whole number"))?.to_string()
        }
        _ => value.to_owned(),
    })
}

fn choice_word(name: &str, words: &[&'static str], value: &str) -> Result<&'static str, String> {
    let shown = || words.iter().map(|word| choice(word).replace(' ', "_")).collect::<Vec<_>>().join(", ");
    choice_meant(words, value).ok_or_else(|| format!("{name} is one of {}", shown()))
}

fn value_test(field: &Field, sign: &str, value: String) -> Test {
    let has_parts = is_pointer(field) || is_text(field);
    match sign {
        ":" if has_parts => Test::Has(value),
        "!=" if has_parts => Test::HasNot(value),
        "=" if is_pointer(field) => Test::Has(value),
        _ => whole_test(sign, value),
    }
}

/// The test of a value that is compared as a whole.
fn whole_test(sign: &str, value: String) -> Test {
    match sign {
        ":" | "=" => Test::Is(value),
        "!=" => Test::IsNot(value),
        "<" => Test::Below(value),
        "<=" => Test::AtMost(value),
        ">=" => Test::AtLeast(value),
        _ => Test::Above(value),
    }
}

/// Conditions for `<`, `<=`, `>=`, `>` on an ordered choice: exclude each word on the other side.
fn choice_range(field: &'static Field, words: &[&str], sign: &str, word: &str) -> Vec<Condition> {
    let rank = |word: &str| words.iter().position(|known| *known == word);
    let fits = |known: &&&str| {
        let order = rank(known).cmp(&rank(word));
        match sign {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            _ => order.is_gt(),
        }
    };
    let others = words.iter().filter(|known| !fits(known));
    others.map(|other| Condition::field(field.name, Test::IsNot((*other).to_owned()))).collect()
}

fn state_condition(kind: Kind, sign: &str, value: &str, today: Date) -> Result<Vec<Condition>, String> {
    if !matches!(sign, ":" | "=") {
        let known: &[&str] = if kind == Kind::Task { &STATES } else { &STATES[..1] };
        let known: Vec<String> = known.iter().map(|state| format!("is:{state}")).collect();
        return Err(format!("is takes no sign but the colon: {}", known.join(", ")));
    }
    let is = Condition::field;
    let done = || "done".to_owned();
    // The first letters of a state are enough, as for any choice.
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

/// The field of a name, an alias, or the first three or more letters of a name. Err: a sentence with the nearest name.
fn find_field(kind: Kind, name: &str) -> Result<&'static Field, String> {
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
        // Suggest the alias, which is the name that people use.
        let nearest = ALIASES.iter().find(|(_, field)| *field == nearest).map_or(nearest, |(alias, _)| alias);
        format!("there is no field {name}; the nearest is {nearest}")
    })
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;

    use super::*;

    fn parsed(kind: Kind, text: &str) -> Filter {
        parse_filter(kind, text, parse_date("2026-11-21").unwrap(), AreaUnit::SquareFeet)
    }

    /// The test of the first condition of a line.
    fn first_test(kind: Kind, text: &str) -> Test {
        match parsed(kind, text).conditions.remove(0) {
            Condition::Field { test, .. } => test,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn comma_means_either_value() {
        let has = |field, text: &str| Condition::field(field, Test::Has(text.into()));
        let is = |field, text: &str| Condition::field(field, Test::Is(text.into()));
        let either = |conditions| vec![Condition::Any(conditions)];
        for (kind, text, expected) in [
            (Kind::Inventory, "room:kitchen,attic", either(vec![has("room_id", "kitchen"), has("room_id", "attic")])),
            (
                Kind::Inventory,
                "room:\"living room\",attic",
                either(vec![has("room_id", "living room"), has("room_id", "attic")]),
            ),
            (
                Kind::Inventory,
                "room:attic,\"living room\" lamp",
                either(vec![has("room_id", "attic"), has("room_id", "living room")]),
            ),
            (Kind::Inventory, "room:kitchen,", vec![has("room_id", "kitchen")]),
            (Kind::Inventory, "name:\"nuts, bolts\"", vec![has("name", "nuts, bolts")]),
            (Kind::Inventory, "category:tool,app", either(vec![is("category", "tool"), is("category", "appliance")])),
            (Kind::Task, "due:fri,sat", either(vec![is("due_on", "2026-11-27"), is("due_on", "2026-11-28")])),
            (Kind::Inventory, "qty:1,2", either(vec![is("quantity", "1"), is("quantity", "2")])),
            (Kind::Inventory, "qty:1,200", vec![is("quantity", "1200")]),
            (Kind::Inventory, "price:12,50", vec![is("purchase_price", "12.50")]),
            (
                Kind::Inventory,
                "room:none,attic",
                either(vec![Condition::field("room_id", Test::Unset), has("room_id", "attic")]),
            ),
            (
                Kind::Inventory,
                "room!=kitchen,attic",
                vec![
                    Condition::field("room_id", Test::HasNot("kitchen".into())),
                    Condition::field("room_id", Test::HasNot("attic".into())),
                ],
            ),
            (
                Kind::Task,
                "is:waiting,doing",
                either(vec![Condition::field(WAITING, Test::Set), is("status", "in_progress")]),
            ),
        ] {
            let filter = parsed(kind, text);
            assert_eq!((filter.conditions, filter.fault), (expected, None), "{text}");
        }
        assert_eq!(parsed(Kind::Inventory, "room:attic,\"living room\" lamp").words, "lamp");
        let fault = parsed(Kind::Task, "status:open,broken").fault.unwrap();
        assert!(fault.contains("status is one of open"), "{fault}");
        assert!(parsed(Kind::Task, "due<fri,sat").fault.is_some(), "a range has one end");
    }

    #[test]
    fn area_is_in_the_unit_of_the_home() {
        let today = parse_date("2026-11-21").unwrap();
        for (unit, text, expected) in [
            (AreaUnit::SquareMetres, "area>=20", Test::AtLeast("215".into())),
            (AreaUnit::SquareMetres, "area:19,9", Test::Is("214".into())),
            (AreaUnit::SquareMetres, "area<\"200 sq ft\"", Test::Below("200".into())),
            (AreaUnit::SquareFeet, "area>=1,200", Test::AtLeast("1200".into())),
            (AreaUnit::SquareFeet, "area>=20m2", Test::AtLeast("215".into())),
        ] {
            let filter = parse_filter(Kind::Room, text, today, unit);
            assert_eq!(
                (filter.conditions, filter.fault),
                (vec![Condition::field("area_sq_ft", expected)], None),
                "{text}"
            );
        }
        let fault = parse_filter(Kind::Room, "area>wide", today, AreaUnit::SquareMetres).fault;
        assert_eq!(fault.as_deref(), Some("wide is no area: try 215 sq ft or 19.9 m2"));
    }

    #[test]
    fn line_splits_into_conditions_and_words() {
        let filter = parsed(Kind::Task, "status:open due<fri long ladder about:\"living room\"");
        assert_eq!(filter.words, "long ladder");
        let is = Condition::field;
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
            assert_eq!(parsed(Kind::Task, line).conditions, [is(field, Test::Unset)], "{line}");
        }
        let items = parsed(Kind::Inventory, "value>=1,000 room:none category:app");
        assert_eq!(
            items.conditions,
            [
                is("worth", Test::AtLeast("1000".into())),
                is("room_id", Test::Unset),
                is("category", Test::Is("appliance".into())),
            ]
        );
    }

    #[test]
    fn none_and_any_in_text_fields() {
        let test = |text: &str| first_test(Kind::Inventory, text);
        assert_eq!(test("name:set"), Test::Has("set".into()));
        assert_eq!(test("name:none"), Test::Has("none".into()), "it always has one");
        assert_eq!(test("notes:\"none\""), Test::Has("none".into()));
        assert_eq!(test("notes!=set"), Test::HasNot("set".into()));
        assert_eq!((test("notes:none"), test("notes:any")), (Test::Unset, Test::Set));
        assert_eq!((test("value:set"), test("room:unset")), (Test::Set, Test::Unset));
        assert_eq!(test("room:\"none\""), Test::Unset);
    }

    #[test]
    fn not_equal_negates_the_colon() {
        let test = first_test;
        assert_eq!(test(Kind::Inventory, "room!=garage"), Test::HasNot("garage".into()));
        assert_eq!(test(Kind::Task, "about!=outback"), Test::HasNot("outback".into()));
        assert_eq!(test(Kind::Task, "title!=boiler"), Test::HasNot("boiler".into()));
        assert_eq!(test(Kind::Task, "status!=done"), Test::IsNot("done".into()));
        assert_eq!(test(Kind::Inventory, "value>=1.299,50"), Test::AtLeast("1299.50".into()));
        assert_eq!(test(Kind::Inventory, "qty>1'000"), Test::Above("1000".into()));
    }

    #[test]
    fn unknown_part_is_a_fault_without_condition() {
        for (text, words) in [
            ("colour:red", "there is no field colour"),
            ("deu_on<fri", "there is no field deu_on; the nearest is due"),
            ("due<someday", "someday is no day"),
            ("completed:tue 1 dec", "tue 1 dec is no day"),
            ("status:broken", "status is one of open, doing, done"),
            ("cost>much", "much is no sum"),
            ("cost>1.299", "1.299 is no sum: try 1299, 1,299.50 or 1299,50"),
            ("cost:100.000", "100.000 is no sum"),
            ("is:nice", "is: takes"),
            ("is!=open", "is takes no sign but the colon: is:waiting, is:overdue, is:open, is:done, is:doing"),
            ("is<open", "is takes no sign but the colon"),
            ("about>garage", "about cannot be more or less: write about: or about!="),
            ("status<done", "status cannot be more or less: write status: or status!="),
        ] {
            let filter = parsed(Kind::Task, text);
            assert!(filter.fault.as_deref().unwrap().contains(words), "{:?}", filter.fault);
            assert_eq!(filter.conditions, []);
        }
        assert_eq!(parsed(Kind::Task, "due:\"dec 24\" x"), parsed(Kind::Task, "due:dec 24 x"));
        assert_eq!(parsed(Kind::Task, "pipe 5\" long").words, "pipe 5 long");
        // Unfinished conditions.
        for nothing in ["status:", "status:\"\"", "due:\"\"", "due:\""] {
            assert_eq!(parsed(Kind::Task, nothing), Filter::default(), "{nothing}");
        }
        assert_eq!(parsed(Kind::Task, "status:\"op"), parsed(Kind::Task, "status:op"));
    }

    #[test]
    fn day_leaves_following_words_alone() {
        let is = Condition::field;
        let both = [is("due_on", Test::Below("2027-01-01".into())), is("status", Test::Is("done".into()))];
        assert_eq!(parsed(Kind::Task, "due<1.1.2027 status:done").conditions, both);
        assert_eq!(parsed(Kind::Task, "due<1.1.2027 rent").words, "rent");
    }

    #[test]
    fn priority_range_excludes_the_other_side() {
        let without = |text: &str| {
            let not = |condition: Condition| match condition {
                Condition::Field { test: Test::IsNot(word), .. } => word,
                other => panic!("{other:?}"),
            };
            parsed(Kind::Task, text).conditions.into_iter().map(not).collect::<Vec<_>>()
        };
        assert_eq!(without("priority>=high"), ["low", "medium"]);
        assert_eq!(without("priority>high"), ["low", "medium", "high"]);
        assert_eq!(without("priority<medium"), ["medium", "high", "urgent"]);
        assert_eq!(without("priority<=urgent"), [""; 0]);
    }

    #[test]
    fn timestamp_is_compared_by_day() {
        let test = |text: &str| first_test(Kind::Task, text);
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
    fn day_without_year_looks_in_the_direction_of_its_field() {
        let test = first_test;
        assert_eq!(test(Kind::Document, "issued:1 dec"), Test::Is("2025-12-01".into()));
        assert_eq!(test(Kind::Document, "expires:1 dec"), Test::Is("2026-12-01".into()));
        assert_eq!(test(Kind::Inventory, "purchase_date>=3 jan"), Test::AtLeast("2026-01-03".into()));
        assert_eq!(test(Kind::Task, "completed>mon"), Test::Above("2026-11-16".into()));
    }

    #[test]
    fn case_is_ignored_and_quoted_signs_are_letters() {
        for (typed, meant) in [("is:Open", "is:open"), ("due:None", "due:none"), ("Due:ANY", "due:any")] {
            assert_eq!(parsed(Kind::Task, typed), parsed(Kind::Task, meant), "{typed}");
        }
        assert_eq!(parsed(Kind::Task, "\"10:30\" call").words, "10:30 call");
        assert_eq!(parsed(Kind::Task, "\"10:30").words, "10:30", "still being typed");
    }

    #[test]
    fn is_accepts_states() {
        assert_eq!(parsed(Kind::Task, "is:overdue").conditions.len(), 2);
        assert_eq!(parsed(Kind::Room, "is:waiting").conditions, [Condition::field(WAITING, Test::Set)]);
        for text in ["status:doing", "is:doing", "status:in_progress", "status:\"in progress\"", "status:doi"] {
            let is_doing = Condition::field("status", Test::Is("in_progress".into()));
            assert_eq!(parsed(Kind::Task, text).conditions, [is_doing], "{text}");
        }
        assert_eq!(parsed(Kind::Task, "status:do"), parsed(Kind::Task, "status:done"));
        assert_eq!(parsed(Kind::Task, "is:ov"), parsed(Kind::Task, "is:overdue"));
    }
}
