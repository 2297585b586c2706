"""Drives a system with `runpod.Endpoint` as its documentation shows it, and prints what came back as one JSON object.

Argument: JSON with `base` (address up to /v2), `slow` (the same behind a gateway that shortens the wait), `key`, `all` and `generator`
(endpoint ids) and `never` (a path that does not exist).
"""

import json
import sys
import time

import requests
import runpod

given = json.loads(sys.argv[1])
runpod.api_key = given["key"]
runpod.endpoint_url_base = given["base"]
seen = {"version": runpod.__version__}

endpoint = runpod.Endpoint(given["all"])

job = endpoint.run({"input": {"return": {"answer": 42}}})
seen["run"] = {"id": job.job_id, "output": job.output(timeout=30), "status": job.status()}

# Without a truthy "input" the client wraps the whole dict.
seen["wrapped"] = endpoint.run({"return": "wrapped"}).output(timeout=30)
seen["empty"] = endpoint.run({}).output(timeout=30)

seen["run_sync"] = endpoint.run_sync({"input": {"return": [1, 2, 3]}})
seen["run_sync_failed"] = endpoint.run_sync({"input": {"error": "no"}})

failed = endpoint.run({"input": {"raise": "oh"}})
seen["failed"] = {"output": failed.output(timeout=30), "status": failed.status()}

runpod.endpoint_url_base = given["slow"]
seen["run_sync_long"] = runpod.Endpoint(given["all"]).run_sync({"input": {"sleep": 2.5, "return": "late"}}, timeout=30)
runpod.endpoint_url_base = given["base"]

stream = runpod.Endpoint(given["generator"]).run({"input": {"values": ["a", {"b": 1}, None, 4]}})
seen["stream"] = list(stream.stream())

blocker = endpoint.run({"input": {"until": given["never"]}})
queued = [endpoint.run({"input": {"number": number}}) for number in range(3)]
while blocker.status() != "IN_PROGRESS":
    time.sleep(0.1)
seen["health"] = endpoint.health()
while seen["health"]["jobs"]["inQueue"] != 3:
    time.sleep(0.1)
    seen["health"] = endpoint.health()
seen["cancel"] = queued[0].cancel()
seen["cancelled_status"] = queued[0].status()
seen["purge"] = endpoint.purge_queue()
seen["cancel_running"] = blocker.cancel()
seen["ids"] = {"cancel": queued[0].job_id, "cancel_running": blocker.job_id}

try:
    queued[1].status()
except requests.HTTPError as error:
    seen["purged_status"] = error.response.status_code
try:
    runpod.Endpoint("nosuchendpoint").run({"input": {}})
except requests.HTTPError as error:
    seen["unknown_endpoint"] = error.response.status_code

runpod.api_key = "wrong"
try:
    runpod.Endpoint(given["all"]).health()
except RuntimeError as error:
    seen["wrong_key"] = str(error)

print(json.dumps(seen))
