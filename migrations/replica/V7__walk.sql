-- The walk over the ids of a collection is kept by the page: a home of a hundred thousand records has a thousand pages, and
-- nothing is ever asked of one id alone. A walk that is under way begins again.
DROP TABLE _walked;
CREATE TABLE _walked (
    -- What the walk over the ids of a collection has shown so far, in its order; empty otherwise.
    place INTEGER PRIMARY KEY,
    kind  TEXT NOT NULL,
    ids   BLOB NOT NULL                  -- 24 bytes for each record: its id, and its revision, little end first
) STRICT;
UPDATE _gate SET open = 1;
UPDATE _recovery SET step = 'ids', cursor = NULL, as_of = NULL WHERE step IN ('ids', 'records', 'sweep');
UPDATE _gate SET open = 0;
