/** Finds endpoints whose workers on standby cannot be offloaded although their settings allow it. */

import { standbyReason } from '../domain/reports/standby-reason.ts';
import type { EndpointSettings } from '../domain/resources/endpoint.ts';
import type { PlacementRefusal } from '../domain/scaling/placement-refusal.ts';
import type { EndpointContext } from './endpoint-context.ts';

/** The part of an endpoint that decides whether its workers may be offloaded. */
type StandbySettings = Pick<EndpointSettings, 'type' | 'flashBootType' | 'flashBootStandby'> & { id: string };

/** Returns the reasons, by endpoint. Endpoints without one are left out. */
export async function standbyReasons(
  { cannotRun, machineViews, scales }: Pick<EndpointContext, 'cannotRun' | 'machineViews' | 'scales'>,
  endpoints: readonly StandbySettings[],
): Promise<Map<string, PlacementRefusal>> {
  const ids = endpoints.filter(mayOffload).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const [all, requests, faults] = await Promise.all([
    cannotRun.machines(),
    scales.requestsOf(ids),
    machineViews.offloadFaults(),
  ]);
  return new Map(
    requests.flatMap((request) => {
      const reason = standbyReason(all, request, faults);
      return reason ? [[request.id, reason] as const] : [];
    }),
  );
}

function mayOffload({ type, flashBootType, flashBootStandby }: StandbySettings): boolean {
  return type === 'QB' && flashBootType === 'FLASHBOOT' && flashBootStandby !== 'GPU';
}
