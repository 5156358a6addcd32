#!/usr/bin/env bash
# Runs every example unchanged, with foreign programs, on a replica of a filled home beside the running daemon. The
# written records must arrive at the server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"
REPLICA_PROGRAM=${HEARTH_REPLICA:-$(dirname "$SERVER")/hearth-replica}
[ -x "$REPLICA_PROGRAM" ] || { echo "build the replica first: cargo build -p hearth-replica" >&2; exit 2; }
examples=$ROOT/examples

export REPLICA=$WORK/home/replica.db XDG_RUNTIME_DIR=$WORK/run
mkdir -m 700 "$WORK/run"
replica() { "$REPLICA_PROGRAM" --db "$REPLICA" "$@"; }
HEARTH_API_KEY=$KEY replica init --server "$URL" >/dev/null
replica sync
"$REPLICA_PROGRAM" --db "$REPLICA" run >/dev/null 2>>"$WORK/log" &

python3 -m venv "$WORK/python"
# DuckDB's SQLite extension also comes from the package index, in the matching version.
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check \
  sqlite-utils==4.2.1 datasette==0.65.5 duckdb==1.5.5 duckdb-extension-sqlite-scanner==1.5.5
npm install --silent --no-audit --no-fund --prefix "$WORK/node" node@22 >/dev/null # Node with a built-in SQLite, for expiring.mjs
PATH=$WORK/python/bin:$WORK/node/node_modules/.bin:$PATH

echo "-- shell.sh"
sh "$examples/shell.sh" >"$WORK/out"
grep -q 'priority must be one of low, medium, high, urgent' "$WORK/out"
grep -q 'task|Sweep the chimney, both flues' "$WORK/out"

echo "-- tasks_from_csv.py"
printf 'title,due_on,priority\nClean the gutters,2027-04-01,high\nOil the hinges,,\n' >"$WORK/tasks.csv"
python "$examples/tasks_from_csv.py" "$WORK/tasks.csv" | grep '^2 tasks there, 0 ticked off'
python "$examples/tasks_from_csv.py" "$WORK/tasks.csv" | grep '^2 tasks there, 0 ticked off'
sed -i '/Oil/d' "$WORK/tasks.csv"
python "$examples/tasks_from_csv.py" "$WORK/tasks.csv" | grep '^1 tasks there, 1 ticked off'
printf 'title,due_on,priority\n"Oil the\thinges",,\nClean the gutters,soon,high\n' >"$WORK/tasks.csv"
if python "$examples/tasks_from_csv.py" "$WORK/tasks.csv" 2>"$WORK/out"; then exit 1; fi
grep -q '^row 2: title must be one line' "$WORK/out"
grep -q '^row 3: due_on must be a calendar date' "$WORK/out"
# As spreadsheets write them: UTF-8 with a byte order mark, Latin-1, and UTF-16, with semicolons and tabs.
printf '\xef\xbb\xbftitle;due_on;priority\r\n"D\xc3\xa4mmung; pr\xc3\xbcfen";2027-04-01;high\r\n;;\r\n' >"$WORK/marked.csv"
printf 'title;due_on;priority\r\n"D\xe4mmung; pr\xfcfen";2027-04-01;high\r\n' >"$WORK/latin.csv"
printf 'title\tdue_on\tpriority\nDämmung; prüfen\t2027-04-01\thigh\n' | iconv -f UTF-8 -t UTF-16 >"$WORK/wide.csv"
for file in marked latin wide; do
  python "$examples/tasks_from_csv.py" "$WORK/$file.csv" | grep '^1 tasks there'
  [ "$(replica query "SELECT count(*) AS n FROM tasks WHERE title = 'Dämmung; prüfen' AND due_on = '2027-04-01'" --csv | tail -n 1)" = 1 ]
done

echo "-- expiring.mjs"
export NODE_NO_WARNINGS=1
node "$examples/expiring.mjs" 400 | tail -n 1
node "$examples/expiring.mjs" 400 | grep '; 0 tasks made$'

echo "-- sqlite_utils.sh"
sh "$examples/sqlite_utils.sh" >"$WORK/out"
grep -q 'room_type must be one of bedroom' "$WORK/out"

echo "-- datasette"
show() { datasette "$REPLICA" --metadata "$examples/datasette/metadata.json" --get "$1"; }
show '/replica/tasks_due.json?_shape=array&_size=3' | python -c 'import json, sys; assert len(json.load(sys.stdin)) == 3'
show '/replica/worth_by_room.json?_shape=array' | python -c 'import json, sys; assert json.load(sys.stdin)[0]["worth"] > 0'
show '/replica/find.json?_shape=array&words=furnace' | python -c 'import json, sys; assert json.load(sys.stdin)'
show /replica | grep -q 'The records of the home as they are here'

echo "-- duckdb_value.py"
export HEARTH_DUCKDB_SQLITE=$(ls "$WORK"/python/lib/python3*/site-packages/duckdb_extension_sqlite_scanner/extensions/*/*.duckdb_extension)
python "$examples/duckdb_value.py" "$WORK/items.parquet" | tail -n 1
[ -s "$WORK/items.parquet" ]
# All public tables and views: DuckDB rewrites a view's query and must select the same rows as SQLite.
python - <<'READ'
import duckdb, os, sqlite3
stock = sqlite3.connect(f"file:{os.environ['REPLICA']}?mode=ro", uri=True)
duck = duckdb.connect()
duck.execute(f"INSTALL '{os.environ['HEARTH_DUCKDB_SQLITE']}'")
duck.execute("LOAD sqlite_scanner")
duck.execute(f"ATTACH '{os.environ['REPLICA']}' AS home (TYPE sqlite, READ_ONLY)")
names = [name for (name,) in stock.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
         if not name.startswith(("_", "sqlite_", "search_", "refinery_"))]
filled = 0
for name in names:
    plain = lambda value: "" if value is None else value.decode() if isinstance(value, bytes) else str(value)
    text = lambda rows: sorted(tuple(map(plain, row)) for row in rows)
    theirs, ours = (text(db.execute(f"SELECT * FROM {place}{name}").fetchall()) for db, place in [(duck, "home."), (stock, "")])
    if name == "sync_status":  # columns with seconds change between two reads
        theirs, ours = [row[0] for row in theirs], [row[0] for row in ours]
    assert theirs == ours, f"{name}: {theirs[:1]} is not {ours[:1]}"
    filled += len(ours) > 0
print(f"{len(names)} tables and views, {filled} of them with rows")
assert {"expiring", "home_value", "tasks_due", "sync_status", "conflicts"} <= set(names) and filled > 8
READ

replica sync --until-pushed
[ "$(replica query 'SELECT count(*) AS n FROM edits' --csv | tail -n 1)" = 0 ]
curl --silent --get "$URL/v1/search" --header "Authorization: Bearer $KEY" --data-urlencode 'q=gutters' | grep -q 'Clean the gutters'
sqlite3 "$REPLICA" 'PRAGMA integrity_check' | grep -qx ok

echo "-- the systemd unit"
if command -v systemd-analyze >/dev/null; then
  sed "s#^ExecStart=hearth-replica #ExecStart=$REPLICA_PROGRAM #" "$ROOT/packaging/hearth-replica@.service" >"$WORK/run/hearth-replica@home.service"
  systemd-analyze --user verify --man=no "$WORK/run/hearth-replica@home.service"
fi
