//! Tests of whole files: each product and encoding, second runs, refusals. Must not know the parts.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use super::columns::Product;
use super::locale::Locale;
use super::*;

const HOMEBOX: &[u8] = include_bytes!("../../../fixtures/import/homebox.csv");
const GROCY_PRODUCTS: &[u8] = include_bytes!("../../../fixtures/import/grocy-products.csv");
const GROCY_STOCK: &[u8] = include_bytes!("../../../fixtures/import/grocy-stock.csv");
const SNIPE_IT: &[u8] = include_bytes!("../../../fixtures/import/snipe-it-assets.csv");
const GERMAN_LATIN1: &[u8] = include_bytes!("../../../fixtures/import/spreadsheet-de-latin1.csv");
const GERMAN_UTF16: &[u8] = include_bytes!("../../../fixtures/import/spreadsheet-de-utf16.csv");
const US_EXCEL: &[u8] = include_bytes!("../../../fixtures/import/spreadsheet-us-excel.csv");

/// A home in memory.
#[derive(Default)]
struct Home {
    records: HashMap<(Kind, Uuid), Fields>,
    next: u128,
}

impl Home {
    fn plan(&mut self, bytes: &[u8], options: &Options) -> Plan {
        let draft = read(bytes, options).expect("a readable file");
        let mut existing = Existing::new(&draft);
        self.records.iter().for_each(|((kind, id), fields)| existing.offer(*kind, *id, fields));
        draft.plan(&existing, &mut || {
            self.next += 1;
            Uuid::from_u128(self.next)
        })
    }

    fn import(&mut self, bytes: &[u8], options: &Options) -> Plan {
        let plan = self.plan(bytes, options);
        for row in &plan.rows {
            let id = row.id.unwrap_or_default();
            match &row.action {
                Action::Create(fields) => drop(self.records.insert((row.kind, id), fields.clone())),
                Action::Update(fields) => self.records.entry((row.kind, id)).or_default().extend(fields.clone()),
                _ => (),
            }
        }
        plan
    }

    fn named(&self, kind: Kind, name: &str) -> &Fields {
        let is = |fields: &Fields| fields.get("name").is_some_and(|value| value == name);
        self.records.iter().find(|((known, _), fields)| *known == kind && is(fields)).expect("a record").1
    }

    fn room_of(&self, item: &str) -> Value {
        let id = self.named(Kind::Inventory, item)["room_id"].as_str().and_then(|id| id.parse().ok()).expect("a room");
        self.records[&(Kind::Room, id)]["name"].clone()
    }
}

fn counts(plan: &Plan) -> [usize; 4] {
    let Counts { created, updated, unchanged, failed } = plan.counts();
    [created, updated, unchanged, failed]
}

fn faults(plan: &Plan) -> Vec<String> {
    let fault = |row: &PlannedRow| match &row.action {
        Action::Fail(fault) => Some(format!("{} {} {fault}", row.number, fault.code.as_str())),
        _ => None,
    };
    plan.rows.iter().filter_map(fault).collect()
}

fn by_name() -> Options {
    Options { key: vec!["name".to_owned()], ..Options::default() }
}

#[test]
fn homebox_export_is_read() {
    let (mut home, options) = (Home::default(), Options::default());
    let plan = home.import(HOMEBOX, &options);
    assert_eq!((plan.tables[0].product, counts(&plan)), (Product::Homebox, [5, 0, 0, 0]), "{:?}", faults(&plan));
    let drill = home.named(Kind::Inventory, "Cordless drill");
    assert_eq!(drill["purchase_price"], "189.90");
    assert_eq!(drill["warranty_expires_on"], "2024-10-13");
    let notes = drill["notes"].as_str().expect("notes");
    assert!(notes.starts_with("Charger hums\n") && notes.contains("\nTags: tools;battery\n"), "{notes}");
    assert!(notes.ends_with("Colour: teal"), "{notes}");
    assert_eq!(home.room_of("Cordless drill"), "Garage");
    let lamp = home.named(Kind::Inventory, "Floor lamp");
    assert_eq!(
        (&lamp["purchase_price"], &lamp["purchase_date"], &lamp["quantity"]),
        (&Value::Null, &Value::Null, &json!(2))
    );
    assert_eq!(plan.tables[0].kept_out, ["HB.url"]);
    let again = home.import(HOMEBOX, &Options { key: vec!["HB.name".to_owned()], ..Options::default() });
    assert_eq!(counts(&again), [0, 0, 3, 0], "{:?}", faults(&again));
}

