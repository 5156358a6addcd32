//! What a family changes in its home in the course of a day, out of what it sees: a kind, and what to do with which
//! record. Pure: chance and the day are arguments; it knows neither stores nor the wire, so a server's bench and a
//! device's replica can both live by it.

use fastrand::Rng;
use hearth_contract::check::Fields;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use time::{Date, Duration};

use super::goods::{ERRANDS, FAMILY, GOODS, PAINTS, money};

/// A record as it is seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its fields.
    pub fields: Fields,
}

/// A wish to change one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Of this kind.
    pub kind: Kind,
    /// What to do.
    pub what: What,
}

/// What to do with a record.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Make it, with these fields.
    Create(Fields),
    /// Set these fields of it.
    Update(String, Fields),
    /// Delete it.
    Delete(String),
}

/// Shows some records of a kind near a place between 0 and 1, wherever the home is kept.
pub type Look<'a, E> = &'a mut dyn FnMut(Kind, f64) -> Result<Vec<Seen>, E>;

/// What turns up again and again, and how often out of a hundred times.
const HABITS: [(u8, Habit); 20] = [
    (14, Habit::Errand),
    (13, Habit::Begin),
    (13, Habit::Finish),
    (7, Habit::Assign),
    (8, Habit::Reschedule),
    (3, Habit::Note),
    (9, Habit::Drive),
    (7, Habit::Use),
    (3, Habit::Restock),
    (5, Habit::Buy),
    (4, Habit::File),
    (4, Habit::Move),
    (2, Habit::Appraise),
    (3, Habit::ClearAway),
    (1, Habit::ThrowOut),
    (1, Habit::Paint),
    (1, Habit::Service),
    (1, Habit::Insure),
    (1, Habit::Furnish),
    (1, Habit::KnockThrough),
];

#[derive(Clone, Copy)]
enum Habit {
    /// Thinks of something to buy or do.
    Errand,
    /// Starts on an open task.
    Begin,
    /// Finishes what was begun.
    Finish,
    /// Takes a task on.
    Assign,
    /// Puts a task off.
    Reschedule,
    /// Writes something down beside a task.
    Note,
    /// Comes home with the car.
    Drive,
    /// Takes one of a supply.
    Use,
    /// Fills a supply up.
    Restock,
    /// Brings a new thing home.
    Buy,
    /// Files the paper of a thing.
    File,
    /// Carries a thing to another room.
    Move,
    /// Learns what a thing is worth now.
    Appraise,
    /// Deletes a finished task.
    ClearAway,
    /// Parts with a thing; its papers and tasks become general.
    ThrowOut,
    /// Paints a room.
    Paint,
    /// Has the heating looked after.
    Service,
    /// Renews a car's insurance.
    Insure,
    /// Makes a room of its own out of a corner.
    Furnish,
    /// Gives a room up; what is in it has no room then.
    KnockThrough,
}

