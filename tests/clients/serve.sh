# Sourced by the scripts beside it: starts a server on a free port with a filled sandbox, and says how to reach it.
#
# Gives URL, KEY and WORK, a directory that goes away with the server at the end. HEARTH_SERVER names the program; without
# it the release build is taken, else the debug build.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
SERVER=${HEARTH_SERVER:-$TARGET/release/hearth-server}
[ -x "$SERVER" ] || SERVER=$TARGET/debug/hearth-server
[ -x "$SERVER" ] || { echo "build the server first: cargo build -p hearth-server" >&2; exit 2; }

WORK=$(mktemp -d)
SERVING=
stop() {
  [ -z "$SERVING" ] || kill "$SERVING" 2>/dev/null || true
  [ -z "$SERVING" ] || wait "$SERVING" 2>/dev/null || true
  rm -rf "$WORK"
}
trap stop EXIT

"$SERVER" --data "$WORK/data" serve --listen 127.0.0.1:0 --rate-limits off >"$WORK/listening" 2>"$WORK/log" &
SERVING=$!
for _ in $(seq 100); do
  grep -q '^listening on ' "$WORK/listening" && break
  kill -0 "$SERVING" 2>/dev/null || { cat "$WORK/log" >&2; exit 1; }
  sleep 0.1
done
URL=$(sed -n 's/^listening on //p' "$WORK/listening")
KEY=$("$SERVER" --data "$WORK/data" key create --team "My home" --env test --quiet)
