"""A plain handler that obeys its input, so that one file serves most tests. Without a known key it returns {"echo": input}.

note        path: append "<job id> <worker id> <pid>" to this file before anything else
sleep       seconds to block
until       path: block until this file exists
progress    list of values, one progress update each; with `until`, sent before blocking
crash       exit code: end the process at once ("SIGKILL": by that signal)
raise       text of an exception to raise
error       value to return under "error"
big         number of bytes of text to return under "text"
size        return the number of characters of this text, so that a large input needs no large output
empty       return {}
unsendable  return a value that has no JSON form: bytes, set, datetime, half (a lone surrogate), circular
badprogress send a progress value that has no JSON form before anything else
print       text to print, with the job's id for ID
memory      take so many MB of memory before anything else
refresh     return {"refresh_worker": true, ...} as well
who         return worker id, pid, working directory and SDK version
return      value to return as it is
when        return the time of the first line, in seconds since 1970
s3          return the job's s3Config
"""

import datetime
import os
import signal
import time

import runpod


def note(given, job):
    """Leaves a line that the test can count; O_APPEND keeps lines of several workers whole."""
    if "note" in given:
        with open(given["note"], "a", encoding="utf-8") as file:
            file.write(f"{job['id']} {os.environ['RUNPOD_POD_ID']} {os.getpid()}\n")


def crash(how):
    """Ends the process the hard way, without any clean-up of Python's."""
    if how == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(how)


def wait(given):
    """Takes time: a fixed span, or as long as the test wants."""
    time.sleep(given.get("sleep", 0))
    while "until" in given and not os.path.exists(given["until"]):
        time.sleep(0.02)


def who():
    """Facts about this worker."""
    return {
        "worker": os.environ["RUNPOD_POD_ID"],
        "pid": os.getpid(),
        "directory": os.getcwd(),
        "version": runpod.__version__,
    }


def unsendable(kind):
    """A value that the SDK cannot send."""
    circular = []
    circular.append(circular)
    values = {
        "bytes": b"\x00", "set": {1}, "datetime": datetime.datetime(2026, 1, 1), "half": "cut \ud83e", "circular": circular,
    }
    return {"value": values[kind]}


def handler(job):
    """See the top of the file."""
    began = time.time()
    given = job["input"]
    note(given, job)
    for value in given.get("progress", []):
        runpod.serverless.progress_update(job, value)
    taken = b"x" * (given.get("memory", 0) << 20)
    if given.get("badprogress"):
        runpod.serverless.progress_update(job, b"\x00")
    if "print" in given:
        print(given["print"].replace("ID", job["id"]), flush=True)
    wait(given)
    del taken
    if "unsendable" in given:
        return unsendable(given["unsendable"])
    if "crash" in given:
        crash(given["crash"])
    if "raise" in given:
        raise ValueError(given["raise"])
    if "empty" in given:
        return {}
    if "return" in given:
        return given["return"]
    result = {"echo": given}
    if "error" in given:
        result = {"error": given["error"]}
    elif "big" in given:
        result = {"text": "x" * given["big"]}
    elif "size" in given:
        result = {"size": len(given["size"])}
    elif "who" in given:
        result = who()
    elif "when" in given:
        result = {"when": began}
    elif "s3" in given:
        result = {"s3": job.get("s3Config")}
    if given.get("refresh"):
        result["refresh_worker"] = True
    return result


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
