#!/usr/bin/env bash
# A family uses the pages of the home in Chromium, as on a phone and on a desk: search, ticks, adding by name and by photo, papers,
# edits, refused files. Each page is judged by axe-core at two widths in light and dark, and works without scripts and by keyboard.
# SHOTS names a directory for pictures of the pages; without it none are made.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
SERVE_OPTIONS=(--max-file 1MiB)
. "$here/serve.sh"

npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 axe-core@4.14.1 >/dev/null
cp "$here/phone.mjs" "$WORK/node/"
LINK=$("$SERVER" --data "$WORK/data" console link --team "My home" 2>/dev/null)
LIVE=$("$SERVER" --data "$WORK/data" key create --team "My home" --env live --scopes all --quiet)
export URL LINK LIVE SHOTS=${SHOTS:-}
timeout -k 5 240 node "$WORK/node/phone.mjs" || { tail -n 20 "$WORK/log" >&2; exit 1; }
