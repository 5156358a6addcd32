//! Parts of hostile files: compressed data that grows a thousandfold, chunks of PNG files, and PDF files made of objects. Must not know
//! the attacks.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Bytes that one block of compressed data grows to.
const BLOCK: usize = 1 << 20;

/// Compressed data (zlib) that grows to a pattern over and over, about so many bytes. The check sum at its end is wrong: who reads as
/// far as that has read all of it.
pub(super) fn growing(pattern: &[u8], bytes: usize) -> Vec<u8> {
    let block = pattern.repeat(BLOCK.div_ceil(pattern.len()));
    // Each block ends with a flush that forgets what was before, so that the same bytes may follow again.
    let (mut compressed, mut deflate) = (Vec::with_capacity(BLOCK), Compress::new(Compression::best(), false));
    let status = deflate.compress_vec(&block, &mut compressed, FlushCompress::Full);
    assert!(matches!(status, Ok(Status::Ok)) && deflate.total_in() as usize == block.len(), "one block fits");
    let mut out = vec![0x78, 0x9c];
    for _ in 0..bytes.div_ceil(block.len()) {
        out.extend_from_slice(&compressed);
    }
    // An empty last block.
    out.extend_from_slice(&[0x01, 0, 0, 0xff, 0xff, 0, 0, 0, 1]);
    out
}

/// Compressed data (zlib).
pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A PNG file: its size, the bits of a sample, the colour type, further chunks, and its compressed pixels.
pub(super) fn png(
    (width, height): (u32, u32),
    bits: u8,
    colour: u8,
    more: &[(&[u8; 4], Vec<u8>)],
    pixels: &[u8],
) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[bits, colour, 0, 0, 0]].concat();
    chunk(&mut file, b"IHDR", &header);
    for (name, content) in more {
        chunk(&mut file, name, content);
    }
    chunk(&mut file, b"IDAT", pixels);
    chunk(&mut file, b"IEND", b"");
    file
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let mut sum = Crc::new();
    sum.update(name);
    sum.update(content);
    file.extend_from_slice(&(content.len() as u32).to_be_bytes());
    file.extend_from_slice(name);
    file.extend_from_slice(content);
    file.extend_from_slice(&sum.sum().to_be_bytes());
}

/// A PDF file of objects, numbered from 1. The first one is the catalog.
pub(super) fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend_from_slice(format!("{} 0 obj\n", at + 1).as_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let table = file.len();
    let rows: String = places.iter().map(|place| format!("{place:010} 00000 n \n")).collect();
    let count = objects.len() + 1;
    file.extend_from_slice(format!("xref\n0 {count}\n0000000000 65535 f \n{rows}").as_bytes());
    file.extend_from_slice(format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").as_bytes());
    file
}

/// A stream of a PDF file, with further entries of its dictionary.
pub(super) fn stream(entries: &str, content: &[u8]) -> Vec<u8> {
    let head = format!("<< /Length {} {entries} >>\nstream\n", content.len());
    [head.as_bytes(), content, b"\nendstream"].concat()
}

/// A PDF of one page with a content stream, and resources and further objects that it uses. They are numbered from 5.
pub(super) fn page(media_box: &str, resources: &str, content: Vec<u8>, more: Vec<Vec<u8>>) -> Vec<u8> {
    let page = format!(
        "<< /Type /Page /Parent 2 0 R /MediaBox [{media_box}] /Contents 4 0 R /Resources << /Font << /F << /Type /Font /Subtype \
         /Type1 /BaseFont /Helvetica >> >> {resources} >> >>"
    );
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        page.into_bytes(),
        content,
    ];
    objects.extend(more);
    pdf(&objects)
}
