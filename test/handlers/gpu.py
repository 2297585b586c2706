"""Holds GPU memory of the driver's stand-in (test/helpers/cuda) and returns its number, after a kernel."""

import ctypes
import os
import time

import runpod

cuda = ctypes.CDLL(os.environ["CUDA_STAND_IN"])
cuda.fake_alloc.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
cuda.fake_use.restype = ctypes.c_longlong
for uuid in os.environ["NVIDIA_VISIBLE_DEVICES"].split(","):
    code = cuda.fake_alloc(uuid.encode(), int(os.environ["GPU_MIB"]) << 20)
    if code:
        raise SystemExit(f"no GPU memory: {code}")


def handler(job):
    """See the top of the file."""
    time.sleep(job["input"].get("pause", 0))
    held = cuda.fake_use()
    if "notes" in job["input"]:
        with open(job["input"]["notes"], "a") as notes:
            notes.write(f"{job['input']['number']}\n")
    return {"number": job["input"]["number"], "pid": os.getpid(), "mib": held >> 20, "digest": str(held)}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler})
