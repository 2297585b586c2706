/** Defaults and bounds of settings for the public documents. */

import { POD_SETTINGS } from './pods/pod.ts';
import { ENDPOINT_SETTINGS } from './resources/endpoint.ts';
import { TEMPLATE_SETTINGS } from './resources/template.ts';
import { VOLUME_SETTINGS } from './resources/volume.ts';
import type { SettingRule } from './settings/fields.ts';

/** Rules by resource, then by field. */
export const PUBLISHED: Record<string, Readonly<Record<string, SettingRule<unknown>>>> = {
  endpoint: ENDPOINT_SETTINGS,
  pod: POD_SETTINGS,
  template: TEMPLATE_SETTINGS,
  volume: VOLUME_SETTINGS,
};
