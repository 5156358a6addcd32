//! Takes the terminal over and restores it: at a normal end, on an error, and on a panic. Only this file changes the
//! mode of the terminal. Must not know what is drawn.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Once;
use std::thread;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};

use super::clusters::{ClusterBackend, LastFrame};

/// The terminal in the mode of Hearth. Dropping the value restores the terminal. The terminal keeps the mouse unless a
/// setting says otherwise, because capturing the mouse disables the terminal's own text selection.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<ClusterBackend<Stdout>>,
    last: LastFrame,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal over. `mouse`: whether to capture the mouse.
    pub fn open(mouse: bool) -> io::Result<Screen> {
        restore_on_panic();
        // A failure from this line on must restore the terminal.
        let opened = enter(mouse).and_then(|()| Terminal::new(ClusterBackend::new(stdout())));
        opened.map(|terminal| Screen { terminal, last: LastFrame::default(), mouse }).inspect_err(|_| restore())
    }

    /// Restores the terminal for the duration of `work`, then takes the terminal over again. Err: the terminal is gone.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> (T, io::Result<()>) {
        restore();
        (work(), self.reenter())
    }

    /// Takes the terminal over again after another program has changed its mode.
    pub fn reenter(&mut self) -> io::Result<()> {
        // crossterm remembers raw mode as enabled and would not enable raw mode again.
        let _ = disable_raw_mode();
        enter(self.mouse)?;
        self.redraw_all()
    }

    /// Copies a text to the clipboard by a terminal sequence (OSC 52), which works over ssh and needs no program.
    pub fn copy(&self, text: &str) -> io::Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// The size of the terminal: columns, lines.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws one frame.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let last = &mut self.last;
        let paint = |frame: &mut Frame<'_>| {
            paint(frame);
            last.mark_rows(frame.buffer_mut());
        };
        self.terminal.draw(paint).map(drop)
    }

    /// Makes the next frame draw every cell.
    pub fn redraw_all(&mut self) -> io::Result<()> {
        // `clear` asks the terminal for the position of the cursor and fails without an answer.
        let size = self.terminal.size()?;
        self.last = LastFrame::default();
        self.terminal.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn enter(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    // A killed program may have left text on the alternate screen, and the first frame draws only cells that are not
    // blank.
    execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste)?;
    if mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) }
}

/// Restores the terminal. A failing step does not stop the next steps.
fn restore() {
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste);
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Restores the terminal before a panic of the drawing thread is printed. A panic of another thread goes to the log,
/// because printing would damage the screen, which stays in use.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    let drawing = thread::current().id();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().id() == drawing {
                restore();
                before(info);
            } else {
                tracing::error!("{info}");
            }
        }));
    });
}
