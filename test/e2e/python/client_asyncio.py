"""Drives a system with the asyncio client of the `runpod` package and prints what came back as one JSON object.

The address comes from RUNPOD_ENDPOINT_BASE_URL, which the package reads when it is imported. Argument: as for client_sync.py.
"""

import asyncio
import json
import sys

import runpod
from runpod import AsyncioEndpoint, http_client

given = json.loads(sys.argv[1])
runpod.api_key = given["key"]
seen = {"version": runpod.__version__}


async def main():
    """One call after the other."""
    async with http_client.AsyncClientSession() as session:
        endpoint = AsyncioEndpoint(given["all"], session)
        job = await endpoint.run({"return": {"answer": 42}})
        seen["run"] = {"id": job.job_id, "output": await job.output(timeout=30), "status": await job.status()}

        stream = await AsyncioEndpoint(given["generator"], session).run({"values": ["a", {"b": 1}, None, 4]})
        seen["stream"] = [chunk async for chunk in stream.stream()]

        failed = await endpoint.run({"error": "no"})
        seen["failed"] = {"output": await failed.output(timeout=30), "status": await failed.status()}

        blocker = await endpoint.run({"until": given["never"]})
        queued = [await endpoint.run({"number": number}) for number in range(3)]
        while await blocker.status() != "IN_PROGRESS":
            await asyncio.sleep(0.1)
        seen["health"] = await endpoint.health()
        while seen["health"]["jobs"]["inQueue"] != 3:
            await asyncio.sleep(0.1)
            seen["health"] = await endpoint.health()
        seen["cancel"] = await queued[0].cancel()
        seen["purge"] = await endpoint.purge_queue()
        seen["cancel_running"] = await blocker.cancel()
        seen["cancelled_status"] = await blocker.status()
        seen["ids"] = {"cancel": queued[0].job_id, "cancel_running": blocker.job_id}


asyncio.run(main())
print(json.dumps(seen))
