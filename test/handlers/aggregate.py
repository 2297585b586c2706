"""The generator of generator.py, whose yielded values also become the job's output."""

import runpod
from generator import handler

if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
