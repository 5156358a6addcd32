//! The views: the status of the replica, and common questions. Must not claim more than the database proves.

use hearth_contract::schema::Kind;

use super::worth::worth_sql;

/// The name and the query of every view. Numbers are cast, because newer SQLite versions report the type of a view's column only
/// from a cast.
///
/// DuckDB rewrites the query of a view for its old SQLite parser. The queries avoid `UNION`, `count(*)`, `date()` and `IS NOT`
/// between two values, which DuckDB rewrites wrongly.
pub(crate) const VIEWS: [(&str, &str); 7] = [
    ("sync_status", SYNC_STATUS),
    ("conflicts", CONFLICTS),
    ("tasks_due", TASKS_DUE),
    ("inventory_overview", INVENTORY_OVERVIEW),
    ("documents_overview", DOCUMENTS_OVERVIEW),
    ("expiring", EXPIRING),
    ("home_value", HOME_VALUE),
];

/// The CREATE VIEW statement of a view, on one line and with a query that begins with SELECT: `drizzle-kit pull` reads no other
/// form. The comment before the query stays, for `.schema`; comments inside the query are left out.
pub(super) fn create_view(name: &str, query: &str) -> String {
    let lines: Vec<&str> = query.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let head = lines.iter().take_while(|line| line.starts_with("--")).count();
    let about: Vec<&str> = lines[..head].iter().map(|line| line.trim_start_matches("--").trim()).collect();
    let body: Vec<&str> = lines[head..].iter().copied().filter(|line| !line.starts_with("--")).collect();
    let words: Vec<&str> = body.iter().flat_map(|line| line.split_whitespace()).collect();
    let body = match words.join(" ") {
        body if body.starts_with("SELECT") => body,
        body => format!("SELECT * FROM ({body})"),
    };
    format!("CREATE VIEW {name} /* {} */ AS {body}", about.join(" "))
}

/// The CREATE VIEW statements. `{worth}` in a query stands for the worth of the item `i` in cents.
pub(super) fn statements() -> impl Iterator<Item = String> {
    let worth = worth_sql(Kind::Inventory, "i.").unwrap_or_default();
    VIEWS.iter().map(move |(name, query)| create_view(name, &query.replace("{worth}", &worth)))
}

const SYNC_STATUS: &str = "
-- One row: the status of this replica. A phase counts only while it is proven: a sync process that was killed reads as
-- offline 20 seconds after its last sign of life, and so does one that is stopped. While the server is in contact, the
-- process saves a sign of life at least every 17 seconds. In the phase local there is no
-- server, and nothing waits for one.
WITH sync AS (
    -- The server is at least at the position of an edit that it has accepted, although its event may not have arrived.
    SELECT *, max(head, coalesce((SELECT max(acked_rev) FROM _outbox), head)) AS known_head FROM _sync
), contact AS (
    SELECT *, (phase IN ('catching_up', 'live', 'polling', 'reconciling', 'backfilling')
               -- A key without the scope for an edit may still be good for the feed.
               OR (phase = 'needs_key' AND offline_since IS NULL))
              AND daemon_pid IS NOT NULL AND NOT paused
              AND last_contact_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-20 seconds') AS in_contact
    FROM sync LEFT JOIN (SELECT 1 AS is_reconciling, question FROM _reconcile) ON 1
), status AS (
    SELECT *, in_contact AND phase = 'live' AND coalesce(known_head <= position, 1) AS is_level FROM contact
)
SELECT
    CASE WHEN phase = 'local' THEN 'local'
         WHEN paused THEN 'paused'
         -- A person has answered, and the process that syncs continues in a moment.
         WHEN reconcile_requested AND daemon_pid IS NOT NULL AND (question IS NOT NULL OR phase = 'blocked') THEN 'reconciling'
         WHEN question IS NOT NULL THEN 'blocked'
         WHEN phase IN ('needs_key', 'blocked', 'new') THEN phase
         -- A reconcile lasts until its end, in contact or not.
         WHEN is_reconciling OR reconcile_requested THEN 'reconciling'
         WHEN in_contact THEN CASE WHEN phase = 'live' AND NOT is_level THEN 'catching_up' ELSE phase END
         WHEN NOT backfilled THEN CASE WHEN cursor IS NULL AND NOT EXISTS (SELECT kind FROM _base) THEN 'new' ELSE 'backfilling' END
         ELSE 'offline' END                                            AS phase,
    coalesce(question, reason,
             (SELECT CASE WHEN count(kind) > 0 THEN 'changes by another program that wait for you: ' || count(kind)
                  || '; hearth-replica reconcile --accept-local or --discard-local' END FROM _found_changes)) AS reason,
    server,
    coalesce(home_name, home_id)                                       AS home,
    home_id,
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
    CAST(CASE WHEN phase = 'local' THEN 0
         -- The server makes the next task of a series itself. The edit that shows the next task is never sent, and does not
         -- count beside the edit that completes the task before.
         ELSE (SELECT count(e.id) FROM edits e LEFT JOIN _outbox n ON n.next_edit = e.id
                   LEFT JOIN edits c ON c.id = coalesce(n.part_of, n.edit_id)
               WHERE e.state IN ('waiting', 'sending', 'sent') AND c.id IS NULL) END AS INTEGER) AS waiting,
    CAST((SELECT count(id) FROM edits WHERE state IN ('blocked', 'rejected', 'conflict')) + (question IS NOT NULL)
         + EXISTS (SELECT kind FROM _found_changes) AS INTEGER)        AS needs_you,
    CASE WHEN phase <> 'local'
         THEN (SELECT min(created_at) FROM edits WHERE state IN ('waiting', 'sending', 'sent')) END AS oldest_waiting_at,
    CASE WHEN in_contact THEN (SELECT min(next_attempt_at) FROM edits WHERE state IN ('waiting', 'sending'))
         WHEN daemon_pid IS NOT NULL THEN next_attempt_at END          AS next_attempt_at,
    last_contact_at,
    CASE WHEN NOT in_contact THEN coalesce(offline_since, last_contact_at) END AS offline_since,
    CASE WHEN in_contact THEN transport END                            AS transport,
    verified_at,
    schema_version,
    daemon_pid
