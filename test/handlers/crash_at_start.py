"""Dies before it asks for work, as a worker does whose image lacks a package."""

print("loading the model", flush=True)
raise RuntimeError("the weights are not where they should be")
