"""Yields {"tick": 0}, {"tick": 1} ... as its input says: count ticks, each after a pause in seconds. All of them are its output as well."""

import time

import runpod


def handler(job):
    """See the top of the file."""
    for tick in range(job["input"]["count"]):
        time.sleep(job["input"]["pause"])
        yield {"tick": tick}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
