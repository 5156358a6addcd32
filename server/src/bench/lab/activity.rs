//! Simulated activity of a family: which record of a home to change next, and how. Pure: randomness, the date and the
//! visible records are arguments. Must not know stores or HTTP, because a server and a replica both use this file.

use fastrand::Rng;
use hearth_contract::check::Fields;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use time::{Date, Duration};

use super::catalog::{PAINTS, PEOPLE, PRODUCTS, TASK_TITLES, money};

/// A record that the family sees.
#[derive(Debug, Clone, PartialEq)]
pub struct VisibleRecord {
    /// The UUID as text.
    pub id: String,
    /// All fields of the record.
    pub fields: Fields,
}

/// A change of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The kind of the record.
    pub kind: Kind,
    /// The change itself.
    pub action: Action,
}

/// How a change affects its record.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Creates a record with these fields.
    Create(Fields),
    /// Sets these fields of the record with this id. The id is empty for the property.
    Update(String, Fields),
    /// Deletes the record with this id.
    Delete(String),
}

/// Returns some records of a kind around a relative position in the home, from 0 to 1.
pub type RecordSource<'a, E> = &'a mut dyn FnMut(Kind, f64) -> Result<Vec<VisibleRecord>, E>;

/// The habits of a family with their weights, in percent.
const HABITS: [(u8, Habit); 20] = [
    (14, Habit::AddTask),
    (13, Habit::StartTask),
    (13, Habit::FinishTask),
    (7, Habit::AssignTask),
    (8, Habit::PostponeTask),
    (3, Habit::AddNote),
    (9, Habit::Drive),
    (7, Habit::UseSupply),
    (3, Habit::Restock),
    (5, Habit::BuyItem),
    (4, Habit::FileDocument),
    (4, Habit::MoveItem),
    (2, Habit::Appraise),
    (3, Habit::DeleteDoneTask),
    (1, Habit::DeleteItem),
    (1, Habit::PaintRoom),
    (1, Habit::ServiceHeating),
    (1, Habit::RenewInsurance),
    (1, Habit::AddRoom),
    (1, Habit::DeleteRoom),
];

#[derive(Clone, Copy)]
enum Habit {
    AddTask,
    StartTask,
    FinishTask,
    AssignTask,
    PostponeTask,
    AddNote,
    Drive,
    UseSupply,
    Restock,
    BuyItem,
    FileDocument,
    MoveItem,
    Appraise,
    DeleteDoneTask,
    /// Documents and tasks of the item lose their subject.
    DeleteItem,
    PaintRoom,
    ServiceHeating,
    RenewInsurance,
    AddRoom,
    /// Items in the room lose their room.
    DeleteRoom,
}

