/**
 * Settings of endpoints that say exactly what another says roughly, or how it came to its value: surfaces that know the
 * other alone change it, and the finer one must not contradict it then.
 */

import type { EndpointSettings } from './endpoint.ts';
import { ENDPOINT_SETTINGS } from './endpoint.ts';

/** Which setting each of them is about. */
const ABOUT = {
  queueDelayMs: 'scalerValue',
  executionTimeoutUnset: 'executionTimeoutMs',
  priorityFlashBoot: 'flashBootType',
} as const;

/**
 * Returns settings whose finer ones agree with what they are about. `before`: as they were, undefined for new ones;
 * `named`: those that the change names.
 */
export function withFinerSettings(
  settings: EndpointSettings,
  before: EndpointSettings | undefined,
  named: Partial<EndpointSettings>,
): EndpointSettings {
  const agreed = { ...settings };
  for (const [finer, about] of Object.entries(ABOUT) as [keyof typeof ABOUT, (typeof ABOUT)[keyof typeof ABOUT]][]) {
    const isStale =
      before !== undefined &&
      named[finer] === undefined &&
      named[about] !== undefined &&
      named[about] !== before[about];
    if (isStale) Object.assign(agreed, { [finer]: ENDPOINT_SETTINGS[finer].default });
  }
  if (agreed.scalerType !== 'QUEUE_DELAY') agreed.queueDelayMs = 0;
  if (agreed.queueDelayMs > 0) agreed.scalerValue = Math.ceil(agreed.queueDelayMs / 1_000);
  if (agreed.executionTimeoutUnset) agreed.executionTimeoutMs = ENDPOINT_SETTINGS.executionTimeoutMs.default!;
  if (agreed.flashBootType === 'OFF') agreed.priorityFlashBoot = false;
  return agreed;
}
