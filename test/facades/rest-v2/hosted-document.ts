/**
 * Structure of the hosted document of REST v2, as published in August and September 2026: operations, and members of
 * bodies and answers. Clients are generated from it, so that what is here must be in ours.
 */

const ERRORS = [401, 403, 429];
/** Method and path with `{}` for ids: statuses besides ERRORS, and names in its query. */
export const OPERATIONS: Readonly<Record<string, { statuses: number[]; query: string[] }>> = Object.fromEntries(
  `GET /v2/account/ssh-keys 200
PUT /v2/account/ssh-keys 200,422
GET /v2/account/secrets 200 name
POST /v2/account/secrets 201,409,422
GET /v2/account/secrets/{} 200,404
PATCH /v2/account/secrets/{} 200,404,422
DELETE /v2/account/secrets/{} 204,404
GET /v2/pods 200 includeClusterPods,cursor,limit
POST /v2/pods 201,400,404,422
GET /v2/pods/{} 200,404
PATCH /v2/pods/{} 200,404,400,409,422
DELETE /v2/pods/{} 204,404,409
GET /v2/pods/{}/logs 200,404 source,tail,since
POST /v2/pods/{}/action 200,204,404,409,400,422
GET /v2/serverless 200 cursor,limit
POST /v2/serverless 201,400,404,422
GET /v2/serverless/{} 200,404
PATCH /v2/serverless/{} 200,404,400,422
DELETE /v2/serverless/{} 204,404
GET /v2/serverless/{}/workers 200,404
GET /v2/serverless/{}/releases 200,404 cursor,limit
GET /v2/serverless/{}/workers/{}/logs 200,404 source,tail,since
GET /v2/serverless/{}/builds 200,404 cursor,limit
GET /v2/serverless/{}/builds/{} 200,404
GET /v2/serverless/{}/builds/{}/logs 200,404
GET /v2/templates 200 cursor,limit
POST /v2/templates 201,400,422
GET /v2/templates/{} 200,404
PATCH /v2/templates/{} 200,404,400,422
DELETE /v2/templates/{} 204,400,404
GET /v2/network-volumes 200 cursor,limit
POST /v2/network-volumes 201,400,422
GET /v2/network-volumes/{} 200,404
PATCH /v2/network-volumes/{} 200,400,404,422
DELETE /v2/network-volumes/{} 204,404
GET /v2/global-volumes 200 cursor,limit
POST /v2/global-volumes 201
GET /v2/registries 200
POST /v2/registries 201,400,422
GET /v2/registries/{} 200,404
DELETE /v2/registries/{} 204,400,404
GET /v2/registries/delegations 200
POST /v2/registries/delegations 201
DELETE /v2/registries/delegations/{} 204,404
GET /v2/catalog/gpus 200 include,product,count,cloud,countryCodes,cudaVersions,minCudaVersion
GET /v2/catalog/gpus/{} 200,404 include,product,count,cloud,countryCodes,cudaVersions,minCudaVersion
GET /v2/catalog/cpus 200 include,product,vcpuCount
GET /v2/catalog/cpus/{} 200,404 include,product,vcpuCount
GET /v2/catalog/datacenters 200 include,regions,networkVolumeTypes,compliance,globalNetwork
GET /v2/catalog/datacenters/{} 200,404 include
GET /v2/catalog/templates 200 source
GET /v2/billing 200 startTime,endTime,bucketSize,lastN
GET /v2/billing/pods 200 startTime,endTime,bucketSize,lastN,podId
GET /v2/billing/serverless 200 startTime,endTime,bucketSize,lastN,serverlessId
GET /v2/billing/endpoints 200 startTime,endTime,bucketSize,lastN
GET /v2/billing/network-volumes 200 startTime,endTime,bucketSize,lastN,networkVolumeId`
    .split('\n')
    .map((line) => {
      const [method, path, statuses, query = ''] = line.split(' ') as [string, string, string, string?];
      const named = {
        statuses: [...statuses.split(',').map(Number), ...ERRORS],
        query: query.split(',').filter(Boolean),
      };
      return [`${method} ${path}`, named];
    }),
);

