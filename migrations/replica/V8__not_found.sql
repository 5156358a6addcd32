-- 1: an answer said that the server has it no more, which the feed has not told yet. Nothing of the mirror rests on it: a
-- server that is put back to before the delete has the record again, and its feed never tells of an end.
ALTER TABLE _images ADD COLUMN not_found INTEGER NOT NULL DEFAULT 0;
