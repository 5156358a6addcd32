//! The bars: tabs above, status and keys below. The keys come from the table of actions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::{Theme, padded};
use crate::app::App;
use crate::keys::{self, Action};
use crate::layout::tabs::fitting;
use crate::now::Now;
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{fit, line, width, wrap};
use crate::words::standing::standings;

pub(super) fn tabs(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let tabs = fitting(app);
    let put = |frame: &mut Frame<'_>, column: usize, line: Line<'_>| {
        let x = u16::try_from(column).unwrap_or(u16::MAX);
        let at = Rect { x: area.x.saturating_add(x), width: area.width.saturating_sub(x), ..area };
        frame.render_widget(line, at.intersection(area));
    };
    if let Some(name) = &tabs.name {
        let (program, word) = name.split_once(' ').unwrap_or((name, ""));
        let word = Span::styled(format!(" {word}"), theme.quiet());
        put(frame, 1, Line::from(vec![Span::styled(program.to_owned(), theme.strong()), word]));
    }
    for tab in &tabs.tabs {
        let look = if tab.front { theme.accent().add_modifier(Modifier::UNDERLINED) } else { Style::new() };
        let count = if tab.count.is_empty() { String::new() } else { format!(" {}", tab.count) };
        let gap = if tab.key.is_empty() || tab.word.is_empty() { "" } else { " " };
        let key = Span::styled(format!("{}{gap}", tab.key), theme.quiet());
        put(
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
    let mut all = standings(now, status, app.halt());
    // Where not all of it fits, what wants a person comes before that all is well.
    let needs: usize = all.iter().map(|standing| width(&standing.words) + 5).sum();
    if needs > room + 3 && all.len() > 1 && all[0].tone == Tone::Good {
        all.rotate_left(1);
    }
    for standing in all {
        // Work under way breathes once in two seconds, unless nothing shall move.
        let breathes = standing.sign == Sign::Working && !app.setup.reduced_motion && now.moment.seconds() % 2 == 1;
        let sign = if breathes { Sign::Breathing } else { standing.sign };
        let text = format!("{} {}", sign.text(app.setup.ascii), line(&standing.words));
        let gap = if used == 0 { 0 } else { 3 };
        if used + gap + width(&text) > room && used > 0 {
            break;
        }
        spans.push(Span::raw(" ".repeat(gap)));
        used += gap + width(&text);
        spans.push(Span::styled(fit(&text, room, Sign::Cut.text(app.setup.ascii)), theme.tone(standing.tone)));
    }
    if let Some(news) = &app.news {
        let text = format!("{} just changed: {}", Sign::News.text(app.setup.ascii), line(&news.text));
        if used + 3 + width(&text) <= room {
            spans.push(Span::raw("   "));
            used += 3 + width(&text);
            spans.push(Span::styled(text, theme.tone(news.tone)));
        }
    }
    // Whose home this is, where there is room to say it.
    let home = home_name(app);
    if !home.is_empty() && used + 3 + width(&home) <= room {
        spans.push(Span::raw(" ".repeat(room - used - width(&home))));
        spans.push(Span::styled(home, theme.quiet()));
    }
    frame.render_widget(Line::from(spans), area);
    if area.height > 0 && crate::layout::Layout::of(app.height).hints == 0 {
        notice(app, theme, frame, area);
    }
}

fn home_name(app: &App) -> String {
    let Some(status) = &app.status else { return String::new() };
    let name = status.home.as_deref().unwrap_or_default();
    let sandbox = if status.environment.as_deref() == Some("test") { "sandbox" } else { "" };
    match (name.is_empty(), sandbox.is_empty()) {
        (false, false) => format!("{} {} {sandbox}", line(name), Sign::Dot.text(app.setup.ascii)),
        _ => format!("{}{sandbox}", line(name)),
    }
}

pub(super) fn hints(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    if app.notice.is_some() {
        notice(app, theme, frame, area);
        return;
    }
    let context = app.context();
    let room = usize::from(area.width).saturating_sub(2);
    let edits = app.status.as_ref().is_some_and(|status| status.edits_to_decide() > 0);
    let deletions = app.status.as_ref().is_some_and(|status| status.asks_about_deletions);
    let mut shown: Vec<(&str, &str, bool)> = Vec::new();
    for (index, binding) in keys::in_context(context) {
        // The way to what needs somebody is told as long as something does, and first.
        let is_urgent = match binding.action {
            Action::Edits => edits,
            Action::Sync => deletions,
            _ => false,
        };
        let hint = if is_urgent { "what needs you" } else { binding.hint };
        let key = app.setup.keys.keys(index).first().filter(|_| !hint.is_empty());
        if let Some(key) = key.filter(|_| app.applies(context, binding.action)) {
            let place = if is_urgent { 0 } else { shown.len() };
            shown.insert(place, (keys::key_symbol(key, app.setup.ascii), hint, binding.action == Action::Palette));
        }
    }
    // The list of all actions comes first where space is short: from there everything is found.
    let reserve = shown.iter().find(|(_, _, all)| *all).map_or(0, |(key, hint, _)| width(key) + width(hint) + 4);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for (key, hint, all) in shown {
        let need = width(key) + 1 + width(hint) + if used > 0 { 3 } else { 0 };
        if used + need + if all { 0 } else { reserve } > room {
            continue;
        }
        if used > 0 {
            spans.push(Span::raw("   "));
        }
        used += need;
        spans.push(Span::styled(key.to_owned(), theme.strong()));
        spans.push(Span::styled(format!(" {hint}"), theme.quiet()));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Lines of a notice; they grow upwards over what is there, which comes back with the next key.
const NOTICE_LINES: usize = 3;

fn notice(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(notice) = &app.notice else { return };
    let room = usize::from(area.width).saturating_sub(2);
    let mut lines = wrap(&line(&notice.text), room);
    if lines.len() > NOTICE_LINES {
        let rest = lines.split_off(NOTICE_LINES - 1).join(" ");
        lines.push(fit(&rest, room, Sign::Cut.text(app.setup.ascii)));
    }
    for (row, text) in (0..=area.y).rev().zip(lines.iter().rev()) {
        let text = format!(" {}", padded(app, text, room + 1, false));
        frame.render_widget(Span::styled(text, theme.tone(notice.tone)), Rect { y: row, height: 1, ..area });
    }
}
