-- Export jobs. Their files lie beside the database, under random names.
CREATE TABLE exports (
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- the order in which they were asked for
    id          TEXT NOT NULL UNIQUE,
    home        INTEGER NOT NULL REFERENCES homes (number),
    format      TEXT NOT NULL CHECK (format IN ('json', 'csv', 'sqlite')),
    kinds       TEXT NOT NULL,                -- space-separated words
    status      TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'expired')),
    done        INTEGER NOT NULL DEFAULT 0,   -- records written
    total       INTEGER NOT NULL DEFAULT 0,   -- records there are to write
    created_at  INTEGER NOT NULL,
    finished_at INTEGER,
    expires_at  INTEGER,
    file        TEXT,                         -- its name in the directory of exports
    size_bytes  INTEGER,
    sha256      TEXT,
    error       TEXT
) STRICT;

CREATE INDEX exports_by_home ON exports (home, number);
CREATE INDEX exports_by_status ON exports (status, number);
