"""Calls every tool with the official client, which checks each result against the tool's output schema."""

import asyncio
import hashlib
import os

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

CALLS = [
    ("svc_list_rooms", {}),
    ("svc_create_inventory", {"name": "Boiler", "purchase_price": "1299", "idempotency_key": "a-boiler"}),
    ("svc_list_inventory", {"limit": 1, "fields": "name"}),
    ("svc_get_inventory_item", {"id": "svc_create_inventory", "expand": ["room"]}),
    ("svc_create_vehicle", {"name": "Van", "year": 2020}),
    ("svc_list_vehicles", {"sort": "updated_at", "order": "asc"}),
    ("svc_get_vehicle", {"id": "svc_create_vehicle"}),
    ("svc_create_task", {"title": "Bleed the radiators", "recurrence": "yearly"}),
    ("svc_list_tasks", {"updated_since": "2020-01-01"}),
    ("svc_update_task", {"id": "svc_create_task", "status": "done"}),
    ("svc_create_document", {"title": "Warranty", "subject_type": "home"}),
    ("svc_list_documents", {}),
    ("svc_get_document", {"id": "svc_create_document"}),
    ("svc_search", {"q": "boil", "types": ["inventory", "task"]}),
    ("svc_get_property", {}),
    ("svc_update_property", {"city": "Ulm"}),
    ("svc_list_captures", {"status": "ready", "purpose": "smart_add"}),
    ("svc_get_capture", {"id": "capture"}),
    ("svc_suggest_draft", {"id": "capture", "name": "by-model", "type": "inventory", "fields": {"name": "Boiler"}}),
]


async def speak(mode: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['KEY']}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(f"{os.environ['URL']}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            await call_all(client, await capture(http))
            print(f"{mode}: {client.protocol_version}, {len(CALLS)} tools called")


async def capture(http) -> str:
    """Makes a job from a file of text. Returns its id."""
    url, text = os.environ["URL"], b"Boiler WB6"
    sha256 = hashlib.sha256(text).hexdigest()
    (await http.put(f"{url}/v1/files/{sha256}", content=text)).raise_for_status()
    asked = await http.post(f"{url}/v1/smart-add", json={"files": [sha256]})
    asked.raise_for_status()
    return asked.json()["data"]["id"]


async def call_all(client: Client, capture_id: str) -> None:
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert listed == {name for name, _ in CALLS}, listed
    made = {"capture": capture_id}
    for name, arguments in CALLS:
        # The id in CALLS is the name of the tool that created the record, or the capture.
        if "id" in arguments:
            arguments = {**arguments, "id": made[arguments["id"]]}
        result = await client.call_tool(name, arguments)
        assert not result.is_error, (name, result)
        data = result.structured_content["data"]
        if name.startswith("svc_create_"):
            made[name] = data["id"]
        if name.startswith("svc_get_") and "id" in arguments:
            assert data["id"] == arguments["id"], (name, data)
        if name.startswith(("svc_list_", "svc_search")):
            assert isinstance(data, list) and "has_more" in result.structured_content["page"], (name, result)
    failed = await client.call_tool("svc_get_vehicle", {"id": made["svc_create_task"]})
    assert failed.is_error and failed.structured_content["error"]["type"] == "not_found", failed


async def main() -> None:
    for mode in ("legacy", "2026-07-28", "auto"):
        await speak(mode)


asyncio.run(main())
