-- How often a request was sent without the server having said that it did not even look at it. At 0 it is surely not in.
-- Nobody counted those that stand here already, so they never come down to it.
ALTER TABLE _requests ADD COLUMN in_the_air INTEGER NOT NULL DEFAULT 2;
