"""Drives dstack's RunPod backend as its server does, and prints what it made of each answer as one JSON object."""

import json
import sys
import time
from types import SimpleNamespace

from dstack._internal.core.backends.runpod import api_client, compute
from dstack._internal.core.backends.runpod.configurator import RunpodConfigurator
from dstack._internal.core.backends.runpod.models import RunpodAPIKeyCreds, RunpodBackendConfigWithCreds, RunpodConfig
from dstack._internal.core.models.common import RegistryAuth
from dstack._internal.core.models.instances import (
    Disk,
    Gpu,
    InstanceAvailability,
    InstanceOfferWithAvailability,
    InstanceType,
    Resources,
)
from dstack._internal.core.models.volumes import RunpodVolumeConfiguration
from dstack.version import __version__

given = json.loads(sys.argv[1])
# The only change: elsewhere DNS resolves the fixed name to the edge.
api_client.API_GRAPHQL_URL = f"{given['url']}/graphql"
api_client.API_V2_URL = f"{given['url']}/v2"
SECONDS_MAX = 60
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtpg0V7tUKKS+h/mUG7m4Cy/1N/cnnrwvvqTmo64PUs project"
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


def configured(key):
    creds = RunpodAPIKeyCreds(api_key=key)
    return failure(lambda: RunpodConfigurator().validate_config(RunpodBackendConfigWithCreds(creds=creds), False))


def offer(name, cpus, memory_gib, gpus):
    resources = Resources(cpus=cpus, memory_mib=memory_gib * 1024, gpus=gpus, spot=False, disk=Disk(size_mib=20 * 1024))
    return InstanceOfferWithAvailability(
        backend="runpod",
        instance=InstanceType(name=name, resources=resources),
        region=given["place"],
        price=1,
        availability=InstanceAvailability.AVAILABLE,
    )


def run(of, volumes=(), registry_auth=None):
    """Starts a job as dstack's server does. Its own records of run and job are plain objects here."""
    path = SimpleNamespace(path="/data")
    spec = SimpleNamespace(configuration=SimpleNamespace(volumes=[path]))
    task = SimpleNamespace(job_name="task-0-0", image_name="me/task:1", registry_auth=registry_auth)
    return backend.run_job(
        SimpleNamespace(project_name="main", user="me", run_spec=spec),
        SimpleNamespace(job_spec=task),
        of,
        SSH_KEY,
        "",
        list(volumes),
        None,
        None,
        [],
    )


note("key", configured(given["key"]))
note("wrong key", configured("nonsense"))

backend = compute.RunpodCompute(RunpodConfig(creds=RunpodAPIKeyCreds(api_key=given["key"])))
client = backend.api_client
place = given["place"]
volume = SimpleNamespace(
    name="data",
    project_name="main",
    volume_id=None,
    configuration=RunpodVolumeConfiguration(name="data", region=place.lower(), size="12GB"),
)
made = backend.create_volume(volume)
volume.volume_id = made.volume_id
volume.configuration.volume_id = made.volume_id
note("volume", {"created": made.size_gb, "registered": backend.register_volume(volume).size_gb})

gpu = [Gpu(name="RTX4090", memory_mib=24 * 1024)]
job = run(offer(given["gpu"], 8, 32, gpu), [volume], RegistryAuth(username="u", password="p"))
note("job", client.get_pod(job.instance_id))
note("credentials kept", len(client.list_container_registry_credentials()))
end = time.monotonic() + SECONDS_MAX
while job.hostname is None and time.monotonic() < end:
    backend.update_provisioning_data(job, "", "")
    time.sleep(0.05)
note("reached", [job.hostname, job.ssh_port])
note("volume in use", failure(lambda: backend.delete_volume(volume)))
backend.terminate_instance(job.instance_id, place)
backend.terminate_instance(job.instance_id, place)
note("gone", client.get_pod(job.instance_id))

on_processors = run(offer("cpu3c-2-4", 2, 4, []))
note("on processors", client.get_pod(on_processors.instance_id))
backend.terminate_instance(on_processors.instance_id, place)
community = client.create_gpu_pod_graphql(
    name="community",
    image_name="me/task:1",
    gpu_type_id=given["gpu"],
    cloud_type="COMMUNITY",
    country_code="RO",
    docker_args=compute._get_docker_args([SSH_KEY]),
    ports="10022/tcp",
    env={"RUNPOD_POD_USER": "0"},
)
note("community", client.get_pod(community["id"]))
backend.terminate_instance(community["id"], place)
note("too large", failure(lambda: run(offer(given["gpu"], 512, 4096, gpu))))
backend._clean_stale_container_registry_credentials()
note("credentials cleaned", client.list_container_registry_credentials())
backend.delete_volume(volume)
note("volume gone", client.get_network_volume(volume.volume_id))
note(
    "cluster",
    failure(
        lambda: client.create_cluster(
            name="c",
            cluster_type="TRAINING",
            gpu_type_id=given["gpu"],
            gpu_count_per_pod=1,
            pod_count=2,
            container_disk_in_gb=20,
            image_name="me/task:1",
            entrypoint=["/bin/sh"],
            cmd=["-c", "true"],
        )
    ),
)
print(json.dumps(seen))