#[test]
fn grocy_tables_are_read_and_meet_by_name() {
    let (mut home, options) = (Home::default(), Options::default());
    let plan = home.import(GROCY_PRODUCTS, &options);
    assert_eq!((plan.tables[0].product, counts(&plan)), (Product::Grocy, [5, 0, 0, 0]), "{:?}", faults(&plan));
    assert_eq!(counts(&home.import(GROCY_PRODUCTS, &options)), [0, 0, 3, 0]);
    let plan = home.import(GROCY_STOCK, &options);
    assert_eq!(counts(&plan), [2, 1, 0, 0], "{:?}", faults(&plan));
    let rice = home.named(Kind::Inventory, "Basmati rice");
    assert_eq!((&rice["quantity"], &rice["category"]), (&json!(3), &json!("consumable")));
    let oil = home.named(Kind::Inventory, "Olive oil");
    assert_eq!(oil["quantity"], 1);
    assert!(oil["notes"].as_str().is_some_and(|notes| notes.contains("Amount: 0.75 Litre")));
    assert_eq!(home.named(Kind::Inventory, "Tea lights")["quantity"], 40);
}

#[test]
fn snipe_it_assets_are_read() {
    let mut home = Home::default();
    let plan = home.import(SNIPE_IT, &Options::default());
    assert_eq!((plan.tables[0].product, counts(&plan)), (Product::SnipeIt, [3, 0, 0, 0]), "{:?}", faults(&plan));
    let laptop = home.named(Kind::Inventory, "Study laptop");
    assert_eq!((&laptop["category"], &laptop["make"]), (&json!("electronics"), &json!("Lenovo")));
    assert_eq!((&laptop["purchase_price"], &laptop["serial_number"]), (&json!("1420.00"), &json!("PF-39XK1")));
    let printer = home.named(Kind::Inventory, "HL-L2350");
    assert_eq!(printer["notes"], "Company: Household\nCategory: Printers");
    assert_eq!(home.room_of("HL-L2350"), "Study");
    assert_eq!(plan.tables[0].kept_out, ["Checkout Type"]);
}

#[test]
fn custom_report_of_snipe_it_is_read() {
    let heading = "ID,Company,Asset Name,Asset Tag,Asset Model,Model No.,Category,Manufacturer,Serial,Purchased,Cost,Warranty,\
        Warranty Expires,Current Value,Order Number,Supplier,Location,Address,Address,City,Notes";
    let row = "7,Home,Laptop,AT-1,T14,21CF,Electronics,Lenovo,PF-1,2023-01-23,\"1,420.50\",36,2026-01-23,900.00,PO-1,Shop,Study,\
        Main Street 1,,Springfield,Dock";
    let mut home = Home::default();
    let plan = home.import(format!("{heading}\n{row}\n").as_bytes(), &Options::default());
    assert_eq!((plan.tables[0].product, counts(&plan)), (Product::SnipeIt, [2, 0, 0, 0]), "{:?}", faults(&plan));
    let laptop = home.named(Kind::Inventory, "Laptop");
    assert_eq!((&laptop["purchase_date"], &laptop["purchase_price"]), (&json!("2023-01-23"), &json!("1420.50")));
    assert_eq!(plan.tables[0].kept_out, ["ID", "Address", "Address", "City"]);
}

#[test]
fn decimal_quantity_of_homebox_is_a_note() {
    let mut home = Home::default();
    let plan = home.import(b"HB.name,HB.quantity\nRope,2.5\nHook,3.0\nBox,4\n", &Options::default());
    assert_eq!(counts(&plan), [3, 0, 0, 0], "{:?}", faults(&plan));
    let of = |name: &str| {
        (home.named(Kind::Inventory, name)["quantity"].clone(), home.named(Kind::Inventory, name)["notes"].clone())
    };
    assert_eq!(of("Rope"), (json!(1), json!("Quantity: 2.5")));
    assert_eq!(of("Hook"), (json!(3), Value::Null));
    assert_eq!(of("Box"), (json!(4), Value::Null));
}

