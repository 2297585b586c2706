/**
 * Finer settings of endpoints: they hold the exact value of another setting, or how it got its value. Clients that know
 * only the other setting change that one; the finer one must not contradict it afterwards.
 */

import type { EndpointSettings } from './endpoint.ts';
import { ENDPOINT_SETTINGS } from './endpoint.ts';

/** The setting that each finer setting belongs to. */
const ABOUT = {
  queueDelayMs: 'scalerValue',
  executionTimeoutUnset: 'executionTimeoutMs',
  priorityFlashBoot: 'flashBootType',
  flashBootStandby: 'flashBootType',
} as const;

/**
 * Returns the settings, with finer ones that agree with those they belong to. `before`: the previous settings,
 * `undefined` for a new endpoint. `named`: fields that the change sets.
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
