-- `search` explains itself in its text, as every other table does. Only a table that is made anew takes a new text.
CREATE TABLE _search_moved AS SELECT rowid AS id, kind, record_id, title, body FROM search;
DROP TABLE search;
CREATE VIRTUAL TABLE search
    -- What records of every kind are found by: a row for each, kept in step by triggers. Words match from their start,
    -- accents and case do not count: SELECT title FROM search WHERE search MATCH 'chim*' ORDER BY rank.
    -- kind, record_id: which record. title: its name. body: its other texts, codes such as a vin among them.
    USING fts5(
    kind UNINDEXED, record_id UNINDEXED, title, body,
    prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (rowid, kind, record_id, title, body) SELECT id, kind, record_id, title, body FROM _search_moved;
DROP TABLE _search_moved;
