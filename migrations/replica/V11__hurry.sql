-- How often people asked the process that syncs to try again at once; it compares the number with the one it knew.
ALTER TABLE _sync ADD COLUMN hurried INTEGER NOT NULL DEFAULT 0;
