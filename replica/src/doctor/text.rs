//! Paths, sizes, durations and counts as text. Must not know what the text is about.

use std::path::Path;

/// A path quoted for a shell command.
pub fn shell_quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map_or_else(|_| text.to_string(), Into::into)
}

/// A size in kB, MB or GB.
pub(super) fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A duration in its largest sensible unit, from seconds to days.
pub(super) fn duration_text(seconds: i64) -> String {
    let (number, unit) = match seconds {
        ..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count(number, unit, &format!("{unit}s"))
}

/// A number with its noun, in singular or plural.
pub(super) fn count(number: i64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
