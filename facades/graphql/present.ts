/** Contract endpoints and templates to the public schema's fields. What is zero or empty is left out on the wire, so each has its default here. */
import type { CoreEndpoint, CoreTemplate } from './core-calls.ts';
import { commandText, textOf, variablesOf } from './list-text.ts';

/** Endpoint of schema.graphql, without `pods` and `template`, which have resolvers of their own. */
export function presentEndpoint(endpoint: CoreEndpoint) {
  const workersMin = endpoint.workersMin ?? 0;
  return {
    id: endpoint.id,
    name: endpoint.name,
    gpuIds: textOf(endpoint.gpuIds),
    gpuCount: endpoint.gpuCount ?? 0,
    templateId: endpoint.templateId,
    type: endpoint.type === 'ENDPOINT_TYPE_LB' ? 'LB' : 'QB',
    idleTimeout: endpoint.idleTimeoutSeconds ?? 0,
    locations: textOf(endpoint.locations),
    flashBootType: endpoint.flashBootType === 'FLASH_BOOT_TYPE_FLASHBOOT' ? 'FLASHBOOT' : 'OFF',
    scalerType: endpoint.scalerType === 'SCALER_TYPE_REQUEST_COUNT' ? 'REQUEST_COUNT' : 'QUEUE_DELAY',
    scalerValue: endpoint.scalerValue ?? 0,
    workersMin,
    workersMax: endpoint.workersMax ?? 0,
    workersStandby: workersMin,
    networkVolumeId: endpoint.networkVolumeIds?.[0] ?? null,
    executionTimeoutMs: Number(endpoint.executionTimeoutMs),
    allowedCudaVersions: textOf(endpoint.allowedCudaVersions),
    computeType: endpoint.computeType,
    env: variablesOf(endpoint.env),
    version: endpoint.version ?? 0,
    createdAt: endpoint.createTime ? new Date(Number(endpoint.createTime.seconds) * 1_000).toISOString() : null,
  };
}

/** PodTemplate of schema.graphql. */
export function presentTemplate(template: CoreTemplate) {
  return {
    id: template.id,
    name: template.name,
    imageName: template.imageName ?? '',
    dockerArgs: commandText(template.startCommand ?? []),
    containerDiskInGb: template.containerDiskGb ?? 0,
    volumeInGb: template.volumeGb ?? 0,
    volumeMountPath: template.volumeMountPath ?? '',
    ports: textOf(template.ports),
    env: variablesOf(template.env),
    isServerless: template.serverless ?? false,
    isPublic: template.public ?? false,
    readme: template.readme ?? '',
    containerRegistryAuthId: template.registryAuthId || null,
  };
}
