//! The error of operator commands. Must not know any command.

use hearth_contract::key::holds_key;

use crate::store::StoreError;

/// Why a command of an operator failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command is not possible. The text is a sentence for people and says what to do next.
    #[error("{0}")]
    Refused(String),
    /// The database failed.
    #[error(transparent)]
    StoreError(#[from] StoreError),
}

impl Error {
    /// The refusal of an unknown team. The text never repeats a key that was typed in place of a team.
    pub(super) fn no_team(team: &str) -> Error {
        let problem = if holds_key(team) {
            "that is the text of a key, not a team".to_owned()
        } else {
            format!("there is no team `{team}`")
        };
        Error::Refused(format!("{problem}; see `hearth-server team list`"))
    }
}
