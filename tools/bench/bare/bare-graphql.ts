/**
 * A child that answers the public GraphQL schema from memory with Fastify and graphql-js. It is the ceiling of the
 * GraphQL figures.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Fastify from 'fastify';
import type { DocumentNode } from 'graphql';
import { buildSchema, execute, parse, validate } from 'graphql';
import { serveParent } from '../child.ts';

const FOLDER = join(import.meta.dirname, '../../../facades/graphql');

const parts = globSync('*/*.graphql', { cwd: FOLDER }).map((file) => readFileSync(join(FOLDER, file), 'utf8'));
const schema = buildSchema(['type Query', 'type Mutation', ...parts].join('\n'));
const documents = new Map<string, DocumentNode>();
let rootValue: unknown;

function documentOf(query: string): DocumentNode {
  const known = documents.get(query);
  if (known) return known;
  const document = parse(query);
  const [error] = validate(schema, document);
  if (error) throw error;
  documents.set(query, document);
  return document;
}

const app = Fastify();
app.post('/graphql', async (request, reply) => {
  const result = await execute({ schema, document: documentOf((request.body as { query: string }).query), rootValue });
  return reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(result));
});
serveParent(
  { url: await app.listen({ host: '127.0.0.1', port: 0 }) },
  {
    answerFrom: (data: unknown) => {
      rootValue = data;
    },
  },
);