const CONTAINER = `image: string; args: string; cmd: array; entrypoint: array; disk: integer min=1;
    env: object; ports: array;
  registry: string|null; `;
const GPU = `gpu.pools: array min=1; gpu.excludedTypes: array; gpu.count: integer min=1 default=1;
    gpu.allowedCudaVersions: array;
  gpu.minCudaVersion: string; `;
const CPU = 'cpu: array min=1; cpu.id!: string min=1; cpu.vcpuCount!: integer min=2; ';
const SCALING = `scaling.type!: string; scaling.queueDelay!: number min=0.5; scaling.requestCount!: integer min=1; `;
const WORKERS = `workers.min: integer min=0; workers.max: integer min=0;
    workers.idleTimeout: integer min=1 max=3600; `;
const MOUNTS = `mounts.persistent.size!: integer min=10; mounts.persistent.path!: string; `;
const NETWORK = `mounts.network: array; mounts.network.volumeId!: string; mounts.network.path!: string; `;
const PLACED = `dataCenterIds: array; networkVolumes: array; timeout: integer; flashboot: string; `;
const STOCKED = 'id!: string; name!: string; availability: string; dataCenters: array; ';

/**
 * Members of bodies. `!`: required. The ranges are what must be accepted: those of the hosted document.
 */
export const BODIES: Readonly<Record<string, string>> = {
  CreateEndpointRequest: `${CONTAINER}${GPU}${CPU}${SCALING}${WORKERS}${PLACED}name!: string min=1;
    type!: QUEUE/LOAD_BALANCER; scaling!: object; templateId: string min=1;
    flashboot: OFF/FLASHBOOT/PRIORITY_FLASHBOOT`,
  UpdateEndpointRequest: `${CONTAINER}${GPU}${CPU}${SCALING}${WORKERS}${PLACED}name: string min=1; scaling: object;
    templateId: string`,
  CreatePodRequest: `${CONTAINER}${CPU.replace('cpu: array min=1; ', '')}${MOUNTS}${NETWORK}name!: string min=1;
    cloud: SECURE/COMMUNITY; dataCenterIds: array; globalNetworking: boolean; gpu.id!: string;
    gpu.count: integer min=1;
    gpu.allowedCudaVersions: array; gpu.minCudaVersion: string; gpu.minRamPerGpu: integer;
    gpu.minVcpuCountPerGpu: integer;
    startJupyter: boolean; startSsh: boolean; templateId: string min=1`,
  UpdatePodRequest: `${CONTAINER}${MOUNTS}${NETWORK}name: string min=1; locked: boolean; globalNetworking: boolean;
    templateId: string`,
  PodActionRequest: 'action!: start/stop/restart/terminate',
  CreateTemplateRequest: `${CONTAINER.replace('image: string; ', '')}${MOUNTS}name!: string min=1;
    image!: string; category: CPU/NVIDIA/AMD; public: boolean;
    serverless: boolean; startJupyter: boolean; startSsh: boolean; allowedCudaVersions: array`,
  UpdateTemplateRequest: `${CONTAINER}${MOUNTS}name: string min=1; category: CPU/NVIDIA/AMD; public: boolean;
    serverless: boolean; startJupyter: boolean; startSsh: boolean; allowedCudaVersions: array`,
  CreateNetworkVolumeRequest: `dataCenter!: string min=1; name!: string min=1; size!: integer min=10 max=4096;
    type: STANDARD/HIGH_PERFORMANCE`,
  UpdateNetworkVolumeRequest: 'name: string min=1; size: integer min=10 max=4096',
  CreateRegistryRequest: `name!: string min=1 max=191; username!: string min=1 max=191;
    password!: string min=1 max=16384`,
  CreateDelegationRequest: 'resource!: string; name: string|null',
  UpdateSshKeysRequest: 'keys!: array',
  CreateSecretRequest: 'name!: string; value!: string; description: string max=65535',
  UpdateSecretRequest: 'value: string; description: string max=65535',
};