/// The next change of the family. None: no visible record fits the habit. Equal random numbers on equal records give
/// equal changes.
pub fn next_change<E>(rng: &mut Rng, today: Date, source: RecordSource<'_, E>) -> Result<Option<Change>, E> {
    let (habit, place) = (pick_habit(rng), rng.f64());
    let mut records_of = |kind: Kind| source(kind, place);
    Ok(match habit {
        Habit::AddTask => Some(create(Kind::Task, new_task(rng, today))),
        Habit::StartTask | Habit::FinishTask | Habit::AssignTask | Habit::PostponeTask | Habit::AddNote => {
            change_task(rng, today, habit, records_of(Kind::Task)?)
        }
        Habit::Drive => drive(rng, records_of(Kind::Vehicle)?),
        Habit::UseSupply => use_supply(rng, records_of(Kind::Inventory)?),
        Habit::Restock => restock(rng, records_of(Kind::Inventory)?),
        Habit::BuyItem => Some(create(Kind::Inventory, new_item(rng, today, records_of(Kind::Room)?))),
        Habit::FileDocument => {
            any(rng, records_of(Kind::Inventory)?).map(|item| create(Kind::Document, new_document(rng, today, item)))
        }
        Habit::MoveItem => {
            let rooms = records_of(Kind::Room)?;
            move_item(rng, &rooms, records_of(Kind::Inventory)?)
        }
        Habit::Appraise => update(
            rng,
            Kind::Inventory,
            records_of(Kind::Inventory)?,
            |_| true,
            |rng, _| json!({ "current_value": money(rng.u32(5..900)), "condition": pick(rng, &["good", "fair", "poor"]) }),
        ),
        Habit::DeleteDoneTask => any_of(rng, records_of(Kind::Task)?, |task| has(task, "status", "done"))
            .map(|task| delete(Kind::Task, task)),
        Habit::DeleteItem => any(rng, records_of(Kind::Inventory)?).map(|item| delete(Kind::Inventory, item)),
        Habit::PaintRoom => {
            let paint = |rng: &mut Rng, _: &VisibleRecord| json!({ "paint_color": pick(rng, &PAINTS) });
            update(rng, Kind::Room, records_of(Kind::Room)?, |_| true, paint)
        }
        Habit::ServiceHeating => Some(service_heating(rng, today)),
        Habit::RenewInsurance => renew_insurance(rng, today, records_of(Kind::Vehicle)?),
        Habit::AddRoom => Some(create(Kind::Room, new_room(rng))),
        // Rooms of other types stay, because the generator gives each of them a role in the home.
        Habit::DeleteRoom => any_of(rng, records_of(Kind::Room)?, |room| has(room, "room_type", "other"))
            .map(|room| delete(Kind::Room, room)),
    })
}

fn pick_habit(rng: &mut Rng) -> Habit {
    let total: u32 = HABITS.iter().map(|(weight, _)| u32::from(*weight)).sum();
    let mut remainder = rng.u32(..total);
    for (weight, habit) in HABITS {
        match remainder.checked_sub(u32::from(weight)) {
            Some(smaller) => remainder = smaller,
            None => return habit,
        }
    }
    Habit::AddTask
}

fn new_task(rng: &mut Rng, today: Date) -> Fields {
    let mut fields = object(json!({
        "title": pick(rng, &TASK_TITLES), "priority": pick(rng, &["low", "low", "medium", "high"]),
        "assignee": pick(rng, &PEOPLE), "due_on": day(today, rng.i64(0..21)),
    }));
    if rng.u8(..8) == 0 {
        fields.insert("recurrence".to_owned(), pick(rng, &["weekly", "monthly"]).into());
    }
    fields
}

fn change_task(rng: &mut Rng, today: Date, habit: Habit, tasks: Vec<VisibleRecord>) -> Option<Change> {
    let is_not_done = |task: &VisibleRecord| !has(task, "status", "done");
    match habit {
        Habit::StartTask => {
            let is_open = |task: &VisibleRecord| has(task, "status", "open");
            update(rng, Kind::Task, tasks, is_open, |_, _| json!({ "status": "in_progress" }))
        }
        Habit::FinishTask => {
            let is_started = |task: &VisibleRecord| has(task, "status", "in_progress");
            update(rng, Kind::Task, tasks, is_started, |_, _| json!({ "status": "done" }))
        }
        Habit::AssignTask => update(rng, Kind::Task, tasks, is_not_done, |rng, task| {
            let others: Vec<&str> = PEOPLE.into_iter().filter(|name| !has(task, "assignee", name)).collect();
            json!({ "assignee": pick(rng, &others) })
        }),
        Habit::PostponeTask => update(rng, Kind::Task, tasks, is_not_done, |rng, _| {
            let due = day(today, rng.i64(1..30));
            json!({ "due_on": due, "priority": pick(rng, &["low", "medium", "high", "urgent"]) })
        }),
        _ => update(
            rng,
            Kind::Task,
            tasks,
            |_| true,
            |rng, task| {
                let before = task.fields.get("notes").and_then(Value::as_str).unwrap_or_default();
                // The newest note comes first; the limit drops the oldest.
                let kept: String = before.chars().take(500).collect();
                json!({ "notes": format!("{} {} asked about this.\n{kept}", format_date(today), pick(rng, &PEOPLE)) })
            },
        ),
    }
}

