-- Words are kept in the one spelling in which they are compared, whose accents and cases are not FTS5's to fold any more:
-- it knows those of Latin letters alone. Marks belong to their letter, as in Devanagari.
DROP TABLE search;
CREATE VIRTUAL TABLE search USING fts5(
    home,               -- one word, "h" and the home's number: every question asks for it, so nothing crosses homes
    title,
    body,
    kind UNINDEXED,
    record UNINDEXED,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M*'",
    prefix = '2 3'
);
INSERT INTO search (rowid, home, title, body, kind, record)
SELECT (r.home << 40) + r.created, 'h' || r.home, search_title(r.kind, e.body), search_rest(r.kind, e.body), r.kind, r.id
FROM records r JOIN events e ON e.seat = (r.home << 40) + r.rev
WHERE r.deleted = 0 AND r.kind <> 6 -- the profile is not searched
ORDER BY r.home, r.created;
