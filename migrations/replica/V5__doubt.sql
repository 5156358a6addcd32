-- 0: every event since the request was first sent was seen, so its own would have been. 1: some were missed, and its own
-- may be among them. 2: and it was sent again after that, so that a refusal does not prove that it never was in.
ALTER TABLE _frozen ADD COLUMN missed INTEGER NOT NULL DEFAULT 0;
