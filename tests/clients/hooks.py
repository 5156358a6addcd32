"""What a schema cannot say about a good request: that a cursor was given out, that a key is new, that a record exists.

Cases that are meant to be good get such values, so that every refusal of one is a finding. Cases that are meant to be bad
are sent as they are.
"""

import uuid

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    headers = case.headers or {}
    # A condition is judged before the body is (412 before 422), so a random one would hide what is wrong with the body.
    # One that must match does so with `*`; on a write, one that must not match has a tag that no record has.
    for name in ("If-Match", "If-None-Match"):
        if name in headers:
            is_unless = name == "If-None-Match" and case.method in ("PATCH", "DELETE")
            headers[name] = '"0"' if is_unless else "*"
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    # /mcp judges these against the message and the service; without them a message is in an older revision.
    for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"):
        headers.pop(name, None)
    if "Idempotency-Key" in headers:
        headers["Idempotency-Key"] = str(uuid.uuid4())
    if case.query:
        case.query.pop("cursor", None)
        if "q" in case.query:
            case.query["q"] = "filter"
    if isinstance(case.body, dict):
        whole(case.body)
        for operation in case.body.get("operations") or []:
            if isinstance(operation, dict):
                whole(operation)


def whole(record):
    """A record that chooses no id and refers to nothing."""
    for name in ("room_id", "subject_type", "subject_id"):
        record.pop(name, None)
    if "method" not in record:
        record.pop("id", None)
