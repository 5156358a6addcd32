-- The schema of the server's database, hearth.db.
--
-- Words
--   moment    milliseconds since 1970-01-01T00:00:00Z
--   position  an event id taken as a point in the history of one home; 0 is the point before the first event
--   id        a UUID as text, in lower case with hyphens
--   kind      1 inventory, 2 vehicle, 3 document, 4 task, 5 room, 6 property
--
-- Invariants (`hearth-server check` verifies 3 to 8)
--   1. One write changes `events`, `records`, `field_values`, `search`, `receipts` and `homes.head` in one transaction.
--   2. The event ids of a home rise, are never given out twice, and become visible in order.
--   3. Folding the events of a home from the oldest to the newest gives the records of the home.
--   4. The event at `records.rev` holds the current JSON of the record. No other table holds the JSON.
--   5. `field_values` holds exactly the indexed values of the current records.
--   6. `search` holds exactly one row per current record, except for the property.
--   7. No row of one home refers to a row of another home.
--   8. Each row of `files` has its bytes on the disk.

-- A team is an account. A team owns one live home and one sandbox home.
CREATE TABLE teams (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    plan       TEXT NOT NULL CHECK (plan IN ('free', 'paid')),
    created_at INTEGER NOT NULL                   -- moment
) STRICT;

-- A home is one isolated data set, and the state of its event log.
CREATE TABLE homes (
    number          INTEGER PRIMARY KEY,          -- the home in all other tables; part of every `event_rowid`
    id              TEXT NOT NULL UNIQUE,         -- the home in the API; also the id of its property record
    team            TEXT NOT NULL REFERENCES teams (id),
    environment     TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    head            INTEGER NOT NULL DEFAULT 0,   -- the last event id given out; never computed from `events`, which shrinks
    last_updated_at INTEGER,                      -- latest moment given out: `updated_at` never decreases; null before the first event
    epoch           INTEGER,                      -- the epoch that wrote last; null before the first event
    retention_pos   INTEGER NOT NULL DEFAULT 0,   -- retention horizon: events up to here are older than retention and compacted
    compacted_pos   INTEGER NOT NULL DEFAULT 0,   -- compaction horizon: the highest event id that compaction removed
    next_event_min  INTEGER NOT NULL DEFAULT 0,   -- no lower event id is given out; a restore raises it to leave a gap
    oldest_event_at INTEGER,                      -- moment of the oldest event after the retention horizon; null without one
    event_bytes     INTEGER NOT NULL DEFAULT 0,   -- bytes of the bodies in `events`
    receipt_bytes   INTEGER NOT NULL DEFAULT 0,   -- bytes of the response bodies in `receipts`
    file_bytes      INTEGER NOT NULL DEFAULT 0,   -- bytes of the files in `files`
    import_bytes    INTEGER NOT NULL DEFAULT 0,   -- sum of `bytes` in `imports`
    capture_bytes   INTEGER NOT NULL DEFAULT 0,   -- `bytes` of all rows in `readings` and `captures`
    filled_at       INTEGER,                      -- moment at which a sandbox got its example data; null before, and in a live home
    UNIQUE (team, environment)
) STRICT;

-- Compaction visits only the homes that have an event older than retention.
CREATE INDEX homes_by_oldest_event ON homes (oldest_event_at) WHERE oldest_event_at IS NOT NULL;

-- An epoch is a stretch of a home's history that one server process wrote. The contract calls an epoch a run (9.3).
-- A position belongs to the last epoch that starts at or before the position.
-- A cursor that names another epoch at its position comes from a history that a restore discarded.
CREATE TABLE epochs (
    home      INTEGER NOT NULL REFERENCES homes (number),
    first_pos INTEGER NOT NULL,                   -- the first position that the process wrote
    epoch     INTEGER NOT NULL,                   -- random number of the process
    restored  INTEGER NOT NULL DEFAULT 0,         -- 1: a restore made the row, to mark where the discarded history began
    PRIMARY KEY (home, first_pos)
) STRICT, WITHOUT ROWID;

