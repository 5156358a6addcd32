//! Conditions on rows as SQL. Values are always bound, and names come from the resource table. Must not know how a person types
//! a filter.

use hearth_contract::formats::parse_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{COMMON, Format, Kind, SUBJECT_TYPE, SUBJECTS};
use rusqlite::types::Value as Sql;

use super::HAS_SERVER;
use crate::store::schema::worth::{WORTH, worth_sql};

/// A condition on a row. A row is listed when all conditions of its query hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A value passes a test.
    Field {
        /// A field of the kind, a common field such as `rev`, [`WORTH`], or [`WAITING`].
        field: &'static str,
        /// The test that the value must pass.
        test: Test,
    },
    /// Each of these conditions holds.
    All(Vec<Condition>),
    /// At least one of these conditions holds.
    Any(Vec<Condition>),
}

impl Condition {
    /// The condition that a field passes a test.
    pub const fn field(field: &'static str, test: Test) -> Condition {
        Condition::Field { field, test }
    }
}

/// A test of a value. Dates compare as days, sums and counts as numbers. A time that is compared with a day counts as its local
/// day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// The value is equal; upper and lower case count as equal.
    Is(String),
    /// The value is not equal, or there is none.
    IsNot(String),
    /// The value is less.
    Below(String),
    /// The value is less or equal.
    AtMost(String),
    /// The value is greater or equal.
    AtLeast(String),
    /// The value is greater.
    Above(String),
    /// The value contains this text. A reference passes when the title of its record contains the text.
    Has(String),
    /// The value does not contain this text, or there is none.
    HasNot(String),
    /// There is a value.
    Set,
    /// There is no value.
    Unset,
}

/// The name of the pseudo field that is set when the record has unconfirmed edits and the home has a server.
pub const WAITING: &str = "waiting";

/// The condition as SQL over the row `t`. Appends the parameters to `values`. A field that the kind does not have never passes.
pub(super) fn condition_sql(kind: Kind, condition: &Condition, values: &mut Vec<Sql>) -> String {
    let mut joined = |all: &[Condition], word: &str| {
        let parts: Vec<String> = all.iter().map(|one| condition_sql(kind, one, values)).collect();
        format!("({})", parts.join(word))
    };
    match condition {
        // An empty list would be no SQL.
        Condition::All(all) if all.is_empty() => "1".to_owned(),
        Condition::Any(all) if all.is_empty() => "0".to_owned(),
        Condition::All(all) => joined(all, " AND "),
        Condition::Any(all) => joined(all, " OR "),
        Condition::Field { field, test } => test_sql(kind, field, test, values),
    }
}

/// The test of a field as SQL.
fn test_sql(kind: Kind, name: &str, test: &Test, values: &mut Vec<Sql>) -> String {
    if name == WAITING {
        let not = if *test == Test::Unset { "NOT " } else { "" };
        let edits = format!("SELECT 1 FROM edits e WHERE e.record_id = t.id AND e.kind = '{kind}' AND {HAS_SERVER}");
        return format!("{not}EXISTS ({edits})");
    }
    let format = resource(kind).field(name).map(|field| field.format);
    let worth = worth_sql(kind, "t.").filter(|_| name == WORTH);
    if format.is_none() && !COMMON.contains(&name) && worth.is_none() {
        return "0".to_owned();
    }
    let number =
        name == "rev" || worth.is_some() || format.is_some_and(|format| format.is_integer() || format == Format::Money);
    // In units of money, as people type a sum.
    let column = worth.map_or_else(|| format!("t.{name}"), |cents| format!("({cents}) / 100"));
    let mut bind = |value: String| {
        values.push(Sql::Text(value));
        format!("?{}", values.len())
    };
    let mut compare = |sign: &str, value: &String| {
        let is_day = format == Some(Format::Timestamp) && parse_date(value).is_some();
        let value = bind(value.clone());
        match number {
            true => format!("CAST({column} AS REAL) {sign} CAST({value} AS REAL)"),
            false if is_day => format!("date(t.{name}, 'localtime') {sign} {value}"),
            false => format!("t.{name} COLLATE NOCASE {sign} {value}"),
        }
    };
    let is_text = !number && format != Some(Format::Timestamp);
    match test {
        Test::Is(text) if is_text => format!("t.{name} GLOB {}", bind(pattern(text))),
        Test::IsNot(text) if is_text => format!("(t.{name} GLOB {}) IS NOT 1", bind(pattern(text))),
        Test::Is(value) => compare("=", value),
        Test::IsNot(value) => format!("({}) IS NOT 1", compare("=", value)),
        Test::Below(value) => compare("<", value),
        Test::AtMost(value) => compare("<=", value),
        Test::AtLeast(value) => compare(">=", value),
        Test::Above(value) => compare(">", value),
        Test::Set => format!("{column} IS NOT NULL"),
        Test::Unset => format!("{column} IS NULL"),
        Test::Has(text) | Test::HasNot(text) => {
            let part = bind(format!("*{}*", pattern(text)));
            let named = |target: Kind| {
                let title = resource(target).title;
                format!("t.{name} IN (SELECT id FROM {} WHERE {title} GLOB {part})", target.collection())
            };
            let has = match format {
                Some(Format::Reference(target)) => named(target),
                Some(Format::Subject) => {
                    let any: Vec<String> =
                        SUBJECTS.map(|k| format!("(t.{SUBJECT_TYPE} = '{k}' AND {})", named(k))).into();
                    // A subject type only matches as a whole word, because a part of it is more often a part of a title.
                    format!("({} OR t.{SUBJECT_TYPE} GLOB {})", any.join(" OR "), bind(pattern(text)))
                }
                _ => format!("t.{name} GLOB {part}"),
            };
            if matches!(test, Test::HasNot(_)) { format!("({has}) IS NOT 1") } else { has }
        }
    }
}

