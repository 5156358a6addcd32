//! Draws a list: the info line, the headings, the visible rows, and a preview of the selected record if there is room.
//! Must not change the list.

use hearth_contract::schema::Kind;
use hearth_replica::{Group, Pending, Row};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::cells::cell;
use super::widgets::{draw_input, padded, rows, scroll_bar};
use super::{detail, theme::Theme};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::layout::columns::{Content, fit_columns};
use crate::layout::{Layout, list_and_preview};
use crate::now::Now;
use crate::state::list::{List, ListLine};
use crate::words::columns::{Column, GAP, add_unit, column_name, is_usual};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{clean_line, fit, width, wrap};
use crate::words::{choice, counted, figure, plural, singular, whole_money};

/// Columns at the left: the mark, the sign of a waiting edit, a space.
const MARGIN: usize = 3;
/// The columns of the filter that have priority over the rest of the info line.
const FILTER_MIN: usize = 20;
/// The columns of a group's title that have priority over the sum.
const TITLE_MIN: usize = 12;

pub(super) fn draw(app: &App, now: Now, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(list) = app.list(app.tab) else { return };
    let layout = Layout::for_height(app.height);
    let (own, preview) = list_and_preview(area.width);
    let part = |y: u16, height: u16| Rect { x: area.x, y: area.y + y, width: own, height };
    let body = part(layout.info + layout.heading, layout.body);
    let fitted = fitted_columns(app, list, now, own);
    if list.total > 0 {
        headings(app, &fitted, theme, frame, part(layout.info, layout.heading));
    } else {
        draw_empty(app, list, theme, frame, body);
    }
    if layout.info > 0 || app.is_filtering {
        let without_room = columns_without_room(app, now, area.width);
        info(app, list, &without_room, theme, frame, part(0, 1));
    }
    for (row_area, line) in rows(body).zip(list.visible()) {
        // On a small screen the filter covers the first row.
        if row_area.y == area.y && layout.info == 0 && app.is_filtering {
            continue;
        }
        let (number, row) = match line {
            ListLine::Group(group) => {
                group_heading(app, list, group, theme, frame, Rect { width: own.saturating_sub(2), ..row_area });
                continue;
            }
            ListLine::Record(number, row) => (number, row),
        };
        let selected = number == list.selected;
        let text = match row {
            Some(row) => {
                let news = list.is_news(&row.id, now.moment);
                let look = RowLook { selected, news, marked: list.marks.contains_key(&row.id) };
                row_line(app, now, theme, row, &fitted, look)
            }
            // The page with this row is not loaded yet.
            None => Line::styled(format!("   {}", Sign::Cut.text(app.setup.ascii)), theme.quiet()),
        };
        frame.render_widget(text, row_area);
        if selected {
            frame.buffer_mut().set_style(Rect { width: own.saturating_sub(2), ..row_area }, theme.selected());
        }
    }
    // An empty column separates the scroll bar from the preview.
    let bar = Rect { width: own.saturating_sub(u16::from(preview > 0)), ..body };
    scroll_bar(app, theme, frame, bar, list.top, list.total);
    if layout.info > 0 || app.is_filtering {
        let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..part(0, 1) };
        fault(app, list, theme, frame, below);
    }
    if preview > 0 {
        let beside = Rect { x: area.x + own, width: preview, ..area };
        detail::draw_preview(app, list.current(), now, theme, frame, beside);
    }
}

/// The columns of the list with their widths, by the visible rows.
fn fitted_columns(app: &App, list: &List, now: Now, columns: u16) -> Vec<(Column, usize)> {
    let (order, ascii, is_chosen) = (list.order(), app.setup.ascii, list.chosen_columns().is_some());
    let mut all = list.columns();
    all.iter_mut().for_each(|column| add_unit(list.kind, column, app.units(), ascii));
    for column in all.iter_mut().filter(|column| column.field == order.column) {
        column.heading = format!("{} {}", column.heading, direction(order.descending).text(ascii)).into();
    }
    let visible = list.visible();
    let rows: Vec<&Row> = visible
        .iter()
        .filter_map(|line| match line {
            ListLine::Record(_, row) => *row,
            ListLine::Group(_) => None,
        })
        .collect();
    let content = |column: &Column| {
        let cells = rows.iter().map(|row| width(&clean_line(&cell(now, column.field, row, ascii).0)));
        // A person who chose a column that is not usual sees the column, with or without values.
        let is_optional = column.field != order.column && (!is_chosen || is_usual(list.kind, column.field));
        Content { heading: width(&column.heading), values: cells.max().unwrap_or(0), is_optional }
    };
    let contents: Vec<Content> = all.iter().map(content).collect();
    let number = all.len();
    for (column, content) in all.iter_mut().zip(&contents).filter(|(column, _)| is_chosen && column.rank > 0) {
        // Beside chosen columns, usual columns without values give way first.
        column.rank += if content.is_optional && content.values == 0 { number } else { 0 };
    }
    // The last columns belong to the scroll bar.
    fit_columns(all, &contents, usize::from(columns).saturating_sub(MARGIN + 3))
}

