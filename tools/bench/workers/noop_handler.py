"""A worker that completes every job at once and holds many at a time, like noop-handler.js."""

import runpod

CONCURRENCY = 100


async def handler(job):
    """Does nothing."""
    return {"done": True}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "concurrency_modifier": lambda current: CONCURRENCY})
