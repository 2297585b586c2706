/** Names of container images, as engines and registries take them: `[host[:port]/]path[:tag][@digest]`. */
import { invalid } from '../settings/fields.ts';

/** Longest name in characters; agents report no longer one either. */
const LENGTH_MAX = 512;
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const HOST = `${LABEL}(?:\\.${LABEL})*(?::[0-9]+)?`;
const STEP = '[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*';
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,}';
const NAME = new RegExp(`^(?:${HOST}/)?${STEP}(?:/${STEP})*(?::${TAG})?(?:@${DIGEST})?$`);

/**
 * Empty, or a name that an engine can pull: with any other the workers would fail one after the other. INVALID_REQUEST,
 * naming the field.
 */
export function checkImageName(field: string, name: string): void {
  if (name.length > LENGTH_MAX) throw invalid(`${field} has ${name.length} characters, but may have ${LENGTH_MAX}`);
  if (name !== '' && !NAME.test(name)) {
    const shown = JSON.stringify(name.slice(0, 64));
    throw invalid(
      `${field} is ${shown}, which is no name of an image: it must be like me/worker:1 or registry.example:5000/me/worker@sha256:…, ` +
        'without blanks and in lower case up to the tag',
    );
  }
}

/** Whether images may be of a registry, `host` or `host:port`, by its name alone. */
export type MayAsk = (registry: string) => boolean;

/**
 * INVALID_REQUEST: the image is of a registry that has a private address by its name. What a name resolves to is the
 * agent's to judge.
 */
export function checkRegistry(field: string, name: string, mayAsk: MayAsk): void {
  const registry = name.includes('/') ? name.split('/')[0]! : '';
  // Without a port or a dot that is no host, or what was built on a machine.
  if (!/[.:]/.test(registry) || mayAsk(registry)) return;
  throw invalid(
    `${field} is of a registry at a private address (${registry}); the operator can allow it with SLIPWAY_PRIVATE_REGISTRIES`,
  );
}
