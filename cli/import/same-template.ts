/** Compares a template of the source with a local one. */
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { ImportContext } from './import-context.ts';
import { explainWait } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';
import { templateRequest } from './template-request.ts';

const COMPARED = ['imageName', 'startCommand', 'entrypoint', 'containerDiskGb', 'ports', 'registryAuthId'] as const;

/** Returns whether both make workers run the same. */
export function isSameTemplate(row: SourceRow, known: Template, context: ImportContext): boolean {
  try {
    const { template } = templateRequest(row, context).request;
    const isEqual = COMPARED.every((name) => JSON.stringify(template?.[name]) === JSON.stringify(known[name]));
    return isEqual && sorted(template?.env ?? {}) === sorted(known.env);
  } catch (error) {
    // A template that cannot be created here differs from every template that is here.
    explainWait(error);
    return false;
  }
}

function sorted(env: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(env).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
