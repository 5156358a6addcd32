#!/usr/bin/env bash
# Programs that know nothing of this code get access that an owner agrees to (contract 20): the official MCP clients of
# Python and TypeScript, and oauth4webapi. The scanner mcp-authlab must give grade A without a failed check, before and
# after a sign-in.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

export URL OWNER=$here/owner.py COOKIES=$WORK/cookies
LINK=$("$SERVER" --data "$WORK/data" console link --team "My home" --name "Olive Owner")
python3 "$OWNER" sign-in "$LINK" "$COOKIES"

python3 -m venv "$WORK/python"
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check "mcp==2.3.0" "mcp-authlab==0.2.2"
timeout 120 "$WORK/python/bin/python" "$here/partners_client.py"

npm install --silent --no-audit --no-fund --prefix "$WORK/node" "@modelcontextprotocol/sdk@1.32.2" "oauth4webapi@3.8.8" >/dev/null
cp "$here/partners_client.mjs" "$WORK/node/"
timeout 120 node "$WORK/node/partners_client.mjs"

# The scanner opens a browser: our owner. A token for another server is asked for and must be refused.
authlab="$WORK/python/bin/mcp-authlab"
export HOME=$WORK XDG_CONFIG_HOME=$WORK
"$authlab" scan "$URL/mcp" --no-color --fail-under A | tee "$WORK/before"
BROWSER="python3 $OWNER agree $COOKIES %s" "$authlab" login "$URL/mcp" --no-color --timeout 60 \
  --foreign-resource https://other.example/mcp
"$authlab" scan "$URL/mcp" --no-color --fail-under A | tee "$WORK/after"
for report in before after; do
  grep -q ' 0 fail ' "$WORK/$report" || { echo "a check of mcp-authlab failed $report the sign-in" >&2; exit 1; }
done
