//! The faults that tests can plant in the code to prove that the simulation finds them. Must not know where a fault is
//! planted.

/// Declares [`PlantedFault`] and the name of each fault for `HEARTH_PLANTED` and `simulate --planted`.
macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// A fault in the code of the server or the replica. A process has at most one planted fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum PlantedFault {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl PlantedFault {
            /// All faults, in the order in which they are declared.
            pub const ALL: &'static [PlantedFault] = &[$(PlantedFault::$variant),+];

            /// The name on the command line, in lower case with hyphens: `if-match-ignored`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(PlantedFault::$variant => $name,)+
                }
            }

            /// The fault with this name; None when no fault has the name.
            pub fn parse(name: &str) -> Option<PlantedFault> {
                PlantedFault::ALL.iter().copied().find(|fault| fault.as_str() == name)
            }
        }
    };
}

faults! {
    /// The server answers before the commit.
    AckBeforeCommit = "ack-before-commit",
    /// The event commits in another transaction than its record.
    EventInOwnTransaction = "event-in-own-transaction",
    /// The receipt commits in another transaction than its record.
    ReceiptInOwnTransaction = "receipt-in-own-transaction",
    /// A write with an idempotency key stores no receipt.
    ReceiptNotStored = "receipt-not-stored",
    /// Event ids start again below the highest one after compaction.
    EventIdsReused = "event-ids-reused",
    /// Compaction deletes the latest event of a record.
    CompactionDropsLatest = "compaction-drops-latest",
    /// The cursor of a backfill expires with retention.
    BackfillExpires = "backfill-expires",
    /// A cursor beyond retention is accepted.
    RetentionGapIgnored = "retention-gap-ignored",
    /// The compacted part of the feed lists no deletes.
    TombstonesOmitted = "tombstones-omitted",
    /// A cursor of a discarded history is accepted.
    RestoreIgnored = "restore-ignored",
    /// `updated_at` follows a clock that steps back.
    HomeClockStepsBack = "home-clock-steps-back",
    /// The server ignores If-Match.
    IfMatchIgnored = "if-match-ignored",
    /// The head of a home is not stored.
    HeadNotStored = "head-not-stored",
    /// The id of a deleted record can be created again.
    DeletedIdsReusable = "deleted-ids-reusable",
    /// The replica commits the position before the rows.
    PositionBeforeRows = "position-before-rows",
    /// The replica does not store the cursor.
    CursorNotStored = "cursor-not-stored",
    /// An image with a lower rev replaces a newer one.
    OlderImageWins = "older-image-wins",
    /// The replica's search index is not updated.
    SearchNotUpdated = "search-not-updated",
    /// Triggers that a user added do not fire on synced rows.
    UserTriggersOff = "user-triggers-off",
    /// The replica stores no tombstones.
    TombstonesNotStored = "tombstones-not-stored",
    /// The overlay of an edit ends with the response, before the feed has its event.
    OverlayDroppedAtAck = "overlay-dropped-at-ack",
    /// The gate stays open after a sync transaction.
    GateLeftOpen = "gate-left-open",
    /// The phase says live before the replica has caught up.
    LiveBeforeCaughtUp = "live-before-caught-up",
    /// A rejected edit is deleted.
    RejectedEditDropped = "rejected-edit-dropped",
    /// A rejected edit counts as superseded.
    RejectedEditSuperseded = "rejected-edit-superseded",
    /// A change of another field counts as a conflict.
    AnyRemoteChangeConflicts = "any-remote-change-conflicts",
    /// A coalesced edit is left out of the request.
    CoalescedEditLost = "coalesced-edit-lost",
    /// A 412 counts as success.
    PreconditionFailureIsSuccess = "precondition-failure-is-success",
    /// A 5xx counts as success.
    ServerErrorIsSuccess = "server-error-is-success",
    /// The replica sends no If-Match.
    IfMatchNotSent = "if-match-not-sent",
    /// A retry uses a new idempotency key.
    RetryWithNewKey = "retry-with-new-key",
    /// A restart forgets requests that were in flight.
    InFlightForgotten = "in-flight-forgotten",
    /// An edit does not wait for the edits it depends on.
    DependentsDoNotWait = "dependents-do-not-wait",
    /// A blocked edit stays blocked.
    BlockedForever = "blocked-forever",
    /// The create that shows a next task is sent.
    NextTaskSent = "next-task-sent",
    /// The mass-delete guard is off.
    MassDeleteUnguarded = "mass-delete-unguarded",
    /// List rows are applied before the feed has caught up.
    ListsAheadOfFeed = "lists-ahead-of-feed",
    /// A silent stream is never checked.
    SilentStreamIgnored = "silent-stream-ignored",
    /// A failed write on a full disk counts as written.
    DiskFullIsSuccess = "disk-full-is-success",
    /// A request that may have been applied is discarded.
    MaybeAppliedForgotten = "maybe-applied-forgotten",
    /// Backoff follows the wall clock.
    RetryUsesWallClock = "retry-uses-wall-clock",
    /// A response that is not from the server is accepted.
    ForeignAnswerAccepted = "foreign-answer-accepted",
}
