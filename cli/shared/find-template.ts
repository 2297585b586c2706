/** Templates by id or by name. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';
import { ifReadable, onlyOne } from './find-endpoint.ts';

const TEMPLATE_ID = /^[a-z0-9]{10}$/;

/** Returns the id of the named template. A text of the form of an id may be a name too. */
export async function templateIdOf(cli: Cli, named: string): Promise<string> {
  const isLikeId = TEMPLATE_ID.test(named);
  const all = allPages(
    (page) => cli.core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
    ({ templates }) => templates,
  );
  const templates = await (isLikeId ? ifReadable(all) : all);
  const byName = templates.filter(({ name }) => name === named);
  // The list has no public templates of others.
  if (isLikeId && (byName.length === 0 || templates.some(({ id }) => id === named))) return named;
  return onlyOne<Template>(byName, { what: 'template', name: named, known: templates.map(({ name }) => name) }).id;
}
