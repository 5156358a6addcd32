CREATE TABLE _had (
    -- Fields of edits that the server had already as they want them: these are not their doing, and undo leaves them.
    edit_id INTEGER NOT NULL,
    field   TEXT NOT NULL,
    PRIMARY KEY (edit_id, field)
) STRICT, WITHOUT ROWID;
