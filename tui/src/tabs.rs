//! Which tabs are named on the first line and where: as much as fits, the one in front always. Views draw it and the mouse
//! finds its way by it. Must not know colours.

use hearth_contract::schema::Kind;

use crate::app::{App, TABS};
use crate::sanitize::{line, width};
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
    /// Its word.
    pub word: &'static str,
    /// How many records it has; empty where that is not said.
    pub count: String,
    /// Whether it is in front.
    pub front: bool,
}

/// Columns between two tabs.
const GAP: usize = 2;

/// The tabs as they fit the width.
pub fn fitting(app: &App) -> Tabs {
    let room = usize::from(app.width);
    let ways = [(true, true, false), (true, false, false), (false, false, false)];
    let all = ways.into_iter().map(|(name, counts, only)| laid_out(app, name, counts, only));
    let wide = |tabs: &Tabs| tabs.tabs.last().map_or(0, |tab| tab.column + tab.width());
    all.into_iter().find(|tabs| wide(tabs) <= room).unwrap_or_else(|| laid_out(app, false, true, true))
}

impl Tab {
    /// The columns it takes.
    pub fn width(&self) -> usize {
        let count = if self.count.is_empty() { 0 } else { width(&self.count) + 1 };
        width(&self.key) + 1 + width(self.word) + count
    }
}

fn laid_out(app: &App, name: bool, counts: bool, only_front: bool) -> Tabs {
    let name = name.then(|| match &app.setup.title {
        Some(title) => format!("Hearth {}", line(title)),
        None => "Hearth".to_owned(),
    });
    let mut column = 1 + name.as_ref().map_or(0, |name| width(name) + 3);
    let mut tabs = Vec::new();
    for (index, kind) in TABS.into_iter().enumerate() {
        let front = kind == app.tab;
        if only_front && !front {
            continue;
        }
        let count = app.counts.get(&kind).filter(|_| counts && kind != Kind::Property);
        let count = count.map_or_else(String::new, |count| grouped(i64::try_from(*count).unwrap_or(i64::MAX)));
        let tab = Tab { kind, column, key: (index + 1).to_string(), word: plural(kind), count, front };
        column += tab.width() + GAP;
        tabs.push(tab);
    }
    Tabs { name, tabs }
}
