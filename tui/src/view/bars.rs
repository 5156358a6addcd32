//! Draws the bars: tabs above; status, and hints for keys, below. The hints come from the table of actions. Must not
//! know the screens between.

use std::borrow::Cow;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::theme::Theme;
use super::widgets::padded;
use crate::app::{App, TABS};
use crate::keys::{self, Action, Context};
use crate::layout::tabs::{TabLine, fit_tabs};
use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{clean_line, fit, width, wrap};
use crate::words::sync_status::status_badges;

pub(super) fn tabs(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let tabs = fit_tabs(&TabLine {
        title: app.setup.title.as_deref(),
        ascii: app.setup.ascii,
        keys: &app.setup.keys,
        counts: &app.counts,
        kinds: &TABS,
        front: app.tab,
        width: app.width,
    });
    let draw_at = |frame: &mut Frame<'_>, column: usize, line: Line<'_>| {
        let x = u16::try_from(column).unwrap_or(u16::MAX);
        let at = Rect { x: area.x.saturating_add(x), width: area.width.saturating_sub(x), ..area };
        frame.render_widget(line, at.intersection(area));
    };
    if let Some(name) = &tabs.name {
        let (program, word) = name.split_once(' ').unwrap_or((name, ""));
        let word = Span::styled(format!(" {word}"), theme.quiet());
        draw_at(frame, 1, Line::from(vec![Span::styled(program.to_owned(), theme.strong()), word]));
    }
    for tab in &tabs.tabs {
        let look = if tab.front { theme.accent().add_modifier(Modifier::UNDERLINED) } else { Style::new() };
        let count = if tab.count.is_empty() { String::new() } else { format!(" {}", tab.count) };
        let gap = if tab.key.is_empty() || tab.word.is_empty() { "" } else { " " };
        let key = Span::styled(format!("{}{gap}", tab.key), theme.quiet());
        draw_at(
            frame,
            tab.column,
            Line::from(vec![key, Span::styled(tab.word.clone(), look), Span::styled(count, theme.quiet())]),
        );
    }
}

pub(super) fn status(app: &App, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(status) = &app.status else { return };
    let room = usize::from(area.width).saturating_sub(2);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    let mut badges = status_badges(now, status, app.halt());
    // If not all badges fit, warnings come before the badge for success.
    let needs: usize = badges.iter().map(|badge| width(&badge.words) + 5).sum();
    if needs > room + 3 && badges.len() > 1 && badges[0].tone == Tone::Good {
        badges.rotate_left(1);
    }
    for badge in badges {
        // The sign of running work changes each second, unless reduced motion is set.
        let breathes = badge.sign == Sign::Working && !app.setup.reduced_motion && now.moment.seconds() % 2 == 1;
        let sign = if breathes { Sign::Breathing } else { badge.sign };
        let text = format!("{} {}", sign.text(app.setup.ascii), clean_line(&badge.words));
        let gap = if used == 0 { 0 } else { 3 };
        if used + gap + width(&text) > room && used > 0 {
            break;
        }
        spans.push(Span::raw(" ".repeat(gap)));
        used += gap + width(&text);
        spans.push(Span::styled(fit(&text, room, Sign::Cut.text(app.setup.ascii)), theme.tone(badge.tone)));
    }
    if let Some(news) = &app.news {
        let text = format!("{} just changed: {}", Sign::News.text(app.setup.ascii), clean_line(&news.text));
        if used + 3 + width(&text) <= room {
            spans.push(Span::raw("   "));
            used += 3 + width(&text);
            spans.push(Span::styled(text, theme.tone(news.tone)));
        }
    }
    // The name of the home, if there is room.
    let home = home_name(app);
    if !home.is_empty() && used + 3 + width(&home) <= room {
        spans.push(Span::raw(" ".repeat(room - used - width(&home))));
        spans.push(Span::styled(home, theme.quiet()));
    }
    frame.render_widget(Line::from(spans), area);
    if area.height > 0 && crate::layout::Layout::for_height(app.height).hints == 0 {
        notice(app, theme, frame, area);
    }
}

