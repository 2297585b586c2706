"""A load-balancing worker on uvicorn, without a framework: shows what it was asked. UVICORN_HTTP: the parser, h11 or httptools."""
import json
import os

import uvicorn

seen = []


async def app(scope, receive, send):
    """Answers every request with what stands in it; `/seen` with all that came before; `/full` with that it has no room; `/memory?MB` takes so much."""
    if scope["type"] != "http":
        return
    path = scope["raw_path"].decode() if scope.get("raw_path") else scope["path"]
    name, query = os.environ["RUNPOD_POD_ID"], scope["query_string"].decode()
    # Full, unless it is the worker that is named; it says so without having read anything.
    if path == "/full" and query != f"but={name}":
        await send({"type": "http.response.start", "status": 503, "headers": [(b"x-slipway-full", b"1")]})
        return await send({"type": "http.response.body", "body": b"full"})
    size = 0
    more = True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    if path != os.environ["HEALTH_CHECK_PATH"]:
        seen.append(f"{scope['method']} {path}")
    if path == "/memory":
        seen.append("x" * (int(query) << 20))
    headers = [text.decode("latin1") for pair in scope["headers"] for text in pair]
    worker = {"worker": name, "port": os.environ["PORT"], "seen": seen}
    shown = {"method": scope["method"], "url": path, "headers": headers, "bytes": size, **worker}
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": json.dumps(shown).encode()})


uvicorn.run(app, host=os.environ.get("HOST", "127.0.0.1"), port=int(os.environ["PORT"]), http=os.environ.get("UVICORN_HTTP", "h11"), lifespan="off", log_level="warning")
