//! The HTML of a template, and text that is HTML already. Must not know what the text says.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;

/// The text of a template. A template of this folder fails in no case, because it writes into memory.
pub(super) fn html(page: &impl Template) -> String {
    page.render().expect("a template without fallible parts")
}

/// HTML that a template writes as it is. Everything that comes from elsewhere was escaped before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Markup(String);

impl Markup {
    /// HTML that was made by code that escapes, such as the writer of Markdown.
    pub(super) fn trusted(html: String) -> Markup {
        Markup(html)
    }

    /// A sentence. Text between backticks becomes `<code>`.
    pub(super) fn sentence(text: &str) -> Markup {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let parts = escaped.split('`').enumerate();
        Markup(
            parts
                .map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
                .collect(),
        )
    }

    /// Whether there is no text.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_is_escaped_with_its_code() {
        let html = Markup::sentence("Send `a<b` & <script>.").to_string();
        assert_eq!(html, "Send <code>a&lt;b</code> &amp; &lt;script&gt;.");
    }
}
