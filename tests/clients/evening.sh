#!/usr/bin/env bash
# The first evening of a new user. One person begins in the terminal UI without a server, imports a table, attaches receipts and
# finishes a task; connects to a server over https, approved in Chromium; a second person adds a photo on a phone; the first edits
# without a network and comes back. Then the server and the replica must be equal, and report, calendar and reminders right.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
command -v tmux >/dev/null || { apt-get update -qq && apt-get install -y -qq tmux >/dev/null; }
. "$here/serve.sh"
# The evening begins without a server.
end_server TERM

BUILT=$(dirname "$SERVER")
# The machine of the first person: its own home directory, and a language whose letters tmux keeps.
DEVICE=(env -i "PATH=$BUILT:$PATH" "HOME=$WORK/home" "LANG=C.UTF-8" "TZ=Europe/Berlin" "TERM=xterm-256color" "SSL_CERT_FILE=$WORK/ca.pem")
SCREEN=(tmux -L "hearth-evening-$$" -f /dev/null)
TENTHS=300 # the longest wait for a condition, in tenths of a second
mkdir "$WORK/home"

leave_evening() {
  "${SCREEN[@]}" kill-server 2>/dev/null || true
  leave
}
trap leave_evening EXIT

screen() { "${SCREEN[@]}" capture-pane -p -t evening; }
fail() {
  echo "$*" >&2
  screen >&2 || true
  tail -n 20 "$WORK/log" >&2
  exit 1
}
# Waits until a command succeeds. The first argument says what is awaited.
await() {
  local what=$1
  shift
  for _ in $(seq "$TENTHS"); do
    "$@" && return
    sleep 0.1
  done
  fail "waited for: $what"
}
is_shown() { screen | grep -qF -- "$1"; }
shows() { await "the screen shows: $1" is_shown "$1"; }
keys() { "${SCREEN[@]}" send-keys -t evening "$@"; }
types() { "${SCREEN[@]}" send-keys -t evening -l -- "$1"; }
replica() { "${DEVICE[@]}" hearth-replica "$@"; }
check() { python3 "$here/evening.py" "$@"; }
# Values of the replica's database, as a script reads them.
rows() { sqlite3 -readonly -cmd '.timeout 5000' "$DB" "$1"; }
equals() { [ "$(rows "$1")" = "$2" ]; }
has() { await "$1 is $2" equals "$1" "$2"; }
day() { date -d "$TODAY + $1 days" +%F; }
TODAY=$(TZ=Europe/Berlin date +%F)

step() { echo "evening: $* (after $SECONDS s)"; }

step "begin without a server"
"${SCREEN[@]}" new-session -d -s evening -x 120 -y 46 "${DEVICE[@]}" hearth
shows "Begin without a server"
types 3
shows "on this machine only"
DB=$(replica path)
replica set property address="Seeweg 4" currency=EUR time_zone=Europe/Berlin unit_system=metric >/dev/null

step "import 300 rows"
check table "$WORK/hausrat.csv" "$(day 20)"
import=(import "$WORK/hausrat.csv" --mapping "Nr=import_ref" --mapping "Bezeichnung=name" --mapping "Raum=room" --mapping "Anzahl=quantity"
  --mapping "Kaufpreis=purchase_price" --mapping "Kaufdatum=purchase_date" --mapping "Seriennummer=serial_number" --mapping "Garantie bis=warranty_expires_on")
replica "${import[@]}" --dry-run >/dev/null
equals "SELECT count(*) FROM inventory" 0 || fail "a dry run has written"
replica "${import[@]}" --yes >/dev/null
has "SELECT count(*) FROM inventory" 300
has "SELECT count(*) FROM rooms" 6
[[ $(replica "${import[@]}" --yes --json 2>/dev/null) == *'"unchanged":300'* ]] || fail "a second run changes something"
has "SELECT count(*) FROM inventory" 300
types 3
shows "300 items"

step "attach 5 receipts, one of them in the terminal UI"
check receipts "$WORK"
for number in 1 2 3 4; do
  replica attach --to "$(rows "SELECT id FROM inventory WHERE import_ref = 'H-00$number'")" --category receipt "$WORK/beleg-$number.pdf" >/dev/null
done
types "fSessel 005"
shows "1 of 300 items"
keys Enter
types A
shows "Attach a file"
types "$WORK/beleg-5.pdf"
keys Enter
has "SELECT count(*) FROM documents WHERE subject_type = 'inventory' AND file_sha256 IS NOT NULL" 5

step "finish a task of a series"
types 1
types "a"
shows "New task"
types "Wasserfilter wechseln due:$(day 3) every:week"
keys Enter
has "SELECT count(*) FROM tasks WHERE recurrence = 'weekly'" 1
types "a"
types "Papiertonne hinausstellen due:$(day 4)"
keys Enter
has "SELECT count(*) FROM tasks" 2
types 2
shows "2 tasks"
types "fWasserfilter"
shows "1 of 2 tasks"
keys Enter
types x
has "SELECT status, due_on FROM tasks WHERE recurrence = 'weekly' ORDER BY due_on" "done|$(day 3)
open|$(day 10)"