#[test]
fn label_beside_the_name_of_its_field_is_kept_out() {
    let mut home = Home::default();
    let options = Options { kind: Some(Kind::Task), ..Options::default() };
    let room = Uuid::from_u128(3);
    home.records.insert((Kind::Room, room), json!({ "name": "Hall" }).as_object().cloned().expect("an object"));
    let text = format!("title,subject_type,subject,subject_id\nSweep,room,Hall,{room}\n");
    let plan = home.import(text.as_bytes(), &options);
    assert_eq!((counts(&plan), plan.tables[0].kept_out.len()), ([1, 0, 0, 0], 0), "{:?}", faults(&plan));
    let again = Options { key: vec!["title".to_owned()], ..options };
    assert_eq!(counts(&home.import(text.as_bytes(), &again)), [0, 0, 1, 0]);
}

#[test]
fn row_without_key_is_refused_as_double() {
    let by_serial = Options { key: vec!["serial_number".to_owned()], ..Options::default() };
    for text in ["name,serial_number\nChair,\n", "name,serial_number\n\"Chair\",\"\"\n\"Lamp\",\"\"\n"] {
        let mut home = Home::default();
        let made = counts(&home.import(text.as_bytes(), &by_serial));
        assert_eq!(counts(&home.plan(text.as_bytes(), &by_serial)), [0, 0, 0, made[0]], "{made:?}");
    }
}

#[test]
fn room_of_the_same_file_is_meant_by_its_name() {
    let mut home = Home::default();
    let file = json!({ "rooms": [{ "name": "Hall" }], "inventory": [{ "name": "Chair", "room": "hall" }] });
    assert_eq!(counts(&home.import(file.to_string().as_bytes(), &Options::default())), [2, 0, 0, 0]);
    assert_eq!(home.room_of("Chair"), "Hall");
}

#[test]
fn cells_of_products_keep_what_a_person_wrote() {
    let mut home = Home::default();
    home.import("HB.name,HB.insured,HB.field.Tested\nDrill,false,false\n".as_bytes(), &Options::default());
    assert_eq!(home.named(Kind::Inventory, "Drill")["notes"], "Tested: false");
    home.import("Product,Amount\nNails,1 234 Packs\n".as_bytes(), &Options::default());
    assert_eq!(home.named(Kind::Inventory, "Nails")["quantity"], 1234);
    let quoted = "\"name\",\"quantity\",\"\"\n\"Bowl\",\"1\",\"\"\n";
    assert_eq!(counts(&home.import(quoted.as_bytes(), &Options::default())), [1, 0, 0, 0]);
}

#[test]
fn doubled_heading_is_refused_only_where_it_is_used() {
    let refused =
        |text: &str, options: &Options| read(text.as_bytes(), options).map(drop).map_err(|error| error.message);
    let plain = Options::default();
    assert_eq!(refused("name,Colour,Colour\nChair,red,blue\n", &plain), Ok(()));
    let double = refused("name,name\nChair,Lamp\n", &plain).expect_err("one of two names");
    assert_eq!(double, "The heading has the column name twice. Rename or remove one of them.");
    let mapped = Options { mapping: vec![("Colour".to_owned(), "make".to_owned())], ..plain };
    let double = refused("name,Colour,Colour\nChair,red,blue\n", &mapped).expect_err("one of two colours");
    assert!(double.starts_with("mapping names the column Colour, but the columns Colour and Colour"), "{double}");
}

