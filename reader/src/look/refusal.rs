//! Why a file cannot be read. Must not know how files are decoded.

use thiserror::Error;

/// Pixels of a picture, at most (contract 22).
pub(super) const PIXELS_MAX: u64 = 50_000_000;
/// Pages of a PDF, at most (contract 22).
pub(super) const PAGES_MAX: usize = 50;

/// Why a file cannot be read. The sentence says what is wrong and what to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The type of the file is not known.
    #[error("this is no JPEG, PNG, WebP, GIF, PDF or text file; send a photo, a PDF or a text in UTF-8")]
    UnknownType,
    /// The picture is damaged.
    #[error("the picture is damaged; take the photo again, or save it again with another program")]
    DamagedPicture,
    /// The picture has too many pixels.
    #[error("the picture has more than {} megapixels; make it smaller", PIXELS_MAX / 1_000_000)]
    TooManyPixels,
    /// The PDF is damaged, or a password protects it.
    #[error("the PDF is damaged or protected by a password; save it again without a password")]
    DamagedPdf,
    /// The PDF has too many pages.
    #[error("the PDF has more than {} pages; send the pages that matter as a smaller PDF", PAGES_MAX)]
    TooManyPages,
    /// The programs that read PDF files are not installed.
    #[error("PDF files cannot be read on this machine; install Poppler there (package `poppler-utils`)")]
    NoPoppler,
    /// The file has too much text.
    #[error("the file has far more text than is read; send the part that matters")]
    TooMuchText,
    /// A model failed. Its files are damaged, or memory ran out.
    #[error("the recognition of text failed; put the models into the data directory again with `packaging/models.sh`")]
    ModelFailed,
}
