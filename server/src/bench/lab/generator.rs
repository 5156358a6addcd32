//! Generates realistic records for a home of any size. Rooms come first, because a record must exist before others refer
//! to the record. Equal seed, number and date give equal records with equal ids. Pure. Must not know stores.

use fastrand::Rng;
use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use time::{Date, Duration};
use uuid::Uuid;

use super::catalog::{PAINTS, PEOPLE, PRODUCTS, TASK_TITLES, money};

/// Name, `room_type` and floor of rooms. Further rooms of a type get a number.
const ROOMS: [(&str, &str, &str); 14] = [
    ("Kitchen", "kitchen", "1"),
    ("Living room", "living_room", "1"),
    ("Bedroom", "bedroom", "2"),
    ("Bathroom", "bathroom", "2"),
    ("Garage", "garage", "1"),
    ("Office", "office", "2"),
    ("Dining room", "dining_room", "1"),
    ("Laundry", "laundry", "basement"),
    ("Basement", "basement", "basement"),
    ("Attic", "attic", "attic"),
    ("Hallway", "hallway", "1"),
    ("Terrace", "outdoor", "1"),
    ("Storage", "storage", "basement"),
    ("Workshop", "other", "basement"),
];

/// Make, model, fuel type and first model year of vehicles.
const CARS: [(&str, &str, &str, i64); 8] = [
    ("Toyota", "Corolla", "hybrid", 2019),
    ("Volkswagen", "ID.3", "electric", 2020),
    ("Subaru", "Outback", "gasoline", 2008),
    ("Volvo", "V60", "plug_in_hybrid", 2013),
    ("Ford", "Transit", "diesel", 2008),
    ("Kia", "Niro", "electric", 2019),
    ("Honda", "CR-V", "gasoline", 2008),
    ("Skoda", "Octavia", "diesel", 2008),
];

/// Categories with a serial number.
const CATEGORIES_WITH_SERIAL: [&str; 4] = ["tool", "appliance", "electronics", "sports"];

/// The time in the generated UUIDv7s, in Unix milliseconds: equal on every day, and before all real ids.
const ID_TIME: u64 = 1_767_225_600_000;

/// An iterator over the commands that create the records of a generated home.
pub struct HomeGenerator {
    rng: Rng,
    today: Date,
    /// The number of records of each kind, in the order of creation.
    counts: [(Kind, usize); 5],
    /// Records generated so far.
    generated: usize,
    rooms: Vec<Uuid>,
    vehicles: Vec<Uuid>,
    items: Vec<Uuid>,
}

impl HomeGenerator {
    /// A generator of `records` records: few rooms and vehicles, the rest items, documents and tasks.
    pub fn new(seed: u64, records: usize, today: Date) -> HomeGenerator {
        let rooms = (records / 12).clamp(1, 8 + records / 2000).min(records);
        let vehicles = ((records - rooms) / 15).min(1 + records / 2000);
        let rest = records - rooms - vehicles;
        let (documents, tasks) = (rest * 3 / 10, rest * 3 / 10);
        let items = rest - documents - tasks;
        let counts = [
            (Kind::Room, rooms),
            (Kind::Vehicle, vehicles),
            (Kind::Inventory, items),
            (Kind::Document, documents),
            (Kind::Task, tasks),
        ];
        let (rooms, vehicles, items) = (Vec::new(), Vec::new(), Vec::new());
        HomeGenerator { rng: Rng::with_seed(seed), today, counts, generated: 0, rooms, vehicles, items }
    }

    /// The kind of the next record and the number of earlier records of this kind. None: all records are generated.
    fn next_kind(&self) -> Option<(Kind, usize)> {
        let mut left = self.generated;
        for (kind, count) in self.counts {
            match left.checked_sub(count) {
                Some(less) => left = less,
                None => return Some((kind, left)),
            }
        }
        None
    }

    fn room(&mut self, nth: usize) -> Value {
        let (name, sort, floor) = ROOMS[nth % ROOMS.len()];
        let again = nth / ROOMS.len();
        let name = if again == 0 { name.to_owned() } else { format!("{name} {}", again + 1) };
        json!({
            "name": name, "room_type": sort, "floor": floor, "area_sq_ft": self.rng.i64(60..420),
            "paint_color": self.pick(&PAINTS), "flooring": self.pick(&["oak", "tile", "carpet", "concrete", "linoleum"]),
        })
    }

