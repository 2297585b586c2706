"""Every management function of the `runpod` package once, in the order in which a user meets them. Prints what each answered, as JSON."""
import json
import sys

import runpod
from runpod import error

given = json.loads(sys.argv[1])
runpod.api_key = given["key"]
name = given["name"]
seen = {}


def refusal(call):
    """The text of the error that a call raises."""
    try:
        return f"no error, but {call()!r}"
    except (error.QueryError, error.AuthenticationError, ValueError) as raised:
        return f"{type(raised).__name__}: {raised}"


seen["user"] = runpod.get_user()
seen["settings"] = runpod.update_user_settings("ssh-ed25519 AAAA me@here\nssh-rsa BBBB you@there")
seen["gpus"] = runpod.get_gpus()
seen["gpu"] = runpod.get_gpu(given["gpu"])
seen["no_gpu"] = refusal(lambda: runpod.get_gpu("NVIDIA Nothing"))

auth = runpod.create_container_registry_auth(f"auth-{name}", "me", "secret words")
seen["auth"] = auth
seen["auth_again"] = refusal(lambda: runpod.create_container_registry_auth(f"auth-{name}", "me", "secret words"))
seen["auth_updated"] = runpod.update_container_registry_auth(auth["id"], "me", "other words")

first = runpod.create_template(
    f"first-{name}", "", docker_start_cmd=given["command"], env={"LETTER": "a"}, is_serverless=True, container_disk_in_gb=5,
    volume_mount_path="/data", ports="8888/http, 22/tcp", registry_auth_id=auth["id"],
)
seen["template"] = first
second = runpod.create_template(f"second-{name}", "", given["command"], is_serverless=True)
seen["auth_in_use"] = refusal(lambda: runpod.delete_container_registry_auth(auth["id"]))

endpoint = runpod.create_endpoint(
    f"endpoint-{name}", first["id"], workers_min=0, workers_max=1, idle_timeout=60, flashboot=True, locations="CZ",
    network_volume_id=given["volume"], scaler_value=1,
)
seen["endpoint"] = endpoint
seen["no_template"] = refusal(lambda: runpod.create_endpoint("x", "none"))
seen["answer"] = runpod.Endpoint(endpoint["id"]).run_sync({"mode": "echo", "letter": "a"}, timeout=60)
seen["updated"] = runpod.update_endpoint_template(endpoint["id"], second["id"])
seen["endpoints"] = [each for each in runpod.get_endpoints() if each["id"] == endpoint["id"]]
seen["second_answer"] = runpod.Endpoint(endpoint["id"]).run_sync({"mode": "echo", "letter": "b"}, timeout=60)

pod = runpod.create_pod(
    f"pod-{name}", "process", given["gpu"], docker_args="sleep 3600", env={"A": "1", "B": "two words"}, ports="8888/http", gpu_count=1,
    network_volume_id=given["volume"],
)
seen["pod_created"] = pod
seen["pods"] = [each for each in runpod.get_pods() if each["id"] == pod["id"]]
seen["pod_got"] = runpod.get_pod(pod["id"])
seen["no_room"] = refusal(lambda: runpod.create_pod("large", "process", given["gpu"], docker_args="sleep 1", gpu_count=8))
seen["pod_stopped"] = runpod.stop_pod(pod["id"])
seen["pod_resumed"] = runpod.resume_pod(pod["id"], 1)
runpod.terminate_pod(pod["id"])
seen["pod_gone"] = runpod.get_pod(pod["id"])
cpu = runpod.create_pod(f"cpu-{name}", "process", docker_args="sleep 3600", instance_id="cpu3c-1-2")
seen["cpu_pod"] = runpod.get_pod(cpu["id"])
runpod.terminate_pod(cpu["id"])
seen["no_command"] = refusal(lambda: runpod.terminate_pod(cpu["id"]))

spare = runpod.create_container_registry_auth(f"spare-{name}", "me", "secret words")
seen["auth_deleted"] = runpod.delete_container_registry_auth(spare["id"])
runpod.api_key = "wrong"
seen["wrong_key"] = refusal(runpod.get_user)
print(json.dumps(seen))
