/** Checks names of container images, `[host[:port]/]path[:tag][@digest]`, as engines and registries do. */
import { invalid } from '../settings/fields.ts';

/** Longest name in characters. Agents report no longer names. */
const LENGTH_MAX = 512;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = `${LABEL}(?:\\.${LABEL})*(?::[0-9]+)?`;
const STEP = '[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*';
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}';
const NAME = new RegExp(`^(?:${HOST}/)?${STEP}(?:/${STEP})*(?::${TAG})?(?:@${DIGEST})?$`);

/**
 * Throws INVALID_REQUEST with the field unless the name is empty or an engine can pull it. With any other name
 * the workers would fail one after another.
 */
export function checkImageName(field: string, name: string): void {
  if (name.length > LENGTH_MAX) throw invalid(`${field} has ${name.length} characters, but may have ${LENGTH_MAX}`);
  if (name !== '' && !NAME.test(name)) {
    const shown = JSON.stringify(name.slice(0, 64));
    throw invalid(
      `${field} is ${shown}, which is no name of an image: it must be like me/worker:1 or ` +
        'registry.example:5000/me/worker@sha256:…, without blanks and in lower case up to the tag',
    );
  }
}

/** Returns true if images of a registry (`host` or `host:port`) are allowed, judged by its name alone. */
export type MayAsk = (registry: string) => boolean;

/**
 * Throws INVALID_REQUEST if the image's registry has a private address by its name. The agent checks the addresses that
 * a name resolves to.
 */
export function checkRegistry(field: string, name: string, mayAsk: MayAsk): void {
  const registry = name.includes('/') ? name.split('/')[0]! : '';
  // A first part without a dot or a port is no host.
  if (!/[.:]/.test(registry) || mayAsk(registry)) return;
  throw invalid(
    `${field} is of a registry at a private address (${registry}); the operator can allow it with ` +
      'SLIPWAY_PRIVATE_REGISTRIES',
  );
}
