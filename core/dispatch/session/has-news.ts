/** Tells heartbeats from messages of an agent that say more. */
import type { SessionRequest } from '@slipway/proto/gen/slipway/v1/agent_service';

/** Returns whether a message says more than that its machine is alive. */
export function hasNews({ heartbeat: _heartbeat, gpuLoads: _loads, ...news }: SessionRequest): boolean {
  const isSet = (part: unknown): boolean =>
    Array.isArray(part) ? part.length > 0 : part !== undefined && part !== false;
  return Object.values(news).some(isSet);
}
