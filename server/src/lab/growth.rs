//! A believable home of any size, record after record: rooms first, so that whatever refers to a record comes after it.
//! The same seed, number and day give the same records with the same ids. Pure.

use fastrand::Rng;
use hearth_contract::check::{Intent, check};
use hearth_contract::command::Command;
use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use time::{Date, Duration};
use uuid::Uuid;

use super::goods::{ERRANDS, FAMILY, GOODS, PAINTS, money};

/// Sorts of rooms, with the name that the first of each sort has.
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

/// Cars: make, model, fuel, and the first year in which they were built so.
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

/// What has a serial number.
const NUMBERED: [&str; 4] = ["tool", "appliance", "electronics", "sports"];

/// The moment in the ids of invented records, in milliseconds: the same on every day, and before any real one.
const ID_MOMENT: u64 = 1_767_225_600_000;

/// Records of an invented home as commands that create them.
pub struct Growth {
    dice: Rng,
    today: Date,
    /// How many of each kind there will be, in the order in which they are made.
    wanted: [(Kind, usize); 5],
    made: usize,
    rooms: Vec<Uuid>,
    vehicles: Vec<Uuid>,
    items: Vec<Uuid>,
}

impl Growth {
    /// `records` in all: few rooms, a car for every two thousand things, the rest things, papers and tasks.
    pub fn new(seed: u64, records: usize, today: Date) -> Growth {
        let rooms = (records / 12).clamp(1, 8 + records / 2000).min(records);
        let vehicles = ((records - rooms) / 15).min(1 + records / 2000);
        let rest = records - rooms - vehicles;
        let (documents, tasks) = (rest * 3 / 10, rest * 3 / 10);
        let items = rest - documents - tasks;
        let wanted = [
            (Kind::Room, rooms),
            (Kind::Vehicle, vehicles),
            (Kind::Inventory, items),
            (Kind::Document, documents),
            (Kind::Task, tasks),
        ];
        let (rooms, vehicles, items) = (Vec::new(), Vec::new(), Vec::new());
        Growth { dice: Rng::with_seed(seed), today, wanted, made: 0, rooms, vehicles, items }
    }

    /// The kind of the next record, and how many of its kind there are already.
    fn next_kind(&self) -> Option<(Kind, usize)> {
        let mut left = self.made;
        for (kind, wanted) in self.wanted {
            match left.checked_sub(wanted) {
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
            "name": name, "room_type": sort, "floor": floor, "area_sq_ft": self.dice.i64(60..420),
            "paint_color": self.pick(&PAINTS), "flooring": self.pick(&["oak", "tile", "carpet", "concrete", "linoleum"]),
        })
    }

    fn vehicle(&mut self, nth: usize) -> Value {
        let (make, model, fuel, since) = CARS[nth % CARS.len()];
        let year = self.dice.i64(since..=i64::from(self.today.year()).max(since));
        json!({
            "name": format!("{} {model}", self.pick(&PAINTS)), "make": make, "model": model, "year": year, "fuel_type": fuel,
            "odometer": self.dice.i64(500..180_000), "license_plate": format!("HH {:04}", self.dice.u32(..10_000)),
            "insurance_provider": "Alster Mutual", "insurance_expires_on": self.day(1, 365),
            "registration_expires_on": self.day(1, 700),
        })
    }

    fn item(&mut self) -> Value {
        let good = &GOODS[self.dice.usize(..GOODS.len())];
        let make = self.pick(good.makes);
        let price = self.dice.u32(good.price.0..good.price.1);
        let worth = price * self.dice.u32(20..101) / 100;
        let supply = good.category == "consumable";
        let bought = self.dice.i64(10..2900);
        let number = format!("{:08X}", self.dice.u32(..));
        json!({
            "name": format!("{make} {}", decapitalised(good.name)), "room_id": self.one_of_rooms(), "category": good.category,
            "make": make, "model": format!("{}-{}", &make[..1], self.dice.u32(100..9999)),
            "serial_number": NUMBERED.contains(&good.category).then_some(number),
            "quantity": if supply { self.dice.i64(1..24) } else { 1 },
            "condition": if supply { "new" } else { self.pick(&["new", "good", "good", "good", "fair", "poor"]) },
            "purchase_date": self.day(-bought, -bought + 1), "purchase_price": self.price(price), "current_value": money(worth),
            "purchased_from": self.pick(&["Fenwick Appliance & TV", "Hollis Hardware", "the flea market", "a neighbour"]),
            "warranty_expires_on": (!supply).then(|| self.day(730 - bought, 731 - bought)),
        })
    }

    fn document(&mut self) -> Value {
        let sort = self.pick(&["receipt", "manual", "warranty", "insurance", "contract", "inspection", "tax"]);
        let (issued, amount) = (self.day(-2500, 0), self.dice.u32(5..2000));
        let mut body = json!({
            "title": format!("{}{} of {issued}", sort[..1].to_uppercase(), &sort[1..]), "category": sort, "issued_on": issued,
            "file_name": format!("scan-{:05}.pdf", self.dice.u32(..100_000)), "content_type": "application/pdf",
            "size_bytes": self.dice.i64(9_000..4_000_000), "amount": self.price(amount),
        });
        self.give_subject(&mut body);
        body
    }

