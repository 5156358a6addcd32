//! Records as rows of a list: the title, what helps to tell them apart, and the way to the record. Must not know which list a
//! row is in.

use std::collections::HashMap;

use hearth_contract::record::Record;
use hearth_contract::recurrence;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_exchange::ends::ends;
use serde_json::Value;
use uuid::Uuid;

use super::live::{Live, find, parse, text};
use super::words::{choice, day_text, due, end, kind_words, list_path, short};
use crate::store::field_values;
use crate::store::{StoreError, Tx};

/// Records of a room that are counted; a room with more shows this number with a plus sign.
const COUNTED_MAX: i64 = 1000;

/// A row of a list.
pub(super) struct Row {
    /// The address of the record.
    pub(super) href: String,
    /// The title, cut to a bounded length.
    pub(super) title: String,
    /// More about the record; may be "".
    pub(super) about: String,
    /// Whether the day of the row is past.
    pub(super) is_late: bool,
    /// The id of the task that the row can tick. None: no task, or a done one.
    pub(super) tick: Option<String>,
}

/// A part of a page with rows.
pub(super) struct Section {
    /// The heading.
    pub(super) title: String,
    /// The rows.
    pub(super) rows: Vec<Row>,
    /// What the part says without rows.
    pub(super) empty: &'static str,
    /// The address and the words of a list with more rows.
    pub(super) more: Option<(String, String)>,
}

/// Makes rows. Names of rooms are looked up once.
pub(super) struct Rows<'t, 'c> {
    tx: &'t Tx<'c>,
    live: &'t Live,
    rooms: HashMap<Uuid, String>,
}

impl<'t, 'c> Rows<'t, 'c> {
    /// For the records of a home.
    pub(super) fn new(tx: &'t Tx<'c>, live: &'t Live) -> Rows<'t, 'c> {
        Rows { tx, live, rooms: HashMap::new() }
    }

    /// The row of a record.
    pub(super) fn row(&mut self, kind: Kind, json: &str) -> Result<Row, StoreError> {
        let record = parse(kind, json)?;
        let is_open = kind == Kind::Task && !recurrence::is_done(&record.fields);
        let (about, is_late) = match kind {
            Kind::Inventory => (self.about_item(&record)?, false),
            Kind::Vehicle => {
                (joined(&[text(&record, "make"), text(&record, "model"), text(&record, "license_plate")]), false)
            }
            Kind::Document => (self.about_document(&record), false),
            Kind::Task => self.about_task(&record),
            Kind::Room => (self.about_room(&record)?, false),
            Kind::Property => (String::new(), false),
        };
        let tick = is_open.then(|| record.id.to_string());
        Ok(Row { href: href(&record), title: title(&record), about, is_late, tick })
    }

    /// The row of a record of any kind, with the word for its kind.
    pub(super) fn row_with_kind(&mut self, kind: Kind, json: &str) -> Result<Row, StoreError> {
        let row = self.row(kind, json)?;
        let about = joined(&[kind_words(kind).0, &row.about]);
        Ok(Row { about, tick: None, ..row })
    }

    /// The row of a record of which something ends on a day.
    pub(super) fn row_of_end(&self, kind: Kind, json: &str, day: &str) -> Result<Row, StoreError> {
        let record = parse(kind, json)?;
        // A document itself ends; of other records, something that they have.
        let on_day = ends(kind, &record.fields).filter(|(_, last)| *last == day && kind != Kind::Document);
        let things: Vec<&str> = on_day.map(|(end, _)| end.what).collect();
        let (about, is_late) = end(&things, day, self.live.today);
        let about = joined(&[&about, &day_text(day)]);
        Ok(Row { href: href(&record), title: title(&record), about, is_late, tick: None })
    }

    fn about_item(&mut self, record: &Record) -> Result<String, StoreError> {
        let room = self.room_name(text(record, "room_id"))?;
        let pieces = match record.fields.get("quantity").and_then(Value::as_i64) {
            Some(1) | None => String::new(),
            Some(quantity) => format!("{quantity} pieces"),
        };
        Ok(joined(&[&room, &short(text(record, "location")), &pieces]))
    }

    fn about_document(&self, record: &Record) -> String {
        let expires = match text(record, "expires_on") {
            "" => String::new(),
            day => end(&[], day, self.live.today).0,
        };
        joined(&[&choice(text(record, "category")), &short(text(record, "issuer")), &expires])
    }

    fn about_task(&self, record: &Record) -> (String, bool) {
        if recurrence::is_done(&record.fields) {
            let day = text(record, recurrence::COMPLETED_AT).get(..10).map(day_text).unwrap_or_default();
            return (format!("Done {day}"), false);
        }
        let (when, is_late) = match text(record, "due_on") {
            "" => (String::new(), false),
            day => due(day, self.live.today),
        };
        let urgency = match text(record, "priority") {
            word @ ("high" | "urgent") => choice(word),
            _ => String::new(),
        };
        (joined(&[&when, &choice(text(record, "recurrence")), &urgency, &short(text(record, "assignee"))]), is_late)
    }

    fn about_room(&self, record: &Record) -> Result<String, StoreError> {
        let room = ("room_id", &*record.id.to_string());
        let count = field_values::count(self.tx, self.live.number, Kind::Inventory, room, COUNTED_MAX)?;
        Ok(match count {
            0 => "empty".to_owned(),
            1 => "1 item".to_owned(),
            COUNTED_MAX.. => format!("{COUNTED_MAX}+ items"),
            _ => format!("{count} items"),
        })
    }

    /// The name of a room; "" for no room.
    pub(super) fn room_name(&mut self, id: &str) -> Result<String, StoreError> {
        let Ok(id) = Uuid::try_parse(id) else { return Ok(String::new()) };
        if let Some(name) = self.rooms.get(&id) {
            return Ok(name.clone());
        }
        let room = find(self.tx, self.live.number, Kind::Room, id)?;
        let name = room.map(|room| title(&room)).unwrap_or_default();
        self.rooms.insert(id, name.clone());
        Ok(name)
    }
}

/// The title of a record, cut to a bounded length.
pub(super) fn title(record: &Record) -> String {
    short(text(record, resource(record.kind).title))
}

/// The address of a record.
pub(super) fn href(record: &Record) -> String {
    format!("{}/{}", list_path(record.kind), record.id)
}

/// The parts that are not empty, with a dot between them.
fn joined(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
