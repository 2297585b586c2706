"""Writes while it works, in both ways that handlers have: with print, and with the SDK's logger, which names the job.

say   text to print
until path: block until this file exists, before saying goodbye
crash end the process after the first words
"""

import asyncio
import os
import sys

import runpod
from runpod import RunPodLogger

log = RunPodLogger()


async def handler(job):
    """Says what it was told twice: by print and by the logger."""
    given = job["input"]
    print(f"print {given['say']}", flush=True)
    log.info(f"logger {given['say']}", job["id"])
    if given.get("crash"):
        sys.stdout.flush()
        os._exit(7)
    while "until" in given and not os.path.exists(given["until"]):
        await asyncio.sleep(0.02)
    print(f"bye {given['say']}", flush=True)
    return {"done": True}


runpod.serverless.start({"handler": handler, "concurrency_modifier": lambda _: int(os.environ.get("CONCURRENCY", "1"))})