FROM status";

const CONFLICTS: &str = "
-- One row for each field that was changed on this device and on the server: the value before both changes (base), your
-- value (mine), the value on the server (theirs; null when the record was deleted on the server), its time, and who changed the record there.
-- `hearth-replica resolve EDIT mine` or `theirs` decides. An edit that the server has lost has no row while no value on
-- the server contradicts the edit: see `edits`.
WITH c AS (
    SELECT e.id, e.kind, e.record_id, e.method, e.base, e.patch, i.updated_at, i.updated_by,
           CASE WHEN i.deleted OR i.reported_missing THEN NULL ELSE i.fields END AS there
    FROM edits e LEFT JOIN _base i USING (kind, record_id)
    -- Without a base image, only an error of the server proves a conflict.
    WHERE e.state = 'conflict' AND (i.fields IS NOT NULL OR e.problem IS NOT NULL)
), f AS (
    SELECT c.*, m.key AS field, json_extract(c.base, '$.' || m.key) AS was,
           CASE WHEN c.method <> 'delete' THEN m.value END AS mine, json_extract(c.there, '$.' || m.key) AS theirs
    FROM c, json_each(CASE c.method WHEN 'delete' THEN c.base ELSE c.patch END) m
    -- These columns follow from others.
    WHERE m.key NOT IN ('completed_at', 'recurrence_anchor')
), g AS (
    SELECT f.*, coalesce(theirs <> mine, (theirs IS NULL) <> (mine IS NULL)) AS is_not_mine,
           coalesce(theirs <> was, (theirs IS NULL) <> (was IS NULL)) AS is_not_was
    FROM f
)
SELECT id AS edit_id, kind, record_id, field, was AS base, mine, theirs,
       CASE WHEN there IS NOT NULL THEN updated_at END AS theirs_at,
       CASE WHEN there IS NOT NULL THEN updated_by END AS theirs_by
FROM g
WHERE there IS NULL OR CASE method WHEN 'create' THEN is_not_mine
                                   WHEN 'delete' THEN is_not_was
                                   ELSE is_not_mine AND is_not_was END
ORDER BY id";

