#!/usr/bin/env bash
# Runs every sample of the guides (docs/guides) in curl, Python and TypeScript against a real server, and compares what it writes
# with the guide.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

python3 -m venv "$WORK/python"
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check requests==2.34.2
npm install --silent --no-audit --no-fund --prefix "$WORK/node" tsx@4.23.15 >/dev/null

(umask 077; echo "$KEY" >"$WORK/key")
export HEARTH_URL=$URL HEARTH_DATA=$WORK/data HEARTH_KEY_FILE=$WORK/key NODE_PREFIX=$WORK/node
PATH=$(dirname "$SERVER"):$PATH "$WORK/python/bin/python" "$here/guides.py" "$ROOT"/docs/guides/*.md
