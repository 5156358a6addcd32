#!/usr/bin/env bash
# Every page of /docs in Chromium: no accessibility fault (axe-core), no overflow and no report of the content security policy, at 375
# and 1280 pixels. The reference is complete and works without script and by keyboard.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -x /usr/bin/chromium ] || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }
. "$here/serve.sh"
export URL

npm install --silent --no-audit --no-fund --prefix "$WORK/node" playwright-core@1.65.1 axe-core@4.14.1 >/dev/null
cp "$here/docs_pages.mjs" "$WORK/node/"
timeout 300 node "$WORK/node/docs_pages.mjs"
