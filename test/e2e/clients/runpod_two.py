"""Calls management functions of runpod 2.x, and its client of apps, and prints what they answered as one JSON object."""

import asyncio
import json
import sys

import runpod
from runpod.apps.api import AppsApiClient
from runpod.version import __version__

given = json.loads(sys.argv[1])
runpod.api_key = given["key"]
GPU = given["gpu"]
seen = {"version": __version__}


def note(name, value):
    seen[name] = value
    return value


def failure(call):
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        return f"{type(error).__name__}: {error}"
    return "it did not fail"


note("user", runpod.get_user())
note("keys", runpod.update_user_settings("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFMatrixKey me@host"))
note("gpus", len(runpod.get_gpus()))
note("gpu", runpod.get_gpu(GPU))
auth = note("auth", runpod.create_container_registry_auth("two", "u", "p"))
note("auth changed", runpod.update_container_registry_auth(auth["id"], "u2", "p2"))
template = note(
    "template",
    runpod.create_template(
        "two", "me/two:1", docker_start_cmd="python -u main.py", is_serverless=True, env={"A": "b=c"}, registry_auth_id=auth["id"]
    ),
)
endpoint = note(
    "endpoint",
    runpod.create_endpoint("two", template["id"], gpu_ids=given["pool"], workers_max=0, flashboot=True),
)
note("endpoints", [each["id"] for each in runpod.get_endpoints()])
note("relinked", runpod.update_endpoint_template(endpoint["id"], template["id"]))
pod = note("pod", runpod.create_pod("two", "me/two:1", GPU, min_memory_in_gb=8, min_vcpu_count=2, ports="22/tcp"))
note("pods", [each["id"] for each in runpod.get_pods()])
note("too large", failure(lambda: runpod.create_pod("large", "me/two:1", GPU, min_memory_in_gb=4000)))
note("stopped", runpod.stop_pod(pod["id"]))
note("resumed", runpod.resume_pod(pod["id"]))
note("terminated", runpod.terminate_pod(pod["id"]))
note("gone", runpod.get_pod(pod["id"]))
note("job", runpod.Endpoint(given["jobs"]).run_sync({"mode": "echo", "word": "two"}, timeout=60))

apps = AppsApiClient()
run = asyncio.run
dev = {
    "name": "two-dev",
    "workersMin": 0,
    "workersMax": 0,
    "idleTimeout": 60,
    "scalerType": "QUEUE_DELAY",
    "scalerValue": 4,
    "executionTimeoutMs": 0,
    "flashBootType": "FLASHBOOT",
    "template": {"imageName": "me/two:1", "containerDiskInGb": 10, "dockerArgs": "", "env": [{"key": "B", "value": "1"}]},
    "instanceIds": ["cpu3c-2-4"],
}
made = note("dev", run(apps.save_endpoint(dict(dev))))
note("dev changed", run(apps.save_endpoint(dict(dev, id=made["id"], idleTimeout=90))))
note("dev workers", run(apps.endpoint_workers(made["id"])))
note("dev deleted", run(apps.delete_endpoint(made["id"])))
note("volume", run(apps.create_network_volume("two", 10, given["place"])))
note("secret", run(apps.create_secret("two", "v")))
note("secrets", run(apps.list_secrets()))
note("apps", failure(lambda: run(apps.list_apps())))
note("auth deleted", runpod.delete_container_registry_auth(auth["id"]))
print(json.dumps(seen, default=str))
