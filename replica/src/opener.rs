//! Opens a file in the program that the desktop chooses for it. Must not know what the file is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{env, io};

/// How long the opener may take before it counts as successful: some desktops keep it running beside the viewer.
const OPENER_WAIT: Duration = Duration::from_secs(2);

/// The program that opens files.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Why a file was not opened. The texts are sentences for people, and name the path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no screen, as in a session over SSH.
    #[error("there is no screen to open it on; the file is {}", .0.display())]
    NoDisplay(PathBuf),
    /// The program that opens files cannot be started.
    #[error("{OPENER} cannot be started ({}); the file is {}", .1, .0.display())]
    NoOpener(PathBuf, io::Error),
    /// No program opens the file.
    #[error("{OPENER} found no program for it; the file is {}", .0.display())]
    NoProgram(PathBuf),
}

/// Opens a file, detached from this program. Waits two seconds at most for a refusal.
pub fn open_file(path: &Path) -> Result<(), OpenError> {
    if !has_display() {
        return Err(OpenError::NoDisplay(path.to_owned()));
    }
    let mut command = Command::new(OPENER);
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A Ctrl-C in this terminal must not end the viewer.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut opener = command.spawn().map_err(|error| OpenError::NoOpener(path.to_owned(), error))?;
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(opener.wait().is_ok_and(|status| status.success())));
    match ended.recv_timeout(OPENER_WAIT) {
        Ok(false) => Err(OpenError::NoProgram(path.to_owned())),
        _ => Ok(()),
    }
}

/// True when programs can show windows.
fn has_display() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