    fn vehicle(&mut self, nth: usize) -> Value {
        let (make, model, fuel, since) = CARS[nth % CARS.len()];
        let year = self.rng.i64(since..=i64::from(self.today.year()).max(since));
        json!({
            "name": format!("{} {model}", self.pick(&PAINTS)), "make": make, "model": model, "year": year, "fuel_type": fuel,
            "odometer": self.rng.i64(500..180_000), "license_plate": format!("HH {:04}", self.rng.u32(..10_000)),
            "insurance_provider": "Alster Mutual", "insurance_expires_on": self.day(1, 365),
            "registration_expires_on": self.day(1, 700),
        })
    }

    fn item(&mut self) -> Value {
        let product = &PRODUCTS[self.rng.usize(..PRODUCTS.len())];
        let make = self.pick(product.makes);
        let price = self.rng.u32(product.price.0..product.price.1);
        let worth = price * self.rng.u32(20..101) / 100;
        let supply = product.category == "consumable";
        let bought = self.rng.i64(10..2900);
        let number = format!("{:08X}", self.rng.u32(..));
        json!({
            "name": format!("{make} {}", decapitalised(product.name)), "room_id": self.any_room(), "category": product.category,
            "make": make, "model": format!("{}-{}", &make[..1], self.rng.u32(100..9999)),
            "serial_number": CATEGORIES_WITH_SERIAL.contains(&product.category).then_some(number),
            "quantity": if supply { self.rng.i64(1..24) } else { 1 },
            "condition": if supply { "new" } else { self.pick(&["new", "good", "good", "good", "fair", "poor"]) },
            "purchase_date": self.day(-bought, -bought + 1), "purchase_price": self.price(price), "current_value": money(worth),
            "purchased_from": self.pick(&["Fenwick Appliance & TV", "Hollis Hardware", "the flea market", "a neighbour"]),
            "warranty_expires_on": (!supply).then(|| self.day(730 - bought, 731 - bought)),
        })
    }

    fn document(&mut self) -> Value {
        let category = self.pick(&["receipt", "manual", "warranty", "insurance", "contract", "inspection", "tax"]);
        let (issued, amount) = (self.day(-2500, 0), self.rng.u32(5..2000));
        let mut body = json!({
            "title": format!("{}{} of {issued}", category[..1].to_uppercase(), &category[1..]), "category": category, "issued_on": issued,
            "file_name": format!("scan-{:05}.pdf", self.rng.u32(..100_000)), "content_type": "application/pdf",
            "size_bytes": self.rng.i64(9_000..4_000_000), "amount": self.price(amount),
        });
        self.set_subject(&mut body);
        body
    }

    fn task(&mut self, nth: usize) -> Value {
        let done = self.rng.u8(..10) < 6;
        let mut body = json!({
            "title": format!("{}{}", self.pick(&TASK_TITLES), if nth < TASK_TITLES.len() { String::new() } else { format!(", no. {}", nth + 1) }),
            "priority": self.pick(&["low", "medium", "medium", "high", "urgent"]),
            "status": if done { "done" } else { self.pick(&["open", "open", "open", "in_progress"]) },
            "assignee": self.pick(&PEOPLE), "due_on": if done { self.day(-900, 0) } else { self.day(-30, 90) },
            "estimated_cost": money(self.rng.u32(..300)),
            // A recurring task that is created as done would create its successor, which is one record too many.
            "recurrence": (!done && self.rng.u8(..4) == 0).then(|| self.pick(&["weekly", "monthly", "quarterly", "yearly"])),
            "notes": format!("{} said this can wait until after {}.", self.pick(&PEOPLE), self.day(-20, 20)),
        });
        self.set_subject(&mut body);
        body
    }

    /// Gives a document or task a subject: mostly an item, sometimes a vehicle, otherwise none.
    fn set_subject(&mut self, body: &mut Value) {
        let (subject_type, ids) =
            if self.rng.u8(..10) == 0 { ("vehicle", &self.vehicles) } else { ("inventory", &self.items) };
        if !ids.is_empty() && self.rng.u8(..10) < 7 {
            body["subject_id"] = ids[self.rng.usize(..ids.len())].to_string().into();
            body["subject_type"] = subject_type.into();
        }
    }

    fn any_room(&mut self) -> Value {
        if self.rooms.is_empty() {
            Value::Null
        } else {
            self.rooms[self.rng.usize(..self.rooms.len())].to_string().into()
        }
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.rng.usize(..words.len())]
    }

    /// A realistic price of about `units` whole units: `19.95`.
    fn price(&mut self, units: u32) -> String {
        format!("{units}.{}", self.pick(&["00", "00", "49", "50", "90", "95", "99"]))
    }

    fn day(&mut self, from: i64, to: i64) -> String {
        let days = self.rng.i64(from..to);
        format_date(self.today.checked_add(Duration::days(days)).unwrap_or(self.today))
    }
}

