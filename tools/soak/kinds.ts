/** The kinds of requests of a soak: what it sends, and how it checks the answers. */
import type { JobClient } from './job-client.ts';
import { FINAL, requireEqual, requireStatus } from './job-client.ts';
import type { Ledger } from './ledger.ts';
import type { Kind } from './load.ts';
import type { SoakSystem } from './soak-system.ts';

const LARGE_CHARACTERS = 262_144;
const UPLOAD_CHARACTERS = 100_000;
/** A client that gives up waits this long. */
const ABANDON_MS = 30;
const STREAM_VALUES = [1, 2, 3, 4, 5];

/** Returns kinds of jobs whose client waits for the end in its request. */
export function waitingKinds({ ids }: SoakSystem, { runSync }: JobClient): Kind[] {
  return [
    {
      name: 'runsync',
      perSecond: 10,
      send: async (number) => requireEqual((await runSync('runsync', ids.js, { number })).output as object, { number }),
    },
    {
      name: 'runsync, Python',
      perSecond: 2,
      send: async (number) =>
        requireEqual((await runSync('runsync, Python', ids.python, { number })).output as object, { echo: { number } }),
    },
    {
      name: 'failure',
      perSecond: 1,
      send: async () => void (await runSync('failure', ids.js, { mode: 'throw', message: 'as asked' }, 'FAILED')),
    },
    {
      name: 'large output',
      perSecond: 0.5,
      send: async () => {
        const { output } = await runSync('large output', ids.js, { mode: 'big', length: LARGE_CHARACTERS });
        requireEqual((output as string).length, LARGE_CHARACTERS);
      },
    },
    {
      name: 'large input',
      perSecond: 0.5,
      send: async () => {
        const pad = 'x'.repeat(UPLOAD_CHARACTERS);
        const { output } = await runSync('large input', ids.js, { mode: 'size', pad });
        requireEqual(output, { size: UPLOAD_CHARACTERS });
      },
    },
    {
      name: 'from zero workers',
      perSecond: 1 / 20,
      isSlow: true,
      send: async (number) => void (await runSync('from zero workers', ids.zero, { number })),
    },
  ];
}

/** Returns kinds of jobs whose end the client learns later. */
export function queuedKinds(system: SoakSystem, { base, run, poll }: JobClient, ledger: Ledger): Kind[] {
  const { send } = system;
  return [
    {
      name: 'run, polled',
      perSecond: 5,
      send: async (number) =>
        requireEqual((await poll(await run('run, polled', { input: { number } }))).output, { number }),
    },
    {
      name: 'run with webhook',
      perSecond: 2,
      send: async (number) => {
        const id = await run('run with webhook', { input: { number }, webhook: system.webhookUrl });
        const told = await system.webhookOf(id);
        ledger.ended(id, told.status);
        requireEqual(told.output, { number });
      },
    },
    {
      name: 'stream',
      perSecond: 2,
      send: async () => {
        const id = await run('stream', { input: { mode: 'stream', values: STREAM_VALUES } });
        const outputs: unknown[] = [];
        let status = '';
        while (!FINAL.includes(status)) {
          const answer = await send('GET', `${base}/stream/${id}`, undefined, { 'content-type': 'application/json' });
          requireStatus(answer, 200);
          const chunks = answer.json['stream'] as { output: unknown }[];
          outputs.push(...chunks.map(({ output }) => output));
          status = chunks.length === 0 ? answer.json.status : '';
        }
        ledger.ended(id, status);
        requireEqual(outputs, STREAM_VALUES);
      },
    },
    {
      name: 'cancel',
      perSecond: 1,
      send: async () => {
        const id = await run('cancel', { input: { mode: 'until', file: '/nonexistent' } });
        requireStatus(await send('POST', `${base}/cancel/${id}`), 200);
        requireEqual((await poll(id)).status, 'CANCELLED');
      },
    },
    {
      name: 'the same Idempotency-Key twice',
      perSecond: 0.5,
      send: async (number) => {
        const [body, headers] = [{ input: { number } }, { 'idempotency-key': `soak-${number}` }];
        const id = await run('the same Idempotency-Key twice', body, headers);
        const again = await send('POST', `${base}/run`, body, headers);
        requireEqual(again.json.id, id);
        await poll(id);
      },
    },
  ];
}

/** Returns kinds of requests that create no job that counts: reads, faulty ones, those to load-balancing endpoints. */
export function otherKinds(system: SoakSystem): Kind[] {
  const { ids, send } = system;
  const get = (path: string) => async () => requireStatus(await send('GET', path), 200);
  return [
    {
      name: 'runsync, abandoned by its client',
      perSecond: 0.5,
      send: async () => {
        await system
          .sendAbandoned(`/v2/${ids.odd}/runsync`, { input: { mode: 'big', length: UPLOAD_CHARACTERS } }, ABANDON_MS)
          .catch(() => undefined);
      },
    },
    { name: 'health', perSecond: 1, send: get(`/v2/${ids.js}/health`) },
    { name: 'list of jobs', perSecond: 0.3, send: get(`/v2/${ids.js}/requests?limit=50`) },
    { name: 'REST list', perSecond: 1, send: get('/v1/endpoints') },
    {
      name: 'GraphQL list',
      perSecond: 1,
      send: async () => {
        const answer = await send('POST', '/graphql', { query: '{ myself { endpoints { id name workersMax } } }' });
        requireStatus(answer, 200);
        if (answer.json['errors']) throw new Error(answer.text);
      },
    },
    { name: 'load balancing', perSecond: 10, send: get(`/v2/${ids.lb}/anything`) },
    { name: 'load balancing, events', perSecond: 1, send: get(`/v2/${ids.lb}/stream`) },
    {
      name: 'load balancing, upload',
      perSecond: 1,
      send: async () => {
        const answer = await send('POST', `/v2/${ids.lb}/up`, 'x'.repeat(UPLOAD_CHARACTERS));
        requireStatus(answer, 200);
        requireEqual(answer.json['bytes'], UPLOAD_CHARACTERS);
      },
    },
    {
      name: 'faulty',
      perSecond: 1,
      send: async (number) => {
        const [path, body, status] = (
          [
            ['/v2/no-such-endpoint/run', { input: {} }, 404],
            [`/v2/${ids.js}/run`, '{"input":', 400],
            [`/v2/${ids.js}/nonsense`, {}, 404],
          ] as const
        )[number % 3]!;
        requireStatus(await send('POST', path, body, { 'content-type': 'application/json' }), status);
      },
    },
    { name: 'endpoint made, used and deleted', perSecond: 1 / 90, isSlow: true, send: () => system.useNewEndpoint() },
    { name: 'redeploy', perSecond: 1 / 240, isSlow: true, send: (number) => system.redeploy(number) },
  ];
}