const TASKS_DUE: &str = "
-- Open tasks, overdue first, with the name of their subject.
SELECT t.id, t.title, t.due_on, CAST(t.due_on < strftime('%Y-%m-%d', 'now') AS INTEGER) AS overdue, t.priority, t.status, t.assignee, t.recurrence, t.recurrence_every,
       t.subject_type, coalesce(i.name, v.name, r.name, CASE t.subject_type WHEN 'home' THEN 'home' END) AS subject
FROM tasks t
LEFT JOIN inventory i ON t.subject_type = 'inventory' AND i.id = t.subject_id
LEFT JOIN vehicles  v ON t.subject_type = 'vehicle'   AND v.id = t.subject_id
LEFT JOIN rooms     r ON t.subject_type = 'room'      AND r.id = t.subject_id
WHERE t.status <> 'done'
ORDER BY t.due_on IS NULL, t.due_on, t.title";

const INVENTORY_OVERVIEW: &str = "
-- Items with the name of their room and what they are worth in cents: the current value, or else the price, times the
-- quantity. Eight chairs with a current_value of 1300.00 are worth 10400.00 together.
SELECT i.id, i.name, r.name AS room, i.category, i.quantity, i.make, i.model, i.condition,
       CAST({worth} AS INTEGER) AS value_cents,
       i.warranty_expires_on
FROM inventory i LEFT JOIN rooms r ON r.id = i.room_id
ORDER BY r.name IS NULL, r.name, i.name";

const DOCUMENTS_OVERVIEW: &str = "
-- Documents with the name of their subject.
SELECT d.id, d.title, d.category, d.subject_type,
       coalesce(i.name, v.name, CASE d.subject_type WHEN 'home' THEN 'home' END) AS subject,
       d.issued_on, d.expires_on, d.file_name, d.url
FROM documents d
LEFT JOIN inventory i ON d.subject_type = 'inventory' AND i.id = d.subject_id
LEFT JOIN vehicles  v ON d.subject_type = 'vehicle'   AND v.id = d.subject_id
ORDER BY d.title";

const EXPIRING: &str = r#"
-- Warranties, insurances, registrations and documents that end, soonest first.
SELECT expires_on, what, kind, record_id, name, CAST(expires_on < strftime('%Y-%m-%d', 'now') AS INTEGER) AS expired FROM (
    SELECT CASE s.value WHEN 'warranty' THEN i.warranty_expires_on WHEN 'insurance' THEN v.insurance_expires_on
                        WHEN 'registration' THEN v.registration_expires_on ELSE d.expires_on END AS expires_on,
           CASE WHEN d.id IS NOT NULL THEN coalesce(d.category, 'document') ELSE s.value END     AS what,
           CASE s.value WHEN 'warranty' THEN 'inventory' WHEN 'document' THEN 'document' ELSE 'vehicle' END AS kind,
           coalesce(i.id, v.id, d.id)                                                            AS record_id,
           coalesce(i.name, v.name, d.title)                                                     AS name
    FROM json_each('["warranty", "insurance", "registration", "document"]') s
    -- A join by index: for a source of another table the condition compares with NULL, and no row is read.
    LEFT JOIN inventory i ON i.id >= CASE WHEN s.value = 'warranty' THEN '' END
    LEFT JOIN vehicles  v ON v.id >= CASE WHEN s.value IN ('insurance', 'registration') THEN '' END
    LEFT JOIN documents d ON d.id >= CASE WHEN s.value = 'document' THEN '' END
) WHERE expires_on IS NOT NULL
ORDER BY expires_on, name"#;

const HOME_VALUE: &str = "
-- What the items are worth in cents, per room and category: value or price times quantity. Rooms with equal names stay separate.
SELECT r.name AS room, i.category AS category, CAST(count(i.id) AS INTEGER) AS items,
       CAST(sum(i.quantity) AS INTEGER) AS pieces,
       CAST(sum({worth}) AS INTEGER) AS value_cents
FROM inventory i LEFT JOIN rooms r ON r.id = i.room_id
GROUP BY r.id, r.name, i.category
ORDER BY r.name IS NULL, r.name, r.id, i.category";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_one_line_after_select() {
        for (name, query) in VIEWS {
            let statement = create_view(name, query);
            assert!(statement.contains(" */ AS SELECT ") && !statement.contains('\n'), "{statement}");
            assert!(!statement.contains("-- "), "a comment would hide the rest of the line: {statement}");
        }
    }
}
