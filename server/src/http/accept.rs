//! Content negotiation: the media type and the coding that a client accepts (RFC 9110 12.5.1, 12.5.3). Pure.

/// The offered media type with the highest quality; the first of equals. None: `accept` excludes all of them.
pub fn choose_media_type(accept: Option<&str>, offered: &'static [&'static str]) -> Option<&'static str> {
    // A header without a media range excludes nothing.
    let Some(accept) = accept.filter(|accept| accept.split(',').any(|range| !range.trim().is_empty())) else {
        return offered.first().copied();
    };
    let mut best: Option<(f32, &'static str)> = None;
    for media in offered {
        let quality = quality(accept, media);
        if quality > 0.0 && best.is_none_or(|(most, _)| quality > most) {
            best = Some((quality, media));
        }
    }
    best.map(|(_, media)| media)
}

/// The offered coding with the highest quality; the first of equals. None: the client accepts none of them.
pub fn choose_coding(accept: &str, offered: &[&'static str]) -> Option<&'static str> {
    let quality = |coding: &str| {
        let mut found = (0, 0.0);
        for range in accept.split(',') {
            let (name, weight) = name_and_weight(range);
            let particular = match name.as_str() {
                "*" => 1,
                name if name == coding => 2,
                _ => continue,
            };
            if particular >= found.0 {
                found = (particular, weight);
            }
        }
        found.1
    };
    let mut best: Option<(f32, &'static str)> = None;
    for coding in offered {
        let quality = quality(coding);
        if quality > best.map_or(0.0, |(most, _)| most) {
            best = Some((quality, coding));
        }
    }
    best.map(|(_, coding)| coding)
}

/// The name of a range in lower case, and its `q`, from 0 (excluded) to 1.
fn name_and_weight(range: &str) -> (String, f32) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
    (name, weight.map_or(1.0, |weight| weight.parse().unwrap_or(1.0)))
}

/// The quality of a media type, from 0 (excluded) to 1: the `q` of the most specific range that matches.
fn quality(accept: &str, media: &str) -> f32 {
    let (family, _) = media.split_once('/').unwrap_or_default();
    let mut found = (0, 0.0);
    for range in accept.split(',') {
        let (name, weight) = name_and_weight(range);
        let particular = match name.as_str() {
            "*/*" => 1,
            name if name.strip_suffix("/*") == Some(family) => 2,
            name if name == media => 3,
            _ => continue,
        };
        if particular >= found.0 {
            found = (particular, weight);
        }
    }
    found.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coding_of_highest_quality_is_chosen() {
        for (accept, chosen) in [
            ("gzip, br", Some("br")),
            ("gzip", Some("gzip")),
            ("br;q=0.5, gzip", Some("gzip")),
            ("*", Some("br")),
            ("*, br;q=0", Some("gzip")),
            ("zstd, identity", None),
            ("*;q=0", None),
            ("", None),
        ] {
            assert_eq!(choose_coding(accept, &["br", "gzip"]), chosen, "{accept:?}");
        }
    }

    #[test]
    fn most_specific_range_decides() {
        const OFFERED: &[&str] = &["application/json", "application/yaml"];
        for (accept, chosen) in [
            (None, Some("application/json")),
            (Some(""), Some("application/json")),
            (Some(" , "), Some("application/json")),
            (Some("*/*"), Some("application/json")),
            (Some("application/*"), Some("application/json")),
            (Some("Application/YAML"), Some("application/yaml")),
            (Some("application/json;q=0.5, application/yaml"), Some("application/yaml")),
            (Some("*/*, application/json;q=0"), Some("application/yaml")),
            (Some("text/html, */*;q=0.1"), Some("application/json")),
            (Some("text/html"), None),
            (Some("application/*;q=0"), None),
        ] {
            assert_eq!(choose_media_type(accept, OFFERED), chosen, "{accept:?}");
        }
    }
}
