//! The help as lines, made from the table of actions: it cannot forget one. Must not know where it is drawn.

use crate::keys::{Context, in_context, shown};

/// One line of the help.
#[derive(Debug, PartialEq, Eq)]
pub enum HelpLine {
    /// A heading.
    Heading(&'static str),
    /// Keys and what they do.
    Keys(String, &'static str),
    /// Nothing.
    Blank,
}

/// Every line of the help.
pub fn lines(ascii: bool) -> Vec<HelpLine> {
    let names = |keys: &[&'static str]| keys.iter().map(|key| shown(key, ascii)).collect::<Vec<_>>().join(", ");
    let mut out = Vec::new();
    for context in Context::ALL {
        if !out.is_empty() {
            out.push(HelpLine::Blank);
        }
        out.push(HelpLine::Heading(context.heading()));
        out.extend(in_context(context).map(|binding| HelpLine::Keys(names(binding.keys), binding.about)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::BINDINGS;

    #[test]
    fn every_action_is_listed() {
        let lines = lines(true);
        for binding in BINDINGS {
            assert!(lines.contains(&HelpLine::Keys(binding.keys.join(", "), binding.about)), "{}", binding.id);
        }
    }
}
