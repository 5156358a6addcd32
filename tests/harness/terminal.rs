//! A program on a terminal of its own: what it writes goes through a terminal emulator, and what is then to be seen can be
//! asked for. Must not know what is tried.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::process::{LOOK_EVERY, program};

/// Longest wait for something to be seen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program and the terminal it is on. Killed when dropped.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<Mutex<Seen>>,
    reader: JoinHandle<()>,
}

struct Seen {
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
    /// Starts a program of ours on a terminal of that size, in a directory, with a home directory there.
    pub fn start(name: &str, arguments: &[&str], directory: &Path, (columns, lines): (u16, u16)) -> Terminal {
        Terminal::start_with(name, arguments, directory, (columns, lines), &[])
    }

    /// The same with more in its environment.
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
        // The other end must be the program's alone, or its end is never seen.
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("what it writes");
        let keyboard = pair.master.take_writer().expect("its keyboard");
        let parser = vt100::Parser::new(count(lines), count(columns), 0);
        let seen = Arc::new(Mutex::new(Seen { parser, raw: Vec::new() }));
        let sees = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                let mut seen = sees.lock().expect("no panic while looking");
                seen.parser.process(&piece[..length]);
                seen.raw.extend_from_slice(&piece[..length]);
            }
        });
        Terminal { child, master: pair.master, keyboard, seen, reader }
    }

    /// Types.
    pub fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("the program listens");
        self.keyboard.flush().expect("the program listens");
    }

    /// Makes the terminal another size.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        self.seen.lock().expect("no panic while looking").parser.set_size(count(lines), count(columns));
        self.master.resize(size(columns, lines)).expect("a size");
    }

    /// Sets the terminal to how a shell likes it, as after a program that was stopped.
    ///
    /// # Panics
    /// When `stty` cannot do so.
    pub fn is_the_shells(&self) {
        let tty = self.master.tty_name().expect("a terminal has a name");
        let set = std::process::Command::new("stty").arg("-F").arg(tty).arg("sane").status();
        assert!(set.expect("stty is there").success());
    }

    /// What is to be seen now.
    pub fn text(&self) -> String {
        self.look(|screen| screen.contents())
    }

    /// Looks at the screen.
    pub fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.seen.lock().expect("no panic while looking").parser.screen())
    }

    /// Every byte the program has written to the terminal.
    pub fn raw(&self) -> Vec<u8> {
        self.seen.lock().expect("no panic while looking").raw.clone()
    }

    /// How many bytes the program has written to the terminal.
    pub fn written(&self) -> usize {
        self.seen.lock().expect("no panic while looking").raw.len()
    }

    /// The program's process.
    pub fn pid(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// Waits until a text is to be seen.
    pub fn shows(&self, words: &str) {
        self.waits(words, |text| text.contains(words));
    }

    /// Waits until a text is no longer to be seen.
    pub fn shows_no_longer(&self, words: &str) {
        self.waits(&format!("{words} is gone"), |text| !text.contains(words));
    }

    /// Waits until what is to be seen is as it must be.
    pub fn waits(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let since = Instant::now();
        while !is_so(&self.text()) {
            assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what:?}; there is:\n{}", self.text());
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits for the program's end and until all it wrote has been seen; true: it ended well.
    pub fn ends(&mut self) -> bool {
        let since = Instant::now();
        loop {
            let ended = self.child.try_wait().expect("its end can be asked for");
            if let Some(status) = ended.filter(|_| self.reader.is_finished()) {
                return status.success();
            }
            assert!(since.elapsed() < PATIENCE, "it did not end; there is:\n{}", self.text());
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Ends the program at once, as a crash would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        let _ = self.child.wait();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
