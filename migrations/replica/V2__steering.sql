-- What people ask of the process that syncs, and how far a recovery has come: after a gap in the feed, after the server
-- was put back to an older copy, or because somebody asked for one.

ALTER TABLE _sync ADD COLUMN paused        INTEGER NOT NULL DEFAULT 0; -- 1: a person wants no sync until further notice
ALTER TABLE _sync ADD COLUMN reconcile     INTEGER NOT NULL DEFAULT 0; -- 1: a person wants a recovery; 2: and accepts what it deletes
ALTER TABLE _sync ADD COLUMN last_event_at TEXT;                       -- the server's time of the event at `position`

CREATE TABLE _recovery (
    -- One row while a recovery is under way; `position` in _sync stays where it was until the end.
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    cause    TEXT NOT NULL,              -- gap, restored, asked
    since    TEXT,                       -- what changed at or after this moment is listed; NULL lists everything
    fork     INTEGER,                    -- restored: the last position that both histories share; NULL when unknown
    tail     INTEGER NOT NULL,           -- up to where the feed is applied meanwhile: the position at the end
    reach    INTEGER NOT NULL DEFAULT 0, -- the newest position that an answer was read at; the tail must pass it
    step     TEXT NOT NULL,              -- property, changes, ids, records, sweep, done
    kind     TEXT,                       -- the collection that the step is at
    cursor   TEXT,                       -- where its list goes on
    as_of    INTEGER,                    -- position of the first page of the walk over the ids
    gone     INTEGER NOT NULL DEFAULT 0, -- records that were found to be deleted on the server
    accepted INTEGER NOT NULL DEFAULT 0, -- 1: a person has agreed to whatever is deleted
    question TEXT                        -- what a person is asked before it goes on
) STRICT;

CREATE TABLE _walked (
    -- Records that the walk over the ids of a collection has shown so far; empty otherwise.
    kind      TEXT NOT NULL,
    record_id TEXT NOT NULL,
    rev       INTEGER NOT NULL,          -- 0 once its newest form was fetched
    PRIMARY KEY (kind, record_id)
) STRICT, WITHOUT ROWID;
