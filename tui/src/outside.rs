//! What happens outside the picture while the terminal is lent: the shell after Ctrl-Z, a person's own editor. Must not know the
//! screen.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::path::Path;
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
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let set = set.into_iter().find(|(_, editor)| !editor.trim().is_empty());
    let (name, editor) = set.ok_or("No editor is set: put its name in EDITOR.")?;
    run(name, &editor, text)
}

fn run(name: &str, editor: &str, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("The editor {editor} could not be used: {error}");
    // A file of this user alone, gone when it is closed: notes may be private.
    let file = tempfile::Builder::new().prefix("hearth-notes-").suffix(".txt").tempfile().map_err(failed)?;
    file.as_file().write_all(text.as_bytes()).map_err(failed)?;
    // The setting may hold arguments, as in `code --wait`. A ctrl-c goes to the editor and to this process alike; it is the
    // editor's, and `background` hears it here so that nothing comes of it.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).arg(file.path()).status().map_err(|error| {
        // The system may speak of a right that is missing, where a directory on the way could not be looked into.
        let why = if is_there(program) { error.to_string() } else { "no such program".to_owned() };
        format!("The editor {editor} could not be used: {why}; set {name} to another.")
    })?;
    if !status.success() {
        return Err(format!("The editor {editor} ended with a failure; the notes are as before."));
    }
    // Many editors put another file in its place, so it is opened anew.
    let mut edited = String::new();
    let mut file = OpenOptions::new().read(true).open(file.path()).map_err(failed)?;
    file.read_to_string(&mut edited).map_err(failed)?;
    Ok(edited)
}

/// Whether a program is where it is said to be, or where programs are.
fn is_there(program: &str) -> bool {
    if program.contains(std::path::MAIN_SEPARATOR) {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_the_editor_wrote_comes_back_and_a_failure_says_so() {
        let run = |editor: &str, text: &str| run("EDITOR", editor, text);
        assert_eq!(run("sed -i s/old/new/", "old notes").unwrap(), "new notes");
        assert!(run("false", "notes").unwrap_err().contains("ended with a failure"));
        for missing in ["/no/such/editor", "no-such-editor --wait"] {
            let said = format!("The editor {missing} could not be used: no such program; set EDITOR to another.");
            assert_eq!(run(missing, "notes").unwrap_err(), said);
        }
    }
}
