-- When the newest change up to a position was made, the records themselves tell.
ALTER TABLE _sync DROP COLUMN last_event_at;
