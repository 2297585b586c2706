// test: postgres
/**
 * docs/reference/management.md#graphql-operations: account, catalogue, volumes, registry credentials and pods over
 * GraphQL.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { graphqlClient } from '../../facades/graphql/graphql-client.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
t.test('GraphQL resources', async (t) => {
  const system = await startSystem(t, {
    agentEnv: {
      SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2',
      SLIPWAY_AGENT_LOCATIONS: 'CZ,EU-CZ-1',
      SLIPWAY_CPU_SLOTS: '2',
    },
  });
  const { ok, post, refused } = graphqlClient(t, system.url, system.key);
  await waitFor('the machine', async () => {
    const { dataCenters } = await ok<{ dataCenters: unknown[] }>('{ dataCenters { id } }');
    return dataCenters.length > 0;
  });

  await t.test('myself', async (t) => {
    const fields = `id email pubKey clientBalance currentSpendPerHr spendLimit notifyPodsStale notifyPodsGeneral notifyLowBalance
      serverlessDiscount { discountFactor } networkVolumes { id } pods { id } endpoints { id } podTemplates { id } containerRegistryCreds { id }`;
    t.same(await ok(`{ myself { ${fields} } }`), {
      myself: {
        id: system.accountId,
        email: 'test',
        pubKey: '',
        clientBalance: 0,
        currentSpendPerHr: 0,
        spendLimit: null,
        notifyPodsStale: false,
        notifyPodsGeneral: false,
        notifyLowBalance: false,
        serverlessDiscount: null,
        networkVolumes: [],
        pods: [],
        endpoints: [],
        podTemplates: [],
        containerRegistryCreds: [],
      },
    });
    const save =
      'mutation Mutation($input: UpdateUserSettingsInput) { updateUserSettings(input: $input) { id pubKey } }';
    const saved = { updateUserSettings: { id: system.accountId, pubKey: 'ssh-ed25519 AAAA me\n\nssh-rsa BBBB you' } };
    t.same(await ok(save, { input: { pubKey: saved.updateUserSettings.pubKey } }), saved);
    t.same(await ok(save, { input: {} }), saved, 'what is omitted stays');
    t.match(await ok(save, { input: { pubKey: '' } }), { updateUserSettings: { pubKey: '' } });
  });

  await t.test('catalogue: GPU types, pools, locations', async (t) => {
    const fields = `id displayName manufacturer memoryInGb cudaCores maxGpuCount secureCloud communityCloud securePrice communityPrice oneMonthPrice
      threeMonthPrice oneWeekPrice communitySpotPrice secureSpotPrice`;
    const query = `query Types($filter: GpuTypeFilter, $price: GpuLowestPriceInput) { gpuTypes(input: $filter) { ${fields}
      lowestPrice(input: $price) { minimumBidPrice uninterruptablePrice stockStatus availableGpuCounts gpuName gpuTypeId } } }`;
    const [l4] = (await ok<{ gpuTypes: object[] }>(query, { filter: { id: 'NVIDIA L4' } })).gpuTypes;
    t.match(l4, {
      id: 'NVIDIA L4',
      displayName: 'L4',
      manufacturer: 'NVIDIA',
      memoryInGb: 24,
      maxGpuCount: 2,
      secureCloud: true,
      securePrice: 0,
      communityPrice: null,
      lowestPrice: { uninterruptablePrice: 0, stockStatus: 'High', availableGpuCounts: [1, 2], gpuTypeId: 'NVIDIA L4' },
    });
    const stock = async (price: object, ids = ['NVIDIA L4']): Promise<unknown> => {
      const { gpuTypes } = await ok<{ gpuTypes: { lowestPrice: { stockStatus: string } }[] }>(query, {
        filter: { ids },
        price,
      });
      return gpuTypes.map(({ lowestPrice }) => lowestPrice.stockStatus);
    };
    t.same(await stock({ gpuCount: 2 }), ['High']);
    t.same(await stock({ gpuCount: 3 }), ['None'], 'more than any machine has');
    t.same(
      await stock({
        dataCenterId: 'EU-CZ-1',
        includeAiApi: true,
        secureCloud: true,
        compliance: [],
        allowedCudaVersions: [],
      }),
      ['High'],
    );
    t.same(await stock({ dataCenterId: 'nowhere' }), ['None']);
    t.same(await stock({}, ['NVIDIA H200']), ['None'], 'a type that no machine has');
    t.same(await ok('{ gpuTypes(input: { id: "none" }) { id } }'), { gpuTypes: [] });
    const { gpuTypes } = await ok<{ gpuTypes: { id: string }[] }>('{ gpuTypes { id displayName memoryInGb } }');
    t.equal(gpuTypes[0]!.id, 'NVIDIA L4', 'what machines have comes first');
    t.ok(gpuTypes.length > 30, 'all known types');
    t.match(
      await ok(
        '{ serverlessGpuPools { id gpuTypeIds } cpuFlavors(input: { id: "cpu3c" }) { specifics { stockStatus } } }',
      ),
      {
        serverlessGpuPools: [{ id: 'AMPERE_16', gpuTypeIds: [String] }],
        cpuFlavors: [],
      },
    );
    t.match(
      await ok('{ dataCenters { id name location gpuAvailability { gpuTypeId displayName stockStatus available } } }'),
      {
        dataCenters: [
          {
            id: 'EU-CZ-1',
            name: 'EU-CZ-1',
            location: 'CZ',
            gpuAvailability: [{ gpuTypeId: 'NVIDIA L4', displayName: 'L4', stockStatus: 'High', available: true }],
          },
        ],
      },
    );
  });

  await t.test('network volumes', async (t) => {
    const create =
      'mutation V($input: CreateNetworkVolumeInput!) { createNetworkVolume(input: $input) { id name size ' +
      'dataCenterId } }';
    const { createNetworkVolume: made } = await ok<{ createNetworkVolume: { id: string } }>(create, {
      input: { name: 'models', size: 10, dataCenterId: 'EU-CZ-1' },
    });
    t.match(made, { name: 'models', size: 10, dataCenterId: 'EU-CZ-1' });
    t.match(await ok(`mutation { updateNetworkVolume(input: { id: "${made.id}", size: 20 }) { name size } }`), {
      updateNetworkVolume: { name: 'models', size: 20 },
    });
    t.match(await ok(`mutation { updateNetworkVolume(input: { id: "${made.id}" }) { size } }`), {
      updateNetworkVolume: { size: 20 },
    });
    t.equal(
      (await refused(`mutation { updateNetworkVolume(input: { id: "${made.id}", size: 5 }) { size } }`)).reason,
      'INVALID_REQUEST',
    );
    t.match(await ok('{ myself { networkVolumes { id size } } }'), {
      myself: { networkVolumes: [{ id: made.id, size: 20 }] },
    });
    t.same(await ok(`mutation { deleteNetworkVolume(input: { id: "${made.id}" }) }`), { deleteNetworkVolume: null });
    t.equal((await refused(`mutation { deleteNetworkVolume(input: { id: "${made.id}" }) }`)).reason, 'NOT_FOUND');
  });

  await t.test('registry credentials', async (t) => {
    const create =
      'mutation S { saveRegistryAuth(input: { name: "hub", username: "me", password: "secret words" }) { id name } }';
    const { saveRegistryAuth: made } = await ok<{ saveRegistryAuth: { id: string } }>(create);
    t.match(made, { name: 'hub' });
    t.equal((await refused(create)).reason, 'NAME_TAKEN');
    t.match(
      await ok(
        `mutation { updateRegistryAuth(input: { id: "${made.id}", username: "me", password: "other" }) { id name } }`,
      ),
      {
        updateRegistryAuth: { id: made.id, name: 'hub' },
      },
    );
    t.same(await ok('{ myself { containerRegistryCreds { id name } } }'), {
      myself: { containerRegistryCreds: [{ id: made.id, name: 'hub' }] },
    });
    t.same(await ok(`mutation { deleteRegistryAuth(registryAuthId: "${made.id}") }`), { deleteRegistryAuth: null });
    t.equal((await refused(`mutation { deleteRegistryAuth(registryAuthId: "${made.id}") }`)).reason, 'NOT_FOUND');
  });

  await t.test('pods', async (t) => {
    const fields = `id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange machineId memoryInGb name
      podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath runtime { ports { ip isIpPublic privatePort publicPort type } }
      machine { podHostId gpuDisplayName location dataCenterId }`;
    const create =
      'mutation createPod($input: PodFindAndDeployOnDemandInput!) { podFindAndDeployOnDemand(input: $input) { ' +
      `${fields} } }`;
    const input = {
      cloudType: 'ALL',
      name: 'box',
      imageName: '',
      gpuTypeId: 'NVIDIA L4',
      gpuCount: 1,
      dockerArgs: 'sleep 3600',
      ports: '8888/http,22/tcp',
      env: [
        { key: 'B', value: '2=3' },
        { key: 'A', value: '1' },
      ],
      containerDiskInGb: 10,
      volumeInGb: 5,
      volumeMountPath: '/data',
      startSsh: true,
      dataCenterId: 'EU-CZ-1',
      networkVolumeId: '',
      templateId: '',
      minMemoryInGb: 1,
      minVcpuCount: 1,
      supportPublicIp: true,
    };
    const { podFindAndDeployOnDemand: made } = await ok<{ podFindAndDeployOnDemand: { id: string } }>(create, {
      input,
    });
    const expected = {
      id: made.id,
      name: 'box',
      imageName: '',
      desiredStatus: 'RUNNING',
      dockerArgs: 'sleep 3600',
      env: ['A=1', 'B=2=3'],
      gpuCount: 1,
      ports: '8888/http,22/tcp',
      containerDiskInGb: 10,
      volumeInGb: 5,
      volumeMountPath: '/data',
      podType: 'RESERVED',
      costPerHr: 0,
      machine: { gpuDisplayName: 'L4', location: 'CZ,EU-CZ-1', dataCenterId: 'EU-CZ-1' },
    };
    t.match(made, expected);
    t.match(await ok(`{ pod(input: { podId: "${made.id}" }) { ${fields} } myself { pods { ${fields} } } }`), {
      pod: expected,
      myself: { pods: [expected] },
    });
    t.same(await ok('{ pod(input: { podId: "none" }) { id } }'), { pod: null });

    const none = await refused(create, { input: { ...input, gpuCount: 2 } });
    t.equal(none.reason, 'NO_CAPACITY');
    t.match(none.message, /^There are no longer any instances available with the requested specifications\./);
    t.match((await refused(create, { input: { ...input, stopAfter: '2030-01-01T00:00:00Z' } })).message, /stopAfter/);
    t.match(await ok('{ gpuTypes(input: { id: "NVIDIA L4" }) { lowestPrice { stockStatus availableGpuCounts } } }'), {
      gpuTypes: [{ lowestPrice: { stockStatus: 'Medium', availableGpuCounts: [1] } }],
    });

    t.same(await ok(`mutation { podStop(input: { podId: "${made.id}" }) { id desiredStatus } }`), {
      podStop: { id: made.id, desiredStatus: 'EXITED' },
    });
    t.match(
      await ok(
        `mutation { podResume(input: { podId: "${made.id}", gpuCount: 1 }) { id desiredStatus env machineId ` +
          'machine { podHostId } } }',
      ),
      {
        podResume: { desiredStatus: 'RUNNING', env: ['A=1', 'B=2=3'], machineId: String },
      },
    );
    await ok(`mutation { podStop(input: { podId: "${made.id}" }) { lastStatusChange } }`);
    const bid = `mutation Mutation($podId: String!, $bidPerGpu: Float!, $gpuCount: Int!) {
      podBidResume(input: { podId: $podId, bidPerGpu: $bidPerGpu, gpuCount: $gpuCount }) { id costPerHr desiredStatus lastStatusChange } }`;
    t.match(await ok(bid, { podId: made.id, bidPerGpu: 0.2, gpuCount: 1 }), {
      podBidResume: { desiredStatus: 'RUNNING' },
    });
    const edit =
      `podEditJob(input: { podId: "${made.id}", env: [{ key: "C", value: "3" }], dockerArgs: "sleep 99" }) { env ` +
      'dockerArgs ports }';
    t.match(await ok(`mutation { ${edit} }`), {
      podEditJob: { env: ['C=3'], dockerArgs: 'sleep 99', ports: '8888/http,22/tcp' },
    });
    await ok(
      `mutation { podReset(input: { podId: "${made.id}" }) { id } podRestart(input: { podId: "${made.id}" }) { id } }`,
    );
    t.same(await ok(`mutation { podTerminate(input: { podId: "${made.id}" }) }`), { podTerminate: null });
    t.same(await ok('{ myself { pods { id } } }'), { myself: { pods: [] } });
    t.equal((await refused(`mutation { podStop(input: { podId: "${made.id}" }) { id } }`)).reason, 'NOT_FOUND');
  });

  await t.test('pods without a GPU, and interruptible ones', async (t) => {
    const cpu = `mutation { deployCpuPod(input: { name: "cpu", imageName: "", cloudType: ALL, startSsh: true, instanceId: "cpu3c-1-2",
      dataCenterId: null, dockerArgs: "sleep 60", templateId: "runpod-ubuntu", volumeMountPath: "/runpod-volume" }) {
        id gpuCount templateId desiredStatus vcpuCount memoryInGb } }`;
    const { deployCpuPod } = await ok<{ deployCpuPod: { id: string } }>(cpu);
    t.match(deployCpuPod, { gpuCount: 0, templateId: null, desiredStatus: 'RUNNING', vcpuCount: 1, memoryInGb: 2 });
    const rent = `mutation R($input: PodRentInterruptableInput!) {
    podRentInterruptable(input: $input) { id podType } }`;
    const gpuTypeIdList = ['NVIDIA H200', 'NVIDIA L4'];
    const input = {
      bidPerGpu: 0.1,
      name: 'spot',
      imageName: '',
      dockerArgs: 'sleep 60',
      gpuTypeIdList,
      countryCode: 'CZ',
    };
    const { podRentInterruptable } = await ok<{ podRentInterruptable: { id: string } }>(rent, { input });
    t.match(podRentInterruptable, { podType: 'INTERRUPTABLE' });
    for (const { id } of [deployCpuPod, podRentInterruptable])
      await ok(`mutation { podTerminate(input: { podId: "${id}" }) }`);
  });

  await t.test('another account sees none of these resources', async (t) => {
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'stranger' }, system.rootKey);
    const key = await system.newKey(KeyScope.ALL, accountId);
    const { createNetworkVolume } = await ok<{ createNetworkVolume: { id: string } }>(
      'mutation { createNetworkVolume(input: { name: "mine", size: 1, dataCenterId: "EU-CZ-1" }) { id } }',
    );
    const stranger = graphqlClient(t, system.url, key);
    t.same(await stranger.ok('{ myself { networkVolumes { id } pods { id } containerRegistryCreds { id } } }'), {
      myself: { networkVolumes: [], pods: [], containerRegistryCreds: [] },
    });
    t.equal(
      (await stranger.refused(`mutation { deleteNetworkVolume(input: { id: "${createNetworkVolume.id}" }) }`)).reason,
      'NOT_FOUND',
    );
    const reader = await system.newKey(KeyScope.READ_ONLY);
    const query = `mutation { deleteNetworkVolume(input: { id: "${createNetworkVolume.id}" }) }`;
    t.equal((await post({ query }, reader)).status, 401, 'a key that may only read');
    t.match(await ok('{ myself { networkVolumes { id } } }'), {
      myself: { networkVolumes: [{ id: createNetworkVolume.id }] },
    });
  });
});
