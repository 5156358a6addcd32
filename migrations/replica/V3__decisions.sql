-- What the way of an edit to the server needs beside `edits`: what exactly was frozen, what was sent together, what was
-- taken back.

CREATE TABLE _frozen (
    -- Edits whose request is fixed.
    edit_id INTEGER PRIMARY KEY,
    guard   INTEGER,                       -- the revision that the request insists on; NULL for none
    refused INTEGER NOT NULL DEFAULT 0     -- 1: the server refused the request for good, so it never takes effect later
) STRICT;

CREATE TABLE _parts (
    -- Edits that were sent as one, each as it was made; the history shows them, not their sum.
    edit_id    INTEGER PRIMARY KEY,
    of_edit    INTEGER NOT NULL,           -- the edit that carries their sum
    method     TEXT NOT NULL,
    patch      TEXT NOT NULL,
    base       TEXT NOT NULL,
    origin     TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX _parts_of ON _parts (of_edit);

CREATE TABLE _undone (
    -- Edits that a person has undone by another edit.
    edit_id INTEGER PRIMARY KEY,
    by_edit INTEGER NOT NULL
) STRICT;
CREATE INDEX _undone_by ON _undone (by_edit);

CREATE INDEX _edits_state ON edits (state);
CREATE INDEX _edit_history_settled ON edit_history (settled_at);

-- Requests that were on their way already carried no guard.
INSERT INTO _frozen (edit_id) SELECT id FROM edits WHERE idempotency_key IS NOT NULL;
UPDATE _frozen SET refused = 1 WHERE edit_id IN (SELECT id FROM edits WHERE state IN ('rejected', 'conflict'));
