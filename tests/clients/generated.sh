#!/usr/bin/env bash
# A client made from the API's description by a generator that knows nothing of us: it is generated without a
# complaint, a program that uses it passes a type checker, and it creates, lists, patches and deletes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet --disable-pip-version-check openapi-python-client==0.29.1 ruff==0.14.5 mypy==1.18.2
"$SERVER" openapi --base-url "$URL" >"$WORK/openapi.json"
cd "$WORK"
# The generator knows JSON alone; the one answer in YAML is of the same form.
echo 'content_type_overrides: { application/yaml: application/json }' >generator.yaml
PATH=$WORK/venv/bin:$PATH openapi-python-client generate --path openapi.json --config generator.yaml --fail-on-warning \
  --meta none --output-path hearth_client
cp "$here/generated.py" "$WORK/generated.py"
"$WORK/venv/bin/python" -m compileall -q hearth_client
"$WORK/venv/bin/mypy" --no-error-summary --follow-imports=silent --ignore-missing-imports generated.py
URL=$URL KEY=$KEY "$WORK/venv/bin/python" generated.py