#[test]
fn german_spreadsheets_are_read_by_mapping() {
    let mapping = r#"{"Bezeichnung":"name","Raum":"room","Anzahl":"quantity","Kaufpreis":"purchase_price",
        "Gekauft am":"purchase_date","Seriennummer":"serial_number","Bemerkung":"notes"}"#;
    let mapping = Options::parse_mapping(mapping).expect("a mapping");
    for bytes in [GERMAN_LATIN1, GERMAN_UTF16] {
        let mut home = Home::default();
        let options = Options { mapping: mapping.clone(), key: vec!["Bezeichnung".to_owned()], ..Options::default() };
        let plan = home.import(bytes, &options);
        assert_eq!(counts(&plan), [5, 0, 0, 0], "{:?}", faults(&plan));
        let fridge = home.named(Kind::Inventory, "Kühlschrank");
        assert_eq!((&fridge["purchase_price"], &fridge["purchase_date"]), (&json!("1234.56"), &json!("2022-10-21")));
        // `1.299` alone has two meanings; the other cells of the column decide.
        assert_eq!(home.named(Kind::Inventory, "Waschmaschine")["purchase_price"], "1299.00");
        assert_eq!(home.named(Kind::Inventory, "Stühle")["notes"], "Bemerkung: Gebraucht;\nzwei wackeln");
        assert_eq!(counts(&home.import(bytes, &options)), [0, 0, 3, 0]);
    }
}

#[test]
fn labels_of_fields_are_headings() {
    let mut home = Home::default();
    let plan = home.import(US_EXCEL, &by_name());
    assert_eq!(counts(&plan), [4, 0, 0, 0], "{:?}", faults(&plan));
    let bench = home.named(Kind::Inventory, "Bench");
    assert_eq!((&bench["purchase_date"], &bench["condition"]), (&json!("2021-04-05"), &json!("fair")));
    assert_eq!(plan.tables[0].kept_out, ["Colour"]);
}

#[test]
fn bad_rows_name_row_column_and_value() {
    let text = "name,quantity,purchase_price,purchase_date,category\n\
        a,1,1.299,2022-10-21,tool\nb,many,2,2022-10-21,tool\nc,1,3,10/11/2022,tool\n,1,4,,tool\ne,1,5,,plant\nf,1,6,,,x\n";
    let plan = Home::default().plan(text.as_bytes(), &Options::default());
    let faults = faults(&plan);
    let starts = [
        "2 ambiguous column purchase_price, value \"1.299\": 1.299 may mean 1299 or 1.299.",
        "3 wrong_type column quantity, value \"many\":",
        "4 ambiguous column purchase_date, value \"10/11/2022\": 10/11/2022 may mean 2022-11-10 or 2022-10-11.",
        "5 not_nullable column name",
        "6 not_a_choice column category, value \"plant\":",
        "7 unknown_field The row has more cells",
    ];
    assert_eq!(faults.len(), starts.len(), "{faults:#?}");
    for (fault, start) in faults.iter().zip(starts) {
        assert!(fault.starts_with(start), "{fault}");
    }
}

#[test]
fn nameless_second_run_is_refused_as_double() {
    let mut home = Home::default();
    let text = b"name,quantity\nChair,1\nChair,1\nTable,2\n".as_slice();
    assert_eq!(counts(&home.import(text, &Options::default())), [3, 0, 0, 0]);
    let again = home.plan(text, &Options::default());
    assert_eq!(counts(&again), [0, 0, 0, 3]);
    assert!(faults(&again)[0].contains("already_exists"));
    let keyed = home.plan(text, &by_name());
    assert_eq!(counts(&keyed), [0, 0, 1, 2], "two chairs match: {:?}", faults(&keyed));
}

#[test]
fn rows_with_key_update_and_clear() {
    let mut home = Home::default();
    home.import(b"name,quantity,make,notes\nChair,1,Oak & Co,\"\"\n", &by_name());
    assert_eq!(home.named(Kind::Inventory, "Chair")["notes"], "");
    let plan = home.import(b"name,make\nChair,\n", &by_name());
    assert_eq!(plan.rows[0].action, Action::Update(json!({ "make": null }).as_object().cloned().expect("an object")));
    // A field with a default keeps its value where the cell is empty.
    assert_eq!(counts(&home.import(b"name,quantity\nChair,\n", &by_name())), [0, 0, 1, 0]);
}

#[test]
fn references_must_exist() {
    let id = Uuid::from_u128(77);
    let text = format!("name,room_id\nChair,{id}\n");
    let mut home = Home::default();
    assert_eq!(faults(&home.plan(text.as_bytes(), &by_name()))[0][..12], *"2 not_found ");
    home.records.insert((Kind::Room, id), json!({ "name": "Hall" }).as_object().cloned().expect("an object"));
    assert_eq!(counts(&home.plan(text.as_bytes(), &by_name())), [1, 0, 0, 0]);
}

