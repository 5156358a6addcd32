//! Views: where the replica stands, and what people ask most. Must not write, and must not claim what was not proven.

/// Every generated view: its name and its query. Numbers are cast, because newer SQLites tell the types of a view's
/// columns by that alone.
///
/// DuckDB reads a view by writing its query anew, and its SQLite is an old one. So here is no `UNION`, no `count(*)`, no
/// `date()`, no `IS NOT` between two values: it writes these wrongly, or as something else.
pub(crate) const VIEWS: [(&str, &str); 7] = [
    ("sync_status", SYNC_STATUS),
    ("conflicts", CONFLICTS),
    ("tasks_due", TASKS_DUE),
    ("inventory_overview", INVENTORY_OVERVIEW),
    ("documents_overview", DOCUMENTS_OVERVIEW),
    ("expiring", EXPIRING),
    ("home_value", HOME_VALUE),
];

const SYNC_STATUS: &str = "
-- One row: where this replica stands. A phase counts only while there is proof of it, so a syncing process that was
-- killed reads as offline when its last sign of life is 45 seconds old.
WITH sync AS (
    -- Where it has accepted an edit, the server is, though it may not have told of that yet.
    SELECT *, max(head, coalesce((SELECT max(rev) FROM _acked), head)) AS known_head FROM _sync
), contact AS (
    SELECT *, (phase IN ('catching_up', 'live', 'polling', 'reconciling', 'backfilling')
               -- A key may be too weak for an edit and good for the feed.
               OR (phase = 'needs_key' AND offline_since IS NULL))
              AND daemon_pid IS NOT NULL AND NOT paused
              AND last_contact_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-45 seconds') AS in_contact
    FROM sync LEFT JOIN (SELECT 1 AS recovering, question FROM _reconcile) ON 1
), standing AS (
    SELECT *, in_contact AND phase = 'live' AND coalesce(known_head <= position, 1) AS is_level FROM contact
)
SELECT
    CASE WHEN paused THEN 'paused'
         -- A person has answered; the process that syncs goes on in a moment.
         WHEN reconcile > 0 AND daemon_pid IS NOT NULL AND (question IS NOT NULL OR phase = 'blocked') THEN 'reconciling'
         WHEN question IS NOT NULL THEN 'blocked'
         WHEN phase IN ('needs_key', 'blocked', 'new') THEN phase
         -- In contact or not, until its end the tables are on the way to a position.
         WHEN recovering OR reconcile > 0 THEN 'reconciling'
         WHEN in_contact THEN CASE WHEN phase = 'live' AND NOT is_level THEN 'catching_up' ELSE phase END
         WHEN NOT filled THEN CASE WHEN cursor IS NULL AND NOT replay THEN 'new' ELSE 'backfilling' END
         ELSE 'offline' END                                            AS phase,
    coalesce(question, reason)                                         AS reason,
    server,
    coalesce(home_name, home_id)                                       AS home,
    environment,
    position,
    known_head                                                         AS head,
    CAST(CASE WHEN in_contact AND head IS NOT NULL THEN max(0, known_head - position) END AS INTEGER) AS behind_events,
    CAST(CASE WHEN is_level THEN 0
         WHEN current_at IS NOT NULL
         THEN max(0, CAST(strftime('%s', 'now') AS INTEGER) - CAST(strftime('%s', current_at) AS INTEGER)) END
         AS INTEGER)                                                   AS behind_seconds,
    CAST(CASE WHEN retention_seconds IS NOT NULL AND current_at IS NOT NULL
         THEN min(retention_seconds, max(0, retention_seconds - CASE WHEN is_level THEN 0
              ELSE CAST(strftime('%s', 'now') AS INTEGER) - CAST(strftime('%s', current_at) AS INTEGER) END))
    END AS INTEGER)                                                    AS retention_left_seconds,
    CAST((SELECT count(id) FROM edits WHERE state IN ('waiting', 'sending', 'sent')) AS INTEGER) AS waiting,
    CAST((SELECT count(id) FROM edits WHERE state IN ('blocked', 'rejected', 'conflict'))
         + (question IS NOT NULL) AS INTEGER)                          AS needs_you,
    (SELECT min(created_at) FROM edits WHERE state IN ('waiting', 'sending', 'sent')) AS oldest_waiting_at,
    CASE WHEN in_contact THEN (SELECT min(next_attempt_at) FROM edits WHERE state IN ('waiting', 'sending'))
         WHEN daemon_pid IS NOT NULL THEN next_attempt_at END          AS next_attempt_at,
    last_contact_at,
    CASE WHEN NOT in_contact THEN coalesce(offline_since, last_contact_at) END AS offline_since,
    CASE WHEN in_contact THEN transport END                            AS transport,
    verified_at,
    (SELECT version FROM _schema)                                      AS schema_version,
    daemon_pid
FROM standing";

