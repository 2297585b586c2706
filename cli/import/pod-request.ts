/** Pods of the source as requests of their creation here. They are created stopped, as they still run at the source. */

import { checkFits } from '@slipway/facades/rest-v2/fits';
import type { CreatePodBody } from '@slipway/facades/rest-v2/pods/pod-shapes';
import { CreatePod, PodShape } from '@slipway/facades/rest-v2/pods/pod-shapes';
import { newPod } from '@slipway/facades/rest-v2/pods/pod-values';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import type { CreatePodRequest } from '@slipway/proto/gen/slipway/v1/pod_service';
import { containerOf, envOf, pick, unknownMembers } from './container-body.ts';
import { envNotes, missingSecrets } from './env-notes.ts';
import { unknownGpus } from './gpu-notes.ts';
import type { ImportContext } from './import-context.ts';
import { referenceTo, WaitingError } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';
import { recordOf } from './source/source-lists.ts';

/** Returns the body of REST v2 with the ids of this account. Throws WaitingError if it cannot be created here. */
export function podBody(row: SourceRow, context: ImportContext): Record<string, unknown> {
  const { fields } = row;
  const { gpu, cpu } = { gpu: recordOf(fields['gpu']), cpu: recordOf(fields['cpu']) };
  return {
    name: row.name,
    image: '',
    ...containerOf(row, context),
    ...(cpu ? { cpu: pick(cpu, ['id', 'vcpuCount']) } : { gpu: gpuOf(gpu ?? {}, context) }),
    mounts: mountsOf(fields, context),
  };
}

/** Returns the request, without its key, and notes for people. Throws if the pod cannot be created here. */
export function podRequest(row: SourceRow, context: ImportContext): { request: CreatePodRequest; notes: string[] } {
  const body = podBody(row, context);
  checkFits(CreatePod, body);
  const pod = Pod.fromPartial({ ...newPod(body as unknown as CreatePodBody), locked: row.fields['locked'] === true });
  const missing = missingSecrets(row, context.target);
  const notes = [
    'is stopped here, under a new id and address: start it with "slipway pods start"',
    ...(pod.networkVolumeId === '' ? ['its files stay at the source: copy them when it runs here'] : []),
    ...(missing.length > 0 ? [`it starts once these secrets are set: ${missing.join(', ')}`] : []),
    ...unknownMembers(row, [...Object.keys(CreatePod.properties), ...Object.keys(PodShape.properties)]),
    ...envNotes(envOf(row), context.origin),
  ];
  return { request: { pod, volumeGb: pod.volumeGb, stopped: true, requestId: '' }, notes };
}

/** Returns the ids of network volumes that a pod of the source mounts. */
export function mountedVolumes({ fields }: SourceRow): string[] {
  const network = recordOf(fields['mounts'])?.['network'];
  return Array.isArray(network) ? network.map((mount) => String(recordOf(mount)?.['volumeId'] ?? '')) : [];
}

function gpuOf(gpu: Readonly<Record<string, unknown>>, { mapping, target }: ImportContext): object {
  const { id, count = 1 } = gpu;
  if (typeof id !== 'string' || id === '') throw new WaitingError('the source names neither its GPU nor its size');
  const here = mapping[id] ?? id;
  if (unknownGpus([here], target).length > 0)
    throw new WaitingError(`has a GPU that is not known here: ${here}; name another with --map "${here}=TYPE"`);
  return { id: here, count };
}

function mountsOf({ mounts }: SourceRow['fields'], context: ImportContext): object {
  const { persistent, network } = recordOf(mounts) ?? {};
  const shared = Array.isArray(network) ? recordOf(network[0]) : undefined;
  if (!shared) return pick({ persistent }, ['persistent']);
  return { network: [{ ...shared, volumeId: referenceTo(context, 'volumes', String(shared['volumeId'])) }] };
}
