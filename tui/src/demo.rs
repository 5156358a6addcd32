//! The demo: a home, its server and its replica in one process. Not part of the terminal UI's logic.

/// Runs the demo; plain prints sentences instead of a screen.
pub fn run(plain: bool) -> anyhow::Result<()> {
    anyhow::bail!("the demo is not part of this build yet (asked for {})", if plain { "sentences" } else { "a screen" })
}
