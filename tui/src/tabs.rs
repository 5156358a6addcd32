//! Which tabs are named on the first line and where: as much as fits, the one in front always. Views draw it and the mouse
//! finds its way by it. Must not know colours.

use hearth_contract::schema::Kind;

use crate::app::{App, TABS};
use crate::glyphs::Sign;
use crate::sanitize::{fit, line, width};
use crate::words::{grouped, plural};

/// The first line.
#[derive(Debug)]
pub struct Tabs {
    /// The name of the program and a word beside it, where there is room.
    pub name: Option<String>,
    /// The tabs that are named.
    pub tabs: Vec<Tab>,
}

/// One tab.
#[derive(Debug)]
pub struct Tab {
    /// Its kind.
    pub kind: Kind,
    /// The column at which it begins.
    pub column: usize,
    /// The key that goes there.
    pub key: String,
    /// Its word, as far as there is room.
    pub word: String,
    /// How many records it has; empty where that is not said.
    pub count: String,
    /// Whether it is in front.
    pub front: bool,
}

/// Columns between two tabs.
const GAP: usize = 2;

/// How much is said of the tabs.
#[derive(Clone, Copy)]
struct Way {
    /// The name of the program.
    name: bool,
    /// How many records there are.
    counts: bool,
    /// The words of the tabs behind; without them their keys alone.
    words: bool,
    /// Columns of a word at most.
    word_max: usize,
}

/// The tabs as they fit the width: the first way that does.
pub fn fitting(app: &App) -> Tabs {
    let room = usize::from(app.width);
    let ways = [(true, true, true), (true, false, true), (false, false, true), (false, false, false)];
    let wide = |tabs: &Tabs| tabs.tabs.last().map_or(0, |tab| tab.column + tab.width());
    let whole = |(name, counts, words)| laid_out(app, Way { name, counts, words, word_max: usize::MAX });
    let mut all = ways.map(whole).into_iter();
    let least = |word_max| laid_out(app, Way { name: false, counts: false, words: false, word_max });
    // Every tab has its key, even if the word of the one in front is cut for it.
    all.find(|tabs| wide(tabs) <= room).unwrap_or_else(|| least(room.saturating_sub(wide(&least(0)) + 1)))
}

impl Tab {
    /// The columns it takes.
    pub fn width(&self) -> usize {
        let count = if self.count.is_empty() { 0 } else { width(&self.count) + 1 };
        let word = if self.word.is_empty() { 0 } else { width(&self.word) + 1 };
        width(&self.key) + word + count
    }
}

fn laid_out(app: &App, way: Way) -> Tabs {
    let name = way.name.then(|| match &app.setup.title {
        Some(title) => format!("Hearth {}", line(title)),
        None => "Hearth".to_owned(),
    });
    let mut column = 1 + name.as_ref().map_or(0, |name| width(name) + 3);
    let cut = Sign::Cut.text(app.setup.ascii);
    let mut tabs = Vec::new();
    for (index, kind) in TABS.into_iter().enumerate() {
        let front = kind == app.tab;
        let says = front || way.words;
        let count = app.counts.get(&kind).filter(|_| way.counts && kind != Kind::Property);
        let count = count.map_or_else(String::new, |count| grouped(i64::try_from(*count).unwrap_or(i64::MAX)));
        let tab = Tab {
            kind,
            column,
            key: (index + 1).to_string(),
            word: if says { fit(plural(kind), way.word_max, cut) } else { String::new() },
            count,
            front,
        };
        // Keys alone stand close, so that all of them are seen on the smallest screen.
        column += tab.width() + if way.words || app.width >= 33 { GAP } else { 1 };
        tabs.push(tab);
    }
    Tabs { name, tabs }
}
