/** Finds endpoints by id or by name. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';

/** Form of the ids of endpoints, and of workers. */
export const ENDPOINT_ID = /^[a-z0-9]{14}$/;

/** Returns the id of the named endpoint, or of the default one. Throws UsageError or RejectedError. */
export async function endpointIdOf(cli: Cli, named: string | undefined): Promise<string> {
  if (named === undefined) {
    const { endpointId } = cli.target;
    if (endpointId === undefined)
      throw new UsageError('Which endpoint? Name it with --endpoint or SLIPWAY_ENDPOINT_ID.');
    return endpointId;
  }
  if (ENDPOINT_ID.test(named)) return named;
  return onlyOne(await endpointsNamed(cli, named), 'endpoint', named).id;
}

/** Returns the endpoints with this name. */
export async function endpointsNamed(cli: Cli, name: string): Promise<Endpoint[]> {
  const endpoints = await allPages(
    (page) => cli.core.endpoints.call((client) => client.listEndpoints, page),
    ({ endpoints }) => endpoints,
  );
  return endpoints.filter((endpoint) => endpoint.name === name);
}

/** Returns the only match of a name. Throws RejectedError. */
export function onlyOne<Thing extends Pick<Endpoint, 'id'>>(
  found: readonly Thing[],
  what: string,
  name: string,
): Thing {
  const [first] = found;
  if (first === undefined)
    throw new RejectedError(`There is no ${what} named ${JSON.stringify(name)}; "slipway ${what}s list" shows all.`);
  if (found.length === 1) return first;
  throw new RejectedError(
    `${found.length} ${what}s are named ${JSON.stringify(name)}; use an id: ${found.map(({ id }) => id).join(', ')}.`,
  );
}