-- The event log. One row per event; compaction removes rows (contract 9.2).
-- `event_rowid` combines home and event id: one lookup in one narrow tree finds an event, and a home's events lie together.
CREATE TABLE events (
    event_rowid INTEGER PRIMARY KEY,              -- homes.number * 2^40 + event id
    kind        INTEGER NOT NULL,
    event_type  INTEGER NOT NULL,                 -- 0 created, 1 updated, 2 deleted
    record      TEXT NOT NULL,                    -- id of the record
    at          INTEGER NOT NULL,                 -- moment of the write
    key         TEXT,                             -- idempotency key of the write
    deleted_by  TEXT,                             -- name of the person or the key that deleted the record; null in other
                                                  -- events. The feed does not send it (contract 9)
    body        TEXT                              -- JSON of the record after the event, with the name of the author of
                                                  -- the event as `updated_by`; null when deleted
) STRICT;

-- Deletes that are older than retention. Only a backfill that began before the delete reads them (contract 9.2).
CREATE TABLE tombstones (
    event_rowid INTEGER PRIMARY KEY,              -- of the delete event: homes.number * 2^40 + event id
    kind        INTEGER NOT NULL,
    record      TEXT NOT NULL,                    -- id of the record
    created     INTEGER NOT NULL,                 -- event id that created the record
    at          INTEGER NOT NULL,                 -- moment of the delete
    key         TEXT                              -- idempotency key of the delete
) STRICT;

-- Every record id that was ever used in a home. The JSON of a current record is the body of the event at `rev`.
CREATE TABLE records (
    home    INTEGER NOT NULL REFERENCES homes (number),
    id      TEXT NOT NULL,
    kind    INTEGER NOT NULL,
    created INTEGER NOT NULL,                     -- event id that created the record: creation order
    rev     INTEGER NOT NULL,                     -- event id that last changed the record: change order
    deleted INTEGER NOT NULL DEFAULT 0,           -- 1: the event at `rev` deleted the record; the id stays used
    PRIMARY KEY (home, id)
) STRICT, WITHOUT ROWID;

-- The two orders of a list (contract 5). Each index also holds the position in the other order. With `deleted`, the first one
-- alone answers how many records of each kind exist: SQLite asks for the column, although it is the same in all entries.
CREATE INDEX records_by_creation ON records (home, kind, created, rev, deleted) WHERE deleted = 0;
CREATE INDEX records_by_change ON records (home, kind, rev, created) WHERE deleted = 0;
-- The list of deletions (contract 18): the deleted ids of a kind in the order of the deletes.
CREATE INDEX records_by_delete ON records (home, kind, rev) WHERE deleted = 1;

-- Values of current records by which lists filter (contract 5), and by which a delete finds the records that refer to the
-- deleted record (contract 3). The records of a value lie in the order of creation. A row names its record by `created`,
-- because the id would make each row twice as long.
CREATE TABLE field_values (
    home    INTEGER NOT NULL REFERENCES homes (number),
    kind    INTEGER NOT NULL,
    field   INTEGER NOT NULL,                     -- 1 status, 2 due_on, 3 room_id, 4 subject_id, 5 category,
                                                  -- 6 due_on of a task that is not done, 7 file_sha256,
                                                  -- 8 import_ref unless null,
                                                  -- 9 a day on which a warranty, an insurance, a registration or a
                                                  -- document of the record ends,
                                                  -- 10 serial_number, 11 barcode and 12 model of an item,
                                                  -- 13 vin and 14 license_plate of a vehicle, unless null:
                                                  -- their letters and digits, in upper case
    value   TEXT NOT NULL,                        -- as in the JSON of the record; empty for null
    created INTEGER NOT NULL,                     -- event id that created the record
    PRIMARY KEY (home, kind, field, value, created)
) STRICT, WITHOUT ROWID;

