"""A Python generator that streams: every yielded value can be read from /stream while the job runs.

Input: {"prompt": text, "tokens": how many (1 to 500, default 40), "pause_ms": between two tokens (0 to 1000, default 50)}.
The text comes from a small Markov chain over the prompt and a built-in text, so it needs no model and no GPU.
"""
import random
import re
import time

import runpod

TEXT = (
    "A boat stands on the slipway until the tide comes in. The crew waits for the water, the water waits for nobody. "
    "When the tide comes in the boat slides down the slipway and the crew jumps aboard. "
    "The harbour is quiet until the next boat comes in, and the next crew waits for the tide."
)


def follow(words):
    """For each word the words that came after it."""
    after = {}
    for word, following in zip(words, words[1:]):
        after.setdefault(word, []).append(following)
    return after


def handler(job):
    """Yields one token at a time. An input out of range ends the stream with an error."""
    given = job["input"]
    count, pause_ms = given.get("tokens", 40), given.get("pause_ms", 50)
    if type(count) is not int or not 1 <= count <= 500:
        yield {"error": "`tokens` must be a whole number from 1 to 500"}
        return
    if type(pause_ms) is not int or not 0 <= pause_ms <= 1000:
        yield {"error": "`pause_ms` must be a whole number from 0 to 1000"}
        return
    prompt = re.findall(r"[\w']+|[.,!?]", str(given.get("prompt", "")))
    words = re.findall(r"[\w']+|[.,!?]", TEXT)
    after = follow(prompt + words)
    # The same prompt always gives the same text.
    chance = random.Random(" ".join(prompt))
    word = prompt[-1] if prompt else "."
    for number in range(1, count + 1):
        word = chance.choice(after.get(word) or words)
        yield {"token": word if word in ".,!?" else f" {word}", "number": number}
        time.sleep(pause_ms / 1000)


# return_aggregate_stream: the whole list is the job's output as well, for callers of /runsync and /status.
runpod.serverless.start({"handler": handler, "return_aggregate_stream": True})