#[test]
fn deleted_id_is_its_rows_failure() {
    let id = Uuid::from_u128(9);
    let draft = read(format!("id,name\n{id},Chair\n").as_bytes(), &Options::default()).expect("a draft");
    assert_eq!(draft.ids().collect::<Vec<_>>(), [(Kind::Inventory, id)]);
    let mut existing = Existing::new(&draft);
    existing.mark_used(id);
    assert_eq!(faults(&draft.plan(&existing, &mut || id))[0][..16], *"2 already_exists");
}

#[test]
fn wrong_files_and_parameters_are_refused() {
    let refused = |bytes: &[u8], options: &Options| read(bytes, options).map(drop).map_err(|error| error.cause);
    let plain = Options::default();
    assert_eq!(refused(b"colour;size\nred;2\n", &plain), Err(Cause::Columns));
    assert_eq!(refused(b"[1]", &plain), Err(Cause::Form));
    assert_eq!(refused(b"PK\x03\x04 broken", &plain), Err(Cause::Form));
    assert_eq!(refused(b"name\0\n", &plain), Err(Cause::Encoding));
    let mapped = |column: &str, field: &str| Options {
        mapping: vec![(column.to_owned(), field.to_owned())],
        ..Options::default()
    };
    assert_eq!(refused(b"a,b\n", &mapped("c", "name")), Err(Cause::Parameter("mapping")));
    assert_eq!(refused(b"a,b\n", &mapped("a", "nam")), Err(Cause::Parameter("mapping")));
    assert_eq!(
        refused(b"name\n", &Options { key: vec!["x".to_owned()], ..Options::default() }),
        Err(Cause::Parameter("key"))
    );
    assert_eq!(Locale::parse("xx").map_err(|error| error.cause), Err(Cause::Parameter("locale")));
    let many = format!("name\n{}", "x\n".repeat(ROWS_MAX + 1));
    assert_eq!(refused(many.as_bytes(), &plain), Err(Cause::Limit));
}

#[test]
fn ten_thousand_rows_are_planned() {
    let mut text = "name,room,quantity,purchase_price,purchase_date\n".to_owned();
    for row in 0..10_000 {
        text.push_str(&format!("Thing {row},Room {},{},{}.50,2024-03-01\n", row % 20, row % 7, row % 900));
    }
    let began = std::time::Instant::now();
    let mut home = Home::default();
    assert_eq!(counts(&home.import(text.as_bytes(), &by_name())), [10_020, 0, 0, 0]);
    assert_eq!(counts(&home.plan(text.as_bytes(), &by_name())), [0, 0, 10_000, 0]);
    eprintln!("two plans of 10,000 rows: {:?}", began.elapsed());
}

#[test]
fn cells_have_a_limit_beside_rows_and_columns() {
    let wide: String = (0..300).map(|column| format!("\"c{column}\":1,")).collect();
    let file = format!("[{{{}}}{}]", wide.trim_end_matches(','), ",{}".repeat(49_000));
    let options = Options { kind: Some(Kind::Inventory), form: Some(Form::Json), ..Options::default() };
    let error = read(file.as_bytes(), &options).unwrap_err();
    assert!(error.message.contains("cells"), "{}", error.message);
}

#[test]
fn row_of_two_records_is_refused_in_the_plan() {
    let mut home = Home::default();
    home.import(b"name,import_ref\nChair,c\nLamp,l\n", &by_name());
    let chair = home.records.iter().find(|(_, fields)| fields["import_ref"] == "c").map(|((_, id), _)| *id).unwrap();
    let plan = home.plan(format!("id,name,import_ref\n{chair},Chair,l\n").as_bytes(), &by_name());
    assert_eq!(counts(&plan), [0, 0, 0, 1]);
    let plan = home.plan(format!("id,name,import_ref\n{chair},Chair,c\n").as_bytes(), &by_name());
    assert_eq!(counts(&plan), [0, 0, 1, 0]);
}

