#!/usr/bin/env bash
# Caddy and nginx with the configurations of packaging/, with TLS in front of a server: an event of a stream arrives within a
# second, a body of almost 1 MiB arrives, and the address of the client counts, but not one that the client only claims.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
SERVE_OPTIONS=(--base-url https://localhost --trusted-proxy 127.0.0.1/32)
. "$here/serve.sh"
command -v nginx >/dev/null && command -v caddy >/dev/null || { apt-get update -qq && apt-get install -y -qq nginx caddy >/dev/null; }
OTHER=$("$SERVER" --data "$WORK/data" key create --team "My home" --env test --allow 127.0.0.2/32 --quiet)

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj "/CN=issuer" \
  -keyout "$WORK/ca.key" -out "$WORK/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" \
  -keyout "$WORK/tls.key" -out "$WORK/tls.csr" 2>/dev/null
openssl x509 -req -in "$WORK/tls.csr" -CA "$WORK/ca.pem" -CAkey "$WORK/ca.key" -CAcreateserial -days 1 -copy_extensions copy \
  -out "$WORK/tls.pem" 2>/dev/null

PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
upstream=${URL#http://}

start_nginx() {
  # The file of packaging/ with the names and ports of this test.
  sed -e "s|127.0.0.1:8750|$upstream|" -e "s|listen 443|listen 127.0.0.1:$PORT|" -e '/listen \[::\]/d' \
    -e "s|home.example.org;|localhost;|" -e "s|/etc/.*fullchain.pem|$WORK/tls.pem|" -e "s|/etc/.*privkey.pem|$WORK/tls.key|" \
    "$ROOT/packaging/nginx.conf" >"$WORK/site.conf"
  mkdir -p "$WORK/nginx"
  cat >"$WORK/nginx.conf" <<CONF
daemon off;
pid $WORK/nginx/pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path $WORK/nginx/body;
  proxy_temp_path $WORK/nginx/proxy;
  fastcgi_temp_path $WORK/nginx/fastcgi;
  uwsgi_temp_path $WORK/nginx/uwsgi;
  scgi_temp_path $WORK/nginx/scgi;
  include $WORK/site.conf;
}
CONF
  nginx -p "$WORK/nginx" -c "$WORK/nginx.conf" 2>"$WORK/proxy-log" &
}

start_caddy() {
  {
    printf '{\n\tadmin off\n\tauto_https disable_redirects\n}\n'
    sed -e "s|127.0.0.1:8750|$upstream|" -e "s|^home.example.org {|localhost:$PORT {\n\ttls $WORK/tls.pem $WORK/tls.key|" \
      "$ROOT/packaging/Caddyfile"
  } >"$WORK/Caddyfile"
  HOME=$WORK caddy run --config "$WORK/Caddyfile" --adapter caddyfile 2>"$WORK/proxy-log" &
}

ask() { curl --silent --show-error --cacert "$WORK/ca.pem" "$@"; }

status() { ask --output /dev/null --write-out '%{http_code}' "$@"; }

expect() { # NAME FOUND EXPECTED
  [ "$2" = "$3" ] || { echo "$1: $2 instead of $3" >&2; cat "$WORK/proxy-log" >&2; exit 1; }
}

python3 -c 'import json; print(json.dumps({"operations": [{"method": "create", "title": "long", "notes": "x" * 9900}] * 50 + []}))' \
  >"$WORK/large.json"
python3 -c 'import json; print(json.dumps({"name": "x" * 2000000}))' >"$WORK/too-large.json"

for proxy in nginx caddy; do
  "start_$proxy"
  PROXY=$!
  base=https://localhost:$PORT
  for _ in $(seq 100); do
    ask --output /dev/null "$base/healthz" 2>/dev/null && break
    kill -0 "$PROXY" || { cat "$WORK/proxy-log" >&2; exit 1; }
    sleep 0.1
  done
  expect "$proxy: who am I" "$(status "$base/v1/me" -H "Authorization: Bearer $KEY")" 200

  : >"$WORK/stream"
  curl --silent --cacert "$WORK/ca.pem" --no-buffer "$base/v1/events/stream" -H "Authorization: Bearer $KEY" >"$WORK/stream" &
  READER=$!
  for _ in $(seq 100); do grep -q '^event: ready' "$WORK/stream" && break; sleep 0.1; done
  ask --output /dev/null "$base/v1/rooms" -H "Authorization: Bearer $KEY" --json "{\"name\":\"behind $proxy\"}"
  for _ in $(seq 10); do grep -q "behind $proxy" "$WORK/stream" && break; sleep 0.1; done
  grep -q "behind $proxy" "$WORK/stream" || { echo "$proxy held an event for more than a second" >&2; exit 1; }
  kill "$READER"

  expect "$proxy: a large write" "$(status "$base/v1/tasks/bulk" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \
    --data-binary "@$WORK/large.json")" 207
  # The server's refusal arrives in place of a page of the proxy.
  ask "$base/v1/rooms" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' --data-binary "@$WORK/too-large.json" |
    grep -q payload_too_large || { echo "$proxy: no refusal of the server" >&2; exit 1; }

  expect "$proxy: from 127.0.0.2" "$(status --interface 127.0.0.2 "$base/v1/me" -H "Authorization: Bearer $OTHER")" 200
  expect "$proxy: from 127.0.0.1" "$(status "$base/v1/me" -H "Authorization: Bearer $OTHER")" 403
  expect "$proxy: a claimed address" \
    "$(status "$base/v1/me" -H "Authorization: Bearer $OTHER" -H 'X-Forwarded-For: 127.0.0.2')" 403
  kill "$PROXY"
  wait "$PROXY" 2>/dev/null || true
  echo "$proxy passed"
done