const CONFLICTS: &str = "
-- One row for each field that was changed here and there: what it was, what you want, what the server has (null when
-- the record is not there any more), and since when. `hearth-replica resolve EDIT mine` or `theirs` decides. What the
-- server has lost, and nothing there stands against, has no row: `edits` says so, and it can be sent again.
WITH c AS (
    SELECT e.id, e.kind, e.record_id, e.method, e.base, e.patch, i.updated_at,
           CASE WHEN i.deleted OR i.reported_missing THEN NULL ELSE i.fields END AS there
    FROM edits e LEFT JOIN _base i USING (kind, record_id) LEFT JOIN _tombstones t USING (kind, record_id)
    -- Of what it is not known to have or to have had, only its own word can say that something stands against the edit.
    WHERE e.state = 'conflict' AND (i.rev IS NOT NULL OR t.rev IS NOT NULL OR e.problem IS NOT NULL)
), f AS (
    SELECT c.*, m.key AS field, json_extract(c.base, '$.' || m.key) AS was,
           CASE WHEN c.method <> 'delete' THEN m.value END AS mine, json_extract(c.there, '$.' || m.key) AS theirs
    FROM c, json_each(CASE c.method WHEN 'delete' THEN c.base ELSE c.patch END) m
), g AS (
    SELECT f.*, coalesce(theirs <> mine, (theirs IS NULL) <> (mine IS NULL)) AS is_not_mine,
           coalesce(theirs <> was, (theirs IS NULL) <> (was IS NULL)) AS is_not_was
    FROM f
)
SELECT id AS edit_id, kind, record_id, field, was AS base, mine, theirs,
       CASE WHEN there IS NOT NULL THEN updated_at END AS theirs_at
FROM g
WHERE there IS NULL OR CASE method WHEN 'create' THEN is_not_mine
                                   WHEN 'delete' THEN is_not_was
                                   ELSE is_not_mine AND is_not_was END
ORDER BY id";

const TASKS_DUE: &str = "
-- Open tasks, overdue first, with the name of what they are about.
SELECT t.id, t.title, t.due_on, CAST(t.due_on < strftime('%Y-%m-%d', 'now') AS INTEGER) AS overdue, t.priority, t.status, t.assignee, t.recurrence,
       t.subject_type, coalesce(i.name, v.name, r.name, CASE t.subject_type WHEN 'home' THEN 'home' END) AS subject
FROM tasks t
LEFT JOIN inventory i ON t.subject_type = 'inventory' AND i.id = t.subject_id
LEFT JOIN vehicles  v ON t.subject_type = 'vehicle'   AND v.id = t.subject_id
LEFT JOIN rooms     r ON t.subject_type = 'room'      AND r.id = t.subject_id
WHERE t.status <> 'done'
ORDER BY t.due_on IS NULL, t.due_on, t.title";

const INVENTORY_OVERVIEW: &str = "
-- Items with the name of their room and what they are worth in cents. A value is that of the whole record:
-- eight chairs with a current_value of 1300.00 are worth 1300.00 together.
SELECT i.id, i.name, r.name AS room, i.category, i.quantity, i.make, i.model, i.condition,
       CAST(round(coalesce(i.current_value, i.purchase_price) * 100) AS INTEGER) AS value_cents,
       i.warranty_expires_on
FROM inventory i LEFT JOIN rooms r ON r.id = i.room_id
ORDER BY r.name IS NULL, r.name, i.name";

const DOCUMENTS_OVERVIEW: &str = "
-- Documents with the name of what they are about.
SELECT d.id, d.title, d.category, d.subject_type,
       coalesce(i.name, v.name, CASE d.subject_type WHEN 'home' THEN 'home' END) AS subject,
       d.issued_on, d.expires_on, d.file_name, d.url
FROM documents d
LEFT JOIN inventory i ON d.subject_type = 'inventory' AND i.id = d.subject_id
LEFT JOIN vehicles  v ON d.subject_type = 'vehicle'   AND v.id = d.subject_id
ORDER BY d.title";

const EXPIRING: &str = r#"
-- What runs out and when, soonest first.
SELECT expires_on, what, kind, record_id, name, CAST(expires_on < strftime('%Y-%m-%d', 'now') AS INTEGER) AS expired FROM (
    SELECT CASE s.value WHEN 'warranty' THEN i.warranty_expires_on WHEN 'insurance' THEN v.insurance_expires_on
                        WHEN 'registration' THEN v.registration_expires_on ELSE d.expires_on END AS expires_on,
           CASE WHEN d.id IS NOT NULL THEN coalesce(d.category, 'document') ELSE s.value END     AS what,
           CASE s.value WHEN 'warranty' THEN 'inventory' WHEN 'document' THEN 'document' ELSE 'vehicle' END AS kind,
           coalesce(i.id, v.id, d.id)                                                            AS record_id,
           coalesce(i.name, v.name, d.title)                                                     AS name
    FROM json_each('["warranty", "insurance", "registration", "document"]') s
    -- By an index, so that none of a table's rows is looked at for what is of another table: nothing is over a null.
    LEFT JOIN inventory i ON i.id >= CASE WHEN s.value = 'warranty' THEN '' END
    LEFT JOIN vehicles  v ON v.id >= CASE WHEN s.value IN ('insurance', 'registration') THEN '' END
    LEFT JOIN documents d ON d.id >= CASE WHEN s.value = 'document' THEN '' END
) WHERE expires_on IS NOT NULL
ORDER BY expires_on, name"#;

const HOME_VALUE: &str = "
-- What the items are worth in cents, per room and category. Two rooms of one name are two rooms.
SELECT r.name AS room, i.category AS category, CAST(count(i.id) AS INTEGER) AS items,
       CAST(sum(i.quantity) AS INTEGER) AS pieces,
       CAST(sum(CAST(round(coalesce(i.current_value, i.purchase_price) * 100) AS INTEGER)) AS INTEGER) AS value_cents
FROM inventory i LEFT JOIN rooms r ON r.id = i.room_id
GROUP BY r.id, r.name, i.category
ORDER BY r.name IS NULL, r.name, r.id, i.category";
