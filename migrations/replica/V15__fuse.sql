-- What a recovery has fetched itself is no part of what could vanish.
ALTER TABLE _recovery ADD COLUMN known TEXT; -- JSON: how many records of each collection were known when it began
