/** An account as the hosted service answers it over REST v2: shapes of its OpenAPI document of August 2026. */

const container = {
  image: 'registry.example/ocr:3',
  args: 'python -u handler.py',
  cmd: ['python', '-u', 'handler.py'],
  entrypoint: [],
  disk: 20,
  env: {},
  ports: [],
  registry: null,
};

const queue = {
  ...container,
  type: 'QUEUE',
  requestUrls: { run: 'https://api.example/v2/x/run' },
  gpu: { pools: ['AMPERE_24'], excludedTypes: [], count: 1, allowedCudaVersions: [], minCudaVersion: null },
  workers: { min: 0, max: 3, idleTimeout: 10 },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  dataCenterIds: [],
  networkVolumes: [],
  timeout: 0,
  flashboot: 'OFF',
  createdAt: '2026-06-01T10:00:00Z',
};

/** Its answers by path. Lists come without pagination, as they did in August. */
export const HOSTED: Record<string, unknown> = {
  '/v2/serverless': {
    endpoints: [
      { ...queue, id: 'hostedocr00001', name: 'ocr', env: { MODE: 'fast', HF_TOKEN: '{{ RUNPOD_SECRET_hf }}' } },
      {
        ...queue,
        id: 'hostedllm00001',
        name: 'llm',
        image: 'registry.example/llm:1',
        registry: 'reg0000000001',
        networkVolumes: ['vol0000001'],
        dataCenterIds: ['US-KS-2', 'EU-RO-1'],
        gpu: { pools: ['ADA_80_PRO'], excludedTypes: [], count: 2, allowedCudaVersions: [], minCudaVersion: '12.4' },
        scaling: { type: 'REQUEST_COUNT', requestCount: 1 },
        workers: { min: 0, max: 2 },
        timeout: 600_000,
        flashboot: 'PRIORITY_FLASHBOOT',
        env: {
          RUNPOD_API_KEY: 'rpa_OLDKEY',
          CALLBACK: 'https://api.runpod.ai/v2/x/run',
          DB_PASSWORD: 'hunter2hunter2',
        },
      },
      {
        ...queue,
        id: 'hostedlb000001',
        name: 'vision',
        type: 'LOAD_BALANCER',
        requestUrls: { base: 'https://x.api.example', health: 'https://x.api.example/ping' },
        gpu: null,
        cpu: [{ id: 'cpu3c', vcpuCount: 2, memory: 4 }],
        scaling: { type: 'REQUEST_COUNT', requestCount: 5 },
        ports: ['80/http'],
        env: { PORT: '80' },
        quantumEntanglement: true,
      },
      {
        ...queue,
        id: 'hostednew00001',
        name: 'newest',
        gpu: { pools: ['RUBIN_288'], count: 1 },
      },
      { ...queue, id: 'hostedbad00001', name: 'broken', workers: { min: 'three', max: -1 } },
      { name: 'no id' },
    ],
  },
  '/v2/templates': {
    templates: [
      {
        ...container,
        id: 'tmpl000001',
        name: 'ocr-base',
        env: { MODE: 'fast' },
        mounts: {},
        serverless: true,
        public: false,
        category: 'NVIDIA',
        startSsh: true,
        startJupyter: true,
        allowedCudaVersions: [],
      },
      {
        ...container,
        id: 'tmpl000002',
        name: 'lab',
        mounts: { persistent: { size: 20, path: '/workspace' } },
        serverless: false,
        public: true,
        category: 'NVIDIA',
        startSsh: true,
        startJupyter: true,
        allowedCudaVersions: [],
      },
    ],
    pagination: { nextCursor: null, hasNextPage: false },
  },
  '/v2/network-volumes': {
    networkVolumes: [
      { id: 'vol0000001', name: 'models', size: 4_096, dataCenter: 'US-KS-2', type: 'HIGH_PERFORMANCE' },
    ],
  },
  '/v2/registries': { registries: [{ id: 'reg0000000001', name: 'hub' }] },
  '/v2/account/secrets': {
    secrets: [
      { id: 's1', name: 'hf', description: 'x' },
      { id: 's2', name: 'unused' },
    ],
  },
  '/v2/account/ssh-keys': { keys: ['ssh-ed25519 AAAAC3Nz me@laptop', 'not a key'] },
  '/v2/pods': {
    pods: [
      { id: 'pod1', name: 'notebook' },
      {
        ...container,
        id: 'hostedpod00001',
        name: 'trainer',
        status: 'RUNNING',
        gpu: { id: 'NVIDIA L4', count: 1, vcpuCount: 8, memory: 40 },
        mounts: { network: [{ volumeId: 'vol0000001', path: '/workspace' }] },
        locked: false,
        env: { HF_TOKEN: '{{ RUNPOD_SECRET_pods }}' },
      },
    ],
  },
  '/graphql': {
    data: {
      myself: {
        endpoints: [
          { id: 'hostedocr00001', templateId: 'tmpl000001', modelReferences: [], hubReleaseId: null },
          { id: 'hostedllm00001', templateId: 'gone', modelReferences: ['org/llm:main'], hubReleaseId: 'rel1' },
        ],
      },
    },
  },
};
