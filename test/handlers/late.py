"""all.py in a process for which hours pass in a moment: each byte of the file that LATE names is one, for everything that waits by the clock."""

import os
import runpy
import time

ALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "all.py")
STEADY = time.monotonic


def late():
    """The steady clock, which the event loop asks at every turn."""
    try:
        return STEADY() + 3600 * os.stat(os.environ["LATE"]).st_size
    except OSError:
        return STEADY()


time.monotonic = late
runpy.run_path(ALL, run_name="__main__")
