"""Requests of httpx and of websockets to a load-balancing endpoint: base address, its WebSocket form, endpoint, key, file of the authority. Prints JSON."""

import asyncio
import json
import ssl
import sys

import httpx
import websockets

BASE, SOCKETS, ENDPOINT, KEY, AUTHORITY = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {KEY}"}
CONTEXT = ssl.create_default_context(cafile=AUTHORITY)


def pieces():
    """A body without a length."""
    for _ in range(3):
        yield b"x" * 100_000


async def echo():
    """What a WebSocket says back."""
    url = f"{SOCKETS}/v2/{ENDPOINT}/socket"
    async with websockets.connect(url, ssl=CONTEXT, additional_headers=HEADERS) as socket:
        await socket.send("hello")
        return await socket.recv()


with httpx.Client(base_url=f"{BASE}/v2/{ENDPOINT}", headers=HEADERS, verify=CONTEXT, timeout=30) as client:
    up = client.put("/up", content=pieces())
    with client.stream("GET", "/stream") as answer:
        events = [line for line in answer.iter_lines() if line]
    missing = httpx.get(f"{BASE}/v2/nothing/x", headers=HEADERS, verify=CONTEXT)

print(json.dumps({
    "up": up.json(), "events": events, "echo": asyncio.run(echo()), "missing": [missing.status_code, missing.json()],
}))