/// A GLOB pattern that matches the text in upper and lower case. SQLite's own comparisons ignore case only in ASCII.
fn pattern(text: &str) -> String {
    let mut pattern = String::new();
    for letter in text.chars() {
        let (mut lower, mut upper) = (letter.to_lowercase(), letter.to_uppercase());
        match (lower.next(), lower.next(), upper.next(), upper.next()) {
            (Some(lower), None, Some(upper), None) if lower != upper => {
                pattern.extend(['[', letter, lower, upper, ']']);
            }
            _ if matches!(letter, '*' | '?' | '[') => pattern.extend(['[', letter, ']']),
            _ => pattern.push(letter),
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde_json::json;

    use super::*;
    use crate::store::tests::Local;

    #[test]
    fn has_not_includes_records_without_value() {
        let home = Local::new();
        let garage = home.make(Kind::Room, json!({ "name": "Garage" }));
        let attic = home.make(Kind::Room, json!({ "name": "Attic" }));
        for (name, room) in [("Saw", Some(&garage)), ("Trunk", Some(&attic)), ("Lamp", None)] {
            home.make(Kind::Inventory, json!({ "name": name, "room_id": room }));
            let kind = room.map(|_| "room");
            home.make(Kind::Task, json!({ "title": name, "subject_type": kind, "subject_id": room }));
        }
        let titles = |kind, column, field, test| home.titles(kind, column, false, vec![Condition::field(field, test)]);
        for (kind, column, field) in [(Kind::Inventory, "name", "room_id"), (Kind::Task, "title", "subject_id")] {
            assert_eq!(titles(kind, column, field, Test::Has("gar".into())), ["Saw"]);
            assert_eq!(titles(kind, column, field, Test::HasNot("gar".into())), ["Lamp", "Trunk"]);
        }
        assert_eq!(titles(Kind::Inventory, "name", "name", Test::HasNot("a".into())), ["Trunk"]);
    }

    #[test]
    fn time_compared_with_day_uses_local_day() {
        let connection = Connection::open_in_memory().unwrap();
        // The local day is the same in almost every time zone.
        let moment = "2026-11-21T10:30:00.000Z";
        let holds = |test: Test| {
            let mut values = Vec::new();
            let condition = condition_sql(Kind::Task, &Condition::field("completed_at", test), &mut values);
            let text = format!("SELECT {condition} FROM (SELECT '{moment}' AS completed_at) t");
            connection.query_row(&text, rusqlite::params_from_iter(values), |row| row.get::<_, bool>(0)).unwrap()
        };
        let [before, day, after] = ["2026-11-20", "2026-11-21", "2026-11-22"].map(str::to_owned);
        assert!(holds(Test::Is(day.clone())) && !holds(Test::Is(before.clone())));
        assert!(!holds(Test::IsNot(day.clone())) && holds(Test::IsNot(after.clone())));
        assert!(holds(Test::AtMost(day.clone())) && !holds(Test::Below(day.clone())));
        assert!(holds(Test::AtLeast(day.clone())) && !holds(Test::Above(day)));
        assert!(holds(Test::Above(before)) && holds(Test::Below(after)));
        assert!(holds(Test::Is(moment.to_owned())), "a time compares with a time");
    }

    #[test]
    fn filter_ignores_case_beyond_ascii() {
        let home = Local::new();
        let stairs = home.make(Kind::Room, json!({ "name": "Überdachte Treppe" }));
        let tank = json!({ "title": "Öltank prüfen", "subject_type": "room", "subject_id": stairs });
        home.make(Kind::Task, tank);
        home.make(Kind::Task, json!({ "title": "Sweep" }));
        let titles = |field, test| home.titles(Kind::Task, "title", false, vec![Condition::field(field, test)]);
        for (field, text) in [("title", "öl"), ("title", "ÖLTANK PRÜ"), ("subject_id", "ÜBER"), ("subject_id", "über")]
        {
            assert_eq!(titles(field, Test::Has(text.into())), ["Öltank prüfen"], "{field}:{text}");
            assert_eq!(titles(field, Test::HasNot(text.into())), ["Sweep"], "{field}!={text}");
        }
        for (text, found) in [("[2*]?", true), ("2*", true), ("2**", false), ("]?", true), ("^", true), ("[^", false)] {
            let title = "Tank [2*]? ^";
            let mut values = Vec::new();
            let condition = condition_sql(Kind::Task, &Condition::field("title", Test::Has(text.into())), &mut values);
            let text = format!("SELECT {condition} FROM (SELECT '{title}' AS title) t");
            let connection = Connection::open_in_memory().unwrap();
            let has = connection.query_row(&text, rusqlite::params_from_iter(values), |row| row.get::<_, bool>(0));
            assert_eq!(has.unwrap(), found, "{text}");
        }
        assert_eq!(titles("title", Test::Is("öltank PRÜFEN".into())), ["Öltank prüfen"]);
        assert_eq!(titles("title", Test::IsNot("öltank PRÜFEN".into())), ["Sweep"]);
    }

    #[test]
    fn subject_matches_title_part_or_whole_type() {
        let home = Local::new();
        for (kind, word, name) in [
            (Kind::Inventory, "inventory", "Vent fan"),
            (Kind::Inventory, "inventory", "Drill"),
            (Kind::Room, "room", "Hall"),
        ] {
            let id = home.make(kind, json!({ "name": name }));
            home.make(Kind::Task, json!({ "title": format!("Oil {name}"), "subject_type": word, "subject_id": id }));
        }
        home.make(Kind::Task, json!({ "title": "Sweep", "subject_type": "home" }));
        let about = |text: &str| {
            let condition = Condition::field("subject_id", Test::Has(text.into()));
            home.titles(Kind::Task, "title", false, vec![condition])
        };
        assert_eq!(about("vent"), ["Oil Vent fan"]);
        assert_eq!(about("oo"), [""; 0]);
        assert_eq!(about("Room"), ["Oil Hall"], "a type matches as a whole word");
        assert_eq!(about("home"), ["Sweep"]);
    }

    #[test]
    fn any_lists_rows_of_each_condition() {
        let home = Local::new();
        for room in ["Kitchen", "Attic", "Garage"] {
            let id = home.make(Kind::Room, json!({ "name": room }));
            home.make(Kind::Inventory, json!({ "name": format!("Lamp of the {room}"), "room_id": id }));
        }
        let titles = |conditions| home.titles(Kind::Inventory, "name", true, conditions);
        let room = |text: &str| Condition::field("room_id", Test::Has(text.into()));
        let either = Condition::Any(vec![room("kitch"), room("attic")]);
        assert_eq!(titles(vec![either.clone()]), ["Lamp of the Kitchen", "Lamp of the Attic"]);
        let named = Condition::field("name", Test::Has("attic".into()));
        assert_eq!(titles(vec![either.clone(), named.clone()]), ["Lamp of the Attic"]);
        assert_eq!(titles(vec![Condition::All(vec![either, named])]), ["Lamp of the Attic"]);
        assert_eq!(titles(vec![Condition::Any(Vec::new())]), [""; 0]);
    }

    #[test]
    fn worth_is_value_or_price_times_quantity() {
        let home = Local::new();
        home.make(
            Kind::Inventory,
            json!({ "name": "Chairs", "quantity": 8, "current_value": "130.50", "purchase_price": "900.00" }),
        );
        home.make(Kind::Inventory, json!({ "name": "Glasses", "quantity": 12, "purchase_price": "3.10" }));
        home.make(Kind::Inventory, json!({ "name": "Heirloom" }));
        home.make(Kind::Inventory, json!({ "name": "Used up", "quantity": 0, "purchase_price": "40.00" }));
        let titles = |column, test| home.titles(Kind::Inventory, column, true, vec![Condition::field(WORTH, test)]);
        assert_eq!(titles(WORTH, Test::Set), ["Chairs", "Glasses", "Used up"]);
        assert_eq!(titles(WORTH, Test::Is("1044".into())), ["Chairs"]);
        assert_eq!(titles(WORTH, Test::Below("37.21".into())), ["Glasses", "Used up"]);
        assert_eq!(titles("name", Test::Unset), ["Heirloom"]);
    }
}
