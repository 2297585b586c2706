/** Credentials of image registries by id or by name. */
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';
import { RejectedError } from '../failures.ts';

/** Returns the id. An empty text stays empty: no credentials. Throws RejectedError. */
export async function registryAuthIdOf(cli: Cli, named: string): Promise<string> {
  if (named === '') return '';
  const all = await allPages(
    (page) => cli.core.registryAuths.call((client) => client.listRegistryAuths, page),
    ({ registryAuths }) => registryAuths,
  );
  const found = all.find(({ id }) => id === named) ?? all.find(({ name }) => name === named);
  if (found) return found.id;
  throw new RejectedError(
    `There are no registry credentials ${JSON.stringify(named)}; "slipway registry-auths list" shows all.`,
  );
}
