//! The bars: tabs above, status and keys below. The keys come from the table of actions.

use hearth_contract::schema::Kind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::Theme;
use crate::app::{App, TABS};
use crate::glyphs::Sign;
use crate::keys::{self, Action};
use crate::now::Now;
use crate::sanitize::{fit, line, width};
use crate::standing::standings;
use crate::words::{grouped, plural};

/// How much a tab says, from all to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tab {
    WithCount,
    WithName,
    OnlyFront,
}

pub(super) fn tabs(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.width);
    let ways = [(true, Tab::WithCount), (true, Tab::WithName), (false, Tab::WithName), (false, Tab::OnlyFront)];
    let lines = ways.map(|(name, tab)| tab_line(app, theme, name, tab));
    let fitting = lines.into_iter().find(|line| line.width() <= room);
    frame.render_widget(fitting.unwrap_or_else(|| tab_line(app, theme, false, Tab::OnlyFront)), area);
}

fn tab_line<'a>(app: &App, theme: &Theme, with_name: bool, tab: Tab) -> Line<'a> {
    let mut spans = vec![Span::raw(" ")];
    if with_name {
        spans.push(Span::styled("Hearth", theme.strong()));
        if let Some(title) = &app.title {
            spans.push(Span::styled(format!(" {}", line(title)), theme.quiet()));
        }
        spans.push(Span::raw("   "));
    }
    for (index, kind) in TABS.into_iter().enumerate() {
        let front = kind == app.tab;
        if tab == Tab::OnlyFront && !front {
            continue;
        }
        if index > 0 && tab != Tab::OnlyFront {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(format!("{} ", index + 1), theme.quiet()));
        let look = if front { theme.accent().add_modifier(Modifier::UNDERLINED) } else { ratatui::style::Style::new() };
        spans.push(Span::styled(plural(kind), look));
        if let (Some(count), Tab::WithCount) = (app.counts.get(&kind), tab) {
            let count = grouped(i64::try_from(*count).unwrap_or(i64::MAX));
            spans.push(Span::styled(format!(" {count}"), theme.quiet()));
        }
    }
    if tab == Tab::OnlyFront {
        spans.push(Span::styled(format!("  of {}", TABS.len()), theme.quiet()));
    }
    Line::from(spans)
}

pub(super) fn status(app: &App, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(status) = &app.status else { return };
    let room = usize::from(area.width).saturating_sub(2);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for standing in standings(now, status) {
        let text = format!("{} {}", standing.sign.text(app.ascii), line(&standing.words));
        let gap = if used == 0 { 0 } else { 3 };
        if used + gap + width(&text) > room && used > 0 {
            break;
        }
        spans.push(Span::raw(" ".repeat(gap)));
        used += gap + width(&text);
        spans.push(Span::styled(fit(&text, room, Sign::Cut.text(app.ascii)), theme.tone(standing.tone)));
    }
    if let Some(news) = &app.news {
        let text = format!("{} just changed: {}", Sign::News.text(app.ascii), line(&news.text));
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
        (false, false) => format!("{} {} {sandbox}", line(name), Sign::Dot.text(app.ascii)),
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
    // Help comes first where space is short: from there everything is found.
    let all: Vec<_> = keys::in_context(context).filter(|b| !b.hint.is_empty() && applies(app, b.action)).collect();
    let reserve = all.iter().find(|b| b.action == Action::Help).map_or(0, |b| width(b.keys[0]) + width(b.hint) + 4);
    let mut spans = vec![Span::raw(" ")];
    let mut used = 0;
    for binding in all {
        let key = keys::shown(binding.keys[0], app.ascii);
        let need = width(key) + 1 + width(binding.hint) + if used > 0 { 3 } else { 0 };
        let kept = if binding.action == Action::Help { 0 } else { reserve };
        if used + need + kept > room {
            continue;
        }
        if used > 0 {
            spans.push(Span::raw("   "));
        }
        used += need;
        spans.push(Span::styled(key, theme.strong()));
        spans.push(Span::styled(format!(" {}", binding.hint), theme.quiet()));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Whether an action can do something where the keyboard is; the footer promises nothing else.
fn applies(app: &App, action: Action) -> bool {
    match action {
        Action::Done => app.shown_kind() == Some(Kind::Task),
        Action::Delete => app.shown_kind() != Some(Kind::Property),
        _ => true,
    }
}

fn notice(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(notice) = &app.notice else { return };
    let text = fit(&notice.text, usize::from(area.width).saturating_sub(2), Sign::Cut.text(app.ascii));
    let text = format!(" {text:<width$}", width = usize::from(area.width).saturating_sub(1));
    frame.render_widget(Span::styled(text, theme.tone(notice.tone)), area);
}
