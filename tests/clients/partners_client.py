"""The official MCP client of Python gets access by itself: it finds the endpoints, registers, sends the owner to the consent
page, redeems the code, and lists the tools."""

import asyncio
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

ANSWERS = []


class Callback(BaseHTTPRequestHandler):
    """Takes the answer that the browser brings."""

    def do_GET(self) -> None:
        ANSWERS.append({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


class Storage:
    """Keeps tokens and registration in memory."""

    def __init__(self) -> None:
        self.tokens, self.client = None, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens) -> None:
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client) -> None:
        self.client = client


async def browse(url: str) -> None:
    command = [sys.executable, os.environ["OWNER"], "agree", os.environ["COOKIES"], url]
    await asyncio.to_thread(subprocess.run, command, check=True)


async def answer() -> AuthorizationCodeResult:
    got = ANSWERS.pop()
    return AuthorizationCodeResult(code=got["code"], state=got.get("state"), iss=got.get("iss"))


async def main() -> None:
    callback = HTTPServer(("127.0.0.1", 0), Callback)
    Thread(target=callback.serve_forever, daemon=True).start()
    redirect = f"http://127.0.0.1:{callback.server_port}/callback"
    about = OAuthClientMetadata(client_name="MCP client of Python", redirect_uris=[redirect])
    url, storage = f"{os.environ['URL']}/mcp", Storage()
    provider = OAuthClientProvider(url, about, storage, redirect_handler=browse, callback_handler=answer)
    async with create_mcp_http_client(auth=provider) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            tools = (await client.list_tools()).tools
            rooms = await client.call_tool("svc_list_rooms", {})
    assert tools and not rooms.is_error, rooms
    assert storage.tokens.access_token.startswith("svc_oat_") and storage.tokens.refresh_token.startswith("svc_ort_")
    print(f"official MCP client of Python: {len(tools)} tools with its own token")


asyncio.run(main())
