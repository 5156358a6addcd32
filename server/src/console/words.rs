//! Moments as people read them. Must not know pages.

use hearth_contract::formats::Timestamp;

/// A moment to the minute, in UTC: `2026-06-01 14:05`.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    format!("{} {}", text.get(..10).unwrap_or_default(), text.get(11..16).unwrap_or_default())
}

/// A moment, or `never`.
pub(super) fn moment_or_never(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), moment)
}
