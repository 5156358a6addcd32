//! Draws the home screen: the attention list, and panels with the calendar, activity, worth and profile. Must not
//! change the state.

mod panels;

use hearth_contract::schema::Kind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use time::Date;

use super::cells::{cell, due_cell};
use super::theme::Theme;
use super::widgets::{inset, key_of, padded, rows, scroll_bar};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::layout::{self, PANEL};
use crate::state::home::{self, Entry, HomeLine, Section};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{clean_line, fit, width, wrap};
use crate::words::{self, choice, day};

/// The usual width of a day in the attention list.
const DAY: usize = 13;
/// The most columns of the details beside a title that is cut.
const BESIDE: usize = 16;
/// The least columns of title and details together that show details.
const BESIDE_FROM: usize = 34;
/// The empty columns before a day, without the gap after the day.
const INDENT: usize = 1;

pub(super) fn draw(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let inner = inset(area);
    let panels = layout::panel_count(area.width);
    let list = Rect { width: layout::attention_width(area.width).min(inner.width), ..inner };
    attention(app, theme, frame, list);
    let at = |number: u16| Rect { x: list.right() + 3 + number * (PANEL + 3), width: PANEL, ..inner };
    match panels {
        2 => {
            panels::first(app, theme, frame, at(0), true);
            panels::second(app, theme, frame, at(1));
        }
        1 => panels::first(app, theme, frame, at(0), false),
        _ => {}
    }
}

fn attention(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let sections = app.home.sections(app.today);
    let Some(overview) = &app.home.overview else { return };
    if sections.is_empty() {
        let empty = app.counts.values().all(|count| *count == 0) && overview.profile.is_none();
        return draw_empty(app, theme, frame, area, empty, overview.open);
    }
    let (lines, top) = home::lines(&sections, app.home.selected, area.height);
    let text = Rect { width: area.width.saturating_sub(2), ..area };
    let visible = lines.iter().skip(top).take(area.height.into());
    let entries: Vec<EntryText> = visible
        .filter_map(|line| match line {
            HomeLine::Entry(_, entry) => Some(EntryText::of(app, entry)),
            _ => None,
        })
        .collect();
    let widths = Widths::of(&entries, usize::from(text.width));
    let mut entries = entries.iter();
    for (row, line) in rows(text).zip(lines.iter().skip(top)) {
        match line {
            HomeLine::Blank => {}
            HomeLine::More(text) => {
                let text = fit(&format!("  {text}"), usize::from(row.width), Sign::Cut.text(app.setup.ascii));
                frame.render_widget(Span::styled(text, theme.quiet()), row);
            }
            HomeLine::Heading(section) => {
                let is_overdue = is_overdue(section, app.today);
                let look = if is_overdue { theme.tone(Tone::Alarm) } else { theme.accent() };
                let sign =
                    if is_overdue { format!("{} ", Sign::NeedsYou.text(app.setup.ascii)) } else { String::new() };
                let count = words::grouped(i64::try_from(section.count).unwrap_or(i64::MAX));
                let spans = vec![
                    Span::styled(format!("{sign}{}", section.title), look),
                    Span::styled(format!("  {count}"), theme.quiet()),
                ];
                frame.render_widget(Line::from(spans), row);
            }
            HomeLine::Entry(at, _) => {
                let Some(entry) = entries.next() else { continue };
                let selected = *at == app.home.selected;
                frame.render_widget(entry_line(app, theme, entry, widths, usize::from(row.width), selected), row);
                if selected {
                    frame.buffer_mut().set_style(row, theme.selected());
                }
            }
        }
    }
    scroll_bar(app, theme, frame, area, top, lines.len());
}

/// Whether a section holds the overdue tasks. All entries of a section are of one kind and urgency.
fn is_overdue(section: &Section<'_>, today: Date) -> bool {
    let is_late = |entry: &Entry<'_>| matches!(entry, Entry::Task(_)) && entry.on().is_some_and(|date| date < today);
    section.entries.first().is_some_and(is_late)
}

/// The texts of an entry.
struct EntryText {
    on: String,
    tone: Tone,
    title: String,
    /// Priority and person, or what ends.
    more: String,
}

impl EntryText {
    fn of(app: &App, entry: &Entry<'_>) -> EntryText {
        match entry {
            Entry::Task(row) => {
                let (on, tone) = due_cell(app.now, row, app.setup.ascii);
                let (priority, _) = cell(app.now, "priority", row, app.setup.ascii);
                let urgent = matches!(words::text_field(&row.fields, "priority"), Some("urgent" | "high"));
                let who = words::text_field(&row.fields, "assignee").unwrap_or_default();
                let more =
                    [priority.as_str(), who].into_iter().skip(usize::from(!urgent)).filter(|part| !part.is_empty());
                EntryText { on, tone, title: row.title.clone(), more: more.collect::<Vec<_>>().join("  ") }
            }
            Entry::Expiring(expiring) => {
                let date = entry.on();
                let on = date.map_or(expiring.on.clone(), |date| day(app.today, date));
                let tone = if date.is_some_and(|date| date < app.today) { Tone::Alarm } else { Tone::Notice };
                EntryText { on, tone, title: expiring.title.clone(), more: choice(&expiring.what) }
            }
        }
    }
}

