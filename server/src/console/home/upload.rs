//! Reads a form with files: texts into fields, files into the store of the home. Files are judged by their bytes. Must not know
//! what becomes of the files.

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use hearth_contract::key::Environment;
use hearth_contract::problem::Problem;
use multer::{Constraints, Field, Multipart, SizeLimit, parse_boundary};

use super::words::size;
use crate::api::file_upload::{Incoming, Place};
use crate::files::UPLOADS_MAX;
use crate::http::bodies::WEB_BODY_MAX;
use crate::http::reply::Refusal;
use crate::http::upload_body::UploadBody;
use crate::http::web::{Fields, WebRequest};
use crate::store::sessions::Session;
use crate::store::stored_files::{self, FileHash};
use crate::store::{StoreError, homes};
use hearth_contract::media::MediaType;

/// Files of one form, at most. Refused files count too.
pub(super) const FILES_MAX: usize = 10;
/// Parts of one form, at most: its texts, its files, and more files than it takes, so that a person who chose too many reads which
/// were left out. A form with more parts is not read to its end.
const PARTS_MAX: usize = 100;
/// The name of the field with a file that an earlier, refused form has brought.
pub(super) const KEPT: &str = "kept";
/// Characters of a file name, at most (contract 3).
const FILE_NAME_MAX: usize = 255;

/// Which files a form takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepted {
    /// Photos.
    Photos,
    /// Photos and PDF.
    PhotosAndPapers,
}

/// A file in the store of the home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    /// The hash.
    pub(super) sha256: FileHash,
    /// The name on the device of the person, without directories; "" without one.
    pub(super) name: String,
    /// The media type.
    pub(super) media: MediaType,
    /// The size in bytes.
    pub(super) size_bytes: i64,
}

/// A form that was read.
#[derive(Default)]
pub(super) struct Form {
    /// The texts.
    pub(super) fields: Fields,
    /// The files, with those that an earlier form has brought.
    pub(super) files: Vec<Sent>,
    /// Status and sentences of what was refused. Empty: nothing.
    pub(super) faults: Vec<(u16, String)>,
    /// Files that this form has sent, with refused ones.
    sent: usize,
}

/// Reads the form of a request to its end. A file that is refused does not stop the others.
pub(super) async fn receive(request: &mut WebRequest, session: &Session, accepted: Accepted) -> Result<Form, Refusal> {
    let (app, team) = (request.app.clone(), session.team.clone());
    let home = app.db.read_inline(move |tx| homes::home_of_team(tx, &team, Environment::Live)).await?;
    let place = Place { app: app.clone(), number: home.number, home: home.id };
    let mut form = Form::default();
    let Some(_permit) = app.uploads.open(&session.person, UPLOADS_MAX) else {
        form.faults
            .push((429, "You are sending several forms at once. Wait for the others, and send this one again.".into()));
        return Ok(form);
    };
    let body = request.upload.take().ok_or_else(|| StoreError::Corrupt("a form with files has no body".to_owned()))?;
    let boundary = request.header("content-type").and_then(|text| parse_boundary(text).ok()).unwrap_or_default();
    let files_max = u64::try_from(app.config.file_bytes_max).unwrap_or(u64::MAX).saturating_mul(FILES_MAX as u64);
    let limit = SizeLimit::new().whole_stream(files_max.saturating_add(WEB_BODY_MAX as u64));
    let mut parts = Multipart::with_constraints(pieces(body), boundary, Constraints::new().size_limit(limit));
    let (mut text_bytes, mut count) = (0, 0);
    loop {
        let part = match parts.next_field().await {
            Ok(Some(part)) => part,
            Ok(None) => break,
            Err(error) => {
                form.faults.push(broken(&error));
                break;
            }
        };
        count += 1;
        if count > PARTS_MAX {
            let message = format!("The form has more than {PARTS_MAX} parts. Choose {FILES_MAX} files at most.");
            form.faults.insert(0, (413, message));
            break;
        }
        let read = match part.file_name() {
            Some(_) => file(&mut form, &place, part, accepted).await?,
            None => text(&mut form, part, &mut text_bytes).await,
        };
        if let Err(error) = read {
            form.faults.push(broken(&error));
            break;
        }
    }
    take_kept(&mut form, &place).await?;
    Ok(form)
}

fn pieces(body: UploadBody) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send {
    unfold(Some(body), async |body| {
        let mut body = body?;
        match body.next().await {
            Ok(None) => None,
            Ok(Some(piece)) => Some((Ok(piece), Some(body))),
            Err(problem) => Some((Err(std::io::Error::other(problem.message)), None)),
        }
    })
}

fn broken(error: &multer::Error) -> (u16, String) {
    match error {
        multer::Error::StreamSizeExceeded { .. } => {
            (413, "The files are too large together. Send fewer at once.".into())
        }
        _ => (400, "The form did not arrive completely. Send it again, perhaps with fewer files at once.".into()),
    }
}

