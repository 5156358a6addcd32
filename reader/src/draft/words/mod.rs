//! Words of papers and plates in English, German, French, Spanish, Dutch and Italian, one file for each subject. Must not know
//! rows, files or drafts beyond the search for phrases.

pub(super) mod currencies;
pub(super) mod days;
pub(super) mod makes;
pub(super) mod money;
pub(super) mod months;
pub(super) mod papers;
pub(super) mod plates;
pub(super) mod terms;
pub(super) mod things;
pub(super) mod vehicles;
pub(super) mod vendors;
