// test: postgres, 5 s
/**
 * Requests as SkyPilot's RunPod provisioner sends them: REST v2 for pods, keys and credentials (releases up to 0.14:
 * GraphQL), GraphQL for spot pods, REST v1 for network volumes.
 */
import { PodState } from '@slipway/proto/gen/slipway/v1/pod';
import t from 'tap';
import { graphqlClient } from '../../facades/graphql/graphql-client.ts';
import { joinEngineMachine } from '../../helpers/system/engine-machine.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const PLACE = 'EU-RO-1';
/** A zone of SkyPilot's catalogue is a list of data centres. */
const ZONE = `EU-CZ-1,${PLACE}`;
const SETUP = Buffer.from('service ssh restart; sleep infinity').toString('base64');
const DOCKER_ARGS = `bash -c 'echo ${SETUP} | base64 --decode > init.sh; bash init.sh'`;
const COMMAND = ['bash', '-c', `echo ${SETUP} | base64 --decode > init.sh; bash init.sh`];
const PORTS = ['22/tcp', '8080/tcp', '8266/http', '6380/http'];

/** Fields of its list of pods, in releases up to 0.14. */
const POD_FIELDS = `id containerDiskInGb containerRegistryAuthId costPerHr desiredStatus dockerArgs dockerId env
  gpuCount imageName lastStatusChange machineId memoryInGb name podType port ports uptimeSeconds vcpuCount volumeInGb
  volumeMountPath runtime { ports { ip isIpPublic privatePort publicPort type } } machine { gpuDisplayName }`;

/** Fields of answers that it reads. */
interface Entry {
  id: string;
  name: string;
}

t.setTimeout(600_000);
const system = await startSystem(t, { agents: 0 });
const gpus = [{ uuid: 'GPU-a', name: GPU, memoryMib: 24_564, migProfile: '' }];
const agent = await joinEngineMachine(t, system, {
  ...{ gpus, locations: [PLACE, 'RO'], cpuCount: 16, memoryMib: 65_536 },
});
const { ok } = graphqlClient(t, system.url, system.key);

async function rest<Result = Entry>(method: string, path: string, body?: object): Promise<Result> {
  const { status, json, text } = await system.request(method, path, body);
  t.ok(status < 300, `${method} ${path}: ${status} ${text}`);
  return json as unknown as Result;
}

async function listed(): Promise<Record<string, unknown>> {
  const { pods } = await rest<{ pods: Entry[] }>('GET', '/v2/pods');
  return Object.fromEntries(pods.map((pod) => [pod.name, pod]));
}

t.test('an SSH key is added beside the others', async (t) => {
  const mine = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtpg0V7tUKKS+h/mUG7m4Cy/1N/cnnrwvvqTmo64PUs sky';
  const { keys } = await rest<{ keys: string[] }>('GET', '/v2/account/ssh-keys');
  t.same(await rest('PUT', '/v2/account/ssh-keys', { keys: [...keys, mine] }), { keys: [mine] });
});

