// test: postgres, 5 s
/** Metadata of jobs over HTTP: what is taken, where it is answered, how jobs are found by it. */
import t from 'tap';
import { jobRows } from '../../helpers/db/job-rows.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

const system = await startSystem(t, { agents: 0 });
const rows = jobRows(t, system.database.url);
const parked = endpointJobs(
  system,
  await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 0 }, workersMax: 0 }),
);

const pairs = (count: number, value = 'v'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${n}`, value]));
const stored = async (): Promise<number> =>
  (await rows.sql`SELECT count(*)::int AS n FROM job_metadata`)[0]!['n'] as number;

t.test('metadata is returned on request, and in lists', async (t) => {
  const metadata = { order: '1042', tenant: 'Ü & "co"' };
  const id = await parked.run({ n: 1 }, { metadata });
  await parked.run({ n: 2 });
  t.strictSame((await parked.call('GET', `/status/${id}`)).json, { id, status: 'IN_QUEUE' });
  t.strictSame((await parked.call('GET', `/status/${id}?metadata=true`)).json, { id, status: 'IN_QUEUE', metadata });
  t.match((await parked.call('GET', `/status/${id}?metadata=1`)).json, { code: 'invalid_request' });
  const { requests } = (await parked.call('GET', '/requests')).json as unknown as {
    requests: { metadata?: unknown }[];
  };
  t.strictSame(
    requests.map((job) => job.metadata),
    [undefined, metadata],
  );
});

t.test('jobs are found by metadata, page after page', async (t) => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1)
    ids.unshift(await parked.run({ n }, { metadata: { group: 'found', parity: String(n % 2) } }));
  const found = async (query: string) => {
    const { json } = await parked.call('GET', `/requests?${query}`);
    const { requests, nextCursor } = json as unknown as { requests: { id: string }[]; nextCursor?: string };
    return { ids: requests.map(({ id }) => id), nextCursor };
  };
  t.same((await found('metadata=group:found')).ids, ids, 'newest first');
  t.same((await found('metadata=group:found&metadata=parity:0')).ids, [ids[0], ids[2], ids[4]], 'all pairs count');
  t.same((await found('metadata=group:other')).ids, []);
  const first = await found('metadata=group:found&limit=2');
  t.same(first.ids, ids.slice(0, 2));
  const second = await found(`metadata=group:found&limit=2&cursor=${first.nextCursor}`);
  t.same(second.ids, ids.slice(2, 4));
  const last = await found(`metadata=group:found&limit=2&cursor=${second.nextCursor}`);
  t.same(last, { ids: [ids[4]], nextCursor: undefined });
  t.match((await parked.call('GET', '/requests?metadata=nocolon')).json, { code: 'invalid_request' });
  t.match((await parked.call('GET', '/requests?metadata=a:b&offset=1')).json, { code: 'invalid_request' });
});

t.test('the maximum is accepted, anything larger or malformed is 400 and stores nothing', async (t) => {
  const largest = pairs(20, 'é'.repeat(512));
  t.equal((await parked.call('POST', '/run', { input: {}, metadata: largest })).status, 200);
  const jobsBefore = await rows.count(parked.id);
  for (const metadata of [
    pairs(21),
    { ['k'.repeat(65)]: 'v' },
    { '': 'v' },
    { k: 'v'.repeat(513) },
    { k: 1 },
    { k: null },
    { k: { nested: 'v' } },
    { k: '\u0000' },
    { k: '\ud800' },
    JSON.parse('{"__proto__": "v"}') as object,
    ['v'],
    'v',
  ]) {
    const answer = await parked.call('POST', '/run', { input: {}, metadata });
    t.equal(answer.status, 400, JSON.stringify(metadata).slice(0, 60));
    t.match(answer.json, { code: 'invalid_request', error: /metadata/ });
  }
  t.equal(await rows.count(parked.id), jobsBefore);
  const none = await parked.run({ n: 1 }, { metadata: {} });
  t.strictSame((await parked.call('GET', `/status/${none}?metadata=true`)).json, { id: none, status: 'IN_QUEUE' });
});

t.test('pairs are deleted with their jobs', async (t) => {
  t.not(await stored(), 0);
  await parked.call('POST', '/purge-queue');
  t.equal(await stored(), 0);
});
