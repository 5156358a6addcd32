//! What happens outside the picture while the terminal is lent: the shell after Ctrl-Z, a person's own editor. Must not know the
//! screen.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::Command;

/// Stops this process, as the shell expects of Ctrl-Z; comes back after `fg`.
pub fn suspend() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        if let Err(error) = kill_process(getpid(), Signal::TSTP) {
            tracing::warn!(%error, "the process could not be stopped");
        }
    }
}

/// Has a text written in the editor of `VISUAL` or `EDITOR`, and gives what it is then, or why it is not.
pub fn edit(text: &str) -> Result<String, String> {
    let editor = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = editor.into_iter().find(|editor| !editor.trim().is_empty());
    let editor = editor.ok_or("No editor is set: put its name in EDITOR.")?;
    run(&editor, text)
}

fn run(editor: &str, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("The editor {editor} could not be used: {error}");
    // A file of this user alone, gone when it is closed: notes may be private.
    let file = tempfile::Builder::new().prefix("hearth-notes-").suffix(".txt").tempfile().map_err(failed)?;
    file.as_file().write_all(text.as_bytes()).map_err(failed)?;
    // The setting may hold arguments, as in `code --wait`. A ctrl-c goes to the editor and to this process alike; it is the
    // editor's, and `background` hears it here so that nothing comes of it.
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let status = command.args(words).arg(file.path()).status().map_err(failed)?;
    if !status.success() {
        return Err(format!("The editor {editor} ended with a failure; the notes are as before."));
    }
    // Many editors put another file in its place, so it is opened anew.
    let mut edited = String::new();
    let mut file = OpenOptions::new().read(true).open(file.path()).map_err(failed)?;
    file.read_to_string(&mut edited).map_err(failed)?;
    Ok(edited)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_wrote_comes_back_and_a_failure_says_so() {
        assert_eq!(run("sed -i s/old/new/", "old notes").unwrap(), "new notes");
        assert!(run("false", "notes").unwrap_err().contains("ended with a failure"));
        assert!(run("/no/such/editor", "notes").unwrap_err().contains("could not be used"));
    }
}
