"""Holds GPU memory of the driver's stand-in (test/helpers/cuda), if asked for in several processes.

Returns the number of the job after a kernel in each of them.
"""

import ctypes
import os
import subprocess
import sys
import time

cuda = ctypes.CDLL(os.environ["CUDA_STAND_IN"])
cuda.fake_alloc.argtypes = [ctypes.c_char_p, ctypes.c_longlong]
cuda.fake_use.restype = ctypes.c_longlong
for uuid in os.environ["NVIDIA_VISIBLE_DEVICES"].split(","):
    code = cuda.fake_alloc(uuid.encode(), int(os.environ["GPU_MIB"]) << 20)
    if code:
        raise SystemExit(f"no GPU memory: {code}")

if sys.argv[1:] == ["child"]:
    for _ in sys.stdin:
        print(cuda.fake_use(), flush=True)
    sys.exit()

children = [
    subprocess.Popen([sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(int(os.environ.get("GPU_CHILDREN", "0")))
]


def use(child):
    """Runs a kernel in a child. Returns what it holds."""
    child.stdin.write("use\n")
    child.stdin.flush()
    return int(child.stdout.readline())


def handler(job):
    """See the top of the file."""
    time.sleep(job["input"].get("pause", 0))
    held = cuda.fake_use() + sum(use(child) for child in children)
    if "notes" in job["input"]:
        with open(job["input"]["notes"], "a") as notes:
            notes.write(f"{job['input']['number']}\n")
    return {"number": job["input"]["number"], "pid": os.getpid(), "mib": held >> 20, "digest": str(held)}


if __name__ == "__main__":
    import runpod

    runpod.serverless.start({"handler": handler})
