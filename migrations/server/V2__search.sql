-- The words of every record, kept in the transaction that changes it. A row's id is the seat of the event that created
-- its record: known wherever the record is, and never used again.
CREATE VIRTUAL TABLE search USING fts5(
    home,               -- one word, "h" and the home's number: every question asks for it, so nothing crosses homes
    title,
    body,
    kind UNINDEXED,
    record UNINDEXED,
    tokenize = "unicode61 remove_diacritics 2",
    prefix = '2 3'
);