fn drive(rng: &mut Rng, vehicles: Vec<VisibleRecord>) -> Option<Change> {
    let fits = |car: &VisibleRecord| number(car, "odometer").is_some_and(|miles| miles < 900_000);
    update(
        rng,
        Kind::Vehicle,
        vehicles,
        fits,
        |rng, car| json!({ "odometer": number(car, "odometer").unwrap_or_default() + rng.i64(2..80) }),
    )
}

fn use_supply(rng: &mut Rng, items: Vec<VisibleRecord>) -> Option<Change> {
    let fits = |item: &VisibleRecord| number(item, "quantity").is_some_and(|quantity| quantity > 1);
    update(
        rng,
        Kind::Inventory,
        items,
        fits,
        |_, item| json!({ "quantity": number(item, "quantity").unwrap_or(2) - 1 }),
    )
}

fn restock(rng: &mut Rng, items: Vec<VisibleRecord>) -> Option<Change> {
    let fits = |item: &VisibleRecord| has(item, "category", "consumable");
    update(
        rng,
        Kind::Inventory,
        items,
        fits,
        |rng, item| json!({ "quantity": number(item, "quantity").unwrap_or(0).min(500) + rng.i64(2..12) }),
    )
}

fn new_item(rng: &mut Rng, today: Date, rooms: Vec<VisibleRecord>) -> Fields {
    let product = &PRODUCTS[rng.usize(..PRODUCTS.len())];
    let room = any(rng, rooms).map_or(Value::Null, |room| room.id.into());
    let price = rng.u32(product.price.0..product.price.1);
    object(json!({
        "name": product.name, "category": product.category, "make": pick(rng, product.makes), "room_id": room,
        "quantity": if product.category == "consumable" { rng.i64(2..9) } else { 1 }, "condition": "new",
        "purchase_date": format_date(today), "purchase_price": money(price), "current_value": money(price),
        "warranty_expires_on": day(today, 730),
    }))
}

fn new_document(rng: &mut Rng, today: Date, item: VisibleRecord) -> Fields {
    let name = item.fields.get("name").and_then(Value::as_str).unwrap_or("the thing");
    let category = pick(rng, &["receipt", "manual", "warranty"]);
    object(json!({
        "title": short(&format!("{name}, {category}")), "category": category,
        "subject_type": "inventory", "subject_id": item.id,
        "issued_on": format_date(today), "content_type": "application/pdf", "size_bytes": rng.i64(20_000..900_000),
    }))
}

fn move_item(rng: &mut Rng, rooms: &[VisibleRecord], items: Vec<VisibleRecord>) -> Option<Change> {
    update(
        rng,
        Kind::Inventory,
        items,
        |_| rooms.len() > 1,
        |rng, item| {
            let others: Vec<&VisibleRecord> = rooms.iter().filter(|room| !has(item, "room_id", &room.id)).collect();
            json!({ "room_id": others[rng.usize(..others.len())].id })
        },
    )
}

fn service_heating(rng: &mut Rng, today: Date) -> Change {
    let fields = object(json!({
        "hvac_last_serviced_on": format_date(today),
        "hvac_filter_size": pick(rng, &["16x25x4", "16x25x1", "20x25x4"]),
    }));
    Change { kind: Kind::Property, action: Action::Update(String::new(), fields) }
}

fn renew_insurance(rng: &mut Rng, today: Date, vehicles: Vec<VisibleRecord>) -> Option<Change> {
    update(
        rng,
        Kind::Vehicle,
        vehicles,
        |_| true,
        |rng, _| {
            let expires = day(today, rng.i64(180..366));
            json!({ "insurance_expires_on": expires, "insurance_policy_number": format!("AU-{:06}", rng.u32(..1_000_000)) })
        },
    )
}

