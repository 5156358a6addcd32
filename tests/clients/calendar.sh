#!/usr/bin/env bash
# Two parsers of other origin (PyPI `icalendar` and `ics`) and a library of calendar programs (`recurring-ical-events`) read the
# calendar of the built server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/serve.sh"

python3 -m venv "$WORK/python"
"$WORK/python/bin/pip" install --quiet --disable-pip-version-check icalendar ics recurring-ical-events requests
URL=$URL KEY=$KEY timeout 120 "$WORK/python/bin/python" "$here/calendar_client.py"
! grep -q svc_cal_ "$WORK/log"
