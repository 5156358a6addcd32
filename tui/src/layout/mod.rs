//! How the lines of the terminal are shared out, so that logic knows how much is visible and views draw exactly that.
//! Numbers only; must not know what is drawn.

pub mod tabs;

/// Less than this cannot show a home.
pub const MIN_WIDTH: u16 = 20;
/// Less than this cannot show a home.
pub const MIN_HEIGHT: u16 = 5;
/// From this width on, the selected record is shown beside its list.
pub const PREVIEW_FROM: u16 = 110;

/// The lines of each part, from top to bottom. They add up to the terminal's height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The tabs, one for each kind.
    pub tabs: u16,
    /// A rule under them.
    pub rule: u16,
    /// What the list shows: number, order, filter.
    pub info: u16,
    /// The headings of the columns.
    pub heading: u16,
    /// The rows.
    pub body: u16,
    /// A rule above the status.
    pub foot: u16,
    /// The status bar.
    pub status: u16,
    /// The keys.
    pub hints: u16,
}

impl Layout {
    /// The layout of a terminal of so many lines.
    pub fn of(height: u16) -> Layout {
        let roomy = u16::from(height >= 14);
        let medium = u16::from(height >= 9);
        let hints = u16::from(height >= 7);
        let used = 2 + 2 * roomy + 2 * medium + hints;
        Layout {
            tabs: 1,
            rule: roomy,
            info: medium,
            heading: medium,
            body: height.saturating_sub(used),
            foot: roomy,
            status: 1,
            hints,
        }
    }

    /// The lines of a screen that takes the place of a list.
    pub fn screen(self) -> u16 {
        self.info + self.heading + self.body
    }
}

/// From this width on there is something beside what needs attention.
const BESIDE_FROM: u16 = 72;
/// From this width on there are two columns beside it.
const TWO_FROM: u16 = 132;
/// Columns of the calendar, and of what stands under it.
pub const PANEL: u16 = 30;
/// The widest that what needs attention becomes: wider, the eye would lose the line between a title and what is said beside it.
const ATTENTION_MAX: u16 = 120;

/// How many panels stand beside what needs attention on a terminal of so many columns.
pub fn panels(width: u16) -> u16 {
    match width {
        width if width >= TWO_FROM => 2,
        width if width >= BESIDE_FROM => 1,
        _ => 0,
    }
}

/// The columns of what needs attention, after the first one, which is empty.
pub fn attention(width: u16) -> u16 {
    width.saturating_sub(2 + panels(width) * (PANEL + 3)).min(ATTENTION_MAX)
}

/// Whether a terminal is too small for anything but saying so.
pub fn is_too_small(width: u16, height: u16) -> bool {
    width < MIN_WIDTH || height < MIN_HEIGHT
}

/// The columns of a list and of the preview beside it.
pub fn list_and_preview(width: u16) -> (u16, u16) {
    if width < PREVIEW_FROM {
        return (width, 0);
    }
    // Divided first: a terminal may be as wide as it likes.
    let preview = (width / 25 * 9 + width % 25 * 9 / 25).min(64);
    (width - preview, preview)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_may_be_as_wide_as_it_likes() {
        for (width, preview) in [(109, 0), (110, 39), (7_282, 64), (u16::MAX, 64)] {
            assert_eq!(list_and_preview(width), (width - preview, preview));
        }
    }

    #[test]
    fn the_parts_add_up() {
        for height in MIN_HEIGHT..200 {
            let l = Layout::of(height);
            assert_eq!(l.tabs + l.rule + l.info + l.heading + l.body + l.foot + l.status + l.hints, height);
            assert!(l.body >= 3, "{height}");
        }
    }
}
