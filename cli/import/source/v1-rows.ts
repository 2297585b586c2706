/** Entries of REST v1 with the members of REST v2. */

import type { EndpointOrigin } from './endpoint-origins.ts';
import { extensionsOf } from './endpoint-origins.ts';
import type { SourceRow } from './source-lists.ts';
import { recordOf } from './source-lists.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns an endpoint with the container of its template. */
export function endpointOfV1(row: SourceRow): SourceRow {
  const { fields } = row;
  const template = recordOf(fields['template']) ?? {};
  const isCount = fields['scalerType'] === 'REQUEST_COUNT';
  const isQueue = fields['type'] !== 'LB';
  const delay = { type: 'QUEUE_DELAY', queueDelay: fields['scalerValue'] ?? 4 };
  const isCpu = fields['computeType'] === 'CPU';
  return {
    ...row,
    fields: defined({
      ...containerOfV1(template),
      env: { ...recordOf(template['env']), ...recordOf(fields['env']) },
      type: isQueue ? 'QUEUE' : 'LOAD_BALANCER',
      scaling: isCount ? { type: 'REQUEST_COUNT', requestCount: fields['scalerValue'] ?? 4 } : delay,
      ...(isCpu ? { cpu: sizesOf(fields) } : { gpu: gpuOfV1(fields) }),
      workers: {
        min: fields['workersMin'] ?? 0,
        max: fields['workersMax'] ?? 3,
        ...(isQueue && isCount ? {} : { idleTimeout: fields['idleTimeout'] ?? 5 }),
      },
      dataCenterIds: fields['dataCenterIds'],
      networkVolumes: fields['networkVolumeIds'] ?? [fields['networkVolumeId']].filter(Boolean),
      timeout: fields['executionTimeoutMs'],
      flashboot: fields['flashboot'] === true ? 'FLASHBOOT' : 'OFF',
    }),
  };
}

/** Returns what v1 shows of an endpoint and v2 does not. */
export function extrasOfV1({ fields }: SourceRow): EndpointOrigin {
  const { templateId, modelReferences } = fields;
  return {
    templateId: typeof templateId === 'string' ? templateId : '',
    modelReferences: Array.isArray(modelReferences) ? modelReferences.map(String) : [],
    settings: extensionsOf(fields),
    origins: [],
  };
}

/** Returns a template. */
export function templateOfV1(row: SourceRow): SourceRow {
  const { fields } = row;
  const size = fields['volumeInGb'];
  const mounts = size ? { persistent: { size, path: fields['volumeMountPath'] ?? '/workspace' } } : {};
  return {
    ...row,
    fields: defined({
      ...containerOfV1(fields),
      env: recordOf(fields['env']) ?? {},
      mounts,
      serverless: fields['isServerless'] === true,
      public: fields['isPublic'] === true,
      category: fields['category'],
      readme: fields['readme'],
      exampleInput: fields['exampleInput'],
    }),
  };
}

/** Returns a pod. */
export function podOfV1(row: SourceRow): SourceRow {
  const { fields } = row;
  const { image, imageName, volumeMountPath: path = '/workspace', volumeInGb: size, networkVolumeId } = fields;
  const volumeId = networkVolumeId || recordOf(fields['networkVolume'])?.['id'];
  const gpu = recordOf(fields['gpu']);
  const own = size ? { persistent: { size, path } } : {};
  const mounts = volumeId ? { network: [{ volumeId, path }] } : own;
  return {
    ...row,
    fields: defined({
      ...containerOfV1({ ...fields, imageName: image ?? imageName }),
      env: recordOf(fields['env']) ?? {},
      ...(gpu ? { gpu: defined({ id: gpu['id'], count: gpu['count'] }) } : { cpu: sizeOfPod(fields) }),
      mounts,
      locked: fields['locked'],
    }),
  };
}

function sizeOfPod({ cpuFlavorId: id, vcpuCount }: Fields): Fields | undefined {
  return typeof id === 'string' ? { id, vcpuCount } : undefined;
}

/** Returns a network volume. */
export function volumeOfV1(row: SourceRow): SourceRow {
  const { size, dataCenterId } = row.fields;
  return { ...row, fields: { size, dataCenter: dataCenterId } };
}

function containerOfV1(template: Fields): Fields {
  return {
    image: template['imageName'] ?? '',
    cmd: template['dockerStartCmd'] ?? [],
    entrypoint: template['dockerEntrypoint'] ?? [],
    disk: template['containerDiskInGb'],
    ports: template['ports'] ?? [],
    registry: template['containerRegistryAuthId'] || null,
  };
}

function gpuOfV1(fields: Fields): Fields {
  return defined({
    pools: fields['gpuTypeIds'],
    count: fields['gpuCount'] || 1,
    allowedCudaVersions: fields['allowedCudaVersions'],
  });
}

/** Returns sizes as id and processors. v1 has one text per size: `cpu3c-2-4` is flavour, processors and memory. */
function sizesOf(fields: Fields): unknown {
  const { instanceIds, cpuFlavorIds, vcpuCount } = fields;
  if (Array.isArray(instanceIds))
    return instanceIds.map((size) => {
      const [id, processors] = String(size).split('-');
      return { id, vcpuCount: Number(processors) };
    });
  return Array.isArray(cpuFlavorIds) ? cpuFlavorIds.map((id: unknown) => ({ id, vcpuCount })) : undefined;
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
