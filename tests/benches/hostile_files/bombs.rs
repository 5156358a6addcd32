//! Bombs: small files that ask for much memory or much time, and files that are as large as the limits allow. Must not know the service.

use super::Attack;
use super::packed::{compressed, growing, page, pdf, png, stream};

/// A gibibyte.
const GIB: usize = 1 << 30;
/// A page as wide and high as paper, in points.
const PAPER: &str = "0 0 595 842";

/// All bombs. The first four are one of each sort, for a short run.
pub(super) fn all() -> Vec<Attack> {
    let mut groups = [pictures(), papers(), mazes(), texts()].map(Vec::into_iter);
    let mut all: Vec<Attack> = groups.iter_mut().filter_map(Iterator::next).collect();
    all.extend(groups.into_iter().flatten());
    all
}

fn pictures() -> Vec<Attack> {
    let zeros = |bytes: usize| growing(&[0], bytes);
    let gif = [&b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0;"[..]]
        .concat();
    // A large canvas (VP8X) with a picture of one colour (VP8L) of the largest size.
    let webp = b"RIFF\x2a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x3f\0\xff\x3f\0VP8L\x0b\0\0\0\x2f\xff\xff\xff\x0f\x88\x88\x08\0\0\0\0".to_vec();
    let profile = [&b"p\0\0"[..], &zeros(GIB)].concat();
    let note = [&b"Comment\0\0"[..], &zeros(GIB)].concat();
    vec![
        Attack::of("PNG, 10^9 pixels", png((31_623, 31_623), 1, 0, &[], &zeros(31_623 * 3954))),
        Attack::of("PNG, 4 * 10^18 pixels", png((0x7fff_ffff, 0x7fff_ffff), 1, 0, &[], &zeros(GIB))),
        Attack::of("PNG, 10^4 pixels and data for 10^9", png((100, 100), 8, 0, &[], &zeros(GIB))),
        Attack::of("PNG, a colour profile of 1 GiB", png((100, 100), 8, 2, &[(b"iCCP", profile)], &zeros(30_100))),
        Attack::of("PNG, a note of 1 GiB", png((100, 100), 8, 2, &[(b"zTXt", note)], &zeros(30_100))),
        Attack::of("PNG, as many pixels as are allowed", png((7071, 7071), 8, 2, &[], &zeros(7071 * 21_214))),
        Attack::of("PNG, as many deep pixels as are allowed", png((7071, 7071), 16, 6, &[], &zeros(7071 * 56_569))),
        Attack::of("PNG, one row", png((49_999_999, 1), 1, 0, &[], &zeros(6_250_001))),
        Attack::of("PNG, one column", png((1, 49_999_999), 1, 0, &[], &zeros(99_999_998))),
        Attack::of("GIF, 4 * 10^9 pixels", gif),
        Attack::of("WebP, 268 megapixels", webp),
    ]
}

fn papers() -> Vec<Attack> {
    let twice = compressed(&growing(&[0], GIB));
    let lines = growing(b"0 0 m 595 842 l S\n", GIB);
    let words = growing(b"BT /F 9 Tf 9 9 Td (Total 12.34 EUR) Tj ET\n", GIB);
    let picture = "/Type /XObject /Subtype /Image /Width 30000 /Height 30000 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode";
    let picture = stream(picture, &growing(&[0], 3 * 30_000 * 30_000));
    let drawing = |content: &[u8], media_box: &str| page(media_box, "", stream("", content), Vec::new());
    vec![
        Attack::of(
            "PDF, a page of 1 GiB, packed twice",
            page(PAPER, "", stream("/Filter [/FlateDecode /FlateDecode]", &twice), Vec::new()),
        ),
        Attack::of("PDF, 60 million lines", page(PAPER, "", stream("/Filter /FlateDecode", &lines), Vec::new())),
        Attack::of("PDF, 75 million words", page(PAPER, "", stream("/Filter /FlateDecode", &words), Vec::new())),
        Attack::of(
            "PDF, a picture of 900 megapixels",
            page(PAPER, "/XObject << /I 5 0 R >>", stream("", b"q 595 0 0 842 0 0 cm /I Do Q"), vec![picture]),
        ),
        Attack::of(
            "PDF, a page of 10^9 points",
            drawing(b"0 0 1000000000 1000000000 re f", "0 0 1000000000 1000000000"),
        ),
        Attack::of("PDF, a page without a size", drawing(b"0 0 9 9 re f", "0 0 0.000001 0.000001")),
    ]
}

fn mazes() -> Vec<Attack> {
    let catalog = b"<< /Type /Catalog /Pages 2 0 R >>".to_vec();
    let own_child =
        pdf(&[catalog.clone(), b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 /Parent 2 0 R >>".to_vec()]);
    // Each drawing draws the next one ten times.
    let depth = 12;
    let call = "/N Do ".repeat(10);
    let drawings = (0..depth).map(|at| {
        let next =
            if at + 1 < depth { format!("/Resources << /XObject << /N {} 0 R >> >>", at + 6) } else { String::new() };
        stream(&format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] {next}"), call.as_bytes())
    });
    let same_page = format!("<< /Type /Pages /Kids [{}] /Count 200000 >>", "3 0 R ".repeat(200_000));
    let same_page = pdf(&[
        catalog.clone(),
        same_page.into_bytes(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>".to_vec(),
    ]);
    let deep =
        [&b"<< /Type /Catalog /Pages 2 0 R /X "[..], &b"[".repeat(1_000_000), &b"]".repeat(1_000_000), b" >>"].concat();
    let pages = b"<< /Type /Pages /Kids [] /Count 0 >>".to_vec();
    let mut before_itself = pdf(&[catalog, pages.clone()]);
    let table = before_itself.windows(4).position(|four| four == b"xref").unwrap_or_default();
    before_itself.truncate(before_itself.windows(7).position(|seven| seven == b"trailer").unwrap_or_default());
    before_itself
        .extend(format!("trailer\n<< /Size 3 /Root 1 0 R /Prev {table} >>\nstartxref\n{table}\n%%EOF\n").into_bytes());
    vec![
        Attack::of(
            "PDF, drawings in drawings",
            page(PAPER, "/XObject << /N 5 0 R >>", stream("", b"/N Do"), drawings.collect()),
        ),
        Attack::of("PDF, pages that hold themselves", own_child),
        Attack::of("PDF, one page 200,000 times", same_page),
        Attack::of("PDF, a million brackets", pdf(&[deep, pages])),
        Attack::of("PDF, a table before itself", before_itself),
    ]
}

fn texts() -> Vec<Attack> {
    let most = |line: &dyn Fn(usize) -> String, bytes: usize| {
        let mut text = String::new();
        for number in 0.. {
            let line = line(number);
            if text.len() + line.len() > bytes {
                break;
            }
            text += &line;
        }
        text.into_bytes()
    };
    let sums = |number: usize| format!("Total {number}.99 EUR 2026-03-{:02}\n", number % 28 + 1);
    // The longest texts whose places are stored too, eight of them in one job.
    let papers = (0..8).map(|at| most(&|number| sums(number * 8 + at), 700_000)).collect();
    let entities: String =
        (1..30).map(|at| format!("<!ENTITY e{at} \"{}\">", format!("&e{};", at - 1).repeat(10))).collect();
    let invoice =
        format!("<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e0 \"x\">{entities}]><Invoice><ID>&e29;</ID></Invoice>");
    let deep = format!("<?xml version=\"1.0\"?>{}", "<Invoice>".repeat(100_000));
    vec![
        Attack { name: "eight papers full of sums".to_owned(), files: papers },
        Attack::of("text of 32 MiB in one line", vec![b'a'; 32 << 20]),
        Attack::of("two MB of sums", most(&sums, 2_000_000)),
        Attack::of("a million words of one letter", b"a ".repeat(1_000_000)),
        Attack::of("a million empty lines", b"\n".repeat(1_000_000)),
        Attack::of("an invoice whose parts hold each other", invoice.into_bytes()),
        Attack::of("an invoice in an invoice, 100,000 times", deep.into_bytes()),
    ]
}