fn new_room(rng: &mut Rng) -> Fields {
    let names = ["Reading nook", "Sewing corner", "Play corner", "Mudroom", "Pantry", "Workbench", "Bike shed"];
    object(json!({
        "name": pick(rng, &names), "room_type": "other", "floor": pick(rng, &["1", "2", "basement"]),
        "paint_color": pick(rng, &PAINTS),
    }))
}

/// Sets fields of one of the records that fit.
fn update(
    rng: &mut Rng,
    kind: Kind,
    records: Vec<VisibleRecord>,
    fits: impl Fn(&VisibleRecord) -> bool,
    patch: impl Fn(&mut Rng, &VisibleRecord) -> Value,
) -> Option<Change> {
    let record = any_of(rng, records, fits)?;
    let fields = object(patch(rng, &record));
    Some(Change { kind, action: Action::Update(record.id, fields) })
}

fn any(rng: &mut Rng, records: Vec<VisibleRecord>) -> Option<VisibleRecord> {
    any_of(rng, records, |_| true)
}

fn any_of(rng: &mut Rng, records: Vec<VisibleRecord>, fits: impl Fn(&VisibleRecord) -> bool) -> Option<VisibleRecord> {
    let mut fitting: Vec<VisibleRecord> = records.into_iter().filter(fits).collect();
    if fitting.is_empty() { None } else { Some(fitting.swap_remove(rng.usize(..fitting.len()))) }
}

fn create(kind: Kind, fields: Fields) -> Change {
    Change { kind, action: Action::Create(fields) }
}

fn delete(kind: Kind, record: VisibleRecord) -> Change {
    Change { kind, action: Action::Delete(record.id) }
}

fn has(record: &VisibleRecord, field: &str, value: &str) -> bool {
    record.fields.get(field).and_then(Value::as_str) == Some(value)
}

fn number(record: &VisibleRecord, field: &str) -> Option<i64> {
    record.fields.get(field).and_then(Value::as_i64)
}

fn pick<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.usize(..words.len())]
}

/// Cuts a title to 200 characters, the limit of the contract.
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

    fn visible(kind: Kind) -> Vec<VisibleRecord> {
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
        fields.into_iter().enumerate().map(|(n, fields)| VisibleRecord { id: id(n), fields: object(fields) }).collect()
    }

    fn day_of(seed: u64) -> Vec<Change> {
        let mut rng = Rng::with_seed(seed);
        let today = parse_date("2026-11-21").unwrap();
        let source = &mut |kind: Kind, _: f64| Ok::<_, Infallible>(visible(kind));
        (0..500).filter_map(|_| next_change(&mut rng, today, source).unwrap()).collect()
    }

    #[test]
    fn activity_is_seeded_and_valid() {
        let day = day_of(1);
        assert_eq!(day, day_of(1));
        assert_ne!(day, day_of(2));
        assert!(day.len() > 490, "{} of 500 turns changed no record", 500 - day.len());
        for change in &day {
            let (intent, fields) = match &change.action {
                Action::Create(fields) => (Intent::Create, fields),
                Action::Update(_, fields) => (Intent::Patch, fields),
                Action::Delete(_) => continue,
            };
            assert_eq!(check(change.kind, intent, &Value::Object(fields.clone())).faults, [], "{change:?}");
        }
        for kind in Kind::ALL {
            assert!(day.iter().any(|change| change.kind == kind), "no change of {kind}");
        }
        let deletes = day.iter().filter(|change| matches!(change.action, Action::Delete(_))).count();
        assert!((10..60).contains(&deletes), "{deletes} deletes");
    }

    #[test]
    fn empty_home_gets_only_creates() {
        let mut rng = Rng::with_seed(3);
        let source = &mut |_: Kind, _: f64| Ok::<_, Infallible>(Vec::new());
        let today = parse_date("2026-11-21").unwrap();
        let made: Vec<Change> = (0..100).filter_map(|_| next_change(&mut rng, today, source).unwrap()).collect();
        assert!(made.iter().any(|change| matches!(change.action, Action::Create(_))));
        assert!(!made.iter().any(|change| matches!(change.action, Action::Delete(_))));
    }
}
