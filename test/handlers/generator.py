"""A generator handler: yields what its input lists under `values`.

until       path: before the value number `at` (from 0, default 1) wait until this file exists
bytes       yield bytes, which have no JSON form, after the values
raise       text of an exception to raise after the values
error       value to yield as {"error": ...} after the values
"""

import os
import time

import runpod


def handler(job):
    """See the top of the file."""
    given = job["input"]
    for number, value in enumerate(given.get("values", [])):
        while number == given.get("at", 1) and "until" in given and not os.path.exists(given["until"]):
            time.sleep(0.02)
        yield value
    if given.get("bytes"):
        yield b"\x00"
    if "raise" in given:
        raise ValueError(given["raise"])
    if "error" in given:
        yield {"error": given["error"]}
        yield "never sent"


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
