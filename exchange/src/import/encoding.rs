//! Bytes become text: UTF-8, UTF-16 and the encodings of older spreadsheets. Must not know tables.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use super::error::{Cause, ImportError};

/// Decodes a file. A byte order mark counts before `stated`; without both, the text is UTF-8, or Windows-1252 (which contains
/// Latin-1) if it is no UTF-8. Error: the bytes are no text in the encoding.
pub(super) fn decode(bytes: &[u8], stated: Option<&'static Encoding>) -> Result<String, ImportError> {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let guessed = if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let encoding = marked.or(stated).unwrap_or(guessed);
    let refuse = |why: &str| {
        let next = "Save the table as CSV UTF-8, or state its encoding, such as encoding=latin1 or encoding=utf-16le";
        Err(ImportError::new(Cause::Encoding, format!("{why}. {next}.")))
    };
    // A spreadsheet, a picture, or UTF-16 without a mark.
    let (text, _, had_errors) = encoding.decode(bytes);
    if text.contains('\0') {
        return refuse("The file is no text");
    }
    if had_errors {
        return refuse(&format!("The file is not in the encoding {}", encoding.name()));
    }
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        let latin = b"K\xfchlschrank 5 \x80".as_slice();
        let little: Vec<u8> = "\u{feff}Kühl".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}Kühl".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let bare: Vec<u8> = "Kühl".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode("\u{feff}Kühl".as_bytes(), None).as_deref(), Ok("Kühl"));
        assert_eq!(decode("Kühl".as_bytes(), None).as_deref(), Ok("Kühl"));
        assert_eq!(decode(latin, None).as_deref(), Ok("Kühlschrank 5 €"));
        assert_eq!(decode(&little, None).as_deref(), Ok("Kühl"));
        assert_eq!(decode(&big, None).as_deref(), Ok("Kühl"));
        assert_eq!(decode(&bare, Some(encoding_rs::UTF_16LE)).as_deref(), Ok("Kühl"));
        assert_eq!(decode(&bare, None).map_err(|error| error.cause), Err(Cause::Encoding));
        assert_eq!(decode(latin, Some(UTF_8)).map_err(|error| error.cause), Err(Cause::Encoding));
    }
}
