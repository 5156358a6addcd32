# Sourced by the scripts in this directory. Starts a server on a free port with a filled sandbox.
#
# Sets URL, KEY and WORK. At exit the server ends and the directory WORK is removed. start_server and end_server restart the
# server. HEARTH_SERVER names the program; by default the latest build runs. SERVE_OPTIONS is an array of more options of
# `serve`.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
SERVER=${HEARTH_SERVER:-$(ls -t "$TARGET"/{release,debug}/hearth-server 2>/dev/null | head -n 1 || true)}
[ -x "$SERVER" ] || { echo "build the server first: cargo build -p hearth-server" >&2; exit 2; }

WORK=$(mktemp -d)
SERVING=
[ -v SERVE_OPTIONS ] || SERVE_OPTIONS=()

# Starts the server on an address, waits until the server listens, and sets URL.
start_server() {
  : >"$WORK/listening"
  "$SERVER" --data "$WORK/data" serve --listen "$1" --rate-limits off "${SERVE_OPTIONS[@]}" >"$WORK/listening" 2>>"$WORK/log" &
  SERVING=$!
  for _ in $(seq 300); do
    grep -q '^listening on ' "$WORK/listening" && break
    kill -0 "$SERVING" 2>/dev/null || { cat "$WORK/log" >&2; exit 1; }
    sleep 0.1
  done
  URL=$(sed -n 's/^listening on //p' "$WORK/listening")
}

# Ends the server with a signal.
end_server() {
  [ -z "$SERVING" ] || kill "-$1" "$SERVING" 2>/dev/null || true
  [ -z "$SERVING" ] || wait "$SERVING" 2>/dev/null || true
  SERVING=
}

leave() {
  end_server TERM
  kill $(jobs -p) 2>/dev/null || true
  rm -rf "$WORK"
}
trap leave EXIT

start_server 127.0.0.1:0
KEY=$("$SERVER" --data "$WORK/data" key create --team "My home" --env test --quiet)
