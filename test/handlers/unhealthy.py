"""Fails a fitness check of its own, which the SDK knows from 1.9 on."""

import runpod


@runpod.serverless.register_fitness_check
def weights_are_there():
    """Says why this worker must not get jobs."""
    raise RuntimeError("the card has fallen off the bus")


if __name__ == "__main__":
    runpod.serverless.start({"handler": lambda job: job["input"]})