fn home_name(app: &App) -> String {
    let Some(status) = &app.status else { return String::new() };
    let name = status.home.as_deref().unwrap_or_default();
    let sandbox = if status.environment.as_deref() == Some("test") { "sandbox" } else { "" };
    match (name.is_empty(), sandbox.is_empty()) {
        (false, false) => format!("{} {} {sandbox}", clean_line(name), Sign::Dot.text(app.setup.ascii)),
        _ => format!("{}{sandbox}", clean_line(name)),
    }
}

/// A hint of the bar: `enter open`.
struct Hint<'a> {
    key: &'a str,
    text: Cow<'a, str>,
    /// Whether the hint leads to the list of actions, which must always fit.
    is_palette: bool,
}

pub(super) fn hints(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    if app.notice.is_some() {
        notice(app, theme, frame, area);
        return;
    }
    let room = usize::from(area.width).saturating_sub(2);
    let hints = ordered_hints(app);
    // Reserve room for the list of actions, which leads to every other action.
    let palette = hints.iter().find(|hint| hint.is_palette);
    let reserve = palette.map_or(0, |hint| width(hint.key) + width(&hint.text) + 4);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for hint in hints {
        let need = width(hint.key) + 1 + width(&hint.text) + if used > 0 { 3 } else { 0 };
        if used + need + if hint.is_palette { 0 } else { reserve } > room {
            continue;
        }
        if used > 0 {
            spans.push(Span::raw("   "));
        }
        used += need;
        spans.push(Span::styled(hint.key.to_owned(), theme.strong()));
        spans.push(Span::styled(format!(" {}", hint.text), theme.quiet()));
    }
    frame.render_widget(Line::from(spans), area);
}

/// `2 drafts wait`: how many captures wait for a person.
fn counted_drafts(number: usize) -> String {
    if number == 1 { "1 draft waits".to_owned() } else { format!("{number} drafts wait") }
}

/// The hints of the current context in the order of the table, urgent hints first.
fn ordered_hints(app: &App) -> Vec<Hint<'_>> {
    let context = app.context();
    let edits = app.status.as_ref().is_some_and(|status| status.edits_to_decide() > 0);
    let question =
        app.status.as_ref().is_some_and(|status| status.asks_about_deletions || status.held_changes.is_some());
    let drafts = app.home.overview.as_ref().map_or(0, |overview| overview.ready_captures);
    let mut hints: Vec<Hint<'_>> = Vec::new();
    for (index, binding) in keys::in_context(context) {
        // While a person must decide something, the hint to the decision comes first.
        let is_urgent = match binding.action {
            Action::Edits => edits,
            Action::Sync => question,
            Action::Inbox => context == Context::Home && drafts > 0,
            _ => false,
        };
        let hint: Cow<'_, str> = match binding.action {
            Action::Inbox if is_urgent => counted_drafts(drafts).into(),
            _ if is_urgent => "what needs you".into(),
            _ => binding.hint.into(),
        };
        let key = app.setup.keys.keys(index).first().filter(|_| !hint.is_empty());
        if let Some(key) = key.filter(|_| app.applies(context, binding.action)) {
            let place = if is_urgent { 0 } else { hints.len() };
            let key = keys::key_symbol(key, app.setup.ascii);
            hints.insert(place, Hint { key, text: hint, is_palette: binding.action == Action::Palette });
        }
    }
    hints
}

/// The most lines of a notice. A notice covers lines above the bar until the next key.
const NOTICE_LINES: usize = 3;

fn notice(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(notice) = &app.notice else { return };
    let room = usize::from(area.width).saturating_sub(2);
    let mut lines = wrap(&clean_line(&notice.text), room);
    if lines.len() > NOTICE_LINES {
        let rest = lines.split_off(NOTICE_LINES - 1).join(" ");
        lines.push(fit(&rest, room, Sign::Cut.text(app.setup.ascii)));
    }
    for (row, text) in (0..=area.y).rev().zip(lines.iter().rev()) {
        let text = format!(" {}", padded(app, text, room + 1, false));
        frame.render_widget(Span::styled(text, theme.tone(notice.tone)), Rect { y: row, height: 1, ..area });
    }
}
