"""Handler of the part `python`. A job takes 5 ms. Runs CONCURRENCY jobs at once: 1 blocks, more do not."""

import asyncio
import os
import time

import runpod

CONCURRENCY = int(os.environ.get("CONCURRENCY", "1"))


def blocking(job):
    """Handles one job at a time."""
    time.sleep(0.005)
    return {"ok": True}


async def waiting(job):
    """Handles a job in parallel with others."""
    await asyncio.sleep(0.005)
    return {"ok": True}


if __name__ == "__main__":
    if CONCURRENCY == 1:
        runpod.serverless.start({"handler": blocking})
    else:
        runpod.serverless.start({"handler": waiting, "concurrency_modifier": lambda current: CONCURRENCY})
