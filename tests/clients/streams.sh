#!/usr/bin/env bash
# Plain libraries follow the stream: httpx-sse, both packages with the module `sseclient`, and curl. Each reads in the
# naive way, so each frame must have JSON data. Heartbeats and comments come often here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
SERVE_OPTIONS=(--heartbeat 300ms --keepalive 100ms)
. "$here/serve.sh"
export URL KEY

python3 -m venv "$WORK/python"
install() { "$WORK/python/bin/pip" install --quiet --disable-pip-version-check "$@"; }
install httpx==0.28.1 httpx-sse==0.4.3 requests==2.32.5
# Both packages have the same module name.
install --no-deps --target "$WORK/sseclient" sseclient==0.0.27 six==1.17.0
install --no-deps --target "$WORK/sseclient-py" sseclient-py==1.9.0

for library in httpx-sse sseclient sseclient-py; do
  PYTHONPATH=$WORK/$library timeout 60 "$WORK/python/bin/python" "$here/streams.py" "$library"
done

echo "curl"
# curl ends with 28, because the stream never ends.
curl --silent --no-buffer --max-time 2 "$URL/v1/events/stream?cursor=start" --header "Authorization: Bearer $KEY" >"$WORK/stream" || [ $? = 28 ]
[ "$(head -n 1 "$WORK/stream")" = "retry: 1000" ]
grep -q '^:$' "$WORK/stream"
grep -q '^event: heartbeat$' "$WORK/stream"
# Each whole frame has one line of data.
[ "$(grep -c '^$' "$WORK/stream")" = "$(grep -c '^data: {' "$WORK/stream")" ]
sed -n 's/^data: //p' "$WORK/stream" | python3 -c 'import json, sys; print(len([json.loads(line) for line in sys.stdin]), "frames")'
