/** Templates by id or by name. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { allPages } from '@slipway/proto/wire/pages';
import type { Cli } from '../cli.ts';
import { onlyOne } from './find-endpoint.ts';

const TEMPLATE_ID = /^[a-z0-9]{10}$/;

/** Returns the id of the named template. */
export async function templateIdOf(cli: Cli, named: string): Promise<string> {
  if (TEMPLATE_ID.test(named)) return named;
  const templates = await allPages(
    (page) => cli.core.templates.call((client) => client.listTemplates, { includePublic: false, ...page }),
    ({ templates }) => templates,
  );
  return onlyOne<Template>(
    templates.filter((template) => template.name === named),
    'template',
    named,
  ).id;
}
