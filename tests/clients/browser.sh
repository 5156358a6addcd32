#!/usr/bin/env bash
# A page in Chromium calls the API of a server at another origin: requests, refusals, MCP and the stream. Runs the example
# `browser_feed.html` unchanged. A page of an origin that is not allowed reads nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
. "$here/serve.sh"
export URL KEY

npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 >/dev/null
cp "$here/browser_client.mjs" "$WORK/node/"
timeout 120 node "$WORK/node/browser_client.mjs" "$ROOT/examples" "$WORK/origin" &
PAGES=$!
for _ in $(seq 300); do
  [ -s "$WORK/origin" ] && break
  kill -0 "$PAGES" || exit 1
  sleep 0.1
done
# The origin of the pages is known only now.
end_server TERM
SERVE_OPTIONS=(--allow-origin "$(cat "$WORK/origin")" --heartbeat 500ms --keepalive 100ms)
start_server "${URL#http://}"
touch "$WORK/origin.allowed"
wait "$PAGES"
