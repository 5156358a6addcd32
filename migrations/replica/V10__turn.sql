-- Who opens or closes the gate counts it in the same statement, so that a statement of a stranger is told from the keeper's.
ALTER TABLE _gate ADD COLUMN turn INTEGER NOT NULL DEFAULT 0;
