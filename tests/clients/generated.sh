#!/usr/bin/env bash
# Generates a Python client from the OpenAPI description, without a warning. A program that uses the client must pass a
# type checker, and creates, lists, patches and deletes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet --disable-pip-version-check openapi-python-client==0.29.1 ruff==0.14.5 mypy==1.18.2
"$SERVER" openapi --base-url "$URL" >"$WORK/openapi.json"
cd "$WORK"
# The generator only supports JSON and bytes. The single YAML response has the form of its JSON; tables and pictures are bytes.
cat >generator.yaml <<'YAML'
content_type_overrides:
  application/yaml: application/json
  text/csv: application/octet-stream
  application/zip: application/octet-stream
  image/jpeg: application/octet-stream
YAML
PATH=$WORK/venv/bin:$PATH openapi-python-client generate --path openapi.json --config generator.yaml --fail-on-warning \
  --meta none --output-path hearth_client
cp "$here/generated.py" "$WORK/generated.py"
"$WORK/venv/bin/python" -m compileall -q hearth_client
"$WORK/venv/bin/mypy" --no-error-summary --follow-imports=silent --ignore-missing-imports generated.py
URL=$URL KEY=$KEY "$WORK/venv/bin/python" generated.py
