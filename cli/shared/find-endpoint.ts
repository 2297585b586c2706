/** Finds endpoints by id or by name. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { allPages } from '@slipway/proto/wire/pages';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';
import { isAway } from '../retry-while-away.ts';

/** Form of the ids of endpoints, and of workers. */
export const ENDPOINT_ID = /^[a-z0-9]{14}$/;

/** Most names that an error lists. */
const NAMES_MAX = 8;

/** Returns the id of the named endpoint, or of the default one. Throws UsageError or RejectedError. */
export async function endpointIdOf(cli: Cli, named: string | undefined): Promise<string> {
  if (named === undefined) {
    const { endpointId } = cli.target;
    if (endpointId === undefined)
      throw new UsageError('Which endpoint? Name it, or set SLIPWAY_ENDPOINT_ID. "slipway endpoints" shows all.');
    return endpointId;
  }
  if (ENDPOINT_ID.test(named)) return idOrName(cli, named);
  const found = await endpointsNamed(cli, named);
  return onlyOne(found, { what: 'endpoint', name: named, known: found.length === 0 ? await someNames(cli) : [] }).id;
}

/** Returns the endpoints with this name. */
export async function endpointsNamed(cli: Cli, name: string): Promise<Endpoint[]> {
  return (await endpointsLike(cli, name)).filter((endpoint) => endpoint.name === name);
}

/** Returns the id for a text that has the form of an id, and may be a name all the same. */
async function idOrName(cli: Cli, text: string): Promise<string> {
  const like = await ifReadable(endpointsLike(cli, text));
  const byName = like.filter(({ name }) => name === text);
  if (byName.length === 0 || like.some(({ id }) => id === text)) return text;
  return onlyOne(byName, { what: 'endpoint', name: text }).id;
}

/**
 * Returns the list. Empty if the key may not read it, as a key for jobs alone, or if core is away: the next call needs
 * no list, and may wait for core.
 */
export function ifReadable<Entry>(list: Promise<Entry[]>): Promise<Entry[]> {
  return list.catch((error: unknown): Entry[] => {
    if (isAway(error) || (error instanceof CoreError && error.reason === 'UNAUTHORIZED')) return [];
    throw error;
  });
}

/** Returns the endpoints whose id or name contains the text, and from a core that cannot search others too. */
function endpointsLike(cli: Cli, text: string): Promise<Endpoint[]> {
  // Longer searches are rejected; nothing has such a name.
  const view = { search: text.slice(0, 200), orderBy: '', descending: false, filters: {} };
  return allPages(
    (page) => cli.core.endpoints.call((client) => client.listEndpoints, { view, ...page }),
    ({ endpoints }) => endpoints,
  );
}

/** Returns the first names, one more than an error lists. */
async function someNames(cli: Cli): Promise<string[]> {
  const page = { pageSize: NAMES_MAX + 1 };
  const { endpoints } = await cli.core.endpoints.call((client) => client.listEndpoints, page);
  return endpoints.map(({ name }) => name);
}

/** Describes the endpoint that is wanted. */
interface Wanted {
  what: string;
  name: string;
  /** Names of that kind. The error lists them if they are few. */
  known?: readonly string[];
}

/** Returns the only match of a name. Throws RejectedError. */
export function onlyOne<Thing extends Pick<Endpoint, 'id'>>(
  found: readonly Thing[],
  { what, name, known = [] }: Wanted,
): Thing {
  const [first] = found;
  if (first === undefined) {
    const isShort = known.length > 0 && known.length <= NAMES_MAX;
    const rest = isShort ? `there are: ${known.join(', ')}.` : `"slipway ${what}s list" shows all.`;
    throw new RejectedError(`There is no ${what} named ${JSON.stringify(name)}; ${rest}`);
  }
  if (found.length === 1) return first;
  throw new RejectedError(
    `${found.length} ${what}s are named ${JSON.stringify(name)}; use an id: ${found.map(({ id }) => id).join(', ')}.`,
  );
}
