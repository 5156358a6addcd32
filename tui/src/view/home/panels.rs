//! Draws the panels of the home screen: the calendar, the bars of worth, the sparkline of activity, the profile. Must
//! not change the state.

use std::collections::BTreeMap;

use hearth_contract::formats::{format_date, parse_date};
use hearth_replica::Row;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use time::{Date, Duration};

use super::super::theme::Theme;
use super::super::widgets::{key_of, padded, rows};
use crate::app::App;
use crate::keys::{Action, Context};
use crate::state::home::{ACTIVITY_DAYS, Home};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{clean_line, fit, width};
use crate::words::{self, choice, month_name, whole_money};

/// The lines of the calendar: the month, the weekdays, six weeks.
const CALENDAR_LINES: u16 = 8;
/// The least columns of the longest bar.
const BAR_MIN: usize = 3;
/// The least height of a panel with the meaning of the calendar's signs under the calendar.
const LEGEND_FROM: u16 = 15;

/// The first panel: the calendar and the parts that fit under the calendar. `wide`: whether a second panel shows the
/// other parts.
pub(super) fn first(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect, wide: bool) {
    let mut stack = Stack { area };
    if let Some(part) = stack.take(CALENDAR_LINES) {
        calendar(app, theme, frame, part);
    }
    if let Some(part) = stack.take(u16::from(area.height >= LEGEND_FROM)) {
        let (due, ends) = (Sign::Due.text(app.setup.ascii), Sign::Ends.text(app.setup.ascii));
        frame.render_widget(Span::styled(format!("{due} task due  {ends} something ends"), theme.quiet()), part);
    }
    let Some(figures) = &app.home.figures else { return };
    stack.gap();
    if let Some(part) = stack.take(if area.height >= 13 { 2 } else { 0 }) {
        activity(app, &figures.activity, theme, frame, part);
        stack.gap();
    }
    let height_of = |most: u16, stack: &Stack| most.min(stack.area.height);
    let rooms_height = height_of(if wide { 12 } else { 6 }, &stack);
    if let Some(part) = stack.take(rooms_height) {
        bars(app, "Worth by room", "no room", &figures.rooms, theme, frame, part);
    }
    if !wide {
        stack.gap();
        let categories_height = height_of(5, &stack);
        if let Some(part) = stack.take(categories_height) {
            bars(app, "By category", "no category", &with_choice_words(&figures.categories), theme, frame, part);
        }
        stack.gap();
        profile(app, theme, frame, stack.area);
    }
}

/// The second panel of a wide screen.
pub(super) fn second(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let mut stack = Stack { area };
    if let Some(part) = stack.take(CALENDAR_LINES.min(area.height)) {
        profile(app, theme, frame, part);
    }
    stack.gap();
    if let (Some(figures), Some(part)) = (&app.home.figures, stack.take(stack.area.height.min(13))) {
        bars(app, "Worth by category", "no category", &with_choice_words(&figures.categories), theme, frame, part);
    }
}

/// The free area of a panel, used from top to bottom.
struct Stack {
    area: Rect,
}

impl Stack {
    /// Takes the next `height` lines. None: the lines do not fit, or `height` is 0.
    fn take(&mut self, height: u16) -> Option<Rect> {
        if height == 0 || height > self.area.height {
            return None;
        }
        let part = Rect { height, ..self.area };
        self.area = Rect { y: self.area.y + height, height: self.area.height - height, ..self.area };
        Some(part)
    }

    fn gap(&mut self) {
        let _ = self.take(1);
    }
}

/// The calendar, with a mark at each day on which a task is due or a contract ends.
fn calendar(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let first = app.home.first_of_month(app.today);
    let marks = marks(app);
    let ascii = app.setup.ascii;
    let selected = app.home.current(app.today).and_then(|entry| entry.on());
    let mut lines = rows(area);
    let title = format!("{} {}", month_name(first), first.year());
    let (previous, next) = (Sign::Previous.text(ascii), Sign::Next.text(ascii));
    if let Some(row) = lines.next() {
        let fill = " ".repeat(27_usize.saturating_sub(width(&title) + 5));
        let spans = vec![
            Span::styled(title, theme.strong()),
            Span::raw(fill),
            Span::styled(format!("{previous}   {next}"), theme.quiet()),
        ];
        frame.render_widget(Line::from(spans), row);
    }
    if let Some(row) = lines.next() {
        frame.render_widget(Span::styled("Mo  Tu  We  Th  Fr  Sa  Su", theme.quiet()), row);
    }
    let days_before_first = i64::from(first.weekday().number_days_from_monday());
    let mut date = first.saturating_sub(Duration::days(days_before_first));
    for row in lines {
        let mut spans = Vec::new();
        for _ in 0..7 {
            let inside = date.month() == first.month();
            let (sign, tone) = marks.get(&date).copied().filter(|_| inside).unwrap_or((" ", Tone::Plain));
            let mut look = if inside { theme.tone(tone) } else { theme.quiet() };
            if date == app.today {
                look = look.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            }
            if Some(date) == selected && inside {
                look = look.add_modifier(Modifier::REVERSED);
            }
            let number = if inside { format!("{:>2}", date.day()) } else { "  ".into() };
            spans.push(Span::styled(number, look));
            spans.push(Span::styled(sign, theme.tone(tone)));
            spans.push(Span::raw(" "));
            date = date.saturating_add(Duration::days(1));
        }
        frame.render_widget(Line::from(spans), row);
    }
}