t.test('a node with GPUs: template with credentials, pod, SSH address, end', async (t) => {
  t.match(await rest('GET', `/v2/catalog/gpus/${encodeURIComponent(GPU)}`), { id: GPU, memory: 24 });
  const registry = await rest('POST', '/v2/registries', { name: 'c-registry-auth', username: 'u', password: 'p' });
  const template = await rest('POST', '/v2/templates', {
    ...{ name: 'c-docker-login-template', image: 'reg.example/me/box:1', registry: registry.id, startJupyter: false },
  });
  const made = await rest('POST', '/v2/pods', {
    ...{ name: 'c-head', image: 'reg.example/me/box:1', disk: 50, ports: PORTS, args: DOCKER_ARGS, startSsh: true },
    ...{ templateId: template.id, dataCenterIds: ZONE.split(','), cloud: 'SECURE' },
    gpu: { id: GPU, count: 1, minVcpuCountPerGpu: 4, minRamPerGpu: 24 },
  });
  t.match((await listed())['c-head'], { id: made.id, status: /^(PROVISIONING|STARTING)$/, gpu: { vcpuCount: 16 } });
  const pod = await waitFor('the pod', () =>
    agent.desiredPods.find(({ podId, running }) => podId === made.id && running),
  );
  t.match(pod.spec, { startCommand: COMMAND, ports: PORTS });
  const tcpPorts = [22, 8080].map((port) => ({ port, address: `machine.example:${20_000 + port}` }));
  agent.send({ pods: [{ podId: made.id, run: pod.run, state: PodState.RUNNING, tcpPorts }] });
  const running = await waitFor('its ports', async () => {
    const head = (await listed())['c-head'] as { status: string };
    return head.status === 'RUNNING' && head;
  });
  t.match(running, {
    ssh: { direct: { host: 'machine.example', port: 20_022 } },
    runtime: {
      ports: [
        { private: 22, type: 'tcp', ip: 'machine.example', public: 20_022 },
        { private: 8080, type: 'tcp', ip: 'machine.example', public: 28_080 },
        { private: 8266, type: 'http', public: null },
        { private: 6380, type: 'http', public: null },
      ],
    },
  });
  t.match(await ok(`query myPods { myself { pods { ${POD_FIELDS} } } }`), {
    myself: {
      pods: [
        {
          ...{ id: made.id, name: 'c-head', desiredStatus: 'RUNNING', containerRegistryAuthId: registry.id },
          runtime: {
            ports: [
              { ip: 'machine.example', isIpPublic: true, privatePort: 22, publicPort: 20_022, type: 'tcp' },
              { ip: 'machine.example', isIpPublic: true, privatePort: 8080, publicPort: 28_080, type: 'tcp' },
            ],
          },
        },
      ],
    },
  });
  await rest('DELETE', `/v2/pods/${made.id}`);
  t.same(await listed(), {});
  const { templates } = await rest<{ templates: (Entry & { registry: string })[] }>('GET', '/v2/templates');
  t.match(
    templates.find(({ name }) => name === 'c-docker-login-template'),
    { id: template.id, registry: registry.id },
  );
  t.match(await ok('query myself { myself { podTemplates { name containerRegistryAuthId } } }'), {
    myself: { podTemplates: [{ name: 'c-docker-login-template', containerRegistryAuthId: registry.id }] },
  });
  t.same(await ok('mutation {deleteTemplate(templateName: "c-docker-login-template")}'), { deleteTemplate: null });
  await rest('DELETE', `/v2/registries/${registry.id}`);
});

t.test('a spot node finds its place in any data centre of a zone', async (t) => {
  const { podRentInterruptable } = await ok<{ podRentInterruptable: Entry }>(`
    mutation { podRentInterruptable(input: { name: "c-head", imageName: "me/box:1", gpuTypeId: "${GPU}",
      bidPerGpu: 0.3, volumeMountPath: "/runpod-volume", cloudType: SECURE, startSsh: true, supportPublicIp: true,
      gpuCount: 1, minMemoryInGb: 24, minVcpuCount: 4, containerDiskInGb: 50, volumeInGb: 0,
      ports: "${PORTS.join(',')}", dockerArgs: "${DOCKER_ARGS}", dataCenterId: "${ZONE}", countryCode: "RO" }) {
      id desiredStatus imageName env machineId machine { podHostId } } }`);
  t.match(podRentInterruptable, { id: String, desiredStatus: 'RUNNING', machine: { podHostId: 'engines00000' } });
  await rest('DELETE', `/v2/pods/${podRentInterruptable.id}`);
});

t.test('a network volume, what uses it, and its end', async (t) => {
  const volume = await rest('POST', '/v1/networkvolumes', { dataCenterId: PLACE, name: 'c-data', size: 10 });
  const pod = await rest('POST', '/v2/pods', {
    ...{ name: 'c-head', image: 'me/box:1', disk: 50, ports: PORTS, args: DOCKER_ARGS, startSsh: true },
    ...{ mounts: { network: [{ volumeId: volume.id, path: '/data' }] }, cpu: { id: 'cpu3c', vcpuCount: 2 } },
  });
  t.same(await ok('query Pods { myself { pods { id name networkVolumeId } } }'), {
    myself: { pods: [{ id: pod.id, name: 'c-head', networkVolumeId: volume.id }] },
  });
  await rest('DELETE', `/v2/pods/${pod.id}`);
  t.match(await rest<Entry[]>('GET', '/v1/networkvolumes'), [{ id: volume.id, name: 'c-data' }]);
  await rest('DELETE', `/v1/networkvolumes/${volume.id}`);
});