#[test]
fn apostrophe_before_a_formula_is_taken_from_csv_alone() {
    let mut home = Home::default();
    let options = Options { kind: Some(Kind::Inventory), form: Some(Form::Json), ..Options::default() };
    home.import(br#"[{"name":"'=1+1","import_ref":"j"}]"#, &options);
    home.import(b"name,import_ref\n'=1+1,c\n", &by_name());
    let name = |reference: &str| {
        let found = home.records.values().find(|fields| fields["import_ref"] == reference);
        found.map(|fields| fields["name"].clone()).unwrap()
    };
    assert_eq!((name("j"), name("c")), (json!("'=1+1"), json!("=1+1")));
}

#[test]
fn rows_with_one_key_are_one_record() {
    let mut home = Home::default();
    let text = b"name,quantity,import_ref\nChair,1,\nLamp,1,\nChair,2,\n".as_slice();
    let plan = home.plan(text, &by_name());
    assert_eq!(counts(&plan), [2, 0, 0, 1]);
    assert_eq!(faults(&plan)[0][..41], *"4 duplicate_key Row 2 has the same name. ");
    home.import(b"name\nChair\n", &by_name());
    assert_eq!(counts(&home.plan(text, &by_name())), [1, 0, 1, 1]);
    // An import_ref in both rows tells them apart.
    let named = b"name,import_ref\nDesk,a\nDesk,b\n".as_slice();
    assert_eq!(counts(&home.plan(named, &by_name())), [2, 0, 0, 0]);
    let half_named = b"name,import_ref\nDesk,\nDesk,b\n".as_slice();
    assert_eq!(counts(&home.plan(half_named, &by_name())), [1, 0, 0, 1]);
}

#[test]
fn stock_entries_of_a_product_are_added_up() {
    let (mut home, options) = (Home::default(), Options::default());
    let text = b"Product,Amount,Due date,Location\nMilk,2 Packs,2027-01-01,Fridge\nRice,1,,Cellar\nMilk,3 Packs,2027-02-01,Cellar\n";
    let plan = home.import(text, &options);
    // Two items and their two rooms.
    assert_eq!((plan.tables[0].product, counts(&plan)), (Product::Grocy, [4, 0, 1, 0]), "{:?}", faults(&plan));
    let milk = home.named(Kind::Inventory, "Milk");
    assert_eq!((&milk["quantity"], home.room_of("Milk")), (&json!(5), json!("Fridge")));
    let notes = "Amount: 2 Packs\nDue date: 2027-01-01\nAmount: 3 Packs\nDue date: 2027-02-01\nLocation: Cellar";
    assert_eq!(milk["notes"], notes);
    assert_eq!(counts(&home.import(text, &options)), [0, 0, 3, 0]);
    // A sum that no field takes is a fault, and the further row is not counted alone.
    let large = format!("Product,Amount\nNails,{0}\nNails,{0}\n", i64::MAX);
    assert_eq!(counts(&home.plan(large.as_bytes(), &options)), [0, 0, 0, 2]);
}

#[test]
fn one_id_in_rows_of_two_kinds_is_refused_in_the_plan() {
    let id = Uuid::from_u128(7);
    let file = json!({ "rooms": [{ "id": id, "name": "Hall" }], "inventory": [{ "id": id, "name": "Chair" }] });
    let plan = Home::default().plan(file.to_string().as_bytes(), &Options::default());
    assert_eq!((counts(&plan), plan.rows[0].kind), ([1, 0, 0, 1], Kind::Room), "{:?}", faults(&plan));
}

#[test]
fn former_state_of_a_record_makes_a_nameless_row_a_double() {
    let draft = read(b"name,quantity\nChair,1\n", &Options::default()).expect("a draft");
    assert!(draft.has_nameless_rows(Kind::Inventory) && !draft.has_nameless_rows(Kind::Room));
    let (id, mut existing) = (Uuid::from_u128(5), Existing::new(&draft));
    let fields = |quantity: u8| json!({ "name": "Chair", "quantity": quantity }).as_object().cloned().expect("fields");
    existing.offer(Kind::Inventory, id, &fields(2));
    existing.offer_former(Kind::Inventory, id, &fields(1));
    assert_eq!(faults(&draft.plan(&existing, &mut || id))[0][..16], *"2 already_exists");
    assert!(!read(b"name,quantity\nChair,1\n", &by_name()).expect("a draft").has_nameless_rows(Kind::Inventory));
}