impl Iterator for HomeGenerator {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        let (kind, nth) = self.next_kind()?;
        let id = seeded_id(&mut self.rng, ID_TIME + self.generated as u64);
        self.generated += 1;
        let body = match kind {
            Kind::Room => self.room(nth),
            Kind::Vehicle => self.vehicle(nth),
            Kind::Inventory => self.item(),
            Kind::Document => self.document(),
            Kind::Task | Kind::Property => self.task(nth),
        };
        match kind {
            Kind::Room => self.rooms.push(id),
            Kind::Vehicle => self.vehicles.push(id),
            Kind::Inventory => self.items.push(id),
            _ => (),
        }
        let mut body = check(kind, Intent::Create, &body);
        body.id = Some(id);
        Some(Command::Create { kind, body })
    }
}

/// A UUIDv7 with a time in Unix milliseconds and seeded random bits.
pub(super) fn seeded_id(rng: &mut Rng, millis: u64) -> Uuid {
    let mut bytes = [0; 10];
    rng.fill(&mut bytes);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

/// The name with a small first letter.
fn decapitalised(name: &str) -> String {
    let mut letters = name.chars();
    // A name with several capitals is an abbreviation, such as AA.
    match (letters.next(), letters.as_str().chars().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(letters).collect(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use hearth_contract::check::references;
    use hearth_contract::formats::parse_date;

    use super::*;

    fn generate(seed: u64, records: usize) -> Vec<Command> {
        HomeGenerator::new(seed, records, parse_date("2026-11-21").unwrap()).collect()
    }

    #[test]
    fn home_has_wanted_number_of_valid_records() {
        for records in [0, 1, 2, 3, 7, 50, 3000] {
            let home = generate(1, records);
            assert_eq!(home.len(), records);
            let mut known = HashSet::new();
            for command in &home {
                let Command::Create { kind, body } = command else { panic!("{command:?}") };
                assert_eq!(body.faults, [], "{:?}", body.fields);
                for (field, _, target) in references(*kind, &body.fields) {
                    assert!(
                        known.contains(&target),
                        "{} of {kind} refers to a record that does not exist yet",
                        field.name
                    );
                }
                assert!(known.insert(body.id.unwrap()), "ids are unique");
            }
        }
    }

    #[test]
    fn same_seed_generates_same_home() {
        assert_eq!(generate(7, 400), generate(7, 400));
        let ids = |home: Vec<Command>| -> HashSet<_> {
            home.into_iter().filter_map(|c| if let Command::Create { body, .. } = c { body.id } else { None }).collect()
        };
        assert!(ids(generate(7, 400)).is_disjoint(&ids(generate(8, 400))));
    }

    #[test]
    fn records_are_realistic() {
        let (mut recurring, mut odd_prices) = (0, 0);
        for command in generate(1, 10_000) {
            let Command::Create { kind, body } = command else { continue };
            let word = |name: &str| body.fields.get(name).and_then(Value::as_str);
            match kind {
                Kind::Vehicle => {
                    let year = body.fields["year"].as_i64().unwrap();
                    assert!((2008..=2026).contains(&year), "{:?}", body.fields);
                    assert!(word("fuel_type") != Some("electric") || year >= 2019, "{:?}", body.fields);
                }
                Kind::Inventory if word("category") == Some("consumable") => {
                    assert_eq!((word("serial_number"), word("warranty_expires_on")), (None, None), "{:?}", body.fields);
                }
                Kind::Inventory => odd_prices += usize::from(!word("purchase_price").unwrap().ends_with(".00")),
                Kind::Task if word("recurrence").is_some() => {
                    assert_ne!(word("status"), Some("done"), "a done recurring task creates a successor");
                    recurring += 1;
                }
                _ => (),
            }
        }
        assert!(recurring > 100 && odd_prices > 1000, "{recurring} tasks, {odd_prices} prices");
    }

    #[test]
    fn most_records_are_items_documents_tasks() {
        let mut counts: HashMap<Kind, usize> = HashMap::new();
        for command in generate(1, 10_000) {
            let Command::Create { kind, .. } = command else { continue };
            *counts.entry(kind).or_default() += 1;
        }
        assert!(counts[&Kind::Room] < 20 && counts[&Kind::Vehicle] < 20, "{counts:?}");
        for kind in [Kind::Inventory, Kind::Document, Kind::Task] {
            assert!(counts[&kind] > 2500, "{counts:?}");
        }
    }
}
