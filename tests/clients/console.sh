#!/usr/bin/env bash
# People in Chromium use the console of a real server: one-time link, keys, invitation, sign-out. Each page is judged by
# axe-core at two widths, and works without scripts and by keyboard. Secrets of keys and links reach no log.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
. "$here/serve.sh"

npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 axe-core@4.14.1 >/dev/null
cp "$here/console_client.mjs" "$WORK/node/"
LINK=$("$SERVER" --data "$WORK/data" console link --team "My home" 2>/dev/null)
export URL LINK
timeout -k 5 240 node "$WORK/node/console_client.mjs" "$WORK/secrets" || { tail -n 20 "$WORK/log" >&2; exit 1; }
[ -s "$WORK/secrets" ] || { echo "the client wrote no secrets" >&2; exit 1; }
while read -r secret; do
  ! grep -qF -- "$secret" "$WORK/log" || { echo "a secret is in the log" >&2; exit 1; }
done <"$WORK/secrets"
