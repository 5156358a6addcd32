//! Where the values of drafts come from, as people read it: the proof of a field, and its place in the picture of a file. Pure. Must
//! not know records.

use hearth_contract::media::MediaType;
use serde_json::Value;

use super::words::short;

/// Other values of a field that are shown, at most.
const RIVALS_MAX: usize = 3;
/// Characters of the text of a file that are shown, at most: a page has a bounded size.
const TEXT_MAX: usize = 300;
/// How far a box stands away from what it frames, as a part of the picture.
const MARGIN: f64 = 0.006;

/// Where a value comes from.
pub(super) struct Proof {
    /// How sure the value is, in words.
    pub(super) sure: &'static str,
    /// Whether the value is a guess.
    pub(super) is_guess: bool,
    /// The source, as a sentence.
    pub(super) source: String,
    /// What was read; may be "".
    pub(super) text: String,
    /// Other values that the text allows.
    pub(super) rivals: Vec<String>,
    /// The id of the box in the picture. None: no place, or no picture of the page.
    pub(super) place: Option<String>,
}

/// A file of a job, as the page shows it.
pub(super) struct Paper {
    hash: String,
    /// What the picture is, for people who do not see it.
    pub(super) title: String,
    /// The address of the file.
    pub(super) href: String,
    /// Whether a picture of the first page can be shown.
    pub(super) has_picture: bool,
    /// Places of values.
    pub(super) places: Vec<Place>,
    /// What is to say about the reading; may be "".
    pub(super) said: String,
    /// The begin of the text that was read.
    pub(super) text: String,
}

/// A box in a picture. Sides are parts of the width and the height.
pub(super) struct Place {
    /// The id of the box.
    pub(super) id: String,
    /// The id of the evidence that it leads to.
    pub(super) evidence: String,
    /// What stands there.
    pub(super) label: String,
    /// Left edge, upper edge, width, height.
    pub(super) sides: [f64; 4],
}

/// The files of a job. `facts`: what was read in each of them, an array; of a file that was not read yet there is none. `media`: the
/// media type of each file that the home still has.
pub(super) fn papers(files: &[(String, Option<MediaType>)], facts: &Value) -> Vec<Paper> {
    let facts = facts.as_array().map_or(&[][..], Vec::as_slice);
    let count = files.len();
    let paper = |(at, (hash, media)): (usize, &(String, Option<MediaType>))| {
        let fact = facts.iter().find(|fact| fact["file"] == hash.as_str()).unwrap_or(&Value::Null);
        let said = match (&fact["error"]["message"], fact["text_source"].as_str()) {
            (Value::String(sentence), _) => sentence.clone(),
            (_, Some("no_models")) => {
                "The text in this picture was not read, because this server has no models for it. An owner can install \
                 them; codes are read without them."
                    .to_owned()
            }
            _ if fact["complete"] == false => {
                "Only the beginning of this file was read: it has more text or more scanned pages than the server reads. \
                 What stands behind is missing here and in the search."
                    .to_owned()
            }
            _ => String::new(),
        };
        let text: String = fact["text"].as_str().unwrap_or_default().chars().take(TEXT_MAX).collect();
        let has_picture = media.is_some_and(|media| media.is_image() || media == MediaType::Pdf);
        let title =
            if count == 1 { "The file that was read".to_owned() } else { format!("File {} of {count}", at + 1) };
        Paper {
            hash: hash.clone(),
            title,
            href: format!("/home/files/{hash}"),
            has_picture,
            places: Vec::new(),
            said,
            text,
        }
    };
    files.iter().enumerate().map(paper).collect()
}

