//! The actions of a plan: what actors do, and the faults that do not depend on a message. Must not carry out an action.

/// An action at a time of the world.
#[derive(Debug, Clone, Copy)]
pub struct PlannedAction {
    /// When the action happens, in milliseconds of the world.
    pub time: i64,
    /// The action.
    pub action: Action,
    /// The seed for the random numbers of the action.
    pub seed: u64,
}

/// One action. Machines are given by number, times in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A person creates, changes or deletes a record in the terminal UI.
    Person(usize),
    /// A script runs one SQL statement that writes.
    Script(usize),
    /// A script inserts many records.
    Import(usize),
    /// A script creates triggers that copy the tasks into a table (true), or removes them (false).
    WatchTriggers(usize, bool),
    /// A script changes the task with the lowest id, or deletes the task (true). Two replicas then write one record.
    FirstTask(usize, bool),
    /// A person begins a daily series, or completes the open task of a series that is due first.
    Series(usize),
    /// A person attaches the file with this number, which other machines may attach too.
    Attach(usize, u8),
    /// A client of the API sends a random write.
    Client,
    /// A client of the API deletes the record with the highest rev.
    ClientDeletesNewest,
    /// A client of the API creates more tasks than the mass-delete guard lets vanish unasked.
    ClientCreatesTasks,
    /// A client of the API deletes all tasks.
    ClientDeletesTasks,
    /// A person accepts the deletions that a reconcile asks about, or requests a reconcile.
    AnswerReconcile(usize),
    /// A script writes an edit that the server refuses.
    InvalidEdit(usize),
    /// A person decides about an edit that needs a person.
    Decide(usize),
    /// A person pauses the sync for this time.
    Pause(usize, i64),
    /// The process of a replica is killed.
    Kill(usize),
    /// The process of a replica stops in an orderly way, and another process starts.
    Restart(usize),
    /// The process of a replica crashes after this number of interruption points.
    Crash(usize, u32),
    /// A write of a replica fails with a full disk after this number of interruption points.
    DiskFull(usize, u32),
    /// A machine has no network for this time.
    Offline(usize, i64),
    /// A machine is in a network whose sign-in page answers every request, for this time.
    ForeignNetwork(usize, i64),
    /// No stream can reach a machine for this time.
    BlockStreams(usize, i64),
    /// The responses to the writes of a machine are lost for this time.
    LoseWriteResponses(usize, i64),
    /// A second process tries to take the sync lock.
    SecondProcess(usize),
    /// The server is killed.
    ServerKill,
    /// The server crashes after this number of interruption points.
    ServerCrash(u32),
    /// A write of the server fails with a full disk after this number of interruption points.
    ServerDiskFull(u32),
    /// An operator makes a backup of the server.
    Backup,
    /// An operator restores the backup with the restore command.
    Restore,
    /// An operator restores the backup by copying the file.
    RestoreFiles,
    /// The server removes old events now.
    CleanUp,
    /// The key of a machine is revoked for this time.
    KeyRevoked(usize, i64),
    /// The key of a machine loses scopes for this time.
    ScopesRemoved(usize, i64),
    /// A wall clock jumps by this time: the clock of a machine, or of the server for None.
    ClockStep(Option<usize>, i64),
    /// All machines sleep for this number of hours.
    LongSleep(i64),
}
