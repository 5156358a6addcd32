-- What a recovery lists is written once the feed has come as far, so the tables are never ahead of the cursor and nothing
-- has to be remembered of how far they are. A recovery that is under way begins its lists again.
UPDATE _gate SET open = 1;
UPDATE _recovery SET step = 'property', kind = NULL, cursor = NULL, as_of = NULL;
DELETE FROM _walked;
UPDATE _gate SET open = 0;
ALTER TABLE _recovery DROP COLUMN reach;
