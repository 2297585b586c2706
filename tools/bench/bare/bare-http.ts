/** A child that serves a POST route with Fastify and does nothing else. It is the ceiling of every HTTP figure. */
import Fastify from 'fastify';
import { Type } from 'typebox';
import { serveParent } from '../child.ts';

const app = Fastify();
const Body = Type.Object({ input: Type.Object({}, { additionalProperties: true }) });
const Reply = Type.Object({ id: Type.String(), status: Type.String() });
app.post('/run', { schema: { body: Body, response: { 200: Reply } } }, async () => ({
  id: 'none',
  status: 'IN_QUEUE',
}));
serveParent({ url: await app.listen({ host: '127.0.0.1', port: 0 }) }, {});
