//! Programs that use the terminal while the screen is released: the shell after ctrl-z, and a person's own editor. Must
//! not know the screen.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Stops this process like ctrl-z in a shell. Returns after `fg`.
pub fn suspend_process() {
    use rustix::process::{Signal, getpid, kill_process};
    if let Err(error) = kill_process(getpid(), Signal::TSTP) {
        tracing::warn!(%error, "the process could not be stopped");
    }
}

/// Opens `text` in the editor of `VISUAL`, otherwise of `EDITOR`. Returns the saved text. Err: a sentence for the
/// person.
pub fn edit_text(text: &str) -> Result<String, String> {
    let set = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let set = set.into_iter().find(|(_, editor)| !editor.trim().is_empty());
    let (name, editor) = set.ok_or("No editor is set: put its name in VISUAL or EDITOR.")?;
    run_editor(name, &editor, text)
}

fn run_editor(name: &str, editor: &str, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("The editor {editor} could not be used: {error}");
    // Notes may be private: only this user can read the file, and dropping `file` deletes the file.
    let file = tempfile::Builder::new().prefix("hearth-notes-").suffix(".txt").tempfile().map_err(failed)?;
    file.as_file().write_all(text.as_bytes()).map_err(failed)?;
    // The setting may hold arguments in shell syntax: `code --wait`, `emacsclient -a ""`. A ctrl-c in the editor also
    // reaches this process; `background` ignores the signal.
    let unclosed = || format!("The editor {editor} could not be used: a quotation mark is not closed; correct {name}.");
    let words = shlex::split(editor).ok_or_else(unclosed)?;
    let (program, arguments) = words.split_first().map_or(("", &words[..]), |(first, rest)| (first.as_str(), rest));
    let status = Command::new(program).args(arguments).arg(file.path()).status().map_err(|error| {
        // An unreadable directory in PATH makes the system report a missing permission instead of a missing program.
        let why = if exists(program) { error.to_string() } else { "no such program".to_owned() };
        format!("The editor {editor} could not be used: {why}; set {name} to another editor.")
    })?;
    // Many editors replace the file, therefore the path is read again.
    let edited = fs::read(file.path());
    if !status.success() && edited.as_ref().map_or(true, |edited| edited == text.as_bytes()) {
        return Err(format!("The editor {editor} failed; the notes are unchanged."));
    }
    let failure = match String::from_utf8(edited.map_err(failed)?) {
        Ok(edited) if status.success() => return Ok(edited),
        Ok(_) => format!("The editor {editor} failed"),
        Err(_) => "The text from the editor is not UTF-8".to_owned(),
    };
    // Keep the file: the typed text must not be lost.
    let (_, kept) = file.keep().map_err(|error| failed(error.error))?;
    Err(format!("{failure}; the notes are unchanged, and the saved text is kept in {}.", kept.display()))
}

/// Whether a program exists at its path, or in a directory of `PATH`.
fn exists(program: &str) -> bool {
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
    fn editor_returns_text_or_failure() {
        let run = |editor: &str, text: &str| run_editor("EDITOR", editor, text);
        assert_eq!(run("sed -i s/old/new/", "old notes").unwrap(), "new notes");
        assert!(run("false", "notes").unwrap_err().contains("failed; the notes are unchanged"));
        assert_eq!(run("sed -i -e 's/old notes/new  notes/' -e \"\"", "old notes").unwrap(), "new  notes");
        assert!(run("sed 's/old", "notes").unwrap_err().ends_with("a quotation mark is not closed; correct EDITOR."));
        for missing in ["/no/such/editor", "no-such-editor --wait"] {
            let sentence =
                format!("The editor {missing} could not be used: no such program; set EDITOR to another editor.");
            assert_eq!(run(missing, "notes").unwrap_err(), sentence);
        }
    }

    #[test]
    fn text_in_other_encoding_is_kept() {
        let sentence = run_editor("EDITOR", "sed -i 's/ü/\\xfc/'", "Schlüssel").unwrap_err();
        let path = sentence.split("kept in ").nth(1).unwrap().trim_end_matches('.');
        assert_eq!(fs::read(path).unwrap(), b"Schl\xfcssel", "{sentence}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn text_of_failed_editor_is_kept() {
        let sentence = run_editor("EDITOR", "sh -c 'echo written > \"$0\"; exit 1'", "notes").unwrap_err();
        let path = sentence.split("kept in ").nth(1).expect(&sentence).trim_end_matches('.');
        assert_eq!(fs::read(path).unwrap(), b"written\n", "{sentence}");
        fs::remove_file(path).unwrap();
    }
}
