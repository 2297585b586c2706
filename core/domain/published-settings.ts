/** What the public documents say of settings: defaults and bounds. */
import { ENDPOINT_SETTINGS } from './endpoint.ts';
import type { SettingRule } from './fields.ts';
import { POD_SETTINGS } from './pod.ts';
import { TEMPLATE_SETTINGS } from './template.ts';
import { VOLUME_SETTINGS } from './volume.ts';

/** By resource, then by field. */
export const PUBLISHED: Record<string, Readonly<Record<string, SettingRule<unknown>>>> = {
  endpoint: ENDPOINT_SETTINGS,
  pod: POD_SETTINGS,
  template: TEMPLATE_SETTINGS,
  volume: VOLUME_SETTINGS,
};
