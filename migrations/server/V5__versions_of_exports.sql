-- The version of the API in whose words a file is written: that in which it was asked for. Files from before are in the
-- words of the version that was current then.
ALTER TABLE exports ADD COLUMN version TEXT NOT NULL DEFAULT '2026-06-01';