/// The values that a person has chosen for the list, and for which a screen of this width has no room.
pub(super) fn columns_without_room(app: &App, now: Now, screen_width: u16) -> Vec<&'static str> {
    let Some(list) = app.list(app.tab).filter(|list| list.chosen_columns().is_some()) else { return Vec::new() };
    let fitted = fitted_columns(app, list, now, list_and_preview(screen_width).0);
    let all = list.columns().into_iter().map(|column| column.field);
    all.filter(|field| fitted.iter().all(|(column, _)| column.field != *field)).collect()
}

const fn direction(descending: bool) -> Sign {
    if descending { Sign::Descending } else { Sign::Ascending }
}

fn info(app: &App, list: &List, without_room: &[&str], theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let dot = Sign::Dot.text(app.setup.ascii);
    let order = list.order();
    let arrow = direction(order.descending);
    let filter = clean_line(list.filter.text());
    let number = match app.counts.get(&list.kind) {
        Some(all) if *all != list.total && !filter.is_empty() => {
            format!("{} of {}", figure(list.total), counted(list.kind, *all))
        }
        _ => counted(list.kind, list.total),
    };
    let marks = (!list.marks.is_empty()).then(|| {
        let text = format!("{} {} marked", Sign::Marked.text(app.setup.ascii), figure(list.marks.len()));
        (text, theme.accent())
    });
    let sum = list.totals.cents.filter(|cents| *cents > 0);
    let sum =
        sum.map(|cents| (format!("{} {}", sum_word(list.kind), app.units().sum(&whole_money(cents))), theme.quiet()));
    let order = (format!("by {} {}", order.label, arrow.text(app.setup.ascii)), theme.quiet());
    let gap = format!("  {dot}  ");
    let lead = if app.is_filtering || !filter.is_empty() { "filter " } else { "" };
    // While the person types, the cursor needs a column after the text.
    let typed = if app.is_filtering { (width(&filter) + 1).max(FILTER_MIN) } else { width(&filter) };
    let room = usize::from(area.width).saturating_sub(MARGIN + 1);
    let needs = [typed, typed.min(FILTER_MIN)].map(|typed| width(lead) + typed);
    let columns = match without_room {
        [] => None,
        [name] => Some(format!("no room for {}", column_name(list.kind, name))),
        many => Some(format!("no room for {} columns", many.len())),
    };
    let columns = columns.map(|text| (text, theme.quiet()));
    let parts = fit_parts([marks, Some((number, Style::new())), sum, Some(order), columns], width(&gap), room, needs);
    let mut line = Line::from(Span::raw(" ".repeat(MARGIN)));
    for (text, look) in parts {
        if line.width() > MARGIN {
            line.push_span(Span::styled(gap.clone(), theme.quiet()));
        }
        line.push_span(Span::styled(fit(&text, room, Sign::Cut.text(app.setup.ascii)), look));
    }
    if !lead.is_empty() {
        let gap = if line.width() > MARGIN { gap.as_str() } else { "" };
        line.push_span(Span::styled(format!("{gap}{lead}"), theme.quiet()));
    }
    let used = u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
    let rest = Rect { x: area.x + used, width: (area.width - used).saturating_sub(1), ..area };
    frame.render_widget(line, area);
    if app.is_filtering {
        draw_input(&list.filter, theme.accent(), frame, rest);
    } else {
        let text = fit(&filter, rest.width.into(), Sign::Cut.text(app.setup.ascii));
        frame.render_widget(Span::styled(text, theme.accent()), rest);
    }
}

