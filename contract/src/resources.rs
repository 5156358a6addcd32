//! The table of the six kinds: every field, format, limit, choice and relation of contract 3. Must not know behaviour:
//! `recurrence` says what follows when a task is done, the server what follows when a room is deleted.

use crate::schema::{COUNT_MAX, Field, Format, IMPORT_REF, Kind, Lines, Presence, Preset, Resource};

/// The six resources, in the order of [`Kind::ALL`].
pub const RESOURCES: [Resource; 6] = [INVENTORY, VEHICLE, DOCUMENT, TASK, ROOM, PROPERTY];

/// The row of a kind in [`RESOURCES`].
pub const fn resource(kind: Kind) -> &'static Resource {
    &RESOURCES[kind as usize]
}

const fn required(name: &'static str, about: &'static str, format: Format) -> Field {
    Field { name, about, format, presence: Presence::Required }
}

const fn optional(name: &'static str, about: &'static str, format: Format) -> Field {
    Field { name, about, format, presence: Presence::Optional }
}

const fn preset(name: &'static str, about: &'static str, format: Format, value: Preset) -> Field {
    Field { name, about, format, presence: Presence::Default(value) }
}

const fn read_only(name: &'static str, about: &'static str, format: Format) -> Field {
    Field { name, about, format, presence: Presence::ReadOnly }
}

const fn line(max: usize) -> Format {
    Format::Text { max, lines: Lines::One }
}

/// Any number of things.
const COUNT: Format = Format::Count { min: 0, max: COUNT_MAX };

const NOTES: Format = Format::Text { max: 10_000, lines: Lines::Many };

/// The last field of every collection. Never searched: it is a mark for programs.
const IMPORT_REF_FIELD: Field = optional(
    IMPORT_REF,
    "Its name in the source it was imported from; no two records of a kind have the same",
    line(100),
);

const INVENTORY: Resource = Resource {
    kind: Kind::Inventory,
    about: "A thing the household owns.",
    title: "name",
    fields: &[
        required("name", "What it is called", line(200)),
        optional("room_id", "The room it is in", Format::Reference(Kind::Room)),
        optional("location", "Where in the room it is, such as a shelf or a box", line(100)),
        optional(
            "category",
            "What sort of thing it is",
            Format::Choice(&[
                "appliance",
                "electronics",
                "furniture",
                "tool",
                "clothing",
                "jewelry",
                "art",
                "kitchenware",
                "sports",
                "outdoor",
                "consumable",
                "other",
            ]),
        ),
        optional("description", "What it looks like, what belongs to it", NOTES),
        preset("quantity", "How many pieces there are", COUNT, Preset::Number(1)),
        optional("make", "Who made it", line(100)),
        optional("model", "The maker's name for it", line(100)),
        optional("serial_number", "The number on its plate", line(100)),
        optional("barcode", "The code on its box", line(100)),
        optional("condition", "The state it is in", Format::Choice(&["new", "good", "fair", "poor"])),
        optional("purchase_date", "When it was bought", Format::Date),
        optional("purchase_price", "What one piece cost", Format::Money),
        optional("purchased_from", "Where it was bought", line(200)),
        optional("current_value", "What one piece is worth now", Format::Money),
        optional("warranty_expires_on", "Last day of its warranty", Format::Date),
        optional("notes", "Anything else worth knowing", NOTES),
        IMPORT_REF_FIELD,
    ],
};

