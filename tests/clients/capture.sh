#!/usr/bin/env bash
# A photo becomes an item: a rating plate with a bar code is sent from the phone page in Chromium, the server reads it, a person looks
# at the boxes and accepts field by field, and a replica has the item and its picture after a sync. MODELS names a directory with the
# models that recognize text; without it they are fetched, and where that fails the bar code alone is read.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
. "$here/serve.sh"
REPLICA_PROGRAM=${HEARTH_REPLICA:-$(dirname "$SERVER")/hearth-replica}
[ -x "$REPLICA_PROGRAM" ] || { echo "build the replica first: cargo build -p hearth-replica" >&2; exit 2; }
fail() { echo "$*" >&2; tail -n 20 "$WORK/log" >&2; exit 1; }

HAS_MODELS=yes
if [ -n "${MODELS:-}" ]; then
  mkdir -p "$WORK/data/models" && cp "$MODELS"/*.onnx "$WORK/data/models/"
else
  "$ROOT/packaging/models.sh" "$WORK/data/models" >/dev/null 2>>"$WORK/log" || HAS_MODELS=
fi
python3 -m venv "$WORK/python"
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check pillow==12.0.0
"$WORK/python/bin/python" "$here/capture_plate.py" "$WORK/plate.jpg"
npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 axe-core@4.14.1 >/dev/null
cp "$here/capture.mjs" "$WORK/node/"
LINK=$("$SERVER" --data "$WORK/data" console link --team "My home" 2>/dev/null)
LIVE=$("$SERVER" --data "$WORK/data" key create --team "My home" --env live --scopes all --quiet)
export URL LINK LIVE HAS_MODELS PLATE=$WORK/plate.jpg INVOICE=$ROOT/fixtures/reader/invoice.pdf SHOTS=${SHOTS:-}
timeout -k 5 400 node "$WORK/node/capture.mjs" || fail "the pages have a fault"

export REPLICA=$WORK/home/replica.db
replica() { "$REPLICA_PROGRAM" --db "$REPLICA" "$@"; }
HEARTH_API_KEY=$LIVE replica init --server "$URL" >/dev/null
replica sync
rows() { sqlite3 -readonly "$REPLICA" "$1"; }
HASH=$(sha256sum <"$PLATE" | cut -d ' ' -f 1)
[ "$(rows "SELECT i.name, i.barcode FROM inventory i JOIN documents d ON d.subject_id = i.id WHERE d.file_sha256 = '$HASH'")" = \
  "Washing machine|4006381333931" ] || fail "the replica has another item: $(rows 'SELECT name, barcode FROM inventory')"
[ "$(rows "SELECT barcode, notes FROM inventory WHERE name = 'Iron'")" = "4006381333931|" ] || fail "the known item was changed"
replica files fetch --all >/dev/null
[ "$(sha256sum <"$(replica files path "$HASH")" | cut -d ' ' -f 1)" = "$HASH" ] || fail "the replica has other bytes of the photo"
echo "the capture passed"
