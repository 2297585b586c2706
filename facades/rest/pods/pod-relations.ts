/** Fetches the related resources that a read of pods asks for, once for all pods of the response. */
import type { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { CoreError } from '@slipway/proto/wire/reason';
import type { PodRelations } from '../../resources/pods/present-pod.ts';
import type { RestParts } from '../rest-parts.ts';
import type { PodQuery } from './pod-query.ts';

/** Calls at a time. */
const AT_ONCE = 8;

/** Returns the related records of each pod. */
export async function podRelations(
  core: RestParts['core'],
  apiKey: string,
  query: PodQuery,
  pods: readonly Pod[],
): Promise<(pod: Pod) => PodRelations> {
  const options = { apiKey, repeatable: true };
  const [templateById, volumeById, catalog] = await Promise.all([
    query.includeTemplate
      ? byId(
          pods.map((pod) => pod.templateId),
          async (id) => (await core.templates.call((client) => client.getTemplate, { id }, options)).template,
        )
      : undefined,
    query.includeNetworkVolume
      ? byId(
          pods.map((pod) => pod.networkVolumeId),
          async (id) => (await core.volumes.call((client) => client.getNetworkVolume, { id }, options)).networkVolume,
        )
      : undefined,
    query.includeMachine ? core.catalog.call((client) => client.listGpuTypes, {}, options) : undefined,
  ]);
  return (pod) => ({
    prices: catalog && new Map(catalog.gpuTypes.map((type) => [type.id, type.usdPerHour])),
    savingsPlans: query.includeSavingsPlans === true,
    template: templateById?.get(pod.templateId),
    networkVolume: volumeById?.get(pod.networkVolumeId),
  });
}

/** Reads the resources of these ids, each once. A resource that was deleted, or is no longer shared, is left out. */
async function byId<Thing>(
  ids: readonly string[],
  read: (id: string) => Promise<Thing | undefined>,
): Promise<Map<string, Thing>> {
  const waiting = [...new Set(ids)].filter((id) => id !== '');
  const found = new Map<string, Thing>();
  const work = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const thing = await read(id).catch(noneWhenGone);
      if (thing !== undefined) found.set(id, thing);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

function noneWhenGone(error: unknown): undefined {
  if (!(error instanceof CoreError) || error.httpStatus !== 404) throw error;
}