const VEHICLE: Resource = Resource {
    kind: Kind::Vehicle,
    about: "A vehicle of the household.",
    title: "name",
    fields: &[
        required("name", "What the household calls it", line(200)),
        optional("make", "Who made it", line(200)),
        optional("model", "The maker's name for it", line(200)),
        optional("year", "Model year", Format::Year),
        optional("trim", "Trim level", line(200)),
        optional("color", "Its colour", line(200)),
        optional("vin", "Vehicle identification number", Format::Vin),
        optional("license_plate", "What its plate says", line(20)),
        optional("odometer", "Distance on its odometer, in the unit it shows", COUNT),
        optional(
            "fuel_type",
            "What it runs on",
            Format::Choice(&["gasoline", "diesel", "hybrid", "plug_in_hybrid", "electric", "other"]),
        ),
        optional("purchase_date", "When it was bought", Format::Date),
        optional("purchase_price", "What it cost", Format::Money),
        optional("current_value", "What it is worth now", Format::Money),
        optional("insurance_provider", "Who insures it", line(200)),
        optional("insurance_policy_number", "Number of the policy", line(200)),
        optional("insurance_expires_on", "Last day of the insurance", Format::Date),
        optional("registration_expires_on", "Last day of the registration", Format::Date),
        optional("notes", "Anything else worth knowing", NOTES),
        IMPORT_REF_FIELD,
    ],
};

const DOCUMENT: Resource = Resource {
    kind: Kind::Document,
    about: "A paper of the household, or what is known of it.",
    title: "title",
    fields: &[
        required("title", "What it is", line(200)),
        optional(
            "category",
            "What sort of paper it is",
            Format::Choice(&[
                "manual",
                "warranty",
                "receipt",
                "insurance",
                "deed",
                "mortgage",
                "tax",
                "contract",
                "permit",
                "inspection",
                "medical",
                "identification",
                "other",
            ]),
        ),
        optional(
            "subject_type",
            "What it is about; null is general",
            Format::Choice(&["home", "inventory", "vehicle"]),
        ),
        optional("subject_id", "The item or vehicle it is about", Format::Subject),
        optional("file_name", "Name of its file", line(255)),
        optional("content_type", "Media type of its file", line(100)),
        optional("size_bytes", "Size of its file in bytes", COUNT),
        optional("file_sha256", "SHA-256 of its file", Format::Sha256),
        optional("url", "Where it can be read", Format::Url),
        optional("issuer", "Who issued it", line(200)),
        optional("issued_on", "The day it was issued", Format::Date),
        optional("expires_on", "The last day it holds", Format::Date),
        optional("amount", "The sum it names", Format::Money),
        optional("notes", "Anything else worth knowing", NOTES),
        IMPORT_REF_FIELD,
    ],
};

const TASK: Resource = Resource {
    kind: Kind::Task,
    about: "Something to do.",
    title: "title",
    fields: &[
        required("title", "What is to be done", line(200)),
        preset(
            "priority",
            "How much it matters",
            Format::Choice(&["low", "medium", "high", "urgent"]),
            Preset::Word("medium"),
        ),
        preset("status", "How far it is", Format::Choice(&["open", "in_progress", "done"]), Preset::Word("open")),
        optional("notes", "How to do it, what is needed", NOTES),
        optional("due_on", "The day it should be done by", Format::Date),
        Field {
            name: "completed_at",
            about: "When it was done: set when the status becomes done, and may be sent with it",
            format: Format::Timestamp,
            presence: Presence::OnCompletion,
        },
        optional(
            "recurrence",
            "How often it comes again",
            Format::Choice(&["daily", "weekly", "monthly", "quarterly", "yearly"]),
        ),
        preset(
            "recurrence_every",
            "It comes again every so many of these periods",
            Format::Count { min: 1, max: 99 },
            Preset::Number(1),
        ),
        read_only("recurrence_anchor", "The date from which the series counts", Format::Date),
        optional(
            "subject_type",
            "What it is about; null is general",
            Format::Choice(&["home", "inventory", "vehicle", "room"]),
        ),
        optional("subject_id", "The item, vehicle or room it is about", Format::Subject),
        optional("assignee", "Who does it", line(100)),
        optional("estimated_cost", "What it will cost", Format::Money),
        IMPORT_REF_FIELD,
    ],
};