/// The sign of each day. A day that ends a contract overrides a future warranty, which overrides a due task. A past
/// warranty overrides nothing.
fn marks(app: &App) -> BTreeMap<Date, (&'static str, Tone)> {
    let mut marks = BTreeMap::new();
    let Some(overview) = &app.home.overview else { return marks };
    let ascii = app.setup.ascii;
    for date in overview.due_days.iter().filter_map(|day| parse_date(day)) {
        let tone = if date < app.today { Tone::Alarm } else { Tone::Plain };
        marks.insert(date, (Sign::Due.text(ascii), tone));
    }
    for date in overview.warranty_days.iter().filter_map(|day| parse_date(day)) {
        let sign = Sign::Ends.text(ascii);
        if date < app.today {
            marks.entry(date).or_insert((sign, Tone::Quiet));
        } else {
            marks.insert(date, (sign, Tone::Notice));
        }
    }
    for date in overview.end_days.iter().filter_map(|day| parse_date(day)) {
        marks.insert(date, (Sign::Ends.text(ascii), Tone::Notice));
    }
    marks
}

/// Sums with the words of a choice made readable.
fn with_choice_words(all: &[(String, i64)]) -> Vec<(String, i64)> {
    all.iter().map(|(word, cents)| (choice(word), *cents)).collect()
}

/// Bars for the greatest sums, and one line for the rest. `unnamed`: the name of the sum without a name.
fn bars(
    app: &App,
    title: &str,
    unnamed: &str,
    all: &[(String, i64)],
    theme: &Theme,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let mut lines = rows(area);
    let Some(heading) = lines.next() else { return };
    let columns = usize::from(area.width);
    let sum: i64 = all.iter().map(|(_, cents)| cents).sum();
    let total = app.units().sum(&whole_money(sum));
    let name = padded(app, title, columns.saturating_sub(width(&total)), false);
    frame.render_widget(Line::from(vec![Span::styled(name, theme.strong()), Span::raw(total)]), heading);
    let fits = usize::from(area.height).saturating_sub(1);
    let shown = if all.len() > fits { fits.saturating_sub(1) } else { all.len() };
    let most = all.first().map_or(0, |(_, cents)| *cents).max(1);
    let named = |name: &str| if name.is_empty() { unnamed.to_owned() } else { name.to_owned() };
    let most_of = |text: &dyn Fn(&(String, i64)) -> String| {
        all.iter().take(shown).map(|one| width(&clean_line(&text(one)))).max().unwrap_or(0)
    };
    let (names, values) = (most_of(&|(name, _)| named(name)), most_of(&|(_, cents)| whole_money(*cents)));
    // A name is not cut for a long bar.
    let name_columns =
        names.clamp(columns * 2 / 5, (columns * 2 / 5).max(columns.saturating_sub(values + 2 + BAR_MIN)));
    for ((name, cents), row) in all.iter().take(shown).zip(&mut lines) {
        let value = whole_money(*cents);
        let bar_columns = columns.saturating_sub(name_columns + width(&value) + 2);
        let name = named(name);
        frame.render_widget(
            Line::from(vec![
                Span::raw(padded(app, &name, name_columns, false)),
                Span::raw(" "),
                Span::styled(
                    padded(app, &bar(*cents, most, bar_columns, app.setup.ascii), bar_columns + 1, false),
                    theme.figure(),
                ),
                Span::styled(value, theme.quiet()),
            ]),
            row,
        );
    }
    if let (Some(row), true) = (lines.next(), all.len() > shown) {
        let rest: i64 = all.iter().skip(shown).map(|(_, cents)| cents).sum();
        let value = whole_money(rest);
        let text = padded(app, &format!("{} more", all.len() - shown), columns.saturating_sub(width(&value)), false);
        frame.render_widget(Span::styled(text + &value, theme.quiet()), row);
    }
}

