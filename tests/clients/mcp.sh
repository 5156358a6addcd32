#!/usr/bin/env bash
# The official MCP client (PyPI `mcp`) lists and calls every tool of the built server, in both protocol eras.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

python3 -m venv "$WORK/python"
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check "mcp==2.3.0"
URL=$URL KEY=$KEY timeout 60 "$WORK/python/bin/python" "$here/mcp_client.py"
