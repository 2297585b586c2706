/** What the public documents say of settings: defaults and bounds. */
import { ENDPOINT_SETTINGS } from './endpoint.ts';
import type { SettingRule } from './fields.ts';
import { POD_SETTINGS } from './pod.ts';
import { TEMPLATE_SETTINGS } from './template.ts';
import { VOLUME_SETTINGS } from './volume.ts';

/** What is told of a setting. */
export type PublishedRule = Omit<SettingRule<unknown>, 'inPlace'>;

/** By resource, then by field. */
export const PUBLISHED: Record<string, Record<string, PublishedRule>> = {
  endpoint: told(ENDPOINT_SETTINGS), pod: told(POD_SETTINGS), template: told(TEMPLATE_SETTINGS), volume: told(VOLUME_SETTINGS),
};

function told(settings: Readonly<Record<string, SettingRule<unknown>>>): Record<string, PublishedRule> {
  return Object.fromEntries(Object.entries(settings).map(([field, { inPlace: _inPlace, ...rule }]) => [field, rule]));
}
