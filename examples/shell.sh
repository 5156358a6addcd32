#!/bin/sh
# One-liners with the stock sqlite3 shell. REPLICA is the database: export REPLICA=$(hearth-replica path)
set -eu
ask() { sqlite3 -cmd '.timeout 5000' "$REPLICA" "$@"; }

echo "# due within two weeks"
ask -box "SELECT title, due_on, priority, subject FROM tasks_due WHERE due_on <= date('now', '+14 days')"

echo "# what the rooms hold"
ask -box "SELECT coalesce(room, '(no room)') AS room, sum(pieces) AS things, sum(value_cents) / 100 AS worth
          FROM home_value GROUP BY room ORDER BY worth DESC LIMIT 5"

echo "# a new task; its id comes back"
id=$(ask "INSERT INTO tasks (title, due_on) VALUES ('Sweep the chimney', date('now', '+7 days')) RETURNING id")
echo "$id"

echo "# an edit of it, and an upsert"
ask "UPDATE tasks SET priority = 'high' WHERE id = '$id'"
ask "INSERT INTO tasks (id, title) VALUES ('$id', 'Sweep the chimney, both flues') ON CONFLICT (id) DO UPDATE SET title = excluded.title"
ask "SELECT title, priority FROM tasks WHERE id = '$id'"

echo "# a value that the home would refuse"
if ask "UPDATE tasks SET priority = 'hihg' WHERE id = '$id'" 2>&1; then exit 1; fi

echo "# words, wherever they stand"
ask "SELECT kind, title FROM search WHERE search MATCH 'chim*' ORDER BY rank LIMIT 3"

echo "# what waits for the server, and where the replica stands"
ask "SELECT method, count(*) FROM edits GROUP BY method"
ask -line "SELECT phase, position, waiting, needs_you FROM sync_status"

ask "DELETE FROM tasks WHERE id = '$id'"
