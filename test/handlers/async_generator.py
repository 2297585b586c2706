"""An asynchronous generator handler: yields `count` numbers."""

import asyncio

import runpod


async def handler(job):
    """See the top of the file."""
    for number in range(job["input"]["count"]):
        await asyncio.sleep(0.01)
        yield {"number": number}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
