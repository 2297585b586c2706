/** Fetches what a read of pods is asked to add, once for all pods of the answer. */
import type { Pod } from '../../../proto/gen/slipway/v1/pod.ts';
import type { RestParts } from '../rest-parts.ts';
import type { PodQuery } from './pod-query.ts';
import type { PodCompany } from './present-pod.ts';

/** Answers what belongs to a pod. */
export async function podCompany(core: RestParts['core'], apiKey: string, query: PodQuery): Promise<(pod: Pod) => PodCompany> {
  const options = { apiKey, repeatable: true };
  const [templates, volumes, catalog] = await Promise.all([
    query.includeTemplate ? core.templates.call((client) => client.listTemplates, { includePublic: true }, options) : undefined,
    query.includeNetworkVolume ? core.volumes.call((client) => client.listNetworkVolumes, {}, options) : undefined,
    query.includeMachine ? core.catalog.call((client) => client.listGpuTypes, {}, options) : undefined,
  ]);
  const templateById = new Map(templates?.templates.map((template) => [template.id, template]));
  const volumeById = new Map(volumes?.networkVolumes.map((volume) => [volume.id, volume]));
  return (pod) => ({
    prices: catalog && new Map(catalog.gpuTypes.map((type) => [type.id, type.usdPerHour])),
    savingsPlans: query.includeSavingsPlans === true,
    template: templateById.get(pod.templateId),
    networkVolume: volumeById.get(pod.networkVolumeId),
  });
}
