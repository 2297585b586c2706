"""
Adds a line with the job's number and a mark to the file `lines` of the network volume, and returns both when it is on the disk. With `gate`
it first leaves the file `begun` and waits for the file `gate` in the volume. With `mebibytes` it uses up so much memory and returns nothing.
"""

import os
import pathlib
import time
import uuid

import runpod

VOLUME = pathlib.Path(os.environ.get("RUNPOD_VOLUME_PATH", "/runpod-volume"))


def append(name, text):
    """Returns when the text is in the file and the file on the disk."""
    with open(VOLUME / name, "a") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def handler(job):
    """See the top of the file."""
    given = job["input"]
    if "gate" in given:
        append("begun", job["id"] + "\n")
        while not (VOLUME / given["gate"]).exists():
            time.sleep(0.02)
    if "mebibytes" in given:
        return len(bytearray(given["mebibytes"] << 20))
    time.sleep(given["pause"])
    mark = uuid.uuid4().hex
    append("lines", f"{given['number']} {mark}\n")
    return {"number": given["number"], "mark": mark}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