-- The full-text index of current records. The rowid is homes.number * 2^40 + the event id that created the record.
-- Text is stored as folded words (case, accents, compatibility forms), because FTS5 folds Latin letters only. Each word begins
-- with the code of its home: the number of digits and the digits of homes.number in base 36. In home 1, `Łamp` is `11lamp`.
CREATE VIRTUAL TABLE search USING fts5(
    title,
    body,               -- all other searched fields
    reading,            -- of a document: the text that was read in its file, as far as it is searched
    kind UNINDEXED,
    record UNINDEXED,   -- id of the record
    tokenize = 'ascii'  -- words end at spaces; characters beyond ASCII are letters
);
-- The writer merges the segments of the index in the background, down to one of each level: a search reads every segment.
INSERT INTO search (search, rank) VALUES ('usermerge', 2);

-- The response to each write that had an idempotency key, to answer a retry (contract 6.4).
CREATE TABLE receipts (
    home        INTEGER NOT NULL REFERENCES homes (number),
    key         TEXT NOT NULL,                    -- idempotency key
    fingerprint BLOB NOT NULL,                    -- SHA-256 of method, path, body and If-Match
    at          INTEGER NOT NULL,                 -- moment of the response
    status      INTEGER NOT NULL,                 -- HTTP status
    headers     TEXT NOT NULL,                    -- JSON object: version, etag, location
    body        TEXT NOT NULL,                    -- response body; U+0001 id U+0001 stands for the body of the event with the id
    PRIMARY KEY (home, key)
) STRICT;

CREATE INDEX receipts_by_age ON receipts (at);

-- API keys. The secret text is not stored.
CREATE TABLE keys (
    id           TEXT PRIMARY KEY,
    team         TEXT NOT NULL REFERENCES teams (id),
    environment  TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,            -- SHA-256 of the secret text
    hint         TEXT NOT NULL,                   -- first 12 and last 4 characters of the secret text
    scopes       TEXT NOT NULL,                   -- separated by spaces
    allowlist    TEXT NOT NULL DEFAULT '',        -- networks (CIDR) separated by spaces; empty: every address is allowed
    pinned       TEXT NOT NULL,                   -- API version of requests without a version header: YYYY-MM-DD
    created_at   INTEGER NOT NULL,                -- moments, here and below
    last_used_at INTEGER,                         -- updated at most once a minute
    expires_at   INTEGER,
    revoked_at   INTEGER,
    flagged_at   INTEGER,                         -- the key was flagged for repeated refusals
    client       TEXT,                            -- the row is the grant of this partner's client; null: an ordinary key
    is_device    INTEGER NOT NULL DEFAULT 0 CHECK (is_device IN (0, 1)) -- 1: an owner approved a device, which got this key
) STRICT;

-- The order of the console's lists. The ids rise with the moment of creation.
CREATE INDEX keys_by_team ON keys (team, (client IS NULL), (revoked_at IS NULL), id);
CREATE INDEX keys_of_clients ON keys (client) WHERE client IS NOT NULL;

