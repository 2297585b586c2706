/** Settings of a resource for a form, from the table that describes them. */

import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, onRequestAsyncHookHandler } from 'fastify';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import type { Kind, Table } from '../../resources/field.ts';
import { wordOf } from '../../resources/field.ts';
import { POD } from '../../resources/pods/pod-table.ts';
import { OWN_TEMPLATE } from '../../resources/templates/own-template.ts';
import { TEMPLATE } from '../../resources/templates/template-table.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { ConsoleParts } from '../console-parts.ts';
import type { FieldView } from '../views.ts';

const TABLES = new Map<string, Table>([
  ['endpoint', ENDPOINT],
  ['template', TEMPLATE],
  ['own-template', OWN_TEMPLATE],
  ['volume', VOLUME],
  ['pod', POD],
]);

/** Adds the route. */
export function fieldRoutes(app: FastifyInstance, _parts: ConsoleParts, onRequest: onRequestAsyncHookHandler): void {
  app.get('/console/api/fields/:kind', { onRequest }, async (request) => {
    const table = TABLES.get((request.params as { kind: string }).kind);
    if (!table) throw new CoreError('NOT_FOUND', 'There is no such form.');
    return fieldViews(table);
  });
}

/** Returns the views of all settings that REST has. */
export function fieldViews(table: Table): FieldView[] {
  return Object.values(table).flatMap(({ kind, rule, rest, fixed, required }): FieldView[] => {
    if (!rest?.in) return [];
    const words = kind.is === 'word' ? { words: Object.keys(kind.words) } : {};
    const bounds =
      kind.is === 'whole'
        ? { min: rest.min ?? rule.min ?? 0, ...(rule.max === undefined ? {} : { max: rule.max }) }
        : {};
    const shape = { name: rest.name, kind: kind.is, ...words, ...bounds, ...defaultOf(kind, rule.default) };
    return [
      { ...shape, about: rest.in, fixed: fixed === true, required: required === true, inPlace: rule.inPlace === true },
    ];
  });
}

function defaultOf(kind: Kind, value: unknown): Pick<FieldView, 'default'> {
  if (kind.is === 'word') return { default: wordOf(kind, value) };
  if (kind.is === 'switch') return { default: wordOf(kind, value) !== Object.keys(kind.words)[0] };
  return typeof value === 'number' || typeof value === 'boolean' ? { default: value } : {};
}
