//! Which tabs are named on the first line and where: as much as fits, the one in front always. Views draw it and the mouse
//! finds its way by it. Must not know colours.

use hearth_contract::schema::Kind;

use crate::app::{App, TABS};
use crate::keys::{self, Action, Context};
use crate::words::glyphs::Sign;
use crate::words::sanitize::{fit, line, width};
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
    /// The key that goes there; empty where none does.
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
    /// What is said of the tabs behind.
    behind: Behind,
    /// Columns of a word at most.
    word_max: usize,
}

/// What is said of the tabs behind the one in front.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Their keys and words.
    Words,
    /// Their keys alone.
    Keys,
    /// Nothing: the word of the one in front is all there is.
    Nothing,
}

/// The tabs as they fit the width: the first way that does.
pub fn fitting(app: &App) -> Tabs {
    use Behind::{Keys, Nothing, Words};
    let room = usize::from(app.width);
    let ways = [(true, true, Words), (true, false, Words), (false, false, Words), (false, false, Keys)];
    let wide = |tabs: &Tabs| tabs.tabs.last().map_or(0, |tab| tab.column + tab.width());
    let whole = |(name, counts, behind)| laid_out(app, Way { name, counts, behind, word_max: usize::MAX });
    let mut all = ways.map(whole).into_iter();
    let least = |behind, word_max| laid_out(app, Way { name: false, counts: false, behind, word_max });
    all.find(|tabs| wide(tabs) <= room).unwrap_or_else(|| match room.saturating_sub(wide(&least(Keys, 0)) + 1) {
        // Keys of a person's own can be longer than there is room.
        0 => least(Nothing, room.saturating_sub(1)),
        // Every tab has its key, even if the word of the one in front is cut for it.
        word_max => least(Keys, word_max),
    })
}

impl Tab {
    /// The columns it takes.
    pub fn width(&self) -> usize {
        let parts = [&self.key, &self.word, &self.count].into_iter().filter(|part| !part.is_empty());
        parts.map(|part| width(part) + 1).sum::<usize>().saturating_sub(1)
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
    for kind in TABS {
        let front = kind == app.tab;
        let says = front || way.behind == Behind::Words;
        let key = app.setup.keys.key_of(Context::Home, Action::Show(kind)).filter(|_| way.behind != Behind::Nothing);
        let key = key.map_or_else(String::new, |key| keys::key_symbol(key, app.setup.ascii).to_owned());
        // What has neither a key nor a word here is left out.
        if key.is_empty() && !says {
            continue;
        }
        let count = app.counts.get(&kind).filter(|_| way.counts && kind != Kind::Property);
        let count = count.map_or_else(String::new, |count| grouped(i64::try_from(*count).unwrap_or(i64::MAX)));
        let tab = Tab {
            kind,
            column,
            key,
            word: if says { fit(plural(kind), way.word_max, cut) } else { String::new() },
            count,
            front,
        };
        // Keys alone stand close, so that all of them are seen on the smallest screen.
        column += tab.width() + if way.behind == Behind::Words || app.width >= 33 { GAP } else { 1 };
        tabs.push(tab);
    }
    Tabs { name, tabs }
}