/// The columns of the parts of an entry; the title has the rest.
#[derive(Clone, Copy)]
struct Widths {
    /// The day.
    day: usize,
    /// The details beside the title; 0: hidden.
    beside: usize,
}

impl Widths {
    /// The widths for these entries: a title is cut only when the days and the details leave no unused columns.
    fn of(entries: &[EntryText], columns: usize) -> Widths {
        let most = |text: fn(&EntryText) -> &str| {
            entries.iter().map(|entry| width(&clean_line(text(entry)))).max().unwrap_or(0)
        };
        let (on, title, more) = (most(|entry| &entry.on), most(|entry| &entry.title), most(|entry| &entry.more));
        let usual = DAY.min(columns / 2);
        let rest = |day: usize| columns.saturating_sub(day + 2);
        // The details beside the title are hidden first.
        let beside = |rest: usize| match rest {
            0..BESIDE_FROM => 0,
            rest => more.min(BESIDE.min(rest / 3).max(rest.saturating_sub(title + 1))),
        };
        let (all, least) = (rest(usual), beside(rest(usual)));
        let is_cut = title + least + usize::from(least > 0) > all;
        let day = if is_cut { usual.min(on + INDENT) } else { usual };
        Widths { day, beside: beside(rest(day)) }
    }
}

fn entry_line<'a>(
    app: &App,
    theme: &Theme,
    entry: &EntryText,
    widths: Widths,
    columns: usize,
    selected: bool,
) -> Line<'a> {
    let look = |tone: Tone| if selected { ratatui::style::Style::new() } else { theme.tone(tone) };
    let Widths { day, beside } = widths;
    let rest = columns.saturating_sub(day + 2);
    let EntryText { on, tone, title, more } = entry;
    let mut spans = vec![
        Span::styled(padded(app, &format!("  {on}"), day + 1, false), look(*tone)),
        Span::raw(" "),
        Span::raw(padded(app, title, rest.saturating_sub(beside + usize::from(beside > 0)), false)),
    ];
    if beside > 0 {
        spans.push(Span::raw(" "));
        spans.push(Span::styled(padded(app, more, beside, false), look(Tone::Quiet)));
    }
    Line::from(spans)
}

/// Draws the screen when nothing needs attention. `empty`: whether the home has no records at all. `open`: the number
/// of open tasks.
fn draw_empty(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect, empty: bool, open: usize) {
    let columns = usize::from(area.width);
    let lines = if empty {
        first_steps(app, columns)
    } else {
        let add = key_of(app, Context::Home, Action::QuickAdd);
        let later = match open {
            0 => add.map(|add| format!("{add} adds a task in one line.")).unwrap_or_default(),
            open => format!("{} for later.", words::counted(Kind::Task, open)),
        };
        let lines = ["Nothing is due this week or the next, and nothing runs out soon.".to_owned(), later];
        lines.iter().flat_map(|text| wrap(text, columns)).collect()
    };
    for (row, text) in rows(area).zip(lines) {
        let text = fit(&text, row.width.into(), Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.quiet()), row);
    }
}

/// The first keys to press in a home without records. An action without a key is left out.
fn first_steps(app: &App, columns: usize) -> Vec<String> {
    let key = |action| key_of(app, Context::Home, action);
    let more = [
        key(Action::Show(Kind::Room)).map(|key| format!("rooms are under {key}")),
        key_of(app, Context::List, Action::New).map(|key| format!("{key} adds a record")),
    ];
    let more: Vec<String> = more.into_iter().flatten().collect();
    let colon = if more.is_empty() { "" } else { ": " };
    let offers = [
        (key(Action::QuickAdd), "add a task in one line".to_owned()),
        (key(Action::Show(Kind::Inventory)), format!("the inventory{colon}{}", more.join(", "))),
        (key(Action::Palette), "all other actions".to_owned()),
    ];
    let offers: Vec<(&str, String)> = offers.into_iter().filter_map(|(key, text)| Some((key?, text))).collect();
    let key_width = offers.iter().map(|(key, _)| width(key) + 3).max().unwrap_or(0);
    let mut lines = wrap("This home is empty so far.", columns);
    lines.push(String::new());
    for (key, text) in offers {
        let keys = std::iter::once(key).chain(std::iter::repeat(""));
        let parts = wrap(&text, columns.saturating_sub(key_width));
        lines.extend(keys.zip(parts).map(|(key, part)| padded(app, key, key_width, false) + &part));
    }
    lines
}