const ROOM: Resource = Resource {
    kind: Kind::Room,
    about: "A room of the home.",
    title: "name",
    fields: &[
        required("name", "What the household calls it", line(200)),
        optional(
            "room_type",
            "What it is used as",
            Format::Choice(&[
                "bedroom",
                "bathroom",
                "kitchen",
                "living_room",
                "dining_room",
                "office",
                "garage",
                "basement",
                "attic",
                "laundry",
                "hallway",
                "outdoor",
                "storage",
                "other",
            ]),
        ),
        optional("floor", "Which floor it is on", line(50)),
        optional("area_sq_ft", "Floor area in square feet", COUNT),
        optional("paint_color", "Colour or name of the wall paint", line(100)),
        optional("flooring", "What the floor is made of", line(100)),
        optional("notes", "Anything else worth knowing", NOTES),
        IMPORT_REF_FIELD,
    ],
};

const PROPERTY: Resource = Resource {
    kind: Kind::Property,
    about: "The home's profile: address, characteristics, value, utilities and major systems.",
    title: "address",
    fields: &[
        optional("address", "Street and number", line(200)),
        optional("address_line_2", "Unit, floor or care-of", line(200)),
        optional("city", "City", line(200)),
        optional("state", "State or region", line(200)),
        optional("postal_code", "Postal code", line(200)),
        optional("country", "Country", line(200)),
        optional("time_zone", "The zone whose days count for recurring tasks; null is UTC", Format::TimeZone),
        optional("currency", "The currency of all sums of the home", Format::Currency),
        optional("unit_system", "The units in which areas are shown", Format::Choice(&["metric", "imperial"])),
        optional(
            "property_type",
            "What sort of home it is",
            Format::Choice(&[
                "single_family",
                "townhouse",
                "condo",
                "apartment",
                "multi_family",
                "manufactured",
                "other",
            ]),
        ),
        optional("year_built", "Year it was built", Format::Year),
        optional("living_area_sq_ft", "Living area in square feet", COUNT),
        optional("lot_area_sq_ft", "Area of the lot in square feet", COUNT),
        optional("stories", "Number of stories", COUNT),
        optional("bedrooms", "Number of bedrooms", COUNT),
        optional("bathrooms", "Number of bathrooms", COUNT),
        optional("garage_spaces", "Number of garage spaces", COUNT),
        optional("purchase_date", "When it was bought", Format::Date),
        optional("purchase_price", "What it cost", Format::Money),
        optional("estimated_value", "What it is thought to be worth", Format::Money),
        optional("estimated_value_on", "The day of that estimate", Format::Date),
        optional("electric_provider", "Who supplies electricity", line(200)),
        optional("gas_provider", "Who supplies gas", line(200)),
        optional("water_provider", "Who supplies water", line(200)),
        optional("sewer_provider", "Who takes the waste water", line(200)),
        optional("trash_provider", "Who takes the rubbish", line(200)),
        optional("internet_provider", "Who supplies the internet connection", line(200)),
        optional("hvac_make", "Maker of the heating and cooling", line(200)),
        optional("hvac_model", "Model of the heating and cooling", line(200)),
        optional("hvac_install_year", "Year the heating and cooling was installed", Format::Year),
        optional("hvac_last_serviced_on", "Day it was last serviced", Format::Date),
        optional("hvac_filter_size", "Size of its filters", line(200)),
        optional("water_heater_make", "Maker of the water heater", line(200)),
        optional("water_heater_model", "Model of the water heater", line(200)),
        optional("water_heater_install_year", "Year the water heater was installed", Format::Year),
        optional("roof_material", "What the roof is made of", line(200)),
        optional("roof_install_year", "Year the roof was laid", Format::Year),
        optional("electrical_panel_make", "Maker of the electrical panel", line(200)),
        optional("electrical_panel_amps", "Rating of the electrical panel in amperes", COUNT),
        optional("electrical_install_year", "Year the wiring was installed", Format::Year),
        optional("plumbing_material", "What the pipes are made of", line(200)),
        optional("plumbing_install_year", "Year the pipes were laid", Format::Year),
        optional("insurance_provider", "Who insures the home", line(200)),
        optional("insurance_policy_number", "Number of the policy", line(200)),
        optional("notes", "Anything else worth knowing", NOTES),
    ],
};
