-- FTS5 holds 2,000 pieces of an index and refuses more as if the disk were full: some 1,990 rows of a script came to that where
-- nothing merges them. Whoever adds merges the newest once they are a thousand.
INSERT INTO search (search, rank) VALUES ('crisismerge', 1000);
INSERT INTO search (search, rank) VALUES ('merge', 500);
