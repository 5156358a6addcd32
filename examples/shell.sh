#!/bin/sh
# One-line queries with the sqlite3 shell. REPLICA is the path of the database: export REPLICA=$(hearth-replica path)
set -eu
ask() { sqlite3 -cmd '.timeout 5000' "$REPLICA" "$@"; }

echo "# due within two weeks"
ask -box "SELECT title, due_on, priority, subject FROM tasks_due WHERE due_on <= date('now', '+14 days')"

echo "# items and value per room"
ask -box "SELECT coalesce(room, '(no room)') AS room, sum(pieces) AS things, sum(value_cents) / 100 AS worth
          FROM home_value GROUP BY room ORDER BY worth DESC LIMIT 5"

echo "# a new task; the statement returns the id"
id=$(ask "INSERT INTO tasks (title, due_on) VALUES ('Sweep the chimney', date('now', '+7 days')) RETURNING id")
echo "$id"

echo "# an edit of the task, and an upsert"
ask "UPDATE tasks SET priority = 'high' WHERE id = '$id'"
ask "INSERT INTO tasks (id, title) VALUES ('$id', 'Sweep the chimney, both flues') ON CONFLICT (id) DO UPDATE SET title = excluded.title"
ask "SELECT title, priority FROM tasks WHERE id = '$id'"

echo "# a value that the database refuses"
if ask "UPDATE tasks SET priority = 'hihg' WHERE id = '$id'" 2>&1; then exit 1; fi

echo "# full-text search"
ask "SELECT kind, title FROM search WHERE search MATCH 'chim*' ORDER BY rank LIMIT 3"

echo "# pending edits, and the state of the sync"
ask "SELECT method, count(*) FROM edits GROUP BY method"
ask -line "SELECT phase, position, waiting, needs_you FROM sync_status"

ask "DELETE FROM tasks WHERE id = '$id'"