-- Partner authorization (contract 20): registered clients, and what they hold for a short or long time. A grant is a row
-- of `keys`; no secret is presented for that row itself, and its access tokens name it. The moments of this table and the
-- next are nanoseconds since 1970-01-01T00:00:00Z, because the protocol library compares them exactly.
CREATE TABLE partner_records (
    kind           TEXT NOT NULL CHECK (kind IN ('client', 'code', 'device', 'pushed', 'access', 'refresh')),
    lookup         BLOB NOT NULL,                 -- SHA-256 of the secret, or of the id of a client
    client         TEXT NOT NULL,                 -- client id
    subject        TEXT,                          -- keys.id of the grant, once an owner has agreed
    family         TEXT,                          -- all tokens that come from one code or device code
    expires_at     INTEGER,                       -- null: never
    user_code      BLOB,                          -- SHA-256 of the code that a person types; only of a device
    device_code    BLOB,                          -- the device code, sealed under the user code
    device_name    TEXT,                          -- name of the machine that asks; only of a device
    scopes         TEXT,                          -- separated by spaces; only of an access token
    hint           TEXT,                          -- first 12 and last 4 characters of the access token
    body           BLOB NOT NULL,                 -- JSON of the record, sealed under its secret; of a client in the clear
    PRIMARY KEY (kind, lookup)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX partner_records_by_user_code ON partner_records (user_code) WHERE user_code IS NOT NULL;
CREATE INDEX partner_records_by_client ON partner_records (client, kind);
CREATE INDEX partner_records_by_subject ON partner_records (subject) WHERE subject IS NOT NULL;
CREATE INDEX partner_records_by_family ON partner_records (family) WHERE family IS NOT NULL;
CREATE INDEX partner_records_by_end ON partner_records (expires_at) WHERE expires_at IS NOT NULL;

-- What was revoked a short time ago. A request that was under way at that moment must not write the tokens back.
CREATE TABLE partner_barriers (
    scope       TEXT NOT NULL CHECK (scope IN ('client', 'family')),
    id          TEXT NOT NULL,                    -- client id, or id of the family
    recorded_at INTEGER NOT NULL,                 -- a client: grants up to this moment stay revoked
    until       INTEGER NOT NULL,                 -- the row may be deleted from this moment on
    PRIMARY KEY (scope, id)
) STRICT, WITHOUT ROWID;

-- Requests of each key, or grant of a partner, on each day, for the console. The server adds its counts at most once a
-- minute, and deletes the rows of days that the console no longer shows.
CREATE TABLE key_usage (
    key     TEXT NOT NULL REFERENCES keys (id) ON DELETE CASCADE,
    day     INTEGER NOT NULL,                     -- days since 1970-01-01, in UTC
    reads   INTEGER NOT NULL,                     -- requests that the window counted, here and below
    writes  INTEGER NOT NULL,
    bulk    INTEGER NOT NULL,
    refused INTEGER NOT NULL,                     -- requests with the response 429, which no window counted
    PRIMARY KEY (key, day)
) STRICT, WITHOUT ROWID;

CREATE INDEX key_usage_by_day ON key_usage (day);

-- Export jobs (contract 16). The files lie in the directory `exports` beside the database, under random names.
CREATE TABLE exports (
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation
    id          TEXT NOT NULL UNIQUE,
    home        INTEGER NOT NULL REFERENCES homes (number),
    format      TEXT NOT NULL CHECK (format IN ('json', 'csv', 'sqlite', 'html')),
    names       INTEGER NOT NULL DEFAULT 0 CHECK (names IN (0, 1)), -- csv: a column with the name beside each id
    bom         INTEGER NOT NULL DEFAULT 0 CHECK (bom IN (0, 1)), -- csv: each file begins with a byte order mark
    kinds       TEXT NOT NULL,                    -- words of the kinds, separated by spaces
    version     TEXT NOT NULL,                    -- API version in which the file is written: YYYY-MM-DD
    status      TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'expired')),
    done        INTEGER NOT NULL DEFAULT 0,       -- records written
    total       INTEGER NOT NULL DEFAULT 0,       -- records to write
    created_at  INTEGER NOT NULL,                 -- moments, here and below
    finished_at INTEGER,
    expires_at  INTEGER,
    file        TEXT,                             -- file name in the directory `exports`; null before success
    size_bytes  INTEGER,
    sha256      TEXT,                             -- of the file, in lower-case hexadecimal
    error       TEXT                              -- why the job failed: one sentence
) STRICT;

CREATE INDEX exports_by_home ON exports (home, number);
CREATE INDEX exports_by_status ON exports (status, number);