/// The parts of the info line that fit beside the filter, each whole or left out. `filter`: the columns of the whole
/// filter, and the least columns.
fn fit_parts<T>(mut parts: [Option<(String, T)>; 5], gap: usize, room: usize, filter: [usize; 2]) -> Vec<(String, T)> {
    let [whole, least] = filter;
    // The whole filter has priority over columns, sum and order. The start of the filter has priority over number and marks.
    for (index, filter) in [(4, whole), (2, whole), (3, whole), (1, least), (0, least)] {
        let number = parts.iter().flatten().count();
        let texts: usize = parts.iter().flatten().map(|(text, _)| width(text)).sum();
        let gaps = number.saturating_sub(usize::from(filter == 0)) * gap;
        if texts + gaps + filter > room && (number > 1 || filter > 0) {
            parts[index] = None;
        }
    }
    parts.into_iter().flatten().collect()
}

/// Draws the fault of the filter in full under the filter, over the headings and the first rows.
fn fault(app: &App, list: &List, theme: &Theme, frame: &mut Frame<'_>, below: Rect) {
    let Some(fault) = &list.understood.fault else { return };
    let text = format!("{} {}", Sign::Fault.text(app.setup.ascii), clean_line(fault));
    let room = usize::from(below.width).saturating_sub(MARGIN + 1);
    for (row, part) in rows(below).zip(wrap(&text, room)) {
        frame.render_widget(Clear, row);
        frame.buffer_mut().set_style(row, theme.ground());
        let part = format!("{}{part}", " ".repeat(MARGIN));
        frame.render_widget(Span::styled(part, theme.tone(Tone::Alarm)), row);
    }
}

/// The word before the sum of a list.
const fn sum_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "cost",
        Kind::Document => "amount to",
        _ => "worth",
    }
}

fn group_heading(app: &App, list: &List, group: &Group, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let key = group.key.as_str();
    let (title, tone) = match (list.order().column, key) {
        ("due_on", "overdue") => ("Overdue".into(), Tone::Alarm),
        ("due_on", "today") => ("Today".into(), Tone::Plain),
        ("due_on", "week") => ("This week".into(), Tone::Plain),
        ("due_on", "next_week") => ("Next week".into(), Tone::Plain),
        ("due_on", "later") => ("Later".into(), Tone::Plain),
        ("due_on", "none") => ("No day".into(), Tone::Plain),
        (_, "done") => ("Done".into(), Tone::Quiet),
        ("room_id", "") => ("In no room".into(), Tone::Quiet),
        (_, "") => ("None".into(), Tone::Quiet),
        ("room_id", _) => (group.title.clone(), Tone::Plain),
        (_, word) => (choice(word), Tone::Plain),
    };
    let mut more = figure(group.count);
    let room = |more: &str| usize::from(area.width).saturating_sub(width(more) + 5);
    if group.cents > 0 {
        let dot = Sign::Dot.text(app.setup.ascii);
        let sum = format!("{more}  {dot}  {} {}", sum_word(list.kind), app.units().sum(&whole_money(group.cents)));
        // A sum is shown whole or not at all: a cut number is a wrong number.
        if room(&sum) >= width(&title).min(TITLE_MIN) {
            more = sum;
        }
    }
    let look = if tone == Tone::Plain { theme.strong() } else { theme.tone(tone) };
    let room = room(&more);
    let title = fit(&title, room, Sign::Cut.text(app.setup.ascii));
    let spans = vec![Span::raw(" "), Span::styled(title, look), Span::styled(format!("  {more}"), theme.quiet())];
    frame.render_widget(Line::from(spans), area);
}

fn headings(app: &App, fitted: &[(Column, usize)], theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let mut text = " ".repeat(MARGIN);
    for (index, (column, wide)) in fitted.iter().enumerate() {
        if index > 0 {
            text.push_str(&" ".repeat(GAP));
        }
        text.push_str(&padded(app, &column.heading, *wide, column.right));
    }
    frame.render_widget(Span::styled(text, theme.quiet()), area);
}

/// The states of a row that change how the row is drawn.
#[derive(Clone, Copy)]
struct RowLook {
    selected: bool,
    /// Whether another device has just changed the record.
    news: bool,
    marked: bool,
}

fn row_line<'a>(
    app: &App,
    now: Now,
    theme: &Theme,
    row: &Row,
    fitted: &[(Column, usize)],
    RowLook { selected, news, marked }: RowLook,
) -> Line<'a> {
    let look = |tone: Tone| match tone {
        // On the selected line, styles of single cells would be hard to read.
        Tone::Quiet if selected => Style::new(),
        tone if selected && tone != Tone::Alarm => Style::new(),
        tone => theme.tone(tone),
    };
    let (mark, tone) = match row.pending {
        Pending::No if news => (Sign::News.text(app.setup.ascii), Tone::Good),
        Pending::No => (" ", Tone::Plain),
        Pending::Waiting => (Sign::Waiting.text(app.setup.ascii), Tone::Notice),
        Pending::NeedsYou => (Sign::NeedsYou.text(app.setup.ascii), Tone::Alarm),
    };
    let chosen = if marked { Sign::Marked.text(app.setup.ascii) } else { " " };
    let mut spans = vec![Span::styled(chosen, theme.accent()), Span::styled(mark, look(tone)), Span::raw(" ")];
    for (index, (column, wide)) in fitted.iter().enumerate() {
        if index > 0 {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        let (text, tone) = cell(now, column.field, row, app.setup.ascii);
        spans.push(Span::styled(padded(app, &text, *wide, column.right), look(tone)));
    }
    Line::from(spans)
}

