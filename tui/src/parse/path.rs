//! Paths as people type or drag them: quotes, `~`, and the completion of a name. Pure: the names of a directory are an
//! argument.

/// The path that a typed text means. A dragged file comes in quotes or with escaped spaces, and `~` is the directory `home`.
pub fn typed_path(text: &str, home: Option<&str>) -> String {
    let text = text.trim();
    let is_quoted = text.contains(['\'', '"', '\\']);
    let words = shlex::split(text).filter(|words| is_quoted && words.len() == 1);
    let plain = words.map_or_else(|| text.to_owned(), |words| words.concat());
    match (plain.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => plain,
    }
}

/// The longest continuation of a typed name that all fitting names share, and the fitting names when there are several. Names of
/// directories end with `/`. Hidden names fit only a typed dot.
pub fn complete_name(typed: &str, names: &[String]) -> (String, Vec<String>) {
    let is_fit = |name: &&String| name.starts_with(typed) && (typed.starts_with('.') || !name.starts_with('.'));
    let mut fitting: Vec<String> = names.iter().filter(is_fit).cloned().collect();
    fitting.sort();
    let Some(first) = fitting.first() else { return (typed.to_owned(), Vec::new()) };
    let shared = fitting.iter().fold(first.clone(), |shared, name| {
        let pairs = shared.chars().zip(name.chars());
        pairs.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
    });
    if fitting.len() == 1 {
        fitting.clear();
    }
    (shared, fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_and_dragged_paths() {
        for (typed, path) in [
            ("~/photo.jpg", "/home/ann/photo.jpg"),
            ("~", "/home/ann"),
            ("~bob/a", "~bob/a"),
            ("'/tmp/my photo.jpg' ", "/tmp/my photo.jpg"),
            (r"/tmp/my\ photo.jpg", "/tmp/my photo.jpg"),
            ("/tmp/my photo.jpg", "/tmp/my photo.jpg"),
            ("/tmp/Ann's photo.jpg", "/tmp/Ann's photo.jpg"),
        ] {
            assert_eq!(typed_path(typed, Some("/home/ann")), path, "{typed}");
        }
    }

    #[test]
    fn names_are_completed_as_far_as_they_agree() {
        let names = ["receipt.pdf", "receipts/", ".hidden", "lamp.jpg"].map(str::to_owned);
        assert_eq!(complete_name("l", &names), ("lamp.jpg".to_owned(), Vec::new()));
        assert_eq!(complete_name("r", &names), ("receipt".to_owned(), names[..2].to_vec()));
        assert_eq!(complete_name("x", &names), ("x".to_owned(), Vec::new()));
        assert_eq!(complete_name("", &names).1.len(), 3);
        assert_eq!(complete_name(".", &names).0, ".hidden");
    }
}
