"""An asynchronous handler that runs CONCURRENCY jobs (default 4) at once.

note        path: append "start", "end" or "stopped" with the job's id, one line each
until       path: wait, without blocking the others, until this file exists
sleep       seconds to wait, without blocking the others
block       seconds to block the event loop: nothing that was sent to the worker is read meanwhile

Returns the most jobs that ran at once so far.
"""

import asyncio
import os
import time

import runpod

RUNNING = set()
PEAK = 0


def note(given, word, job):
    """Leaves a line that the test can count."""
    if "note" in given:
        with open(given["note"], "a", encoding="utf-8") as file:
            file.write(f"{word} {job['id']}\n")


async def handler(job):
    """See the top of the file."""
    global PEAK
    given = job["input"]
    RUNNING.add(job["id"])
    PEAK = max(PEAK, len(RUNNING))
    note(given, "start", job)
    try:
        await asyncio.sleep(given.get("sleep", 0))
        if "block" in given:
            await asyncio.sleep(1)
            time.sleep(given["block"])
        while "until" in given and not os.path.exists(given["until"]):
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        note(given, "stopped", job)
        raise
    finally:
        RUNNING.discard(job["id"])
    note(given, "end", job)
    return {"peak": PEAK, "pid": os.getpid(), "worker": os.environ["RUNPOD_POD_ID"]}


if __name__ == "__main__":
    runpod.serverless.start({
        "handler": handler,
        "concurrency_modifier": lambda current: int(os.environ.get("CONCURRENCY", "4")),
    })
