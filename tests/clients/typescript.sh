#!/usr/bin/env bash
# Generates types with openapi-typescript and checks of responses with orval (zod). A strict TypeScript program uses both.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"
export URL KEY

cd "$WORK"
echo '{ "type": "module" }' >package.json
# orval needs Node 22.
npm install --silent --no-audit --no-fund node@22 typescript@5.9.3 @types/node@22 \
  openapi-typescript@7.13.0 openapi-fetch@0.17.0 orval@8.38.0 zod@4.6.7 >/dev/null
export PATH=$WORK/node_modules/.bin:$PATH
"$SERVER" openapi --base-url "$URL" >openapi.json
openapi-typescript openapi.json --output schema.ts >generator.log 2>&1 || { cat generator.log; exit 1; }
orval --input openapi.json --output zod.ts --client zod >generator.log 2>&1 || { cat generator.log; exit 1; }
cp "$here/typescript.ts" client.ts
tsc --strict --noUncheckedIndexedAccess --target es2022 --module nodenext --skipLibCheck --types node client.ts
node client.js
