/** GET /v2/openapi.json and the page that shows it. Neither needs a key. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { docsPage } from '../../plugins/docs-page.ts';
import type { Operation } from '../operation.ts';
import { operation } from '../operation.ts';
import { describe } from './openapi.ts';

/** Path of the page. */
const DOCS_PATH = '/v2/docs';

/** Returns the operations that describe all, themselves included. The page's route is added by `addDocsPage`. */
export function docsOperations(all: () => readonly Operation[]): Operation[] {
  let document: object | undefined;
  return [
    operation({
      id: 'GetOpenApi',
      method: 'GET',
      path: '/v2/openapi.json',
      tag: 'docs',
      summary: 'This description',
      open: true,
      status: 200,
      answer: Type.Object({}, { additionalProperties: true, description: 'An OpenAPI 3.1.0 document.' }),
      handle: async () => (document ??= describe(all())),
    }),
    operation({
      id: 'GetDocs',
      method: 'GET',
      path: DOCS_PATH,
      tag: 'docs',
      summary: 'This description as a page',
      open: true,
      describedOnly: true,
      status: 200,
      other: { contentType: 'text/html' },
      handle: async () => undefined,
    }),
  ];
}

/** Adds the page. */
export async function addDocsPage(app: FastifyInstance, all: readonly Operation[]): Promise<void> {
  await app.register(swagger, { mode: 'static', specification: { document: describe(all) as never } });
  await docsPage(app, { path: DOCS_PATH, title: 'Slipway REST v2' });
}
