-- Scripts only add to the index of search, and the replica's keeper merges it: where an older SQLite (3.41 is one, 3.44 is not)
-- and a newer one merged in turn, words that were gone were found again. What came of that is made good.
INSERT INTO search (search) VALUES ('rebuild');
INSERT INTO search (search, rank) VALUES ('automerge', 0);
INSERT INTO search (search, rank) VALUES ('crisismerge', 1999);
