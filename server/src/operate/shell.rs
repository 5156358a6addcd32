//! Commands of this program as text for a shell. Must not know what a command does.

use std::path::Path;

/// A command of this program on a data directory, quoted for a POSIX shell.
pub fn shell_command(data: &Path, words: &[&str]) -> String {
    let data = data.display().to_string();
    let all = ["hearth-server", "--data", &data].into_iter().chain(words.iter().copied());
    // Quoting fails only for a NUL byte, which an argument cannot contain.
    all.map(|word| shlex::try_quote(word).unwrap_or(word.into())).collect::<Vec<_>>().join(" ")
}