/// The proof of a field, and its box in one of the papers. `id`: the id of the field in the page; `label`: its name for people.
pub(super) fn proof(evidence: &Value, (id, label): (&str, &str), value: &str, papers: &mut [Paper]) -> Option<Proof> {
    let from = evidence["from"].as_str()?;
    let file = evidence["file"].as_str().and_then(|hash| papers.iter().position(|paper| paper.hash == hash));
    let page = evidence["page"].as_u64().unwrap_or_default();
    let (sure, is_guess) = match evidence["confidence"].as_str() {
        Some("certain") => ("Certain", false),
        Some("likely") => ("Likely", false),
        _ => ("A guess", true),
    };
    let wherein = match file {
        Some(file) if papers.len() > 1 && page > 0 => format!(" in file {}, page {}", file + 1, page + 1),
        Some(file) if papers.len() > 1 => format!(" in file {}", file + 1),
        Some(_) if page > 0 => format!(" on page {}", page + 1),
        _ => String::new(),
    };
    let source = match from {
        "code" => format!("A code{wherein}"),
        "exif" => format!("The day that the camera wrote{wherein}"),
        "home" => "A record of your home has the same value".to_owned(),
        "equation" => format!("Several values agree{wherein}"),
        _ => format!("Text{wherein}"),
    };
    let rivals = evidence["rivals"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let rivals = rivals.filter(|rival| *rival != value).take(RIVALS_MAX).map(short).collect();
    let place = file.filter(|file| page == 0 && papers[*file].has_picture).and_then(|file| {
        let sides = sides(&evidence["box"])?;
        let places = &mut papers[file].places;
        // Two fields may stand at one place.
        if let Some(known) = places.iter_mut().find(|known| known.sides == sides) {
            known.label = short(&format!("{}, {label}", known.label));
            return Some(known.id.clone());
        }
        let box_id = format!("box-{id}");
        places.push(Place { id: box_id.clone(), evidence: format!("why-{id}"), label: label.to_owned(), sides });
        Some(box_id)
    });
    let text = short(evidence["text"].as_str().unwrap_or_default());
    Some(Proof { sure, is_guess, source, text, rivals, place })
}

/// The sides of a box with a margin, within the picture.
fn sides(area: &Value) -> Option<[f64; 4]> {
    let [x, y, w, h] = &area.as_array()?[..] else { return None };
    let part = |side: &Value| side.as_f64().map(|side| side.clamp(0.0, 1.0));
    let (x, y, w, h) = (part(x)?, part(y)?, part(w)?, part(h)?);
    let (left, top) = ((x - MARGIN).max(0.0), (y - MARGIN).max(0.0));
    let (right, bottom) = ((x + w + MARGIN).min(1.0), (y + h + MARGIN).min(1.0));
    // Four digits tell apart what a screen can show.
    Some([left, top, right - left, bottom - top].map(|side| (side * 10_000.0).round() / 10_000.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn boxes_stay_in_their_picture_and_are_shared() {
        let mut papers = papers(&[("aa".to_owned(), Some(MediaType::Jpeg))], &json!([]));
        let evidence = json!({ "from": "code", "file": "aa", "page": 0, "box": [0.0, 0.5, 1.0, 0.1],
            "text": "400", "confidence": "certain", "rivals": ["401", "400", 7] });
        let first = proof(&evidence, ("item-barcode", "Barcode"), "400", &mut papers).unwrap();
        assert_eq!((first.sure, &*first.source, &first.rivals[..]), ("Certain", "A code", &["401".to_owned()][..]));
        let second = proof(&evidence, ("item-notes", "Notes"), "400", &mut papers).unwrap();
        assert_eq!(first.place, second.place);
        let [place] = &papers[0].places[..] else { panic!("one box") };
        assert_eq!((place.sides, &*place.label), ([0.0, 0.494, 1.0, 0.112], "Barcode, Notes"));
    }

    #[test]
    fn place_needs_a_picture_of_its_page() {
        let mut papers = papers(&[("aa".to_owned(), Some(MediaType::Pdf)), ("bb".to_owned(), None)], &json!([]));
        for (file, page, area) in [
            ("aa", 1, json!([0, 0, 1, 1])),
            ("bb", 0, json!([0, 0, 1, 1])),
            ("aa", 0, json!(null)),
            ("aa", 0, json!([1])),
        ] {
            let evidence = json!({ "from": "text", "file": file, "page": page, "box": area, "confidence": "guess" });
            assert!(proof(&evidence, ("x", "X"), "", &mut papers).unwrap().place.is_none(), "{evidence}");
        }
        assert!(proof(&Value::Null, ("x", "X"), "", &mut papers).is_none());
    }
}
