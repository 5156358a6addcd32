-- What the replica keeps beside the six typed tables. Those, their triggers and the views are made from the resource
-- table of the contract each time it changes (replica/src/store/schema.rs); what stands here never changes once landed.

CREATE TABLE _gate (
    -- One row. Triggers that queue edits and guards that protect internals act only while `open` is 0. Whoever keeps
    -- the replica raises it and lowers it inside one transaction, so no other connection ever reads it raised.
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    open    INTEGER NOT NULL DEFAULT 0,
    origin  TEXT NOT NULL DEFAULT 'sql', -- who edits in this transaction: tui, cli or sql
    mark    TEXT                         -- id of the existing row that an INSERT is about to meet: tells REPLACE from upsert
) STRICT;
INSERT INTO _gate (one) VALUES (1);

CREATE TABLE _schema (
    -- One row: which text the generated tables, triggers and views were made from.
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    stamp  TEXT NOT NULL,
    version TEXT NOT NULL
) STRICT;

CREATE TABLE _sync (
    -- One row: where this replica stands. Written in the transaction of what proves it.
    one               INTEGER PRIMARY KEY CHECK (one = 1),
    server            TEXT,
    home_id           TEXT,
    home_name         TEXT,
    environment       TEXT,
    phase             TEXT NOT NULL DEFAULT 'new',
    reason            TEXT,                       -- why the phase is what it is, in plain words
    filled            INTEGER NOT NULL DEFAULT 0, -- 1 once a replay from the beginning has reached the present
    replay            INTEGER NOT NULL DEFAULT 0, -- 1 while reading again from the beginning over existing rows
    cursor            TEXT,
    position          INTEGER NOT NULL DEFAULT 0,
    head              INTEGER,                    -- the newest position the server was heard to have
    retention_seconds INTEGER,
    current_at        TEXT,                       -- when the replica was last proven to be at the head
    last_contact_at   TEXT,
    offline_since     TEXT,
    next_attempt_at   TEXT,
    transport         TEXT,
    verified_at       TEXT,
    daemon_pid        INTEGER
) STRICT;
INSERT INTO _sync (one) VALUES (1);

CREATE TABLE _images (
    -- The server's form of every record that has pending edits.
    kind       TEXT NOT NULL,
    record_id  TEXT NOT NULL,
    rev        INTEGER NOT NULL,
    fields     TEXT NOT NULL,                     -- JSON object
    created_at TEXT,
    updated_at TEXT,
    extra      TEXT,
    gone       INTEGER NOT NULL DEFAULT 0,        -- 1: deleted on the server at `rev`; the rest is its last form
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _tombs (
    -- Records that were deleted on the server: their ids are never used again, and an older image must not revive them.
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    rev       INTEGER NOT NULL,
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _shown (
    -- Records that a replay over existing rows has shown so far; empty otherwise.
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE _requests (
    -- Requests as they were first sent: a retry sends the same bytes. The edits of a request carry its key.
    idempotency_key TEXT PRIMARY KEY,
    verb            TEXT NOT NULL,
    path            TEXT NOT NULL,
    body            TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE _sent (
    -- Edits that the server has accepted, and the position at which; NULL when its answer does not tell.
    edit_id INTEGER PRIMARY KEY,
    rev     INTEGER
) STRICT;

CREATE TABLE _search_rows (
    -- Which row of `search` belongs to a record. The key is explicit because implicit rowids change on VACUUM.
    id        INTEGER PRIMARY KEY,
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    UNIQUE (kind, record_id)
) STRICT;

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
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT,
    problem         TEXT,                              -- the server's error object, JSON
    idempotency_key TEXT,                              -- set before the first send
    origin          TEXT NOT NULL DEFAULT 'sql',       -- tui, cli, sql
    created_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;
CREATE INDEX _edits_record ON edits (record_id);
CREATE INDEX _edits_key ON edits (idempotency_key);

CREATE TABLE edit_history (
    -- Edits that were settled within the last 30 days, and how they ended.
    id              INTEGER PRIMARY KEY,               -- as in edits
    kind            TEXT NOT NULL,
    record_id       TEXT NOT NULL,
    method          TEXT NOT NULL,
    patch           TEXT NOT NULL,
    base            TEXT NOT NULL,
    outcome         TEXT NOT NULL,                     -- confirmed, merged, superseded, discarded, undone
    rev             INTEGER,                           -- the position at which the server holds it
    reason          TEXT,
    attempts        INTEGER NOT NULL,
    idempotency_key TEXT,
    origin          TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    settled_at      TEXT NOT NULL
) STRICT;

CREATE TABLE sync_log (
    -- What happened, in plain words; the newest 10,000 lines.
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    level TEXT NOT NULL,                               -- info, warning
    text  TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE search USING fts5(
    kind UNINDEXED, record_id UNINDEXED, title, body,
    prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