/// One change; None when nothing in sight suits it. The same dice in the same home give the same change.
pub fn change<E>(dice: &mut Rng, today: Date, look: Look<'_, E>) -> Result<Option<Change>, E> {
    let (habit, place) = (habit(dice), dice.f64());
    let mut see = |kind: Kind| look(kind, place);
    Ok(match habit {
        Habit::Errand => {
            let mut fields = object(json!({
                "title": pick(dice, &ERRANDS), "priority": pick(dice, &["low", "low", "medium", "high"]),
                "assignee": pick(dice, &FAMILY), "due_on": day(today, dice.i64(0..21)),
            }));
            if dice.u8(..8) == 0 {
                fields.insert("recurrence".to_owned(), pick(dice, &["weekly", "monthly"]).into());
            }
            Some(create(Kind::Task, fields))
        }
        Habit::Begin => of(dice, Kind::Task, see(Kind::Task)?, |task| has(task, "status", "open"), |_, _| json!({ "status": "in_progress" })),
        Habit::Finish => of(dice, Kind::Task, see(Kind::Task)?, |task| has(task, "status", "in_progress"), |_, _| json!({ "status": "done" })),
        Habit::Assign => of(dice, Kind::Task, see(Kind::Task)?, |task| !has(task, "status", "done"), |dice, task| {
            let others: Vec<&str> = FAMILY.into_iter().filter(|name| !has(task, "assignee", name)).collect();
            json!({ "assignee": pick(dice, &others) })
        }),
        Habit::Reschedule => of(dice, Kind::Task, see(Kind::Task)?, |task| !has(task, "status", "done"), |dice, _| {
            json!({ "due_on": day(today, dice.i64(1..30)), "priority": pick(dice, &["low", "medium", "high", "urgent"]) })
        }),
        Habit::Note => of(dice, Kind::Task, see(Kind::Task)?, |_| true, |dice, task| {
            let before = task.fields.get("notes").and_then(Value::as_str).unwrap_or_default();
            // The newest remark comes first; old ones fall off the end.
            let kept: String = before.chars().take(500).collect();
            json!({ "notes": format!("{} {} asked about this.\n{kept}", format_date(today), pick(dice, &FAMILY)) })
        }),
        Habit::Drive => of(dice, Kind::Vehicle, see(Kind::Vehicle)?, |car| number(car, "odometer").is_some_and(|so_far| so_far < 900_000), |dice, car| {
            json!({ "odometer": number(car, "odometer").unwrap_or_default() + dice.i64(2..80) })
        }),
        Habit::Use => of(dice, Kind::Inventory, see(Kind::Inventory)?, |item| number(item, "quantity").is_some_and(|left| left > 1), |_, item| {
            json!({ "quantity": number(item, "quantity").unwrap_or(2) - 1 })
        }),
        Habit::Restock => of(dice, Kind::Inventory, see(Kind::Inventory)?, |item| has(item, "category", "consumable"), |dice, item| {
            json!({ "quantity": number(item, "quantity").unwrap_or(0).min(500) + dice.i64(2..12) })
        }),
        Habit::Buy => {
            let good = &GOODS[dice.usize(..GOODS.len())];
            let room = any(dice, see(Kind::Room)?).map_or(Value::Null, |room| room.id.into());
            let price = dice.u32(good.price.0..good.price.1);
            Some(create(Kind::Inventory, object(json!({
                "name": good.name, "category": good.category, "make": pick(dice, good.makes), "room_id": room,
                "quantity": if good.category == "consumable" { dice.i64(2..9) } else { 1 }, "condition": "new",
                "purchase_date": format_date(today), "purchase_price": money(price), "current_value": money(price),
                "warranty_expires_on": day(today, 730),
            }))))
        }
        Habit::File => any(dice, see(Kind::Inventory)?).map(|item| {
            let name = item.fields.get("name").and_then(Value::as_str).unwrap_or("the thing");
            let sort = pick(dice, &["receipt", "manual", "warranty"]);
            create(Kind::Document, object(json!({
                "title": short(&format!("{name}, {sort}")), "category": sort, "subject_type": "inventory", "subject_id": item.id,
                "issued_on": format_date(today), "content_type": "application/pdf", "size_bytes": dice.i64(20_000..900_000),
            })))
        }),
        Habit::Move => {
            let rooms = see(Kind::Room)?;
            of(dice, Kind::Inventory, see(Kind::Inventory)?, |_| rooms.len() > 1, |dice, item| {
                let others: Vec<&Seen> = rooms.iter().filter(|room| !has(item, "room_id", &room.id)).collect();
                json!({ "room_id": others[dice.usize(..others.len())].id })
            })
        }
        Habit::Appraise => of(dice, Kind::Inventory, see(Kind::Inventory)?, |_| true, |dice, _| {
            json!({ "current_value": money(dice.u32(5..900)), "condition": pick(dice, &["good", "fair", "poor"]) })
        }),
        Habit::ClearAway => any_of(dice, see(Kind::Task)?, |task| has(task, "status", "done")).map(|task| delete(Kind::Task, task)),
        Habit::ThrowOut => any(dice, see(Kind::Inventory)?).map(|item| delete(Kind::Inventory, item)),
        Habit::Paint => of(dice, Kind::Room, see(Kind::Room)?, |_| true, |dice, _| json!({ "paint_color": pick(dice, &PAINTS) })),
        Habit::Service => {
            let fields = object(json!({ "hvac_last_serviced_on": format_date(today), "hvac_filter_size": pick(dice, &["16x25x4", "16x25x1", "20x25x4"]) }));
            Some(Change { kind: Kind::Property, what: What::Update(String::new(), fields) })
        }
        Habit::Insure => of(dice, Kind::Vehicle, see(Kind::Vehicle)?, |_| true, |dice, _| {
            json!({ "insurance_expires_on": day(today, dice.i64(180..366)), "insurance_policy_number": format!("AU-{:06}", dice.u32(..1_000_000)) })
        }),
        Habit::Furnish => Some(create(Kind::Room, object(json!({
            "name": pick(dice, &["Reading nook", "Sewing corner", "Play corner", "Mudroom", "Pantry", "Workbench", "Bike shed"]),
            "room_type": "other", "floor": pick(dice, &["1", "2", "basement"]), "paint_color": pick(dice, &PAINTS),
        })))),
        Habit::KnockThrough => {
            // The rooms that others are made of stay.
            any_of(dice, see(Kind::Room)?, |room| has(room, "room_type", "other")).map(|room| delete(Kind::Room, room))
        }
    })
}

fn habit(dice: &mut Rng) -> Habit {
    let total: u32 = HABITS.iter().map(|(weight, _)| u32::from(*weight)).sum();
    let mut left = dice.u32(..total);
    for (weight, habit) in HABITS {
        match left.checked_sub(u32::from(weight)) {
            Some(less) => left = less,
            None => return habit,
        }
    }
    Habit::Errand
}

