/** Lists pods and, if requested, workers as pods. */

import type { EndedGroup } from '../domain/machines/ended-workers.ts';
import { groupEnded } from '../domain/machines/ended-workers.ts';
import { checkTexts, invalid } from '../domain/settings/fields.ts';
import type { PodView } from '../store/pods/pod-view-store.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { PodContext } from './pod-context.ts';

const ENDPOINTS_MAX = 1_000;

/** Filter of a list of pods. */
interface PodSelection {
  includeWorkers: boolean;
  /** Only workers of these endpoints. Empty: all pods. */
  endpointIds: readonly string[];
}

/**
 * Returns a page, oldest first. `only`: endpoints whose workers a restricted key may see (it sees no pods); empty: all.
 */
export async function listPods(
  { podViews }: Pick<PodContext, 'podViews'>,
  accountId: string,
  { includeWorkers, endpointIds }: PodSelection,
  only: readonly string[],
  page: PageRequest,
): Promise<Page<PodView>> {
  const named = endpointIds.length > 0;
  if (endpointIds.length > ENDPOINTS_MAX)
    throw invalid(`endpoint_ids has ${endpointIds.length} entries, but may have ${ENDPOINTS_MAX}`);
  checkTexts('endpoint_ids', endpointIds);
  const workersOf = visibleEndpoints(endpointIds, only);
  if (named && workersOf.length === 0) return { entries: [], next: undefined };
  return podViews.list(accountId, { pods: workersOf.length === 0, workers: includeWorkers || named, workersOf }, page);
}

/** Returns the named endpoints that the key may see; without names, all of the key's. Empty `only`: no limit. */
function visibleEndpoints(named: readonly string[], only: readonly string[]): readonly string[] {
  if (named.length === 0) return only;
  return only.length === 0 ? named : named.filter((id) => only.includes(id));
}

/** Returns groups of workers of these endpoints that ended unexpectedly, if workers are requested. */
export async function listEnded(
  { workers }: Pick<PodContext, 'workers'>,
  accountId: string,
  { includeWorkers, endpointIds }: PodSelection,
  only: readonly string[],
): Promise<EndedGroup[]> {
  const named = endpointIds.length > 0;
  if (!named && !includeWorkers) return [];
  const of = visibleEndpoints(endpointIds, only);
  return named && of.length === 0 ? [] : groupEnded(await workers.ended({ accountId, endpointId: '' }, of));
}