const ANSWERED = CONTAINER.replaceAll(' min=1', '').replaceAll(/(\w+):/g, '$1!:');
const PAGE = 'pagination!: object; pagination.nextCursor!: string|null; pagination.hasNextPage!: boolean; ';
const BILLED = 'records!: array; records.startTime!: string; records.endTime!: string; records.totalAmount!: number; ';
const METADATA = 'metadata!: object; metadata.query!: object; metadata.recordCount!: integer; metadata.totals!: object';

/** Members of answers. `!`: always there. */
export const ANSWERS: Readonly<Record<string, string>> = {
  Endpoint: `${ANSWERED}id!: string; name!: string; type: string; requestUrls: object; requestUrls.run!: string;
    requestUrls.runSync!: string; requestUrls.status!: string; requestUrls.stream!: string;
    requestUrls.cancel!: string;
    requestUrls.retry!: string; requestUrls.purgeQueue!: string; requestUrls.health!: string;
    requestUrls.base!: string;
    gpu.pools!: array; gpu.excludedTypes!: array; gpu.count!: integer; gpu.allowedCudaVersions!: array;
    gpu.minCudaVersion!: string|null; cpu.id!: string; cpu.vcpuCount!: integer; cpu.memory!: integer; workers!: object;
    scaling!: object; dataCenterIds!: array; networkVolumes!: array; timeout!: integer; flashboot!: string;
    createdAt!: string`,
  ListEndpointsResponse: `endpoints!: array; ${PAGE}`,
  Worker: `id!: string; status!: RUNNING/IDLE/INITIALIZING/THROTTLED/UNHEALTHY; isStale!: boolean;
    version: integer|null;
    gpuCount!: integer; image: string|null; uptimeSeconds: integer|null; gpuTypeId: string|null;
    dataCenterId: string|null;
    startedAt: string|null`,
  WorkerSummary: `running!: integer; idle!: integer; initializing!: integer; throttled!: integer; unhealthy!: integer;
    total!: integer`,
  ListEndpointWorkersResponse: 'workers!: array; summary!: object; endpointVersion: integer|null',
  Release: `id!: string; version: integer|null; source!: GIT_BUILD/MANUAL; buildId: string|null;
    createdByUserId: string|null; workerCount!: integer; createdAt!: string; diff!: array; diff.field!: string`,
  RolloutSummary: `inProgress!: boolean; workersOnLatest!: integer; workersTotal!: integer;
    percentOnLatest!: integer min=0 max=100`,
  ListEndpointReleasesResponse: `endpointVersion: integer|null; rollout!: object; releases!: array; ${PAGE}`,
  Template: `${ANSWERED}id!: string; name!: string; mounts!: object; serverless!: boolean; public!: boolean;
    category!: CPU/NVIDIA/AMD; startSsh!: boolean; startJupyter!: boolean; allowedCudaVersions!: array`,
  ListTemplatesResponse: `templates!: array; ${PAGE}`,
  Pod: `${ANSWERED}id!: string; name!: string; status!: PROVISIONING/STARTING/RUNNING/EXITED/ERROR/TERMINATED;
    actions!: array; mounts!: object; gpu.id!: string; gpu.count: integer; gpu.vcpuCount: integer; gpu.memory: integer;
    cpu.id!: string; cpu.vcpuCount!: integer; cpu.memory!: integer; cloud!: SECURE/COMMUNITY;
    dataCenterId!: string|null;
    cudaVersion!: string|null; ssh!: object; template!: string|null; cost!: number; locked!: boolean;
    globalNetworking!: object; globalNetworking.enabled!: boolean; runtime!: object|null; runtime.uptime: integer;
    runtime.gpus: array; runtime.cpu: object; runtime.memory: object; runtime.ports: array;
    runtime.ports.private: integer;
    runtime.ports.public: integer|null; runtime.ports.type: string; runtime.ports.ip: string|null; createdAt!: string;
    startedAt!: string|null`,
  ListPodsResponse: `pods!: array; ${PAGE}`,
  NetworkVolume: 'id!: string; name!: string; size!: integer; dataCenter!: string; type!: STANDARD/HIGH_PERFORMANCE',
  ListNetworkVolumesResponse: `networkVolumes!: array; ${PAGE}`,
  ListGlobalVolumesResponse: `globalVolumes!: array; ${PAGE}`,
  Registry: 'id!: string; name!: string',
  ListRegistriesResponse: `registries!: array; ${PAGE}`,
  ListDelegationsResponse: 'delegations!: array',
  SshKeys: 'keys!: array',
  Secret: `id!: string; name!: string; description!: string|null; createdAt!: string;
    valueLastUpdatedAt!: string|null`,
  ListSecretsResponse: 'secrets!: array',
  GpuType: `${STOCKED}pool!: string|null; manufacturer!: NVIDIA/AMD/UNKNOWN; memory!: integer; secure!: boolean;
    community!: boolean; price!: object; price.secure!: number; price.community!: number; price.serverless: number;
    maxCount!: object; maxCount.secure!: integer; maxCount.community!: integer; cudaVersions: array;
    cudaVersions.version!: string; cudaVersions.available!: boolean; dataCenters.id!: string;
    dataCenters.name!: string;
    dataCenters.availability!: NONE/LOW/MEDIUM/HIGH`,
  ListGpuTypesResponse: 'gpus!: array',
  CpuType: `${STOCKED}group!: string; vcpu!: object; vcpu.min!: integer; vcpu.max!: integer; ramGbPerVcpu!: number;
    price!: object; price.securePerVcpu!: number; price.serverlessPerVcpu!: number`,
  ListCpuTypesResponse: 'cpus!: array',
  DataCenter: `id!: string; name!: string; region!: string; globalNetwork!: boolean; networkVolumeTypes!: array;
    compliance!: array; gpuAvailability: array; cpuAvailability: array; gpuAvailability.id!: string;
    gpuAvailability.name!: string; gpuAvailability.availability!: string`,
  ListDataCentersResponse: 'dataCenters!: array',
  ListPodBillingResponse: `${BILLED}records.podId!: string; records.gpuAmount!: number; records.cpuAmount!: number;
    records.diskAmount!: number; metadata.uniquePodCount!: integer; ${METADATA}`,
  ListServerlessBillingResponse: `${BILLED}records.serverlessId!: string; records.gpuAmount!: number;
    records.cpuAmount!: number; records.diskAmount!: number; records.feeAmount!: number;
    metadata.uniqueServerlessCount!: integer; ${METADATA}`,
  ListNetworkVolumeBillingResponse: `${BILLED}records.networkVolumeId!: string; records.standardAmount!: number;
    records.highPerformanceAmount!: number; metadata.uniqueNetworkVolumeCount!: integer; ${METADATA}`,
  ListEndpointBillingResponse: `${BILLED}${METADATA}`,
  ListBillingResponse: `${BILLED}records.podGpuAmount!: number; records.podCpuAmount!: number;
    records.podDiskAmount!: number; records.serverlessGpuAmount!: number; records.serverlessCpuAmount!: number;
    records.serverlessDiskAmount!: number; records.serverlessFeeAmount!: number;
    records.storageStandardAmount!: number;
    records.storageHighPerformanceAmount!: number; records.endpointAmount!: number; records.clusterGpuAmount!: number;
    records.clusterDiskAmount!: number; records.clusterNetworkingAmount!: number; ${METADATA}`,
  Problem: 'title!: string; status!: integer; detail!: string; errors: array',
};
