//! Draws the first run. Must not change the state.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::connect::Approval;
use super::state::{Connection, OFFERS, Welcome};
use crate::layout::{MIN_HEIGHT, MIN_WIDTH, is_too_small};
use crate::view::{Theme, draw_input};
use crate::words::glyphs::{Sign, Tone};
use crate::words::sanitize::{self, fit, wrap};

pub(super) fn draw(welcome: &Welcome, ascii: bool, theme: &Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    if is_too_small(area.width, area.height) {
        frame.render_widget(Line::raw(format!("needs {MIN_WIDTH}x{MIN_HEIGHT}")), area);
        return;
    }
    frame.buffer_mut().set_style(area, theme.ground());
    let margin = if area.width > 60 { 4 } else { 1 };
    let top = if area.height > 16 { 2 } else { 0 };
    let inner = Rect { x: margin, y: top, width: area.width - 2 * margin, height: area.height - top };
    match &welcome.connection {
        Some(connection) => draw_connection(connection, ascii, theme, frame, inner),
        None => draw_offers(welcome, ascii, theme, frame, inner),
    }
    sanitize::clean_buffer(frame.buffer_mut());
}

/// Draws a line at `y` and moves `y` down. Returns the area of the line.
fn draw_line(frame: &mut Frame<'_>, area: Rect, y: &mut u16, line: Line<'_>) -> Rect {
    let row = Rect { y: area.y + *y, height: 1, ..area }.intersection(area);
    frame.render_widget(line, row);
    *y = y.saturating_add(1).min(area.height);
    row
}

fn draw_paragraph(frame: &mut Frame<'_>, area: Rect, y: &mut u16, text: &str, style: ratatui::style::Style) {
    for part in wrap(text, area.width.into()) {
        draw_line(frame, area, y, Line::styled(part, style));
    }
}

fn draw_offers(welcome: &Welcome, ascii: bool, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let roomy = area.height >= 15;
    let mut y = 0;
    draw_line(frame, area, &mut y, Line::styled("Hearth", theme.accent()));
    if roomy {
        y += 1;
        let text = "Everything about your home, on every device, with or without a network.";
        draw_paragraph(frame, area, &mut y, text, theme.quiet());
        y += 1;
        draw_paragraph(frame, area, &mut y, &welcome.introduction, ratatui::style::Style::new());
        y += 1;
    }
    for (index, (offer, about)) in OFFERS.into_iter().enumerate() {
        let selected = index == welcome.selected;
        let mark = if selected { Sign::Selected.text(ascii) } else { " " };
        let look = if selected { theme.accent() } else { ratatui::style::Style::new() };
        let text = fit(offer, usize::from(area.width).saturating_sub(4), Sign::Cut.text(ascii));
        draw_line(frame, area, &mut y, Line::from(vec![Span::styled(format!("{mark} {} {text}", index + 1), look)]));
        if roomy {
            let inside = Rect { x: area.x + 4.min(area.width), width: area.width.saturating_sub(4), ..area };
            draw_paragraph(frame, inside, &mut y, about, theme.quiet());
            y += 1;
        }
    }
    let keys = fit("enter choose   up, down move   q leave", area.width.into(), "");
    draw_line(frame, area, &mut y, Line::styled(keys, theme.quiet()));
}

fn draw_connection(connection: &Connection, ascii: bool, theme: &Theme, frame: &mut Frame<'_>, area: Rect) {
    let mut y = 0;
    draw_line(frame, area, &mut y, Line::styled("Connect to a server", theme.accent()));
    y += u16::from(area.height > 8);
    let dot = if ascii { "*" } else { "•" };
    let hidden = crate::state::input::Line::with_text(&dot.repeat(connection.key.text().chars().count()));
    for (label, line, here) in
        [("Address  ", &connection.server, !connection.in_key), ("API key  ", &hidden, connection.in_key)]
    {
        let look = if here { theme.accent() } else { theme.quiet() };
        let row = draw_line(frame, area, &mut y, Line::styled(label, look));
        let used = 9.min(row.width);
        let field = Rect { x: row.x + used, width: row.width - used, ..row };
        if here {
            draw_input(line, ratatui::style::Style::new(), frame, field);
        } else {
            frame.render_widget(Span::raw(fit(line.text(), field.width.into(), Sign::Cut.text(ascii))), field);
        }
    }
    y += u16::from(area.height > 8);
    if let Some(approval) = &connection.approval {
        return draw_approval(approval, ascii, theme, frame, area, &mut y);
    }
    if connection.pending.is_some() {
        return draw_paragraph(frame, area, &mut y, "Connecting; esc cancels.", theme.quiet());
    }
    if let Some(fault) = &connection.fault {
        let text = format!("{} {fault}", Sign::Fault.text(ascii));
        draw_paragraph(frame, area, &mut y, &text, theme.tone(Tone::Alarm));
    } else if area.height > 10 {
        let text = "Leave the key empty to approve this device in a browser. The key is stored in a file that only you can \
                    read, and is sent to this server only.";
        draw_paragraph(frame, area, &mut y, text, theme.quiet());
    }
    y += u16::from(area.height > 8);
    let keys = fit("enter next, then connect   esc back", area.width.into(), "");
    draw_line(frame, area, &mut y, Line::styled(keys, theme.quiet()));
}

/// Draws the page, the code and, where it fits at the right or below the text, the QR code.
fn draw_approval(approval: &Approval, ascii: bool, theme: &Theme, frame: &mut Frame<'_>, area: Rect, y: &mut u16) {
    let width = approval.qr.first().map_or(0, |line| line.chars().count()) as u16;
    let height = approval.qr.len() as u16;
    let has_qr = width > 0 && !ascii;
    let is_right = has_qr && area.width >= width + TEXT_WIDTH && area.height >= height;
    let text_width = if is_right { area.width - width - 2 } else { area.width };
    let text = Rect { width: text_width, ..area };
    draw_paragraph(frame, text, y, "Approve this device in a browser, here or on your phone:", theme.quiet());
    draw_paragraph(frame, text, y, &approval.address, theme.accent());
    draw_line(
        frame,
        text,
        y,
        Line::from(vec![Span::raw("Code  "), Span::styled(approval.code.as_str(), theme.accent())]),
    );
    draw_paragraph(frame, text, y, "Waiting; esc cancels.", theme.quiet());
    let below = *y + 1;
    if is_right || (has_qr && area.width >= width && area.height >= below + height) {
        let (x, top) = if is_right { (area.x + area.width - width, area.y) } else { (area.x, area.y + below) };
        for (row, line) in approval.qr.iter().enumerate() {
            let place = Rect { x, y: top + row as u16, width, height: 1 };
            // Both colours, so that the code looks the same on a light and on a dark terminal.
            frame.render_widget(Line::styled(line.as_str(), theme.white_on_black()), place);
        }
    }
}

/// Columns of the text beside the QR code.
const TEXT_WIDTH: u16 = 30;
