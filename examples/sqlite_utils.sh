#!/bin/sh
# Reads and writes with sqlite-utils (pip install sqlite-utils). REPLICA is the path of the database.
set -eu

echo "# tables and their row counts"
sqlite-utils tables "$REPLICA" --counts --csv

echo "# a view as text, a table as CSV"
sqlite-utils query "$REPLICA" "SELECT title, due_on, subject FROM tasks_due LIMIT 3" --table
sqlite-utils rows "$REPLICA" rooms --csv -c name -c floor --limit 3

echo "# an insert from JSON; the database makes ids and checks values"
echo '[{"name": "Pantry", "room_type": "storage"}, {"name": "Loft", "room_type": "attic"}]' |
  sqlite-utils insert "$REPLICA" rooms -
sqlite-utils query "$REPLICA" "SELECT kind, method, state FROM edits ORDER BY id DESC LIMIT 2"

echo "# a refused value, with the reason"
if echo '{"name": "Cellar", "room_type": "cave"}' | sqlite-utils insert "$REPLICA" rooms - 2>&1; then exit 1; fi
sqlite-utils query "$REPLICA" "DELETE FROM rooms WHERE name IN ('Pantry', 'Loft')"
