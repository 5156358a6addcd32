//! The guides: Markdown files of `docs`, as people also read them on disk. Must not know the layout of a page.

use hearth_contract::paths;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::markup::Markup;

/// A guide.
#[derive(Debug)]
pub(super) struct Guide {
    /// The last segment of its path, and the name of its file without `.md`.
    pub(super) name: &'static str,
    /// What the guide is about, for the list of guides.
    pub(super) about: &'static str,
    /// The text in Markdown. The first line is the title.
    text: &'static str,
}

/// A guide of `docs/guides`.
macro_rules! guide {
    ($name:literal, $about:literal) => {
        Guide { name: $name, about: $about, text: include_str!(concat!("../../../docs/guides/", $name, ".md")) }
    };
}

/// All guides, in the order of reading.
pub(super) static GUIDES: [Guide; 12] = [
    guide!("start", "a key, and the files that the samples read"),
    guide!("paging", "reading lists page by page"),
    guide!("sync", "keeping a copy up to date, and recovering after lost history"),
    guide!("streaming", "following changes in a browser"),
    guide!("idempotency", "repeating a write safely"),
    guide!("errors", "what to do after each kind of refusal"),
    guide!("files", "storing photos and papers, and reading them back"),
    guide!("limits", "calls per minute, sizes and counts"),
    guide!("versions", "pinning a version and noticing its end"),
    guide!("calendar", "due and expiring days in a calendar program, and reminders"),
    guide!("mcp", "connecting language models"),
    Guide {
        name: "testing-sync",
        about: "causing faults, to test a client that syncs",
        text: include_str!("../../../docs/testing-sync.md"),
    },
];

impl Guide {
    /// The path of the page.
    pub(super) fn path(&self) -> String {
        paths::guide(self.name)
    }

    /// The title: the first line without its mark.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The text as HTML. Each heading has an anchor.
    pub(super) fn to_html(&self) -> Markup {
        let events: Vec<Event> = Parser::new_ext(self.text, Options::ENABLE_TABLES).collect();
        let mut anchors = anchors(&events).into_iter();
        let events = events.into_iter().map(|event| match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = anchors.next().map(CowStr::from);
                Event::Start(Tag::Heading { level, id, classes, attrs })
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = target(&dest_url).into();
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            other => other,
        });
        let mut html = String::with_capacity(self.text.len() * 2);
        html::push_html(&mut html, events);
        Markup::trusted(html)
    }
}

/// The anchors of the headings, made from their texts as code hosts make them.
fn anchors(events: &[Event]) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut open: Option<String> = None;
    for event in events {
        match event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => anchors.extend(open.take().map(|text| anchor(&text))),
            Event::Text(text) | Event::Code(text) => {
                if let Some(open) = &mut open {
                    open.push_str(text);
                }
            }
            _ => (),
        }
    }
    anchors
}

/// Lower-case letters and digits, with a hyphen for each space.
fn anchor(text: &str) -> String {
    let kept = text.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
}

/// The target of a link in the browser: a file of a guide becomes its page.
fn target(link: &str) -> String {
    let (file, anchor) = link.split_once('#').map_or((link, String::new()), |(file, at)| (file, format!("#{at}")));
    let name = file.rsplit('/').next().and_then(|file| file.strip_suffix(".md"));
    match name {
        Some(name) if !file.contains("://") => format!("{}{anchor}", paths::guide(name)),
        _ => link.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_guides_lead_to_pages() {
        for (link, wanted) in [
            ("errors.md", "/docs/guides/errors"),
            ("../testing-sync.md#daily-changes", "/docs/guides/testing-sync#daily-changes"),
            ("/docs/reference#list_tasks", "/docs/reference#list_tasks"),
            ("https://example.com/a.md", "https://example.com/a.md"),
            ("#here", "#here"),
        ] {
            assert_eq!(target(link), wanted);
        }
    }

    #[test]
    fn headings_have_anchors() {
        let guide = Guide { name: "x", about: "", text: "# One `two`, three\n\n## What --json writes\n" };
        let html = guide.to_html().to_string();
        assert!(
            html.contains("<h1 id=\"one-two-three\">") && html.contains("<h2 id=\"what---json-writes\">"),
            "{html}"
        );
        assert_eq!(guide.title(), "One `two`, three");
    }
}
