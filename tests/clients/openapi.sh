#!/usr/bin/env bash
# Checks the OpenAPI description with Redocly's recommended rules, and with all checks of Schemathesis against a running
# server. Fails on any finding. EXAMPLES sets the number of cases of each operation.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

echo "redocly"
"$SERVER" openapi --yaml >"$WORK/openapi.yaml"
(
  cd "$WORK"
  export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
  npm install --silent --no-audit --no-fund --prefix "$WORK" @redocly/cli@2.7.0
  "$WORK/node_modules/.bin/redocly" lint openapi.yaml --extends recommended 2>&1 | tee redocly.log
  if grep -qE 'You have [0-9]+ (warning|error)' redocly.log; then exit 1; fi
)

echo "schemathesis"
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet --disable-pip-version-check schemathesis==4.32.5
# A file for jobs with drafts.
printf 'Boiler' >"$WORK/paper"
FILE=$(sha256sum <"$WORK/paper" | cut -d ' ' -f 1)
curl -sSf -o "$WORK/stored" -X PUT -H "Authorization: Bearer $KEY" --data-binary "@$WORK/paper" "$URL/v1/files/$FILE"
export FILE
# The stream is excluded, because its response never ends.
cd "$WORK"
SCHEMATHESIS_HOOKS=hooks PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 timeout 400 \
  "$WORK/venv/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$URL/openapi/v1" --header "Authorization: Bearer $KEY" --checks all \
  --exclude-operation-id stream_events --max-examples "${EXAMPLES:-15}" --workers 2 --request-timeout 10 \
  --continue-on-failure --seed "${SEED:-1}" --no-color
