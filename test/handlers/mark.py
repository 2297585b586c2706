"""Returns the number of its input after a pause in seconds, with a mark that no other run of it has."""

import time
import uuid

import runpod


def handler(job):
    """See the top of the file."""
    time.sleep(job["input"]["pause"])
    return {"number": job["input"]["number"], "mark": uuid.uuid4().hex}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
