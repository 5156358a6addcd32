#!/usr/bin/env bash
# A browser-standard EventSource (npm `eventsource`) follows the feed while the server is killed and restarted on the
# same port and data. No event may be lost or delivered twice. Heartbeats and comments, which come often here, must not
# look like events.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
SERVE_OPTIONS=(--heartbeat 200ms --keepalive 50ms)
. "$here/serve.sh"

npm install --silent --no-audit --no-fund --prefix "$WORK/node" "eventsource@4.1.0" >/dev/null
cp "$here/eventsource_client.mjs" "$WORK/node/"
export KEY URL

TASKS=40
RESTARTS=3
timeout 100 node "$WORK/node/eventsource_client.mjs" "$((TASKS * (RESTARTS + 2)))" "$WORK/connections" &
READER=$!

# Waits until the reader has connected this number of times.
wait_for_reader() {
    for _ in $(seq 300); do
        [ "$(cat "$WORK/connections" 2>/dev/null || echo 0)" -ge "$1" ] && return
        kill -0 "$READER" 2>/dev/null || break
        sleep 0.1
    done
    echo "the reader did not connect again after connection $(cat "$WORK/connections")" >&2
    exit 1
}

# Repeats each write until the server has acknowledged it. A kill may lose a response, so each task has a fixed id, and
# a repeated create gets 409.
write_tasks() {
    for number in $(seq "$TASKS"); do
        id=$(printf '00000000-0000-4000-8000-%04d%08d' "$1" "$number")
        until status=$(curl --silent --output /dev/null --write-out '%{http_code}' --max-time 5 "$URL/v1/tasks" \
            --header "Authorization: Bearer $KEY" --json "{\"id\":\"$id\",\"title\":\"task $1.$number\"}") \
            && { [ "$status" = 201 ] || [ "$status" = 409 ]; }; do
            sleep 0.1
        done
    done
}

wait_for_reader 1
write_tasks 0
for round in $(seq "$RESTARTS"); do
    write_tasks "$round" &
    WRITER=$!
    sleep 0.2
    end_server KILL
    start_server "${URL#http://}"
    wait "$WRITER"
    wait_for_reader $((round + 1))
done
write_tasks $((RESTARTS + 1))
wait "$READER"
