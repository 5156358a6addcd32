//! Draws a terminal's screen as SVG: a rectangle for each run of a background colour, and a text for each run of a style.
//! Must not know the programs.

use std::fmt::Write;

use vt100::{Cell, Color, Screen};

/// Width and height of a cell in SVG units.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
/// Margin around the screen in SVG units.
const MARGIN: f64 = 12.0;

/// The style of a cell: colours as `#rrggbb`, and text attributes.
#[derive(Debug, Clone, PartialEq)]
struct Style {
    front: String,
    back: String,
    bold: bool,
    dim: bool,
    underline: bool,
}

/// The screen as the text of an SVG file.
pub(super) fn draw(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let ground = style(screen.cell(0, 0));
    let (wide, tall) = (f64::from(columns) * WIDTH + 2.0 * MARGIN, f64::from(rows) * HEIGHT + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {tall:.0}\" width=\"{wide:.0}\" height=\"{tall:.0}\" \
         font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        ground.back
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let first = style(screen.cell(row, column));
            let start = column;
            let mut text = String::new();
            while column < columns && style(screen.cell(row, column)) == first {
                match screen.cell(row, column) {
                    Some(cell) if cell.is_wide_continuation() => {}
                    Some(cell) if cell.has_contents() => text.push_str(cell.contents()),
                    _ => text.push(' '),
                }
                column += 1;
            }
            run(&mut out, &ground, &first, (row, start, column - start), &text);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn run(out: &mut String, ground: &Style, style: &Style, (row, column, length): (u16, u16, u16), text: &str) {
    let (x, y) = (MARGIN + f64::from(column) * WIDTH, MARGIN + f64::from(row) * HEIGHT);
    let wide = f64::from(length) * WIDTH;
    if style.back != ground.back {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{HEIGHT:.1}\" fill=\"{}\"/>",
            style.back
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let mut attributes = String::new();
    if style.bold {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if style.dim {
        attributes.push_str(" opacity=\"0.65\"");
    }
    if style.underline {
        attributes.push_str(" text-decoration=\"underline\"");
    }
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let base = y + HEIGHT * 0.74;
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{base:.1}\" textLength=\"{wide:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         xml:space=\"preserve\" fill=\"{}\"{attributes}>{text}</text>",
        style.front
    );
}

fn style(cell: Option<&Cell>) -> Style {
    let (front, back) = cell.map_or((Color::Default, Color::Default), |cell| (cell.fgcolor(), cell.bgcolor()));
    let (front, back) = (color(front, "#d8d6cf"), color(back, "#1c1d22"));
    let inverse = cell.is_some_and(Cell::inverse);
    let (front, back) = if inverse { (back, front) } else { (front, back) };
    Style {
        front,
        back,
        bold: cell.is_some_and(Cell::bold),
        dim: cell.is_some_and(Cell::dim),
        underline: cell.is_some_and(Cell::underline),
    }
}

fn color(color: Color, default: &str) -> String {
    const BASE: [&str; 8] = ["#1c1d22", "#f08070", "#8fbf7f", "#e0b060", "#7f9fd0", "#c090c0", "#7fc0d0", "#d8d6cf"];
    match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Idx(index) if usize::from(index % 8) < BASE.len() && index < 16 => {
            BASE[usize::from(index % 8)].to_owned()
        }
        _ => default.to_owned(),
    }
}
