//! A program on a pseudo-terminal. A terminal emulator reads the program's output, and tests read the emulated screen.
//! Must not know the tests.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::process::{LOOK_EVERY, program};

/// Longest wait for a text on the screen or for the program's exit.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program on a pseudo-terminal, killed on drop.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<Screen>>,
    reader: JoinHandle<()>,
}

struct Screen {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

fn size(columns: u16, lines: u16) -> PtySize {
    PtySize { rows: lines, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn count(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a terminal has lines and columns")
}

impl Terminal {
    /// Starts a built program on a terminal of this size. The directory is the working and the home directory.
    pub fn start(name: &str, arguments: &[&str], directory: &Path, (columns, lines): (u16, u16)) -> Terminal {
        Terminal::start_with(name, arguments, directory, (columns, lines), &[])
    }

    /// Starts a built program as `start` does, with further environment variables.
    pub fn start_with(
        name: &str,
        arguments: &[&str],
        directory: &Path,
        (columns, lines): (u16, u16),
        environment: &[(&str, &str)],
    ) -> Terminal {
        let pair = native_pty_system().openpty(size(columns, lines)).expect("a terminal");
        let mut command = CommandBuilder::new(program(name));
        command.args(arguments);
        command.cwd(directory);
        command.env_clear();
        for (key, value) in [("PATH", "/usr/bin:/bin"), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("TZ", "UTC")]
        {
            command.env(key, value);
        }
        command.env("HOME", directory);
        for (key, value) in environment {
            command.env(key, value);
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        // Close this copy of the slave, or the reader never gets end of file.
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("the output of the terminal");
        let keyboard = pair.master.take_writer().expect("the input of the terminal");
        let parser = vt100::Parser::new(count(lines), count(columns), 0);
        let screen = Arc::new(Mutex::new(Screen { parser, raw: Vec::new() }));
        let shared = Arc::clone(&screen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                let mut screen = shared.lock().expect("no panic under the lock");
                screen.parser.process(&piece[..length]);
                screen.raw.extend_from_slice(&piece[..length]);
            }
        });
        Terminal { child, master: pair.master, keyboard, screen, reader }
    }

    /// Types keys: text and control characters.
    pub fn type_keys(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the program listens");
        self.keyboard.flush().expect("the program listens");
    }

    /// Resizes the terminal.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        self.screen.lock().expect("no panic under the lock").parser.set_size(count(lines), count(columns));
        self.master.resize(size(columns, lines)).expect("a size");
    }

    /// Resets the terminal modes with `stty sane`, as a shell does after a program was stopped.
    ///
    /// # Panics
    /// When `stty` fails.
    pub fn reset_with_stty(&self) {
        let tty = self.master.tty_name().expect("a terminal has a name");
        let set = std::process::Command::new("stty").arg("-F").arg(tty).arg("sane").status();
        assert!(set.expect("stty is there").success());
    }

    /// The text on the screen.
    pub fn text(&self) -> String {
        self.with_screen(|screen| screen.contents())
    }

    /// Reads the emulated screen: cells, colours, modes.
    pub fn with_screen<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.screen.lock().expect("no panic under the lock").parser.screen())
    }

    /// All bytes that the program has written to the terminal.
    pub fn output(&self) -> Vec<u8> {
        self.screen.lock().expect("no panic under the lock").raw.clone()
    }

    /// The number of bytes that the program has written to the terminal.
    pub fn output_len(&self) -> usize {
        self.screen.lock().expect("no panic under the lock").raw.len()
    }

    /// The process id; None after the exit.
    pub fn pid(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Waits until the screen shows a text.
    pub fn wait_for_text(&self, words: &str) {
        self.wait_until(words, |text| text.contains(words));
    }

    /// Waits until the program has written nothing for this long: the screen is painted to its end.
    pub fn wait_until_still(&self, quiet: Duration) {
        let (since, mut length, mut changed_at) = (Instant::now(), self.output_len(), Instant::now());
        while changed_at.elapsed() < quiet {
            assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for a still screen; it shows:\n{}", self.text());
            thread::sleep(LOOK_EVERY);
            if self.output_len() != length {
                (length, changed_at) = (self.output_len(), Instant::now());
            }
        }
    }

    /// Waits until the screen no longer shows a text.
    pub fn wait_until_gone(&self, words: &str) {
        self.wait_until(&format!("{words} is gone"), |text| !text.contains(words));
    }

    /// Waits until the screen's text meets a condition, which `what` describes in the failure.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let since = Instant::now();
        while !is_so(&self.text()) {
            assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what:?}; the screen shows:\n{}", self.text());
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until the program has exited and all its output was read. True: exit code 0.
    pub fn wait_for_exit(&mut self) -> bool {
        let since = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("the exit status is readable");
            if let Some(status) = ended.filter(|_| self.reader.is_finished()) {
                return status.success();
            }
            assert!(since.elapsed() < PATIENCE, "the program did not exit; the screen shows:\n{}", self.text());
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Kills the program at once, as a crash does.
    pub fn kill(&mut self) {
        self.child.kill().expect("the program can be killed");
        let _ = self.child.wait();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
