/** Sentences of core as the pages show them: settings by their labels, and units that people read. */

import { span, unbroken } from './format.ts';
import { labelOf } from './setting-words.ts';

/**
 * Returns the sentence with the names of settings, `workersMax` for instance, as forms label them, and with thousands
 * of MiB and ms in larger units.
 */
export function coreText(text: string): string {
  const readable = text
    .replaceAll(/\b[a-z]+[A-Z]\w*/g, (name) => {
      const label = labelOf(name);
      return label === undefined ? name : `“${label}”`;
    })
    .replaceAll(/\b(\d{4,}) MiB\b/g, (_, mib: string) => `${Number((Number(mib) / 1_024).toFixed(1))} GiB`)
    .replaceAll(/\b(\d{4,}) ms\b/g, (_, ms: string) => span(Number(ms)));
  return unbroken(readable);
}
