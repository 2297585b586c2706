/**
 * Endpoints that share a template at the source. The link is kept only where the endpoint runs what the template says
 * now: REST v2 copies a template once, and later they may differ.
 */

import { containerBody } from '@slipway/facades/rest-v2/container/container-part';
import { envOf, pick } from './container-body.ts';
import type { ImportContext } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';

/** Members of a container, apart from its environment. `args` says the same as two of them. */
const COMPARED = Object.keys(containerBody).filter((name) => name !== 'env' && name !== 'args');

/** Returns the template here and the endpoint's own variables. `undefined`: it has its own template. */
export function linkedTemplate(
  row: SourceRow,
  { extras, templates, references }: ImportContext,
): { id: string; env: Record<string, string> } | undefined {
  const sourceId = extras?.get(row.id)?.templateId ?? '';
  const template = templates.get(sourceId);
  const id = references.templates.get(sourceId);
  if (!template || id === undefined || template.fields['serverless'] !== true) return undefined;
  const isSame = COMPARED.every((name) => textOf(row, name) === textOf(template, name));
  const [env, shared] = [envOf(row), envOf(template)];
  if (!isSame || Object.keys(shared).some((name) => !Object.hasOwn(env, name))) return undefined;
  const own = Object.entries(env)
    .filter(([name, value]) => shared[name] !== value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { id, env: Object.fromEntries(own) as Record<string, string> };
}

function textOf({ fields }: SourceRow, name: string): string {
  return JSON.stringify(pick(fields, [name])[name] ?? null);
}