/// Sets fields of one record among those that fit.
fn of(
    dice: &mut Rng,
    kind: Kind,
    seen: Vec<Seen>,
    fits: impl Fn(&Seen) -> bool,
    patch: impl Fn(&mut Rng, &Seen) -> Value,
) -> Option<Change> {
    let record = any_of(dice, seen, fits)?;
    let fields = object(patch(dice, &record));
    Some(Change { kind, what: What::Update(record.id, fields) })
}

fn any(dice: &mut Rng, seen: Vec<Seen>) -> Option<Seen> {
    any_of(dice, seen, |_| true)
}

fn any_of(dice: &mut Rng, seen: Vec<Seen>, fits: impl Fn(&Seen) -> bool) -> Option<Seen> {
    let mut fitting: Vec<Seen> = seen.into_iter().filter(fits).collect();
    if fitting.is_empty() { None } else { Some(fitting.swap_remove(dice.usize(..fitting.len()))) }
}

fn create(kind: Kind, fields: Fields) -> Change {
    Change { kind, what: What::Create(fields) }
}

fn delete(kind: Kind, record: Seen) -> Change {
    Change { kind, what: What::Delete(record.id) }
}

fn has(record: &Seen, field: &str, word: &str) -> bool {
    record.fields.get(field).and_then(Value::as_str) == Some(word)
}

fn number(record: &Seen, field: &str) -> Option<i64> {
    record.fields.get(field).and_then(Value::as_i64)
}

fn pick<'a>(dice: &mut Rng, words: &[&'a str]) -> &'a str {
    words[dice.usize(..words.len())]
}

/// A title is at most 200 characters.
fn short(text: &str) -> String {
    text.chars().take(200).collect()
}

fn day(today: Date, days: i64) -> String {
    format_date(today.checked_add(Duration::days(days)).unwrap_or(today))
}

fn object(value: Value) -> Fields {
    match value {
        Value::Object(members) => members,
        _ => Fields::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use hearth_contract::check::{Intent, check};
    use hearth_contract::formats::parse_date;

    use super::*;

    fn seen(kind: Kind) -> Vec<Seen> {
        let fields = match kind {
            Kind::Task => {
                [json!({ "status": "open" }), json!({ "status": "in_progress" }), json!({ "status": "done" })]
            }
            Kind::Inventory => [
                json!({ "name": "Salt", "quantity": 4, "category": "consumable" }),
                json!({ "name": "Drill", "quantity": 1 }),
                json!({ "name": "Bed" }),
            ],
            Kind::Vehicle => [json!({ "odometer": 10 }), json!({ "odometer": 20 }), json!({})],
            _ => [json!({ "room_type": "other" }), json!({ "room_type": "kitchen" }), json!({ "room_type": "attic" })],
        };
        let id = |n: usize| format!("00000000-0000-4000-8000-{:012}", n + 1);
        fields.into_iter().enumerate().map(|(n, fields)| Seen { id: id(n), fields: object(fields) }).collect()
    }

    fn day_of(seed: u64) -> Vec<Change> {
        let mut dice = Rng::with_seed(seed);
        let today = parse_date("2026-11-21").unwrap();
        let look = &mut |kind: Kind, _: f64| Ok::<_, Infallible>(seen(kind));
        (0..500).filter_map(|_| change(&mut dice, today, look).unwrap()).collect()
    }

    #[test]
    fn a_day_is_the_same_for_the_same_seed_and_keeps_the_contract() {
        let day = day_of(1);
        assert_eq!(day, day_of(1));
        assert_ne!(day, day_of(2));
        assert!(day.len() > 490, "{} of 500 found nothing to change", 500 - day.len());
        for change in &day {
            let (intent, fields) = match &change.what {
                What::Create(fields) => (Intent::Create, fields),
                What::Update(_, fields) => (Intent::Patch, fields),
                What::Delete(_) => continue,
            };
            assert_eq!(check(change.kind, intent, &Value::Object(fields.clone())).faults, [], "{change:?}");
        }
        for kind in Kind::ALL {
            assert!(day.iter().any(|change| change.kind == kind), "nobody changes {kind}");
        }
        let deletes = day.iter().filter(|change| matches!(change.what, What::Delete(_))).count();
        assert!((10..60).contains(&deletes), "{deletes} deletes");
    }

    #[test]
    fn an_empty_home_is_changed_by_making_things() {
        let mut dice = Rng::with_seed(3);
        let look = &mut |_: Kind, _: f64| Ok::<_, Infallible>(Vec::new());
        let today = parse_date("2026-11-21").unwrap();
        let made: Vec<Change> = (0..100).filter_map(|_| change(&mut dice, today, look).unwrap()).collect();
        assert!(made.iter().any(|change| matches!(change.what, What::Create(_))));
        assert!(!made.iter().any(|change| matches!(change.what, What::Delete(_))));
    }
}
