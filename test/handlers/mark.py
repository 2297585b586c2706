"""
Returns the number of its input after a pause in seconds, with a mark that no other run of it has. With `volume` both are in the file `lines` of
the network volume, and on the disk, by then. With `gate` it first leaves its id in the file `begun` and waits for the file `gate` in the
volume. With `mebibytes` it then uses up so much memory and returns nothing.
"""

import os
import pathlib
import time
import uuid

import runpod

VOLUME = pathlib.Path("/runpod-volume")


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
    if given.get("volume"):
        append("lines", f"{given['number']} {mark}\n")
    return {"number": given["number"], "mark": mark}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
