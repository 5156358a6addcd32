//! What happens outside the picture while the terminal is lent: the shell after Ctrl-Z, a person's own editor. Must not know the
//! screen.

use std::fs;
use std::io::Write;
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
    let (name, editor) = set.ok_or("No editor is set: put its name in VISUAL or EDITOR.")?;
    run(name, &editor, text)
}

fn run(name: &str, editor: &str, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("The editor {editor} could not be used: {error}");
    // A file of this user alone, gone when it is closed: notes may be private.
    let file = tempfile::Builder::new().prefix("hearth-notes-").suffix(".txt").tempfile().map_err(failed)?;
    file.as_file().write_all(text.as_bytes()).map_err(failed)?;
    // The setting may hold arguments, as a shell reads them: `code --wait`, `emacsclient -a ""`. A ctrl-c goes to the editor and to this process alike; it is the
    // editor's, and `background` hears it here so that nothing comes of it.
    let open = || format!("The editor {editor} could not be used: a quotation mark is never closed; set {name} anew.");
    let words = shlex::split(editor).ok_or_else(open)?;
    let (program, arguments) = words.split_first().map_or(("", &words[..]), |(first, rest)| (first.as_str(), rest));
    let status = Command::new(program).args(arguments).arg(file.path()).status().map_err(|error| {
        // The system may speak of a right that is missing, where a directory on the way could not be looked into.
        let why = if is_there(program) { error.to_string() } else { "no such program".to_owned() };
        format!("The editor {editor} could not be used: {why}; set {name} to another.")
    })?;
    // Many editors put another file in its place, so it is opened anew.
    let edited = fs::read(file.path());
    if !status.success() && edited.as_ref().map_or(true, |edited| edited == text.as_bytes()) {
        return Err(format!("The editor {editor} ended with a failure; the notes are as before."));
    }
    let what = match String::from_utf8(edited.map_err(failed)?) {
        Ok(edited) if status.success() => return Ok(edited),
        Ok(_) => format!("The editor {editor} ended with a failure"),
        Err(_) => "What the editor saved is not UTF-8".to_owned(),
    };
    // What was written is not lost because of how it was saved.
    let (_, kept) = file.keep().map_err(|error| failed(error.error))?;
    Err(format!("{what}; the notes are as before, and what it saved is kept in {}.", kept.display()))
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
        assert_eq!(run("sed -i -e 's/old notes/new  notes/' -e \"\"", "old notes").unwrap(), "new  notes");
        assert!(
            run("sed 's/old", "notes").unwrap_err().ends_with("a quotation mark is never closed; set EDITOR anew.")
        );
        for missing in ["/no/such/editor", "no-such-editor --wait"] {
            let said = format!("The editor {missing} could not be used: no such program; set EDITOR to another.");
            assert_eq!(run(missing, "notes").unwrap_err(), said);
        }
    }

    #[test]
    fn what_an_editor_saved_in_another_encoding_is_kept() {
        let said = run("EDITOR", "sed -i 's/ü/\\xfc/'", "Schlüssel").unwrap_err();
        let path = said.split("kept in ").nth(1).unwrap().trim_end_matches('.');
        assert_eq!(fs::read(path).unwrap(), b"Schl\xfcssel", "{said}");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_an_editor_that_failed_has_saved_is_kept() {
        let said = run("EDITOR", "sh -c 'echo written > \"$0\"; exit 1'", "notes").unwrap_err();
        let path = said.split("kept in ").nth(1).expect(&said).trim_end_matches('.');
        assert_eq!(fs::read(path).unwrap(), b"written\n", "{said}");
        fs::remove_file(path).unwrap();
    }
}
