//! Finds the electronic invoice that is attached to a PDF (ZUGFeRD, Factur-X). Must not know what an invoice says.

use lopdf::{Dictionary, Document, Object};

use crate::look::invoice::{self, XML_BYTES_MAX};
use crate::reading::Invoice;

/// A larger PDF is not searched: the library keeps all of it in memory, and invoices are small.
const PDF_BYTES_MAX: usize = 8 << 20;
/// Attached files that are tried, at most.
const FILES_MAX: usize = 20;

/// The invoice that is attached to a PDF. None: there is none.
pub(super) fn invoice(pdf: &[u8]) -> Option<Invoice> {
    if pdf.len() > PDF_BYTES_MAX {
        return None;
    }
    // The library is given files by strangers: a fault in it must not cost the text.
    let found = std::panic::catch_unwind(|| {
        let document = Document::load_mem(pdf).ok()?;
        let files = document.objects.values().filter_map(|object| object.as_dict().ok()).filter(|dict| dict.has(b"EF"));
        files.take(FILES_MAX).find_map(|file| invoice::read(&attached(&document, file)?)).map(|found| found.invoice)
    });
    found.ok().flatten()
}

/// The content of an attached file, when it is text.
fn attached(document: &Document, file: &Dictionary) -> Option<String> {
    let versions = resolve(document, file.get(b"EF").ok()?)?.as_dict().ok()?;
    let stream = resolve(document, versions.get(b"F").or_else(|_| versions.get(b"UF")).ok()?)?.as_stream().ok()?;
    let bytes = stream.get_plain_content_with_limit(XML_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok().map(|text| text.trim_start_matches('\u{feff}').to_owned())
}

fn resolve<'a>(document: &'a Document, object: &'a Object) -> Option<&'a Object> {
    document.dereference(object).ok().map(|(_, object)| object)
}
