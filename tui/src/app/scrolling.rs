//! Positions after a movement. Must not know which screen scrolls.

use crate::keys::Action;

/// The position after a movement, from 0 to `most`; `page` is the number of visible lines.
pub(super) fn scrolled(at: usize, action: Action, page: usize, most: usize) -> usize {
    let to = match action {
        Action::Down => at.saturating_add(1),
        Action::Up => at.saturating_sub(1),
        Action::PageDown => at.saturating_add(page),
        Action::PageUp => at.saturating_sub(page),
        Action::First => 0,
        Action::Last => most,
        _ => at,
    };
    to.min(most)
}