step "connect over https, approved in Chromium"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Our home" -keyout "$WORK/ca.key" -out "$WORK/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
  -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout "$WORK/server.key" -out "$WORK/server.csr" 2>/dev/null
openssl x509 -req -in "$WORK/server.csr" -CA "$WORK/ca.pem" -CAkey "$WORK/ca.key" -CAcreateserial -days 2 -copy_extensions copy \
  -out "$WORK/server.pem" 2>/dev/null
SERVE_OPTIONS=(--tls-cert "$WORK/server.pem" --tls-key "$WORK/server.key")
start_server 127.0.0.1:0
[[ $URL == https://* ]] || fail "the server does not encrypt: $URL"
# The network of the first person is a process of its own, which ends and begins again.
CABLE_PORT=0
plug_in() {
  rm -f "$WORK/cable"
  # No function: a signal must reach the process itself.
  python3 "$here/evening.py" cable "$WORK/cable" "$CABLE_PORT" "${URL##*:}" & CABLE=$!
  await "the network of the first person" test -s "$WORK/cable"
  CABLE_PORT=$(<"$WORK/cable")
}
pull_out() {
  kill "$CABLE"
  wait "$CABLE" 2>/dev/null || true
}
plug_in
LIVE=$("$SERVER" --data "$WORK/data" key create --team "My home" --env live --scopes all --quiet)
LINK=$("$SERVER" --data "$WORK/data" console link --team "My home" 2>/dev/null)
export URL LIVE LINK DB WORK
npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 >/dev/null
cp "$here/evening.mjs" "$WORK/node/"
browser() { timeout -k 5 100 node "$WORK/node/evening.mjs" "$@" || fail "Chromium: $1"; }

browser owner
types S
shows "this machine only"
types c
shows "Connect to a server"
types "https://127.0.0.1:$CABLE_PORT"
keys Enter Enter
shows "Approve this device in a browser"
code() { screen | grep -oE '\b[A-Z]{4}-[A-Z]{4}\b' | head -n 1; }
await "a code" code >/dev/null
browser approve "$(code)"
has "SELECT phase, waiting, needs_you FROM sync_status" "live|0|0"
has "SELECT count(*) FROM edits" 0
await "all files are sent" equals "SELECT count(*) FROM files WHERE state <> 'present'" 0
check same

step "a second person adds a photo on a phone"
browser photo "$(<"$WORK/invitation")"
PHOTO=$(sha256sum <"$WORK/photo-1.jpg" | cut -d ' ' -f 1)
has "SELECT count(*) FROM documents WHERE file_sha256 = '$PHOTO'" 1
has "SELECT count(*) FROM inventory WHERE name LIKE 'Photo of%' AND updated_by = 'Mia'" 1

step "the first edits without a network, the second goes on"
pull_out
has "SELECT phase FROM sync_status" offline
keys Escape
types 3
shows "301 items"
keys Escape
types "fRegal 017"
shows "1 of 301 items"
keys Enter
types e
shows "Change the item"
types ", im Keller"
keys C-s
shows "Saved: Regal 017, im Keller"
keys Escape
types a
shows "New task"
types "Dachrinne reinigen !high due:$(day 5)"
keys Enter
has "SELECT count(*) FROM edits WHERE state = 'waiting'" 2
replica attach --to "$(rows "SELECT id FROM inventory WHERE import_ref = 'H-017'")" --category manual "$WORK/beleg-5.pdf" >/dev/null
browser meanwhile
equals "SELECT quantity FROM inventory WHERE import_ref = 'H-017'" 5 || fail "the replica has a change that it cannot know"

step "the first comes back"
plug_in
types S
shows "Last contact"
types r
has "SELECT phase, waiting, needs_you FROM sync_status" "live|0|0"
has "SELECT count(*) FROM edits" 0
has "SELECT name, quantity FROM inventory WHERE import_ref = 'H-017'" "Regal 017, im Keller|7"
has "SELECT status FROM tasks WHERE title LIKE 'Papiertonne%'" "done"
PHOTO_2=$(sha256sum <"$WORK/photo-2.jpg" | cut -d ' ' -f 1)
has "SELECT count(*) FROM documents WHERE file_sha256 = '$PHOTO_2'" 1
replica files fetch --all >/dev/null
check same
for photo in "$PHOTO" "$PHOTO_2"; do
  [ "$(sha256sum <"$(replica files path "$photo")" | cut -d ' ' -f 1)" = "$photo" ] || fail "the replica has other bytes of a photo"
done
browser reads

step "report, calendar and reminders"
replica report "$WORK/report.html" >/dev/null
replica calendar --name "Haus" --json >"$WORK/calendar.json"
replica remind --days 30 --json >"$WORK/remind.json"
check results "$(day 5)" "$(day 10)" "$(day 20)"

keys Escape
shows "302 items"
types q
await "the terminal UI has ended" bash -c "! ${SCREEN[*]} has-session -t evening 2>/dev/null"
replica doctor >/dev/null || fail "hearth-replica doctor has found a fault"
step "passed"
