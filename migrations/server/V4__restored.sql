-- A home that was put back to an older copy leaves a gap in its event ids, so that no id of the lost history comes again.
ALTER TABLE homes ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;    -- no event id below this is given out any more

-- 1: nobody wrote in this run; it marks from which position on another history was thrown away.
ALTER TABLE runs ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
