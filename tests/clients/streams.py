"""Follows the stream with one library, in the naive way: every frame that the library yields must have JSON data.

The frames without a name must be exactly the events of the feed. An event that is made while the stream is open must
arrive.
"""

import json
import os
import sys
from typing import Iterator

URL, KEY, LIBRARY = os.environ["URL"], os.environ["KEY"], sys.argv[1]
HEADERS = {"Authorization": f"Bearer {KEY}"}
STREAM = f"{URL}/v1/events/stream?cursor=start"


def frames() -> Iterator[tuple[str, str, str]]:
    """The name, the data and the id of each frame that the library yields."""
    if LIBRARY == "httpx-sse":
        import httpx
        from httpx_sse import connect_sse

        with httpx.Client(timeout=10) as client, connect_sse(client, "GET", STREAM, headers=dict(HEADERS)) as source:
            for frame in source.iter_sse():
                yield frame.event, frame.data, frame.id
        return
    import requests
    import sseclient

    if LIBRARY == "sseclient":
        client = sseclient.SSEClient(STREAM, headers=dict(HEADERS))
    else:
        client = sseclient.SSEClient(requests.get(STREAM, headers=HEADERS, stream=True, timeout=10)).events()
    for frame in client:
        yield frame.event or "message", frame.data, frame.id


def main() -> None:
    import httpx

    names: list[str] = []
    events: list[int] = []
    last = 0
    for name, data, id in frames():
        value = json.loads(data)
        names.append(name)
        if name == "message":
            events.append(value["id"])
        else:
            assert value["cursor"] == id, (name, data, id)
            last = value["head"]
        if names.count("heartbeat") == 2 and name == "heartbeat":
            made = httpx.post(f"{URL}/v1/tasks", headers=HEADERS, json={"title": f"Seen by {LIBRARY}"})
            assert made.status_code == 201, made.text
        if names.count("heartbeat") == 4:
            break
    assert events == list(range(1, last + 1)), (events, last)
    assert names[last - 1 : last] == ["ready"] and set(names) == {"message", "ready", "heartbeat"}, names
    assert value["head"] == last and "message" in names[names.index("heartbeat") :]
    print(f"{LIBRARY}: {len(events)} events, and {len(names) - len(events)} frames with a name")


main()