/// Draws an empty list: why the list is empty, and the next key.
fn draw_empty(app: &App, list: &List, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    if !list.is_loaded {
        return;
    }
    let first = |action: Action| app.setup.keys.key_of(Context::List, action).unwrap_or("?").to_owned();
    let filter = list.filter.text().trim();
    let lines = if filter.is_empty() {
        let new = format!("Press {} to make the first {}.", first(Action::New), singular(list.kind));
        [format!("No {} yet.", plural(list.kind).to_lowercase()), new]
    } else {
        let twice = if list.marks.is_empty() { "" } else { ", after the marks" };
        let clear = format!("Press {} to clear the filter{twice}.", first(Action::ClearFilter));
        [format!("No {} matches “{filter}”.", singular(list.kind)), clear]
    };
    let room = usize::from(area.width).saturating_sub(MARGIN);
    for (row, text) in rows(area).skip(usize::from(area.height > 4)).zip(lines) {
        let text = fit(&text, room, Sign::Cut.text(app.setup.ascii));
        debug_assert!(width(&text) <= room);
        frame.render_widget(Line::from(vec![Span::raw(" ".repeat(MARGIN)), Span::styled(text, theme.quiet())]), row);
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;
    use hearth_replica::{RowPage, Totals};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::app::Setup;
    use crate::config::Colors;
    use crate::fixtures::{now, task};
    use crate::message::{Answer, Effect, Message};
    use crate::state::session::Session;

    /// The list of tasks, with an overdue task that costs more than a million.
    fn tasks() -> App {
        let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
        let effects = typed(&mut app, "2");
        answer(&mut app, effects);
        app
    }

    fn typed(app: &mut App, text: &str) -> Vec<Effect> {
        text.chars().flat_map(|letter| app.update(now(), Message::Key(KeyCode::Char(letter).into()))).collect()
    }

    fn answer(app: &mut App, effects: Vec<Effect>) {
        for effect in effects {
            let answer = match effect {
                Effect::Page(ticket, query) => {
                    let page = Ok(RowPage { total: 1, rows: vec![task("a", "Sweep", Some("2026-11-18"))] });
                    Answer::Page { ticket, kind: query.kind, offset: query.offset, page }
                }
                Effect::Totals(ticket, query, ..) => {
                    let group = Group { key: "overdue".into(), title: String::new(), count: 1, cents: 123_456_700 };
                    let totals = Ok(Totals { cents: Some(group.cents), groups: vec![group] });
                    Answer::Totals { ticket, kind: query.kind, totals }
                }
                _ => continue,
            };
            app.update(now(), Message::Answer(answer));
        }
    }

    fn screen(app: &mut App, width: u16) -> String {
        app.update(now(), Message::Resize(width, 24));
        let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
        terminal.draw(|frame| crate::view::draw(app, now(), &Theme::new(Colors::Mono), frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..24).map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn typed_filter_has_priority_in_the_info_line() {
        let mut app = tasks();
        let effects = typed(&mut app, "f");
        answer(&mut app, effects);
        for length in 1..=55 {
            let effects = typed(&mut app, "w");
            answer(&mut app, effects);
            let text = screen(&mut app, 80);
            assert!(text.contains(&format!("filter {}", "w".repeat(length))), "{length}:\n{text}");
        }
    }

    #[test]
    fn group_sum_is_whole_or_hidden() {
        let mut app = tasks();
        for width in 20..=80 {
            let text = screen(&mut app, width);
            let heading = text.lines().find(|line| line.starts_with(" Overdue")).unwrap_or_else(|| panic!("{text}"));
            let whole = heading == " Overdue  1  ·  cost 1,234,567";
            assert!(whole || heading == " Overdue  1", "{width}: {heading:?}");
            assert_eq!(whole, width >= 34, "{width}: {heading:?}");
        }
    }
}
