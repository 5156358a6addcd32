//! The tab line: which tabs have words and where each tab stands. The tab in front always fits. Views draw the tab
//! line, and the mouse finds tabs by the same positions. Must not know colours.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;

use crate::keys::{self, Action, Context, Keymap};
use crate::words::glyphs::Sign;
use crate::words::sanitize::{clean_line, fit, width};
use crate::words::{grouped, plural};

/// The content of the tab line.
#[derive(Debug, Clone, Copy)]
pub struct TabLine<'a> {
    /// A word after the program's name, such as `demo`.
    pub title: Option<&'a str>,
    /// Whether signs are in ASCII.
    pub ascii: bool,
    /// The keys of the actions.
    pub keys: &'a Keymap,
    /// The number of records of each kind, as far as known.
    pub counts: &'a BTreeMap<Kind, usize>,
    /// The kinds of the tabs, in order.
    pub kinds: &'a [Kind],
    /// The kind in front.
    pub front: Kind,
    /// The width of the terminal.
    pub width: u16,
}

/// The tab line as laid out.
#[derive(Debug)]
pub struct Tabs {
    /// The name of the program and a word after the name. None: no room.
    pub name: Option<String>,
    /// The visible tabs.
    pub tabs: Vec<Tab>,
}

/// A visible tab.
#[derive(Debug)]
pub struct Tab {
    /// The kind of the records behind the tab.
    pub kind: Kind,
    /// The first terminal column.
    pub column: usize,
    /// The key that opens the tab. Empty: no key, or no room.
    pub key: String,
    /// The name of the tab, possibly cut. Empty: no room.
    pub word: String,
    /// The number of records. Empty: unknown, or no room.
    pub count: String,
    /// Whether the tab is in front.
    pub front: bool,
}

/// Columns between two tabs.
const GAP: usize = 2;

/// The details that a tab line shows.
#[derive(Clone, Copy)]
struct Details {
    /// Whether the name of the program is shown.
    name: bool,
    /// Whether counts are shown.
    counts: bool,
    /// The details of the tabs behind the tab in front.
    behind: Behind,
    /// The most columns of a tab's word.
    word_max: usize,
}

/// The details of the tabs behind the tab in front.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Keys and words.
    Words,
    /// Keys only.
    Keys,
    /// Hidden.
    Hidden,
}

/// Lays the tab line out with the most details that fit.
pub fn fit_tabs(line: &TabLine<'_>) -> Tabs {
    use Behind::{Hidden, Keys, Words};
    let room = usize::from(line.width);
    let choices = [(true, true, Words), (true, false, Words), (false, false, Words), (false, false, Keys)];
    let used = |tabs: &Tabs| tabs.tabs.last().map_or(0, |tab| tab.column + tab.width());
    let uncut = |(name, counts, behind)| lay_out(line, Details { name, counts, behind, word_max: usize::MAX });
    let mut all = choices.map(uncut).into_iter();
    let least = |behind, word_max| lay_out(line, Details { name: false, counts: false, behind, word_max });
    all.find(|tabs| used(tabs) <= room).unwrap_or_else(|| match room.saturating_sub(used(&least(Keys, 0)) + 1) {
        // Keys from a person's settings can be longer than the line.
        0 => least(Hidden, room.saturating_sub(1)),
        // Every key stays visible; the word of the tab in front is cut.
        word_max => least(Keys, word_max),
    })
}

impl Tab {
    /// The width of the tab in columns.
    pub fn width(&self) -> usize {
        let parts = [&self.key, &self.word, &self.count].into_iter().filter(|part| !part.is_empty());
        parts.map(|part| width(part) + 1).sum::<usize>().saturating_sub(1)
    }
}

fn lay_out(line: &TabLine<'_>, details: Details) -> Tabs {
    let name = details.name.then(|| match line.title {
        Some(title) => format!("Hearth {}", clean_line(title)),
        None => "Hearth".to_owned(),
    });
    let mut column = 1 + name.as_ref().map_or(0, |name| width(name) + 3);
    let cut = Sign::Cut.text(line.ascii);
    let mut tabs = Vec::new();
    for kind in line.kinds.iter().copied() {
        let front = kind == line.front;
        let has_word = front || details.behind == Behind::Words;
        let key = line.keys.key_of(Context::Home, Action::Show(kind)).filter(|_| details.behind != Behind::Hidden);
        let key = key.map_or_else(String::new, |key| keys::key_symbol(key, line.ascii).to_owned());
        if key.is_empty() && !has_word {
            continue;
        }
        let count = line.counts.get(&kind).filter(|_| details.counts && kind != Kind::Property);
        let count = count.map_or_else(String::new, |count| grouped(i64::try_from(*count).unwrap_or(i64::MAX)));
        let word = if has_word { fit(plural(kind), details.word_max, cut) } else { String::new() };
        let tab = Tab { kind, column, key, word, count, front };
        // On the smallest screens, keys without words have a gap of one column: all keys fit.
        column += tab.width() + if details.behind == Behind::Words || line.width >= 33 { GAP } else { 1 };
        tabs.push(tab);
    }
    Tabs { name, tabs }
}