/// A bar with a resolution of an eighth of a column, or of one column in ASCII.
fn bar(value: i64, most: i64, columns: usize, ascii: bool) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let columns = i64::try_from(columns).unwrap_or(0);
    let eighths = i64::try_from(i128::from(value) * i128::from(columns) * 8 / i128::from(most)).unwrap_or(0).max(1);
    let whole = usize::try_from(eighths / 8).unwrap_or(0);
    if ascii {
        return "#".repeat(whole.max(1));
    }
    let part = usize::try_from(eighths % 8).unwrap_or(0);
    format!("{}{}", "█".repeat(whole), PARTS[part])
}

/// The sparkline of changed records in the last 30 days.
fn activity(app: &App, days: &[(String, usize)], theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let steps: &[&str] = if app.setup.ascii {
        &[".", ":", "-", "=", "#"]
    } else {
        &["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    };
    let most = days.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let since = Home::activity_start(app.today);
    let mut line = String::new();
    let mut sum = 0;
    for number in 0..ACTIVITY_DAYS {
        let date = format_date(since.saturating_add(Duration::days(i64::try_from(number).unwrap_or(0))));
        let count = days.iter().find(|(day, _)| *day == date).map_or(0, |(_, count)| *count);
        sum += count;
        // Round up: a day with any change differs from a day without.
        let step = if count == 0 { 0 } else { (count * (steps.len() - 1)).div_ceil(most.max(1)) };
        line.push_str(steps[step.min(steps.len() - 1)]);
    }
    let mut lines = rows(area);
    let columns = usize::from(area.width);
    if let Some(row) = lines.next() {
        let count = words::grouped(i64::try_from(sum).unwrap_or(i64::MAX));
        let text = padded(app, "Changed in 30 days", columns.saturating_sub(width(&count)), false);
        frame.render_widget(Line::from(vec![Span::styled(text, theme.strong()), Span::raw(count)]), row);
    }
    if let Some(row) = lines.next() {
        frame.render_widget(Span::styled(fit(&line, columns, ""), theme.figure()), row);
    }
}

/// The profile of the home: the set fields, or the key that starts the profile.
fn profile(app: &App, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let Some(overview) = &app.home.overview else { return };
    let columns = usize::from(area.width);
    let (title, details) = match &overview.profile {
        None => {
            let press = key_of(app, Context::Home, Action::Profile).map(|key| format!(": press {key}"));
            ("The house".to_owned(), vec![format!("Not described yet{}.", press.unwrap_or_default())])
        }
        Some(row) => (row.title.clone(), profile_details(row, app.today, app.setup.ascii)),
    };
    let lines = std::iter::once((title, theme.strong())).chain(details.into_iter().map(|text| (text, theme.quiet())));
    let cut = Sign::Cut.text(app.setup.ascii);
    for (row, (text, look)) in rows(area).zip(lines.filter(|(text, _)| !text.is_empty())) {
        frame.render_widget(Span::styled(fit(&text, columns, cut), look), row);
    }
}

/// The lines of the profile under the title. A line without a set field is empty.
fn profile_details(row: &Row, today: Date, ascii: bool) -> Vec<String> {
    let text = |name: &str| words::text_field(&row.fields, name).map(str::to_owned);
    let number = |name: &str| row.fields.get(name).and_then(serde_json::Value::as_i64);
    let day = |name: &str| text(name).and_then(|day| parse_date(&day)).map(|date| words::day(today, date));
    let joined = |parts: Vec<Option<String>>| parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let count_with_word = |field: &str, word: &str| number(field).map(|number| format!("{number} {word}"));
    let built = number("year_built").map(|year| format!("built {year}"));
    let area = number("living_area_sq_ft").map(|feet| words::area(row.units.area, feet));
    let area = area.map(|area| format!("{area} {}", words::area_sign(row.units.area, ascii)));
    let value = text("estimated_value").map(|sum| {
        let on = day("estimated_value_on").map(|day| format!(", {day}")).unwrap_or_default();
        format!("worth {}{on}", row.units.sum(&row.units.amount(&sum)))
    });
    vec![
        joined(["city", "state", "postal_code"].map(text).into()),
        joined(vec![text("property_type").map(|word| choice(&word)), built]),
        joined(vec![area, count_with_word("bedrooms", "bed"), count_with_word("bathrooms", "bath")]),
        value.unwrap_or_default(),
        day("hvac_last_serviced_on").map(|day| format!("heating serviced {day}")).unwrap_or_default(),
        text("insurance_provider").map(|name| format!("insured with {name}")).unwrap_or_default(),
    ]
}