-- Import jobs (contract 23).
CREATE TABLE imports (
    number      INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation
    id          TEXT NOT NULL UNIQUE,
    home        INTEGER NOT NULL REFERENCES homes (number),
    request     TEXT NOT NULL,                    -- the parameters, as a JSON object of texts
    is_dry_run  INTEGER NOT NULL,                 -- 1: nothing is written, and the job is kept for a shorter time
    key         TEXT NOT NULL,                    -- id of the key or grant that asked; its row may be gone
    scopes      TEXT NOT NULL,                    -- the scopes of that key, separated by spaces
    author      TEXT NOT NULL,                    -- the name of that key, for updated_by
    body        BLOB,                             -- the file; null once it was read
    bytes       INTEGER NOT NULL DEFAULT 0,       -- bytes of `request`, of `body` and of the results in `import_rows`
    status      TEXT NOT NULL CHECK (status IN ('queued', 'running', 'succeeded', 'failed')),
    applied     INTEGER NOT NULL DEFAULT 0,       -- changes that are committed
    created     INTEGER NOT NULL DEFAULT 0,       -- rows by what they do, here and below
    updated     INTEGER NOT NULL DEFAULT 0,
    unchanged   INTEGER NOT NULL DEFAULT 0,
    failed      INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,                 -- moments, here and below
    finished_at INTEGER,
    error       TEXT,                             -- why the job failed: one sentence
    cause       TEXT CHECK (cause IN ('file', 'rows', 'changed', 'full', 'key', 'interrupted', 'service')),
                                                  -- what the failure lay in; null if the job has not failed
    CHECK ((error IS NULL) = (cause IS NULL))
) STRICT;

