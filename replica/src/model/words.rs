//! The fixed words that the database stores and commands print, as enums. Must not know SQL, HTTP or sentences for people.

/// Declares an enum whose cases are stored and printed as fixed words.
macro_rules! words {
    ($(#[$attribute:meta])+ $name:ident {
        $($(#[$case_attribute:meta])+ $case:ident = $word:literal,)+
    }) => {
        $(#[$attribute])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$case_attribute])+ $case,)+
        }

        impl $name {
            /// Every case, in the order of its declaration.
            pub const ALL: &'static [$name] = &[$($name::$case),+];

            /// The word that is stored or printed.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$case => $word,)+
                }
            }

            /// The case of a stored word; None for a word that this program does not know.
            pub fn parse(word: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|case| case.as_str() == word)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl From<$name> for serde_json::Value {
            fn from(case: $name) -> serde_json::Value {
                case.as_str().into()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// How much a line of the log matters (`sync_log.level`).
    LogLevel {
        /// What went as it should.
        Info = "info",
        /// A person may have to act, or should know.
        Warning = "warning",
    }
}

words! {
    /// What an edit does to its record (`edits.method`).
    Method {
        /// The edit creates the record.
        Create = "create",
        /// The edit changes fields of the record.
        Update = "update",
        /// The edit deletes the record.
        Delete = "delete",
    }
}

words! {
    /// How far an unconfirmed edit is (`edits.state`).
    EditState {
        /// The edit waits to be sent, or to be sent again.
        Waiting = "waiting",
        /// The request of the edit is in flight.
        Sending = "sending",
        /// The server has accepted the edit; the feed has not shown its event yet.
        Sent = "sent",
        /// The edit depends on another edit that needs a person.
        Blocked = "blocked",
        /// The server or a rule of this program refused the edit, or it comes from a copy or a damaged database; a person decides.
        Rejected = "rejected",
        /// The record changed on the server too; a person must choose.
        Conflict = "conflict",
    }
}

words! {
    /// How a settled edit ended (`edit_history.outcome`).
    EditOutcome {
        /// The server applied the edit.
        Confirmed = "confirmed",
        /// Nothing was left to send: the server already had the values, the edit changed nothing, or its record was created and
        /// deleted before anything was sent.
        Merged = "merged",
        /// Another value won.
        Superseded = "superseded",
        /// A person gave the edit up.
        Discarded = "discarded",
        /// A person took the edit back.
        Undone = "undone",
    }
}

/// How far an edit is, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditProgress {
    /// The edit is not confirmed yet.
    Open(EditState),
    /// The edit has ended.
    Ended(EditOutcome),
}

impl EditProgress {
    /// The word of the state or of the outcome. No word belongs to both.
    pub const fn as_str(self) -> &'static str {
        match self {
            EditProgress::Open(state) => state.as_str(),
            EditProgress::Ended(outcome) => outcome.as_str(),
        }
    }

    /// The state or the outcome of a stored word; None for a word that this program does not know.
    pub fn parse(word: &str) -> Option<EditProgress> {
        EditState::parse(word).map(EditProgress::Open).or_else(|| EditOutcome::parse(word).map(EditProgress::Ended))
    }
}

words! {
    /// Why an edit needs a person, or why its next attempt is delayed (`edits.reason_code`).
    ReasonCode {
        /// A field was changed here and on the server.
        ChangedOnBothSides = "changed_on_both_sides",
        /// The record of the edit was deleted on the server.
        DeletedThere = "deleted_there",
        /// The record of a delete was changed on the server.
        ChangedThere = "changed_there",
        /// A create met an existing record with the same id.
        ExistsThere = "exists_there",
        /// The server (400 or 422) or a rule of this program refused a value.
        InvalidValue = "invalid_value",
        /// The edit refers to a record that the server does not have.
        MissingReference = "missing_reference",
        /// The server refused the request for another reason.
        Refused = "refused",
        /// The server no longer has the edit or its record: usually it was restored to an older copy.
        LostByServer = "lost_by_server",
        /// A request was sent and never answered, and the record has changed since.
        MaybeApplied = "maybe_applied",
        /// The edit depends on another edit that needs a person.
        DependsOnAnother = "depends_on_another",
        /// The database is a copy, and the original may have sent the edit; or the edit was inferred from a damaged database.
        FromACopy = "from_a_copy",
        /// The request is larger than the server accepts (413).
        TooLarge = "too_large",
        /// The server did not answer; the edit is sent again.
        Unreachable = "unreachable",
        /// The server limits the rate (429); the edit is sent again.
        RateLimited = "rate_limited",
        /// The server failed (5xx); the edit is sent again.
        ServerError = "server_error",
    }
}

words! {
    /// Who made an edit (`edits.origin`).
    Origin {
        /// The terminal UI.
        Tui = "tui",
        /// The command line.
        Cli = "cli",
        /// Plain SQL on the database.
        Sql = "sql",
    }
}

words! {
    /// How far the replica is in step with the server (`sync_status.phase`).
    #[derive(Default)]
    Phase {
        /// The home was begun without a server: all data is on this machine, and nothing waits.
        Local = "local",
        /// No server has answered yet.
        #[default]
        New = "new",
        /// The first copy is being read from the beginning of the feed.
        Backfilling = "backfilling",
        /// Events between the position and the head are being read.
        CatchingUp = "catching_up",
        /// The stream is open and the position is at the head.
        Live = "live",
        /// The position is at the head by polls, because streams do not pass.
        Polling = "polling",
        /// The records are being compared with the server, because history is lost.
        Reconciling = "reconciling",
        /// The server does not answer.
        Offline = "offline",
        /// A person has paused syncing.
        Paused = "paused",
        /// The server does not accept the key.
        NeedsKey = "needs_key",
        /// Syncing has stopped until a person acts.
        Blocked = "blocked",
    }
}

words! {
    /// Where the bytes of a file are (`files.state`).
    FileState {
        /// A document names the file, and its bytes are not here. They come when they are asked for.
        Wanted = "wanted",
        /// The bytes are here, and the server has them too.
        Present = "present",
        /// The bytes are neither here nor on the server, as far as is known; or they were here and are gone.
        Missing = "missing",
        /// The bytes are here and not yet on the server.
        Waiting = "waiting",
        /// The server does not take the file. The bytes are here.
        Refused = "refused",
        /// The bytes that came, or that were here, are not those of the hash.
        Damaged = "damaged",
    }
}

impl FileState {
    /// True when the bytes are on this machine.
    pub const fn is_here(self) -> bool {
        matches!(self, FileState::Present | FileState::Waiting | FileState::Refused)
    }
}

words! {
    /// Where a capture stands (`captures.state`).
    CaptureState {
        /// Here, and not yet on the server.
        Waiting = "waiting",
        /// The server will read the files.
        Queued = "queued",
        /// The server reads the files.
        Running = "running",
        /// Drafts wait for a person.
        Ready = "ready",
        /// No file could be read, or the server refused the capture.
        Failed = "failed",
        /// A record was made of the drafts.
        Accepted = "accepted",
        /// A person has thrown the drafts away.
        Discarded = "discarded",
        /// Nobody has decided in time.
        Expired = "expired",
    }
}

impl CaptureState {
    /// True while something is still to come: an answer of the server, or a person's decision.
    pub const fn is_open(self) -> bool {
        matches!(self, CaptureState::Waiting | CaptureState::Queued | CaptureState::Running | CaptureState::Ready)
    }
}

words! {
    /// What a capture is for (`captures.purpose`).
    CapturePurpose {
        /// Drafts of a new item or vehicle.
        SmartAdd = "smart_add",
        /// Drafts of documents, and a change of the record that they are about.
        Extract = "extract",
    }
}

words! {
    /// Why the phase is `blocked`.
    BlockCause {
        /// The disk has no room for what must be written.
        DiskFull = "disk_full",
        /// The disk has room and does not take what is written.
        DiskUnwritable = "disk_unwritable",
        /// A person is asked before many records are deleted.
        Deletions = "deletions",
        /// The server does not know the cursor of this replica.
        UnknownCursor = "unknown_cursor",
        /// The server answers for another home.
        AnotherHome = "another_home",
        /// The records of this replica go to an empty home of another server.
        Refill = "refill",
    }
}

words! {
    /// How events arrive (`sync_status.transport`).
    Transport {
        /// By server-sent events.
        Stream = "stream",
        /// By polls of the feed.
        Poll = "poll",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_to_their_case() {
        for state in EditState::ALL {
            assert_eq!(EditState::parse(state.as_str()), Some(*state));
        }
        for phase in Phase::ALL {
            assert_eq!(Phase::parse(phase.as_str()), Some(*phase));
        }
        assert_eq!(EditState::parse("Waiting"), None);
    }
}