async fn text(form: &mut Form, mut part: Field<'_>, text_bytes: &mut usize) -> Result<(), multer::Error> {
    let (name, mut bytes) = (part.name().unwrap_or_default().to_owned(), Vec::new());
    while let Some(piece) = part.chunk().await? {
        *text_bytes += piece.len();
        if *text_bytes <= WEB_BODY_MAX {
            bytes.extend_from_slice(&piece);
        }
    }
    if *text_bytes > WEB_BODY_MAX {
        form.faults.push((413, "The texts of the form are too long.".into()));
    }
    form.fields.0.push((name, String::from_utf8_lossy(&bytes).into_owned()));
    Ok(())
}

/// Takes a file into the store. A refused file is read to its end, because browsers show no answer before.
async fn file(
    form: &mut Form,
    place: &Place,
    mut part: Field<'_>,
    accepted: Accepted,
) -> Result<Result<(), multer::Error>, Refusal> {
    let name = file_name(part.file_name().unwrap_or_default());
    let shown = if name.is_empty() { "A file".to_owned() } else { format!("“{name}”") };
    // A form without a chosen file has one part without a name and without bytes.
    let mut incoming: Option<Incoming> = None;
    let mut is_refused = form.sent >= FILES_MAX;
    if is_refused {
        form.faults.push((413, format!("A form takes {FILES_MAX} files at most; {shown} was left out.")));
    }
    loop {
        let piece = match part.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(error) => return Ok(Err(error)),
        };
        if is_refused || piece.is_empty() {
            continue;
        }
        let mut current = match incoming.take() {
            Some(current) => current,
            None => {
                form.sent += 1;
                Incoming::begin(place.clone(), None, None).await?
            }
        };
        match current.push(piece).await {
            Ok(()) => incoming = Some(current),
            Err(Refusal::Problem(problem)) => {
                form.faults.push((problem.kind.status(), no_room(&shown, &problem)));
                is_refused = true;
            }
            Err(other) => return Err(other),
        }
    }
    let Some(incoming) = incoming else { return Ok(Ok(())) };
    let arrived = incoming.finish().await?;
    let media = arrived.media();
    if !(media.is_image() || (media == MediaType::Pdf && accepted == Accepted::PhotosAndPapers)) {
        form.faults.push((415, format!("{shown} {}", not_taken(accepted))));
        return Ok(Ok(()));
    }
    let size_bytes = arrived.size_bytes();
    match arrived.publish().await {
        Ok((file, _)) => form.files.push(Sent { sha256: file.sha256, name, media, size_bytes }),
        Err(Refusal::Problem(problem)) => form.faults.push((problem.kind.status(), no_room(&shown, &problem))),
        Err(other) => return Err(other),
    }
    Ok(Ok(()))
}

fn not_taken(accepted: Accepted) -> &'static str {
    match accepted {
        Accepted::Photos => "is no photo that Hearth can keep here. Choose JPEG, PNG, WebP or GIF.",
        Accepted::PhotosAndPapers => "is neither a photo nor a PDF. Choose JPEG, PNG, WebP, GIF or PDF.",
    }
}

/// The refusal of a file that is too large, for the file or for the home.
fn no_room(shown: &str, problem: &Problem) -> String {
    let limit = problem.details.get("limit_bytes").and_then(serde_json::Value::as_i64);
    match (problem.details.get("of").and_then(serde_json::Value::as_str), limit) {
        (Some("file"), Some(limit)) => format!("{shown} is too large: a file may have {} at most.", size(limit)),
        (Some("home"), _) => format!("The home has no room for {shown}. Ask an owner to make room."),
        _ => format!("{shown} was not taken: {}", problem.message),
    }
}

/// The name of a file without directories and control characters, at most [`FILE_NAME_MAX`] characters.
fn file_name(sent: &str) -> String {
    let last = sent.rsplit(['/', '\\']).next().unwrap_or_default();
    last.chars().filter(|letter| !letter.is_control()).take(FILE_NAME_MAX).collect()
}

/// Adds the files that an earlier form has brought, as far as the home has them.
async fn take_kept(form: &mut Form, place: &Place) -> Result<(), Refusal> {
    let named: Vec<(FileHash, String)> = form
        .fields
        .all(KEPT)
        .filter_map(|text| text.split_once(' '))
        .filter_map(|(hash, name)| Some((FileHash::parse(hash)?, file_name(name))))
        .take(FILES_MAX)
        .collect();
    let number = place.number;
    let found = place.app.db.read(move |tx| {
        named
            .into_iter()
            .map(|(hash, name)| Ok((stored_files::find(tx, number, &hash)?, name)))
            .collect::<Result<Vec<_>, _>>()
    });
    for (file, name) in found.await? {
        if let Some(file) = file.filter(|file| form.files.iter().all(|known| known.sha256 != file.sha256)) {
            let media = MediaType::parse(&file.content_type);
            form.files.insert(0, Sent { sha256: file.sha256, name, media, size_bytes: file.size_bytes });
        }
    }
    form.files.truncate(FILES_MAX);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_lose_directories_and_controls() {
        for (sent, expected) in [
            ("a.jpg", "a.jpg"),
            ("C:\\photos\\b.png", "b.png"),
            ("../../etc/passwd", "passwd"),
            ("x\r\n.pdf", "x.pdf"),
            ("", ""),
        ] {
            assert_eq!(file_name(sent), expected);
        }
        assert_eq!(file_name(&"é".repeat(300)).chars().count(), FILE_NAME_MAX);
    }
}