    fn task(&mut self, nth: usize) -> Value {
        let done = self.dice.u8(..10) < 6;
        let mut body = json!({
            "title": format!("{}{}", self.pick(&ERRANDS), if nth < ERRANDS.len() { String::new() } else { format!(", no. {}", nth + 1) }),
            "priority": self.pick(&["low", "medium", "medium", "high", "urgent"]),
            "status": if done { "done" } else { self.pick(&["open", "open", "open", "in_progress"]) },
            "assignee": self.pick(&FAMILY), "due_on": if done { self.day(-900, 0) } else { self.day(-30, 90) },
            "estimated_cost": money(self.dice.u32(..300)),
            // One that is done and comes again would bring the next of it with it, and that is one record more.
            "recurrence": (!done && self.dice.u8(..4) == 0).then(|| self.pick(&["weekly", "monthly", "quarterly", "yearly"])),
            "notes": format!("{} said this can wait until after {}.", self.pick(&FAMILY), self.day(-20, 20)),
        });
        self.give_subject(&mut body);
        body
    }

    /// Most papers and tasks are about a thing, some about a car, the others about nothing in particular.
    fn give_subject(&mut self, body: &mut Value) {
        let (word, among) =
            if self.dice.u8(..10) == 0 { ("vehicle", &self.vehicles) } else { ("inventory", &self.items) };
        if !among.is_empty() && self.dice.u8(..10) < 7 {
            body["subject_id"] = among[self.dice.usize(..among.len())].to_string().into();
            body["subject_type"] = word.into();
        }
    }

    fn one_of_rooms(&mut self) -> Value {
        if self.rooms.is_empty() {
            Value::Null
        } else {
            self.rooms[self.dice.usize(..self.rooms.len())].to_string().into()
        }
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.dice.usize(..words.len())]
    }

    /// What a shop asks for something of about so many whole units.
    fn price(&mut self, units: u32) -> String {
        format!("{units}.{}", self.pick(&["00", "00", "49", "50", "90", "95", "99"]))
    }

    fn day(&mut self, from: i64, to: i64) -> String {
        let days = self.dice.i64(from..to);
        format_date(self.today.checked_add(Duration::days(days)).unwrap_or(self.today))
    }
}

impl Iterator for Growth {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        let (kind, nth) = self.next_kind()?;
        let id = id(&mut self.dice, ID_MOMENT + self.made as u64);
        self.made += 1;
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

/// An id (UUIDv7) whose chance comes from a seed.
pub(super) fn id(dice: &mut Rng, millis: u64) -> Uuid {
    let mut bytes = [0; 10];
    dice.fill(&mut bytes);
    uuid::Builder::from_unix_timestamp_millis(millis, &bytes).into_uuid()
}

fn decapitalised(name: &str) -> String {
    let mut letters = name.chars();
    // What begins with several capitals is a code, such as AA.
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

    fn grown(seed: u64, records: usize) -> Vec<Command> {
        Growth::new(seed, records, parse_date("2026-11-21").unwrap()).collect()
    }

    #[test]
    fn a_home_has_as_many_records_as_were_wanted_each_of_them_valid() {
        for records in [0, 1, 2, 3, 7, 50, 3000] {
            let home = grown(1, records);
            assert_eq!(home.len(), records);
            let mut known = HashSet::new();
            for command in &home {
                let Command::Create { kind, body } = command else { panic!("{command:?}") };
                assert_eq!(body.faults, [], "{:?}", body.fields);
                for (field, _, target) in references(*kind, &body.fields) {
                    assert!(known.contains(&target), "{kind} names by {} what is not made yet", field.name);
                }
                assert!(known.insert(body.id.unwrap()), "an id comes once");
            }
        }
    }

    #[test]
    fn the_same_seed_is_the_same_home() {
        assert_eq!(grown(7, 400), grown(7, 400));
        let ids = |home: Vec<Command>| -> HashSet<_> {
            home.into_iter().filter_map(|c| if let Command::Create { body, .. } = c { body.id } else { None }).collect()
        };
        assert!(ids(grown(7, 400)).is_disjoint(&ids(grown(8, 400))));
    }

    #[test]
    fn what_is_made_could_be_so() {
        let (mut recurring, mut odd_prices) = (0, 0);
        for command in grown(1, 10_000) {
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
                    assert_ne!(word("status"), Some("done"), "its next would be one record more");
                    recurring += 1;
                }
                _ => (),
            }
        }
        assert!(recurring > 100 && odd_prices > 1000, "{recurring} tasks, {odd_prices} prices");
    }

    #[test]
    fn most_of_a_home_is_things_papers_and_tasks() {
        let mut counts: HashMap<Kind, usize> = HashMap::new();
        for command in grown(1, 10_000) {
            let Command::Create { kind, .. } = command else { continue };
            *counts.entry(kind).or_default() += 1;
        }
        assert!(counts[&Kind::Room] < 20 && counts[&Kind::Vehicle] < 20, "{counts:?}");
        for kind in [Kind::Inventory, Kind::Document, Kind::Task] {
            assert!(counts[&kind] > 2500, "{counts:?}");
        }
    }
}
