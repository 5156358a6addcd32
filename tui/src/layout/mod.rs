//! The layout of the screen in lines and columns. The application state computes page sizes from the layout, and views
//! draw by the same numbers. Must not know what is drawn.

pub mod columns;
pub mod tabs;

/// The least width of the terminal, in columns.
pub const MIN_WIDTH: u16 = 20;
/// The least height of the terminal, in lines.
pub const MIN_HEIGHT: u16 = 5;
/// The least width with a preview of the selected record beside a list, in columns.
pub const PREVIEW_FROM: u16 = 110;

/// The number of lines of each part of the screen, from top to bottom. The sum is the height of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The tabs.
    pub tabs: u16,
    /// The rule under the tabs.
    pub rule: u16,
    /// The line above a list: number of records, order, filter.
    pub info: u16,
    /// The column headings of a list.
    pub heading: u16,
    /// The rows of a list.
    pub body: u16,
    /// The rule above the status bar.
    pub foot: u16,
    /// The status bar.
    pub status: u16,
    /// The hints for keys.
    pub hints: u16,
}

impl Layout {
    /// The layout of a terminal with `height` lines.
    pub fn for_height(height: u16) -> Layout {
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

    /// The lines of a screen without a list: the info, heading and body lines together.
    pub fn screen(self) -> u16 {
        self.info + self.heading + self.body
    }
}

/// The lines above the list of an import, on a screen with this many lines. A low screen shows sum and fault alone.
pub const fn import_header(screen: u16) -> u16 {
    if screen >= 12 { 6 } else { 2 }
}

/// The least width of the home screen with one panel.
const ONE_PANEL_FROM: u16 = 72;
/// The least width of the home screen with two panels.
const TWO_PANELS_FROM: u16 = 132;
/// The width of a panel of the home screen, such as the calendar.
pub const PANEL: u16 = 30;
/// The most columns of the attention list. In a wider list the eye loses the line between title and details.
const ATTENTION_MAX: u16 = 120;

/// The number of panels on the home screen: 0, 1 or 2.
pub fn panel_count(width: u16) -> u16 {
    match width {
        width if width >= TWO_PANELS_FROM => 2,
        width if width >= ONE_PANEL_FROM => 1,
        _ => 0,
    }
}

/// The width of the attention list on the home screen. The list starts after one empty column.
pub fn attention_width(width: u16) -> u16 {
    width.saturating_sub(2 + panel_count(width) * (PANEL + 3)).min(ATTENTION_MAX)
}

/// Whether the terminal is too small for any screen.
pub fn is_too_small(width: u16, height: u16) -> bool {
    width < MIN_WIDTH || height < MIN_HEIGHT
}

/// The widths of a list and of the preview beside the list. Without a preview the second is 0.
pub fn list_and_preview(width: u16) -> (u16, u16) {
    if width < PREVIEW_FROM {
        return (width, 0);
    }
    // Divide before multiplying: `width * 9` overflows for very wide terminals.
    let preview = (width / 25 * 9 + width % 25 * 9 / 25).min(64);
    (width - preview, preview)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preview_width_never_overflows() {
        for (width, preview) in [(109, 0), (110, 39), (7_282, 64), (u16::MAX, 64)] {
            assert_eq!(list_and_preview(width), (width - preview, preview));
        }
    }

    #[test]
    fn layout_lines_add_up_to_height() {
        for height in MIN_HEIGHT..200 {
            let l = Layout::for_height(height);
            assert_eq!(l.tabs + l.rule + l.info + l.heading + l.body + l.foot + l.status + l.hints, height);
            assert!(l.body >= 3, "{height}");
        }
    }
}
