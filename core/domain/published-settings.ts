/** What the public documents say of settings: defaults and bounds. */

import { POD_SETTINGS } from './pods/pod.ts';
import { ENDPOINT_SETTINGS } from './resources/endpoint.ts';
import { TEMPLATE_SETTINGS } from './resources/template.ts';
import { VOLUME_SETTINGS } from './resources/volume.ts';
import type { SettingRule } from './settings/fields.ts';

/** By resource, then by field. */
export const PUBLISHED: Record<string, Readonly<Record<string, SettingRule<unknown>>>> = {
  endpoint: ENDPOINT_SETTINGS,
  pod: POD_SETTINGS,
  template: TEMPLATE_SETTINGS,
  volume: VOLUME_SETTINGS,
};
