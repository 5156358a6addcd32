-- The server's house. Moments are milliseconds since 1970 in UTC; ids of records are UUID text.

CREATE TABLE teams (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    plan       TEXT NOT NULL CHECK (plan IN ('free', 'paid')),
    created_at INTEGER NOT NULL
) STRICT;

-- One live home and one sandbox for each team. Everything below belongs to exactly one home.
CREATE TABLE homes (
    number      INTEGER PRIMARY KEY,          -- how the other tables name it; part of every event's seat
    id          TEXT NOT NULL UNIQUE,         -- how clients name it
    team        TEXT NOT NULL REFERENCES teams (id),
    environment TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    head        INTEGER NOT NULL DEFAULT 0,   -- the last event id given out; never derived from what is left
    clock       INTEGER NOT NULL DEFAULT 0,   -- the latest moment given out; updated_at never goes behind it
    run         INTEGER NOT NULL DEFAULT 0,   -- the process that wrote last
    aged        INTEGER NOT NULL DEFAULT 0,   -- events up to here are older than retention and were thinned out
    thinned     INTEGER NOT NULL DEFAULT 0,   -- the highest event id that thinning took out of the feed
    UNIQUE (team, environment)
) STRICT;

-- Which process wrote from which position on. A cursor that names another run at its position is from another history.
CREATE TABLE runs (
    home  INTEGER NOT NULL REFERENCES homes (number),
    first INTEGER NOT NULL,
    run   INTEGER NOT NULL,
    PRIMARY KEY (home, first)
) STRICT, WITHOUT ROWID;

-- The log. An event's post-image is the record: nothing else holds it.
-- The rowid carries home and id, so that one look-up in one narrow tree finds an event, and a home's events lie together.
CREATE TABLE events (
    seat      INTEGER PRIMARY KEY,            -- home number * 2^40 + event id
    kind      INTEGER NOT NULL,
    event_type INTEGER NOT NULL,               -- 0 created, 1 updated, 2 deleted
    record    TEXT NOT NULL,
    at        INTEGER NOT NULL,
    key       TEXT,                           -- the idempotency key of the write that made it
    body      TEXT                            -- the record's wire JSON; null when deleted
) STRICT;

-- Deletes older than retention: only a first read that is still under way is shown them.
CREATE TABLE graves (
    seat    INTEGER PRIMARY KEY,
    kind    INTEGER NOT NULL,
    record  TEXT NOT NULL,
    created INTEGER NOT NULL,                 -- the event that had created the record
    at      INTEGER NOT NULL,
    key     TEXT
) STRICT;

-- Every id that was ever used in a home, and where its record's image is.
CREATE TABLE records (
    home    INTEGER NOT NULL REFERENCES homes (number),
    id      TEXT NOT NULL,
    kind    INTEGER NOT NULL,
    created INTEGER NOT NULL,                 -- the event that created it: creation order
    rev     INTEGER NOT NULL,                 -- the event that last changed it: change order, and its image
    deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (home, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX records_by_creation ON records (home, kind, created, rev) WHERE deleted = 0;
CREATE INDEX records_by_change ON records (home, kind, rev, created) WHERE deleted = 0;

-- Who refers to whom, so that a delete finds what to clear.
CREATE TABLE links (
    home   INTEGER NOT NULL REFERENCES homes (number),
    target TEXT NOT NULL,
    kind   INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (home, target, kind, record)
) STRICT, WITHOUT ROWID;

-- What was answered to a write that carried an idempotency key.
CREATE TABLE receipts (
    home        INTEGER NOT NULL REFERENCES homes (number),
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    at          INTEGER NOT NULL,
    status      INTEGER NOT NULL,
    headers     TEXT NOT NULL,                -- JSON object: version, etag, location
    body        TEXT NOT NULL,
    PRIMARY KEY (home, key)
) STRICT;

CREATE INDEX receipts_by_age ON receipts (at);

CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    team         TEXT NOT NULL REFERENCES teams (id),
    environment  TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,        -- SHA-256 of the key's text
    hint         TEXT NOT NULL,               -- first 12 and last 4 characters
    scopes       TEXT NOT NULL,               -- space-separated
    allowlist    TEXT NOT NULL DEFAULT '',    -- space-separated networks; empty is everywhere
    pinned       TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    flagged_at   INTEGER
) STRICT;