CREATE INDEX imports_by_home ON imports (home, number);
CREATE INDEX imports_by_end ON imports (is_dry_run, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX imports_by_status ON imports (status, number);

-- The results of the rows of an import.
CREATE TABLE import_rows (
    import   INTEGER NOT NULL REFERENCES imports (number),
    position INTEGER NOT NULL,                    -- order of the results, from 0
    result   TEXT NOT NULL,                       -- a JSON object: row, action, type, id, error
    PRIMARY KEY (import, position)
) STRICT, WITHOUT ROWID;

-- Files of a home (contract 21). The bytes of a row are in the file files/HOME/HH/SHA256 beside the database: HOME is the id of
-- the home, HH the first two digits of the hash. The bytes are on the disk before the row is, and a row is deleted before its
-- bytes are: no row is without bytes.
CREATE TABLE files (
    number       INTEGER PRIMARY KEY AUTOINCREMENT, -- order of the uploads
    home         INTEGER NOT NULL REFERENCES homes (number),
    sha256       TEXT NOT NULL,                   -- of the bytes, in lower-case hexadecimal
    size_bytes   INTEGER NOT NULL,
    content_type TEXT NOT NULL,                   -- media type, judged by the bytes
    created_at   INTEGER NOT NULL,                -- moment of the first upload
    unused_since INTEGER,                         -- moment of the last upload, or after which no document and no job of
                                                  -- `capture_files` named the file, whichever is later; null: one names it
    UNIQUE (home, sha256)
) STRICT;

CREATE INDEX files_by_home ON files (home, number);
CREATE INDEX files_named ON files (home, number) WHERE unused_since IS NULL;
CREATE INDEX files_unused ON files (home, number) WHERE unused_since IS NOT NULL;
CREATE INDEX files_by_last_use ON files (unused_since) WHERE unused_since IS NOT NULL;

-- The bytes of the files in a backup. Empty in a database that is served.
CREATE TABLE file_pieces (
    file  INTEGER NOT NULL REFERENCES files (number) ON DELETE CASCADE,
    piece INTEGER NOT NULL,                       -- order of the pieces, from 0
    bytes BLOB NOT NULL,
    PRIMARY KEY (file, piece)
) STRICT;

-- Files that were deleted, and whose bytes may still be on the disk. The serving process removes the bytes.
CREATE TABLE removed_files (
    home   INTEGER NOT NULL REFERENCES homes (number),
    sha256 TEXT NOT NULL,
    PRIMARY KEY (home, sha256)
) STRICT, WITHOUT ROWID;

-- What was read in files (contracts 21 and 22). A file is read once; its text serves searches and all jobs. The row goes with the
-- file.
CREATE TABLE readings (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,   -- order in which the files of a home are read
    home     INTEGER NOT NULL REFERENCES homes (number),
    sha256   TEXT NOT NULL,                       -- the file
    state    TEXT NOT NULL CHECK (state IN ('waiting', 'read', 'failed')),
    is_asked INTEGER NOT NULL CHECK (is_asked IN (0, 1)), -- 1: a job waits for the file, so it is read before others
    attempts INTEGER NOT NULL DEFAULT 0,          -- how often the reading began
    reading  TEXT,                                -- JSON of the reading; null until read
    beginning TEXT NOT NULL DEFAULT '',           -- the begin of the text, for snippets
    searched TEXT NOT NULL DEFAULT '',            -- the text as `search.reading` has it, without the codes of the home
    code     TEXT,                                -- why reading failed: a word, and a sentence
    error    TEXT,
    bytes    INTEGER NOT NULL DEFAULT 0,          -- of `reading`, `beginning` and `searched`
    UNIQUE (home, sha256)
) STRICT;

-- The homes take turns.
CREATE INDEX readings_waiting ON readings (is_asked, home, number) WHERE state = 'waiting';

-- The looks of pictures: four parts of 16 bits of the perceptual hash. Pictures that differ in up to three bits share a part, so a
-- search for similar pictures visits only those with an equal part.
CREATE TABLE looks (
    home   INTEGER NOT NULL REFERENCES homes (number),
    part   INTEGER NOT NULL CHECK (part BETWEEN 0 AND 3),
    bits   INTEGER NOT NULL,                      -- the 16 bits of the part
    sha256 TEXT NOT NULL,                         -- the file
    look   INTEGER NOT NULL,                      -- all 64 bits
    PRIMARY KEY (home, part, bits, sha256)
) STRICT, WITHOUT ROWID;

CREATE INDEX looks_by_file ON looks (home, sha256);

-- Jobs that make drafts of records from files (contract 22).
CREATE TABLE captures (
    number       INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation
    id           TEXT NOT NULL UNIQUE,
    home         INTEGER NOT NULL REFERENCES homes (number),
    purpose      TEXT NOT NULL CHECK (purpose IN ('smart_add', 'extract')),
    status       TEXT NOT NULL
                 CHECK (status IN ('queued', 'running', 'ready', 'failed', 'discarded', 'expired', 'accepted')),
    files        TEXT NOT NULL,                   -- hashes, separated by spaces
    room         TEXT,                            -- id of the room of new items
    note         TEXT,                            -- what the person says about the files
    subject_kind INTEGER,                         -- kind and id of the record that the papers are about
    subject      TEXT,
    unread       INTEGER NOT NULL DEFAULT 0,      -- files whose reading waits
    attempts     INTEGER NOT NULL DEFAULT 0,      -- how often drafting began
    created_at   INTEGER NOT NULL,                -- moments, here and below
    finished_at  INTEGER,
    expires_at   INTEGER NOT NULL,
    code         TEXT,                            -- why the job failed: a word, and a sentence
    error        TEXT,
    drafts       TEXT NOT NULL DEFAULT '[]',      -- JSON of the drafts of the reader
    suggestions  TEXT NOT NULL DEFAULT '{}',      -- JSON of the drafts of clients, by name
    facts        TEXT NOT NULL DEFAULT '[]',      -- JSON of what was read in each file
    accepted_kind INTEGER,                        -- kind and id of the record that was made of the drafts
    accepted     TEXT,
    bytes        INTEGER NOT NULL DEFAULT 0       -- of all texts of the row
) STRICT;

CREATE INDEX captures_by_home ON captures (home, purpose, number);
CREATE INDEX captures_by_status ON captures (home, purpose, status, number);
CREATE INDEX captures_by_end ON captures (expires_at);
CREATE INDEX captures_to_expire ON captures (expires_at) WHERE status IN ('queued', 'running', 'ready', 'failed');
CREATE INDEX captures_waiting ON captures (home) WHERE status IN ('queued', 'running');
CREATE INDEX captures_to_draft ON captures (number) WHERE status IN ('queued', 'running') AND unread = 0;

-- The files that jobs still need. A job lets go of its files when it is discarded or accepted, or expires.
CREATE TABLE capture_files (
    home    INTEGER NOT NULL REFERENCES homes (number),
    sha256  TEXT NOT NULL,
    capture INTEGER NOT NULL REFERENCES captures (number),
    PRIMARY KEY (home, sha256, capture)
) STRICT, WITHOUT ROWID;

CREATE INDEX capture_files_by_capture ON capture_files (capture);

-- People who sign in to the console (contract 19). A person who was removed keeps the row, because a restore must not bring
-- the person back.
CREATE TABLE people (
    id         TEXT PRIMARY KEY,
    team       TEXT NOT NULL REFERENCES teams (id),
    name       TEXT NOT NULL,
    folded     TEXT NOT NULL,                     -- the name in lower case and compatibility form
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    password   TEXT NOT NULL,                     -- argon2id, as a PHC string
    created_at INTEGER NOT NULL,                  -- moments, here and below
    removed_at INTEGER
) STRICT;

-- A name is unique on the server, because it alone says who signs in.
CREATE UNIQUE INDEX people_by_name ON people (folded) WHERE removed_at IS NULL;
CREATE INDEX people_by_team ON people (team);

-- One-time links, each for one person to set a password. The text of a link is not stored.
CREATE TABLE console_links (
    hash       BLOB PRIMARY KEY,                  -- SHA-256 of the secret part of the link
    team       TEXT NOT NULL REFERENCES teams (id),
    role       TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    name       TEXT,                              -- the name that the person gets; null: the person chooses
    created_at INTEGER NOT NULL,                  -- moments, here and below
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

-- Signed-in browsers. The text of a cookie is not stored.
CREATE TABLE sessions (
    hash         BLOB PRIMARY KEY,                -- SHA-256 of the cookie
    person       TEXT NOT NULL REFERENCES people (id),
    created_at   INTEGER NOT NULL,                -- moments, here and below
    last_seen_at INTEGER NOT NULL                 -- updated at most once a minute
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_person ON sessions (person, last_seen_at);

-- Links under which calendar programs read a home's days (contract 23). The text of a link is not stored. A link lives as long as
-- its maker: the key is valid, or the person is no removed one.
CREATE TABLE calendars (
    id           TEXT PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,            -- SHA-256 of the secret part of the link
    home         INTEGER NOT NULL REFERENCES homes (number),
    name         TEXT NOT NULL,
    kinds        TEXT NOT NULL,                   -- words of the kinds that the calendar shows, separated by spaces
    key          TEXT REFERENCES keys (id) ON DELETE CASCADE,
    person       TEXT REFERENCES people (id),
    created_at   INTEGER NOT NULL,                -- moments, here and below
    last_used_at INTEGER,                         -- updated at most once a minute; null: never read
    CHECK ((key IS NULL) <> (person IS NULL))
) STRICT;

CREATE INDEX calendars_by_home ON calendars (home);
CREATE INDEX calendars_by_key ON calendars (key) WHERE key IS NOT NULL;
CREATE INDEX calendars_by_person ON calendars (person) WHERE person IS NOT NULL;

-- Homes that a replica refills after the loss of their server (contract 24), and homes that were refilled.
CREATE TABLE refills (
    home      INTEGER PRIMARY KEY REFERENCES homes (number),
    from_home TEXT NOT NULL,                      -- the id of the lost home
    key       TEXT NOT NULL,                      -- keys.id of the key that refills; other keys must not write meanwhile
    began_at  INTEGER NOT NULL,                   -- moment at which the key began, or began again
    ended_at  INTEGER                             -- moment of the end; null: the refill lasts, for a day at most
) STRICT;

-- Facts of the server that ran last, for commands beside it and for the console. At most one row.
CREATE TABLE service (
    number         INTEGER PRIMARY KEY CHECK (number = 1),
    base_url       TEXT NOT NULL,                 -- where clients reach the server
    last_backup_at INTEGER                        -- moment of the last `hearth-server backup`; null: none yet
) STRICT;
