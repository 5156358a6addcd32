-- The tables that a replica keeps beside the six typed tables (rooms, inventory, vehicles, documents, tasks, property).
-- The typed tables, all triggers and all views are generated from the contract's resource table when the database is
-- opened (replica/src/store/schema). Tables whose names begin with an underscore are internal and may change.
-- Times are RFC 3339, UTC, with milliseconds. A rev or a position is an event id of the home's feed.

CREATE TABLE _gate (
    -- One row. The triggers that queue edits and the guards of internal tables act only while `open` is 0. The sync opens
    -- and closes the gate inside one transaction, so no other connection ever reads an open gate.
    one          INTEGER PRIMARY KEY CHECK (one = 1),
    open         INTEGER NOT NULL DEFAULT 0,
    origin       TEXT NOT NULL DEFAULT 'sql', -- who edits in this transaction: tui, cli or sql
    -- JSON object, by table: the id of the existing row that an INSERT meets. Tells REPLACE from an upsert.
    existing_ids TEXT,
    -- Rises by one with each change of `open`. An UPDATE of `open` alone is refused.
    change_count INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO _gate (one) VALUES (1);

CREATE TABLE _sync (
    -- One row: how far this replica is. Each value is written in the transaction that proves it.
    one               INTEGER PRIMARY KEY CHECK (one = 1),
    server            TEXT,                       -- the server's address
    home_id           TEXT,
    home_name         TEXT,
    environment       TEXT,                       -- live, test
    phase             TEXT NOT NULL DEFAULT 'local', -- `local` until a server is configured
    reason            TEXT,                       -- why the phase is what it is, as a sentence
    blocked_by        TEXT,                       -- why the phase is `blocked`, as a fixed word; NULL in other phases
    backfilled        INTEGER NOT NULL DEFAULT 0, -- 1 once the feed from its beginning has reached the head; 0 again after a rebuild
    cursor            TEXT,                       -- where the feed goes on; NULL is its beginning
    position          INTEGER NOT NULL DEFAULT 0, -- the last event that the rows reflect
    head              INTEGER,                    -- the newest position that the server has reported
    retention_seconds INTEGER,                    -- NULL: the server keeps events for ever
    current_at        TEXT,                       -- when the position was last proven to be at the head
    last_contact_at   TEXT,
    offline_since     TEXT,
    next_attempt_at   TEXT,
    transport         TEXT,                       -- stream, poll
    streams_held_back_by TEXT,                    -- the address (scheme, host, port) on whose way streams are held back
    streams_held_back_at TEXT,                    -- when that was found last; NULL: not found
    verified_at       TEXT,
    daemon_pid        INTEGER,
    paused            INTEGER NOT NULL DEFAULT 0, -- 1: a person has paused syncing
    reconcile_requested INTEGER NOT NULL DEFAULT 0, -- 1: a person wants a reconcile
    deletions_accepted  INTEGER NOT NULL DEFAULT 0, -- 1: and agrees to all its deletions
    retry_requests      INTEGER NOT NULL DEFAULT 0, -- how often people asked for an attempt at once
    max_file_bytes      INTEGER,                    -- the most bytes of a file, as the server has named them; NULL: not known
    schema_stamp        TEXT,                       -- a hash of the SQL from which the generated tables, triggers and views were made
    schema_version      TEXT,                       -- the version of the public tables, for example 1.0
    -- While this replica sends its records to an empty home of another server. Nothing is synced meanwhile.
    refill_server       TEXT,                       -- the address of the other server; NULL: no refill runs
    refill_home_id      TEXT,                       -- the empty home
    refill_kind         TEXT,                       -- the collection of which records are sent; NULL before the first
    refill_after_id     TEXT                        -- the last record of the collection that the server has taken
) STRICT;
INSERT INTO _sync (one) VALUES (1);

CREATE TABLE _base (
    -- The base image of every record: the server's version, deleted or not. The row of a record is its base image with its edits.
    -- A record that the server never had, as far as is known, has none.
    kind             TEXT NOT NULL,
    record_id        TEXT NOT NULL,
    rev              INTEGER,                     -- NULL: unknown, of a history that the server has discarded, or of the time
                                                  -- before a rebuild. Any version of the server is newer
    fields           TEXT NOT NULL,               -- JSON object of the fields that are not null
    created_at       TEXT,
    updated_at       TEXT,
    updated_by       TEXT,
    extra            TEXT,
    deleted          INTEGER NOT NULL DEFAULT 0,  -- 1: deleted on the server at `rev` or before. The rest is its last version
                                                  -- while edits need it, else empty. An id is never used again
    reported_missing INTEGER NOT NULL DEFAULT 0,  -- 1: a response said 404, and the feed has not shown the delete yet
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _reconcile (
    -- One row while a reconcile runs; `position` in _sync keeps its value until the end.
    one             INTEGER PRIMARY KEY CHECK (one = 1),
    cause           TEXT NOT NULL,              -- gap, restored, asked
    only_changes    INTEGER NOT NULL DEFAULT 0, -- 1: only changed records and deleted ids are listed; 0: every id is listed
    since           TEXT,                       -- records updated at or after this moment are listed; NULL lists all
    fork            INTEGER,                    -- restored: the last position that both histories share; NULL when unknown
    tail_position   INTEGER,                    -- the position up to which the feed is applied meanwhile; NULL before its
                                                -- first event after the cursor to resume from
    step            TEXT NOT NULL,              -- property, changes, ids, deletions, records, sweep, done
    kind            TEXT,                       -- the collection of the step
    cursor          TEXT,                       -- where the list of the step goes on
    as_of           INTEGER,                    -- position of the first page of the ids
    deleted_count   INTEGER NOT NULL DEFAULT 0, -- how many records were found to be deleted on the server
    accepted        INTEGER NOT NULL DEFAULT 0, -- 1: a person has agreed to every deletion
    question        TEXT,                       -- what a person is asked before the reconcile goes on
    counts_at_start TEXT                        -- JSON: how many records of each collection were known at the start;
                                                -- NULL while only changes are compared
) STRICT;

CREATE TABLE _listed (
    -- Pages of ids that the server has listed so far in a reconcile: the ids of a collection, or the ids deleted from each; empty otherwise. A
    -- home of 100,000 records has a thousand pages.
    page INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    ids  BLOB NOT NULL                   -- 24 bytes a record: its id (16) and its rev (8, little-endian); of a deleted id, the rev of the delete
) STRICT;

CREATE TABLE _requests (
    -- Requests as they were first sent: a retry sends the same bytes. The edits of a request carry its key.
    idempotency_key  TEXT PRIMARY KEY,
    verb             TEXT NOT NULL,
    path             TEXT NOT NULL,
    body             TEXT,
    unacked_attempts INTEGER NOT NULL    -- attempts without a definite answer; 0: no attempt was applied
) STRICT, WITHOUT ROWID;

CREATE TABLE _outbox (
    -- What is known of an edit beside its row in `edits` or `edit_history`: one row for each edit of which there is something to
    -- know.
    edit_id         INTEGER PRIMARY KEY,
    -- The request, from its first attempt on. The edit carries its key.
    if_match        INTEGER,                    -- the revision that the request insists on; NULL for none
    if_absent       INTEGER NOT NULL DEFAULT 0, -- 1: the request insists that there is no record
    given_up        INTEGER NOT NULL DEFAULT 0, -- 1: the request is not sent again: the server rejected it (or 412), the
                                                -- record is deleted, a bulk call was split, or the server was restored at
                                                -- an unknown fork. The feed may still confirm the edit by its key
    maybe_applied   INTEGER NOT NULL DEFAULT 0, -- 1: an attempt had no answer, and events were missed since: the feed cannot tell
                                                -- any more whether the attempt was applied
    -- The answer. The state of the edit is `sent`.
    acked_rev       INTEGER,                    -- the position at which the server accepted the edit; NULL: not known
    awaits_record   INTEGER NOT NULL DEFAULT 0, -- 1: others may have changed the record since; the feed has not shown it yet
    -- Before the request.
    blocked_by      INTEGER,                    -- of an edit in the state `blocked`: the edit that needs a person first
    -- Edits that were sent as one. The history shows these edits, not their sum.
    part_of         INTEGER,                    -- the edit that carries the sum
    as_made         TEXT,                       -- the edit as it was made: JSON object with method, patch, base, origin, created_at
    -- An edit that completes a task of a series. The replica shows the next task, and the server makes the same one (same id).
    completes       TEXT,                       -- the completed task; NULL again when the server has shown its next task, or made none
    next_edit       INTEGER,                    -- the create that shows the next task and is never sent; NULL until a program of
                                                -- Hearth has made it
    -- After the end.
    undone_by       INTEGER,                    -- the edit with which a person has undone this edit
    already_applied TEXT,                       -- JSON array of the fields whose values the server already had: undo leaves them
    overwritten     INTEGER NOT NULL DEFAULT 0  -- 1, during a reconcile: others had replaced the values of the ended edit before,
                                                -- so a restored server has not lost it
) STRICT;
CREATE INDEX _outbox_part_of ON _outbox (part_of) WHERE part_of IS NOT NULL;
CREATE INDEX _outbox_completes ON _outbox (completes) WHERE completes IS NOT NULL;
CREATE INDEX _outbox_next_edit ON _outbox (next_edit) WHERE next_edit IS NOT NULL;
CREATE INDEX _outbox_undone_by ON _outbox (undone_by) WHERE undone_by IS NOT NULL;

CREATE TABLE _search_rows (
    -- Which row of `search` belongs to a record. The key is explicit because implicit rowids change on VACUUM.
    id        INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    UNIQUE (kind, record_id)
) STRICT;

CREATE TABLE _found_changes (
    -- Changes that no trigger has seen, and that are too many to become edits before a person agrees. Until then the rows
    -- do not show these changes.
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    method    TEXT NOT NULL,             -- create, update, delete
    patch     TEXT NOT NULL,             -- JSON object: the changed fields and their values as found
    base      TEXT NOT NULL DEFAULT '{}', -- JSON object: their values before; of a delete, all values
    added     TEXT NOT NULL DEFAULT '{}', -- JSON object: values of a new record in columns that a person has added
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE edits (
    -- One row for each local change that the server has not confirmed.
    id              INTEGER PRIMARY KEY AUTOINCREMENT, -- rises in the order of the changes; never used again
    kind            TEXT NOT NULL,                     -- inventory, vehicle, document, task, room, property
    record_id       TEXT NOT NULL,
    method          TEXT NOT NULL,                     -- create, update, delete
    patch           TEXT NOT NULL,                     -- JSON object: the changed fields and their new values
    base            TEXT NOT NULL,                     -- JSON object: their values before
    state           TEXT NOT NULL DEFAULT 'waiting',   -- waiting, sending, sent; blocked, rejected, conflict need a person
    reason          TEXT,                              -- why it does not go on, in one sentence
    reason_code     TEXT,                              -- the same as a fixed word, for programs: changed_on_both_sides, …
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    problem         TEXT,                              -- the server's error object, JSON
    idempotency_key TEXT,                              -- set before the first send
    origin          TEXT NOT NULL DEFAULT 'sql',       -- tui, cli, sql
    created_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX _edits_record ON edits (record_id);
CREATE INDEX _edits_key ON edits (idempotency_key);
CREATE INDEX _edits_state ON edits (state);

CREATE TABLE edit_history (
    -- Edits that ended within the last 30 days, and how they ended.
    id              INTEGER PRIMARY KEY,               -- as in edits
    kind            TEXT NOT NULL,
    record_id       TEXT NOT NULL,
    method          TEXT NOT NULL,
    patch           TEXT NOT NULL,
    base            TEXT NOT NULL,
    outcome         TEXT NOT NULL,                     -- confirmed, merged, superseded, discarded, undone
    rev             INTEGER,                           -- the position at which the server holds the edit; NULL: the
                                                       -- position is unknown, or the server does not hold the edit
    reason          TEXT,
    attempts        INTEGER NOT NULL,
    idempotency_key TEXT,
    origin          TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    settled_at      TEXT NOT NULL
) STRICT;
CREATE INDEX _edit_history_settled ON edit_history (settled_at);
-- Every shown row looks up whether its last change came from this replica.
CREATE INDEX _edit_history_record ON edit_history (record_id);

CREATE TABLE files (
    -- One row for each file that a document names (documents.file_sha256), and for files that no document names any more,
    -- for seven days. The bytes are in the folder files beside the database: files/<first 2 digits>/<sha256>.
    sha256        TEXT PRIMARY KEY, -- the hash of the bytes: 64 hexadecimal digits in lower case
    size_bytes    INTEGER,
    content_type  TEXT,             -- the media type, such as image/jpeg
    state         TEXT NOT NULL,    -- present: here; waiting: here, not yet on the server; wanted: not here, comes when it
                                    -- is asked for; missing: neither here nor on the server, as far as is known;
                                    -- refused: here, and the server does not take it; damaged: other bytes than the hash says
    problem       TEXT,             -- why it is missing, refused or damaged: the server's error object, JSON
    requested_at  TEXT,             -- since when the bytes are asked for; NULL: not asked for
    unnamed_since TEXT              -- since when no document names the file; NULL: one does
) STRICT, WITHOUT ROWID;
CREATE INDEX _files_state ON files (state);

CREATE TABLE captures (
    -- One row for each capture: photos or papers, from which the server makes drafts of records. Also captures of other devices,
    -- as the server last listed them. An ended capture goes 60 days after its creation.
    id              TEXT PRIMARY KEY, -- as this replica first knew the capture; never changes
    server_id       TEXT UNIQUE,      -- the id on the server; NULL: the server does not have the capture yet
    purpose         TEXT NOT NULL,    -- smart_add: a new item or vehicle; extract: a document, and a change of what it is about
    state           TEXT NOT NULL,    -- waiting: here, not yet on the server; queued, running: the server reads the files; ready:
                                      -- a person decides; accepted, discarded, failed, expired: ended
    unsent          INTEGER NOT NULL DEFAULT 0, -- 1: the server does not know this state yet
    files           TEXT NOT NULL,    -- JSON array of hashes, see files
    room_id         TEXT,             -- the room of a new item
    note            TEXT,             -- the notes of a new item
    subject_type    TEXT,             -- inventory, vehicle: what the papers are about
    subject_id      TEXT,
    created_at      TEXT NOT NULL,
    drafts          TEXT NOT NULL DEFAULT '[]', -- JSON array, as the server sends it: fields, evidence, matches
    problem         TEXT,             -- why it failed or cannot be sent: JSON object with a message
    accepted_type   TEXT,             -- the record that was made of the drafts: its kind and id
    accepted_id     TEXT,
    idempotency_key TEXT,             -- of the request that makes the job; set before the first send
    attempts        INTEGER NOT NULL DEFAULT 0 -- how often that request was sent
) STRICT, WITHOUT ROWID;
CREATE INDEX _captures_state ON captures (state);

CREATE TABLE file_texts (
    -- The text that the server has read in the files of documents; `search` has it below the title of the document.
    sha256          TEXT PRIMARY KEY, -- the file
    text            TEXT,             -- the first 256 KiB; NULL: none was read so far
    next_attempt_at TEXT              -- when the server is asked again; NULL: never
) STRICT;

CREATE TABLE sync_log (
    -- What happened, for people; the newest 10,000 lines.
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    level TEXT NOT NULL,                               -- info, warning
    text  TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search
    -- One row for each record of every kind, kept up to date by triggers. Words match from their start; accents and case do
    -- not count: SELECT title FROM search WHERE search MATCH 'chim*' ORDER BY rank.
    -- kind, record_id: the record. title: its name. body: its other texts, including codes such as a vin.
    -- plain: title and body once more if they have letters such as ł, æ, ё, ά or ５ (then l, ae, е, α, 5) or signs of scripts
    -- without spaces (then apart from each other: MATCH '"冷 蔵 庫"'); otherwise empty.
    USING fts5(
    kind UNINDEXED, record_id UNINDEXED, title, body, plain,
    prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
-- Scripts only add to the index, and the sync merges it: SQLite versions differ in how they merge. A merge by a script
-- begins at 1,000 segments, because FTS5 refuses more than 2,000 as if the disk were full.
INSERT INTO search (search, rank) VALUES ('automerge', 0);
INSERT INTO search (search, rank) VALUES ('crisismerge', 1000);
