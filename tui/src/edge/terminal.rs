//! The terminal: the one place that takes it over and the one place that gives it back, on a normal end, an error and a
//! panic alike. Must not know what is drawn.

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
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

/// The terminal while it is ours. Dropping it gives it back. The mouse stays the terminal's own unless a person wants it
/// otherwise, so that selecting and copying text works as everywhere.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub fn open(mouse: bool) -> io::Result<Screen> {
        restore_on_panic();
        // From here on a failure must undo what was done.
        let opened = take(mouse).and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        opened.map(|terminal| Screen { terminal, mouse }).inspect_err(|_| restore())
    }

    /// Gives the terminal to something else and takes it back after that, if it is still there.
    pub fn lend<T>(&mut self, work: impl FnOnce() -> T) -> (T, io::Result<()>) {
        restore();
        (work(), self.take_again())
    }

    /// Takes the terminal over once more: whoever had it meanwhile has left it as it likes.
    pub fn take_again(&mut self) -> io::Result<()> {
        // It counts as taken, and would be left as it is.
        let _ = disable_raw_mode();
        take(self.mouse)?;
        self.forget()
    }

    /// Puts a text on the clipboard by way of the terminal (OSC 52): it works over ssh, and needs no program.
    pub fn copy(&self, text: &str) -> io::Result<()> {
        execute!(stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Columns and lines.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        self.terminal.size().map(|size| (size.width, size.height))
    }

    /// Draws one frame.
    pub fn draw(&mut self, paint: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(paint).map(drop)
    }

    /// Forgets what is on the screen, so that the next frame is drawn in full.
    pub fn forget(&mut self) -> io::Result<()> {
        // `clear` would first ask the terminal where its cursor is, and fail where no answer comes.
        let size = self.terminal.size()?;
        self.terminal.resize(size.into())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    // A program that was killed has left its picture there, and only what differs from a blank one is drawn.
    execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste)?;
    if mouse { execute!(stdout(), EnableMouseCapture) } else { Ok(()) }
}

/// Gives the terminal back. Each step is tried whatever became of the others.
fn restore() {
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste);
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Makes a panic of the drawing thread readable. One of another thread goes to the log: printed, it would only tear the
/// picture, and the screen goes on.
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
