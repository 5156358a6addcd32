//! Draws rows with character clusters, such as `நி` or an emoji with a skin tone. Terminals do not agree on the width of a
//! cluster: some use one cell for each character, others less. A cluster may then cover the cells behind it, or leave
//! characters of an earlier frame in its own cells. Must not know what is drawn.
//!
//! A row with a cluster is therefore erased and drawn whole whenever a cell of the row changes, and after each cluster
//! the cursor is placed anew.

use std::io::{self, Write};
use std::iter;
use std::ops::RangeInclusive;

use crossterm::cursor::MoveTo;
use crossterm::queue;
use crossterm::terminal::{Clear, ClearType as Erase, DisableLineWrap, EnableLineWrap};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell, CellDiffOption};
use ratatui::layout::{Position, Size};

/// Characters whose width depends on the version of Unicode that a terminal knows.
const EMOJI: RangeInclusive<char> = '\u{1f000}'..='\u{1faff}';

/// Whether terminals may draw the cell with different widths.
fn is_cluster(cell: &Cell) -> bool {
    let mut characters = cell.symbol().chars();
    let first = characters.next();
    characters.next().is_some() || first.is_some_and(|first| EMOJI.contains(&first))
}

/// The frame on the screen, for comparison with the next frame.
#[derive(Debug, Default)]
pub(super) struct LastFrame(Buffer);

impl LastFrame {
    /// Marks the rows of the next frame that must be drawn whole.
    pub(super) fn mark_rows(&mut self, next: &mut Buffer) {
        let last = std::mem::replace(&mut self.0, next.clone());
        let last = if last.area == next.area { last } else { Buffer::empty(next.area) };
        let width = usize::from(next.area.width).max(1);
        for (row, before) in next.content.chunks_mut(width).zip(last.content.chunks(width)) {
            if row != before && row.iter().chain(before).any(is_cluster) {
                row.iter_mut().for_each(|cell| cell.diff_option = CellDiffOption::AlwaysUpdate);
            }
        }
    }
}

/// A backend that draws marked rows whole, and places the cursor anew after each cluster.
#[derive(Debug)]
pub(super) struct ClusterBackend<W: Write>(CrosstermBackend<W>);

impl<W: Write> ClusterBackend<W> {
    /// A backend that writes to a terminal.
    pub(super) const fn new(terminal: W) -> ClusterBackend<W> {
        ClusterBackend(CrosstermBackend::new(terminal))
    }
}

impl<W: Write> Backend for ClusterBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Each run begins with a movement of the cursor.
        let mut run = Vec::new();
        for (x, y, cell) in content {
            if x == 0 && cell.diff_option == CellDiffOption::AlwaysUpdate {
                self.0.draw(run.drain(..))?;
                queue!(self.0, MoveTo(x, y), Clear(Erase::UntilNewLine))?;
            }
            if !is_cluster(cell) {
                run.push((x, y, cell));
                continue;
            }
            self.0.draw(run.drain(..))?;
            // At the right edge a wide cluster must not go on in the next row.
            queue!(self.0, DisableLineWrap)?;
            self.0.draw(iter::once((x, y, cell)))?;
            queue!(self.0, EnableLineWrap)?;
        }
        self.0.draw(run.into_iter())
    }

    fn append_lines(&mut self, lines: u16) -> io::Result<()> {
        self.0.append_lines(lines)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.0.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.0.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::sync::{Arc, Mutex};

    use ratatui::layout::Rect;
    use ratatui::style::{Modifier, Style};
    use ratatui::{Terminal, TerminalOptions, Viewport};

    use super::*;

    const WIDTH: u16 = 16;

    /// A terminal that uses a cell for each character with a width, as tmux does.
    #[derive(Clone)]
    struct Emulator(Arc<Mutex<vt100::Parser>>);

    impl Write for Emulator {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().process(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Draws frames, each of some lines, the first line in reverse. Gives the rows of the emulator at the end.
    fn drawn(frames: &[&[&str]]) -> Vec<String> {
        let count = |number: u16| NonZeroU16::new(number).unwrap();
        let emulator = Emulator(Arc::new(Mutex::new(vt100::Parser::new(count(3), count(WIDTH), 0))));
        let viewport = Viewport::Fixed(Rect::new(0, 0, WIDTH, 3));
        let backend = ClusterBackend::new(emulator.clone());
        let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
        let mut last = LastFrame::default();
        for lines in frames {
            let paint = |frame: &mut ratatui::Frame<'_>| {
                for (y, line) in (0_u16..).zip(*lines) {
                    frame.buffer_mut().set_string(0, y, line, Style::new());
                }
                let first = Rect::new(0, 0, WIDTH, 1);
                frame.buffer_mut().set_style(first, Style::new().add_modifier(Modifier::REVERSED));
                last.mark_rows(frame.buffer_mut());
            };
            terminal.draw(paint).unwrap();
        }
        let parser = emulator.0.lock().unwrap();
        parser.screen().rows(0, WIDTH).map(|row| row.trim_end().to_owned()).collect()
    }

    const CLUSTERS: [&str; 10] = ["👍🏽", "நி", "க்ஷி", "कि", "กำ", "ខ្មែ", "ကြီး", "👩🏽🔧", "e\u{301}", "\u{1fae9}"];

    #[test]
    fn cluster_leaves_nothing_behind() {
        for cluster in CLUSTERS {
            let text = format!("a {cluster} b");
            for next in ["", "plain", "字 字", "a", "a xyzw"] {
                let after = drawn(&[&[&text, "", &text], &[next, "", &text], &["", "", next]]);
                assert_eq!(after, drawn(&[&["", "", next]]), "{cluster} {next}");
            }
        }
    }

    #[test]
    fn cluster_covers_no_neighbour() {
        for cluster in CLUSTERS {
            let text = format!("a {cluster} bcdefgh");
            let shown = &drawn(&[&["a xy bcdefgh"], &[&text]])[0];
            assert!(shown.ends_with("bcdefgh"), "{cluster}: {shown}");
            assert_eq!(*shown, drawn(&[&[&text]])[0], "{cluster}");
        }
    }

    #[test]
    fn cluster_is_drawn_without_line_wrap() {
        let mut frame = Buffer::with_lines(["xநி"]);
        let mut bytes = Vec::new();
        LastFrame::default().mark_rows(&mut frame);
        let blank = Buffer::empty(frame.area);
        ClusterBackend::new(&mut bytes).draw(blank.diff(&frame).into_iter()).unwrap();
        let bytes = String::from_utf8_lossy(&bytes);
        let at = |part: &str| bytes.find(part).unwrap_or_else(|| panic!("{part:?} is not in {bytes:?}"));
        assert!(at("\x1b[?7l") < at("நி") && at("நி") < at("\x1b[?7h"), "{bytes:?}");
    }

    #[test]
    fn unchanged_and_plain_rows_are_not_marked() {
        let mut last = LastFrame::default();
        let mut marked = |lines: [&str; 2]| {
            let mut next = Buffer::with_lines(lines);
            last.mark_rows(&mut next);
            let rows = next.content.chunks(usize::from(next.area.width));
            rows.map(|row| row.iter().all(|cell| cell.diff_option == CellDiffOption::AlwaysUpdate)).collect::<Vec<_>>()
        };
        assert_eq!(marked(["நி ", "abc"]), [true, false]);
        assert_eq!(marked(["நி ", "abd"]), [false, false]);
        assert_eq!(marked(["xyz", "abd"]), [true, false]);
        assert_eq!(marked(["xyw", "abd"]), [false, false]);
    }
}
