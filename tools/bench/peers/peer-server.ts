/**
 * A child that serves one peer over HTTP with as little as Slipway's own surface would need: Fastify and a check of the
 * key.
 */
import { timingSafeEqual } from 'node:crypto';
import Fastify from 'fastify';
import { Type } from 'typebox';
import { serveParent } from '../child.ts';
import { PEERS } from './peers.ts';

const { BENCH_PEER = '', BENCH_STORE = '', BENCH_QUEUE = '', BENCH_KEY = '' } = process.env;
// A store that does not answer must not keep this process alive.
process.once('disconnect', () => process.exit(0));
const queue = await PEERS[BENCH_PEER]!.openQueue({ store: BENCH_STORE, queue: BENCH_QUEUE });
const expected = Buffer.from(`Bearer ${BENCH_KEY}`);

const app = Fastify();
app.addHook('onRequest', async (request, reply) => {
  const given = Buffer.from(request.headers.authorization ?? '');
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    await reply.code(401).send({ detail: 'invalid api key' });
});
const Body = Type.Object({ input: Type.Object({}, { additionalProperties: true }) });
app.post<{ Body: { input: object } }>('/run', { schema: { body: Body } }, async ({ body }) => ({
  id: await queue.submit(body.input),
  status: 'IN_QUEUE',
}));
app.post<{ Body: { input: object } }>('/runsync', { schema: { body: Body } }, async ({ body }) => {
  const output = await queue.submitAndWait(body.input);
  return { status: 'COMPLETED', output };
});
serveParent(
  { url: await app.listen({ host: '127.0.0.1', port: 0 }) },
  {
    fill: ({ count }: { count: number }) => queue.fill(count),
    done: () => queue.done(),
    kept: () => queue.kept?.(),
  },
);
