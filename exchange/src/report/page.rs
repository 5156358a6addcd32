//! What the template of a report shows: sections, totals and photos. Must not know records.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Seek};

use askama::Template;
use data_encoding::BASE64;
use hearth_contract::media::MediaType;

use super::PHOTO_BYTES_MAX;
use super::gather::{Papers, Report, Thing, spoken};
use super::money::{Cents, sum};
use crate::picture::small_jpeg;

/// What a report says besides the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The name of the home.
    pub home: String,
    /// The day of the report, `YYYY-MM-DD`.
    pub day: String,
}

/// A picture for a report: a small JPEG or PNG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    /// `image/jpeg` or `image/png`.
    pub media: &'static str,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

/// The width of a photo, in pixels: small enough for some hundreds, and sharp in print.
const PHOTO_WIDTH: u32 = 480;

/// The photo that a report shows for a file, if the file is a picture. `bytes`: the whole file, from its begin.
pub fn photo(bytes: impl BufRead + Seek, media: MediaType) -> Option<Photo> {
    let bytes = small_jpeg(bytes, media, PHOTO_WIDTH).ok()?;
    Some(Photo { media: MediaType::Jpeg.as_str(), bytes })
}

/// The name of the section for things without a room.
const NO_ROOM: &str = "Without a room";
/// The name of the row for things without a category.
const NO_CATEGORY: &str = "without a category";

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    facts: &'a Facts,
    report: &'a Report,
    sections: Vec<Section<'a>>,
    categories: Vec<(String, Total)>,
    total: Total,
    photos: Photos<'a>,
}

/// The things of one room, or the vehicles.
struct Section<'a> {
    title: String,
    things: Vec<&'a Thing>,
    /// A paper of one of the things is a picture.
    has_photos: bool,
    total: Total,
}

/// Sums over things.
#[derive(Default, Clone, Copy)]
struct Total {
    things: usize,
    pieces: Cents,
    price: Cents,
    worth: Cents,
}

/// Gives the picture of a file by its SHA-256. None: the bytes are not at hand.
pub type PhotoSource<'a> = dyn FnMut(&str) -> Option<Photo> + 'a;

/// The photos of a report, read one at a time up to [`PHOTO_BYTES_MAX`].
struct Photos<'a> {
    source: RefCell<&'a mut PhotoSource<'a>>,
    bytes_left: Cell<usize>,
    left_out: Cell<usize>,
}

/// Writes the report, and returns the number of its things.
pub fn write(
    report: &Report,
    facts: &Facts,
    photo: &mut PhotoSource<'_>,
    out: &mut dyn io::Write,
) -> io::Result<usize> {
    let sections = sections(report);
    let mut categories: BTreeMap<String, Total> = BTreeMap::new();
    let mut total = Total::default();
    for (_, thing) in &report.things {
        categories.entry(spoken(&thing.category)).or_default().add(thing);
        total.add(thing);
    }
    for vehicle in &report.vehicles {
        categories.entry("vehicle".to_owned()).or_default().add(vehicle);
        total.add(vehicle);
    }
    let named = |(name, total): (String, Total)| match name.is_empty() {
        true => (NO_CATEGORY.to_owned(), total),
        false => (name, total),
    };
    let (bytes_left, left_out) = (Cell::new(PHOTO_BYTES_MAX), Cell::new(0));
    let page = Page {
        facts,
        report,
        sections,
        categories: categories.into_iter().map(named).collect(),
        total,
        photos: Photos { source: RefCell::new(photo), bytes_left, left_out },
    };
    page.write_into(out)?;
    Ok(total.things)
}

/// The rooms that hold a thing, by name; then the things without a room, then the vehicles.
fn sections(report: &Report) -> Vec<Section<'_>> {
    // Two rooms may have one name, so the id is a part of the order.
    let mut rooms: BTreeMap<(bool, String, &str), Vec<&Thing>> = BTreeMap::new();
    for (room, thing) in &report.things {
        let place = match report.rooms.get(room) {
            Some(name) => (false, name.to_lowercase(), room.as_str()),
            None => (true, String::new(), ""),
        };
        rooms.entry(place).or_default().push(thing);
    }
    let mut sections: Vec<Section<'_>> = rooms
        .into_iter()
        .map(|((_, _, room), things)| {
            Section::new(report, report.rooms.get(room).cloned().unwrap_or_else(|| NO_ROOM.to_owned()), things)
        })
        .collect();
    if !report.vehicles.is_empty() {
        sections.push(Section::new(report, "Vehicles".to_owned(), report.vehicles.iter().collect()));
    }
    sections
}

impl<'a> Section<'a> {
    fn new(report: &Report, title: String, mut things: Vec<&'a Thing>) -> Section<'a> {
        things.sort_by_cached_key(|thing| thing.name.to_lowercase());
        let mut total = Total::default();
        things.iter().for_each(|thing| total.add(thing));
        let has_photo = |thing: &&Thing| report.papers.get(&thing.id).is_some_and(|papers| papers.photo.is_some());
        let has_photos = things.iter().any(has_photo);
        Section { title, things, has_photos, total }
    }
}

impl Total {
    fn add(&mut self, thing: &Thing) {
        self.things += 1;
        self.pieces += thing.quantity;
        self.price += thing.price_of_all().unwrap_or(0);
        self.worth += thing.worth().unwrap_or(0);
    }

    fn price(&self, currency: &str) -> String {
        sum(self.price, currency)
    }

    fn worth(&self, currency: &str) -> String {
        sum(self.worth, currency)
    }
}

impl Page<'_> {
    /// The papers of a thing. None: the thing has none.
    fn papers(&self, thing: &Thing) -> Option<&Papers> {
        self.report.papers.get(&thing.id)
    }

    /// The papers of the home itself.
    fn home_papers(&self) -> Option<&Papers> {
        self.report.papers.get("")
    }

    /// The photo of a thing as a data URI. None: the thing has no photo at hand, or the report has no room for it.
    fn photo(&self, thing: &Thing) -> Option<String> {
        self.photos.read(self.papers(thing)?.photo.as_deref()?)
    }
}

/// Amounts as cells; "" when they are unknown.
impl Thing {
    fn price_cell(&self, currency: &str) -> String {
        self.price.map(|cents| sum(cents, currency)).unwrap_or_default()
    }

    fn price_of_all_cell(&self, currency: &str) -> String {
        self.price_of_all().map(|cents| sum(cents, currency)).unwrap_or_default()
    }

    fn worth_cell(&self, currency: &str) -> String {
        self.worth().map(|cents| sum(cents, currency)).unwrap_or_default()
    }
}

impl Photos<'_> {
    fn read(&self, sha256: &str) -> Option<String> {
        let photo = (self.source.borrow_mut())(sha256);
        let fits = photo.and_then(|photo| Some((self.bytes_left.get().checked_sub(photo.bytes.len())?, photo)));
        let Some((left, photo)) = fits else {
            self.left_out.set(self.left_out.get() + 1);
            return None;
        };
        self.bytes_left.set(left);
        Some(format!("data:{};base64,{}", photo.media, BASE64.encode(&photo.bytes)))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
