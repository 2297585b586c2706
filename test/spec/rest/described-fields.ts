/** Fields of records, bodies and queries that the REST description of the public service has. */

export const words = (text: string): string[] => text.trim().split(/[\s,]+/);
const GPU_FIELDS = `id, count, displayName, securePrice, communityPrice, oneMonthPrice, threeMonthPrice, sixMonthPrice, oneWeekPrice, communitySpotPrice,
  secureSpotPrice`;
/** Fields of answers; a dot leads into an object. */
export const RECORDS: Record<string, string> = {
  Endpoint: `id name templateId template userId version createdAt computeType gpuTypeIds gpuCount instanceIds allowedCudaVersions minCudaVersion
    dataCenterIds env executionTimeoutMs idleTimeout networkVolumeId networkVolumeIds scalerType scalerValue workerConcurrency workersMin workersMax workers
    flashboot workersStandby type modelAliases modelWeight modelQueueMax modelReferences exampleInput`,
  Pod: `id, name, image, consumerUserId, machineId, templateId, endpointId, aiApiId, containerRegistryAuthId, cpuFlavorId, lastStartedAt,
    lastStatusChange, publicIp, volumeMountPath desiredStatus costPerHr adjustedCostPerHr, memoryInGb, vcpuCount containerDiskInGb, volumeInGb,
    slsVersion interruptible, locked, volumeEncrypted dockerEntrypoint, dockerStartCmd, ports env portMappings gpu machine networkVolume savingsPlans
    template`,
  'Pod.gpu': GPU_FIELDS,
  'Pod.machine': `minPodGpuCount, gpuTypeId, gpuType, cpuCount, cpuTypeId, cpuType, location, dataCenterId, diskThroughputMBps,
    maxDownloadSpeedMbps, maxUploadSpeedMbps, supportPublicIp, secureCloud, maintenanceStart, maintenanceEnd, maintenanceNote, note, costPerHr,
    currentPricePerGpu, gpuAvailable, gpuDisplayName`,
  'Pod.machine.gpuType': GPU_FIELDS,
  'Pod.machine.cpuType': 'id,displayName,cores,threadsPerCore,groupId',
  Template: `id name imageName category containerDiskInGb volumeInGb volumeMountPath containerRegistryAuthId dockerEntrypoint, dockerStartCmd env
    ports isPublic, isServerless isRunpod readme exampleInput earned, runtimeInMin`,
  NetworkVolume: 'id, name, size, dataCenterId',
  ContainerRegistryAuth: 'id, name',
  BillingRecord: 'amount time timeBilledMs diskSpaceBilledGb endpointId podId gpuTypeId',
  NetworkVolumeBillingRecord:
    'amount, diskSpaceBilledGb, highPerformanceStorageAmount, highPerformanceStorageDiskSpaceBilledGb, time',
};
/** Fields of answers that no system fills: there are no savings plans here. */
export const ONLY_DESCRIBED: Record<string, string> = {
  'Pod.savingsPlans': 'id, podId, gpuTypeId, costPerHr, startTime, endTime',
};
/** Query parameters. */
export const QUERIES: Record<string, string> = {
  '/pods': `computeType cpuFlavorId dataCenterId desiredStatus endpointId gpuTypeId id imageName includeMachine includeNetworkVolume
    includeSavingsPlans includeTemplate includeWorkers name networkVolumeId templateId`,
  '/pods/{podId}': 'includeMachine includeNetworkVolume includeSavingsPlans includeTemplate includeWorkers',
  '/endpoints': 'includeTemplate includeWorkers',
  '/endpoints/{endpointId}': 'includeTemplate includeWorkers',
  '/templates': 'includeEndpointBoundTemplates includePublicTemplates includeRunpodTemplates',
  '/templates/{templateId}': 'includeEndpointBoundTemplates includePublicTemplates includeRunpodTemplates',
  '/billing/pods': 'bucketSize startTime endTime grouping podId gpuTypeId',
  '/billing/endpoints': 'bucketSize startTime endTime grouping endpointId dataCenterId gpuTypeId imageName templateId',
  '/billing/networkvolumes': 'bucketSize startTime endTime',
};
const ENDPOINT_INPUT = `allowedCudaVersions cpuFlavorIds dataCenterIds executionTimeoutMs flashboot gpuCount gpuTypeIds idleTimeout minCudaVersion name
  networkVolumeId networkVolumeIds scalerType scalerValue templateId vcpuCount workerConcurrency workersMax workersMin modelAliases modelWeight
  modelQueueMax modelReferences exampleInput`;
const POD_SETTINGS = `containerDiskInGb, containerRegistryAuthId, dockerEntrypoint, dockerStartCmd, env, globalNetworking, imageName, locked, name,
  ports, volumeInGb, volumeMountPath`;
const TEMPLATE_SETTINGS = `name imageName containerDiskInGb volumeInGb volumeMountPath containerRegistryAuthId dockerEntrypoint dockerStartCmd env
  ports isPublic readme exampleInput`;
/** Fields of bodies. */
export const INPUTS: Record<string, string> = {
  EndpointCreateInput: `${ENDPOINT_INPUT} computeType type`,
  EndpointUpdateInput: ENDPOINT_INPUT,
  PodCreateInput: `${POD_SETTINGS} templateId computeType cloudType gpuTypeIds gpuTypePriority gpuCount cpuFlavorIds cpuFlavorPriority vcpuCount
    minVCPUPerGPU minRAMPerGPU minDiskBandwidthMBps minDownloadMbps minUploadMbps dataCenterIds dataCenterPriority countryCodes
    allowedCudaVersions networkVolumeId interruptible supportPublicIp`,
  PodUpdateInput: POD_SETTINGS,
  TemplateCreateInput: `${TEMPLATE_SETTINGS} category isServerless`,
  TemplateUpdateInput: TEMPLATE_SETTINGS,
  NetworkVolumeCreateInput: 'name size dataCenterId',
  NetworkVolumeUpdateInput: 'name size',
  ContainerRegistryAuthCreateInput: 'name username password',
};
