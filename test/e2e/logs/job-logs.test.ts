// test: postgres, python, 10 s
/**
 * GET /logs/{job_id} (docs/reference/api.md#logs) of real Python and JavaScript workers: live and as pages, of lost
 * attempts, of several jobs at once.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { readEvents } from '../../helpers/calls/sse.ts';
import { scratch } from '../../helpers/scratch.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);

interface Line {
  source: string;
  ts: string;
  line: string;
  attempt: number;
  workerId: string;
  shared?: true;
}
interface Log {
  id: string;
  status: string;
  lines: Line[];
  cursor: string;
  more: boolean;
  over: boolean;
  missing?: string;
}

const system = await startSystem(t);
const js = endpointJobs(system, await system.createEndpoint({ command: jsHandler('talker.js'), workersMax: 1 }));
const read = async (jobs: EndpointJobs, id: string, query = ''): Promise<Log> =>
  (await system.request('GET', `/v2/${jobs.id}/logs/${id}${query}`)).json as unknown as Log;
/** Returns all of a job that is final. */
const whole = (jobs: EndpointJobs, id: string): Promise<Log> =>
  waitFor('the whole log', async () => {
    const lines: Line[] = [];
    for (let page = await read(jobs, id); ; page = await read(jobs, id, `?cursor=${page.cursor}`)) {
      lines.push(...page.lines);
      if (!page.more) return page.over && { ...page, lines };
    }
  });
const textsOf = (log: Log): string[] => log.lines.map(({ line }) => line);

t.test('the log of a running job follows a JavaScript worker', async (t) => {
  const { path, open } = await scratch(t);
  const id = await js.run({ words: ['one', 'two'], gate: path('') });
  const feed = await waitFor('the job to have a log', async () => {
    const feed = await readEvents(t, system, `/v2/${js.id}/logs/${id}`);
    return feed.status === 200 && feed;
  });
  t.match(feed.headers.get('content-type'), /^text\/event-stream/);
  open('1');
  const first = (await feed.next())!;
  t.match(JSON.parse(first.data), {
    source: 'container',
    line: 'saying one',
    attempt: 1,
    workerId: /^\w{14}$/,
    ts: /^20.*Z$/,
  });
  t.match(await read(js, id), { status: 'IN_PROGRESS', over: false, lines: [{ line: 'saying one' }] });
  open('2');
  const [second, end] = await feed.rest();
  t.match(JSON.parse(second!.data), { line: 'saying two' });
  t.match(end, { event: 'end', data: JSON.stringify({ id, status: 'COMPLETED' }) });
  const resumed = await readEvents(t, system, `/v2/${js.id}/logs/${id}`, { 'last-event-id': first.id! });
  t.same(
    (await resumed.rest()).map(({ data }) => (JSON.parse(data) as Partial<Line>).line),
    ['saying two', undefined],
    'a reader that comes back goes on',
  );
});

t.test('each job has its own lines, paged, also after its worker ended', async (t) => {
  const ids = [await js.run({ words: ['red', 'green', 'blue'] }), await js.run({ words: ['black'] })];
  for (const id of ids) await js.settled(id);
  const [colours, black] = [await whole(js, ids[0]!), await whole(js, ids[1]!)];
  t.same(textsOf(colours), ['saying red', 'saying green', 'saying blue']);
  t.same(textsOf(black), ['saying black']);
  const page = await read(js, ids[0]!, '?limit=2');
  t.match(page, { more: true, lines: { length: 2 } });
  t.same(textsOf(await read(js, ids[0]!, `?cursor=${page.cursor}`)), ['saying blue']);
  const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
  t.same((await cli.run('logs', js.id, ids[0]!)).stdout.trim().split('\n'), [
    'saying red',
    'saying green',
    'saying blue',
  ]);
  await system.endWorkers(js.id);
  await waitFor(
    'the worker to end',
    async () => !(await system.request('GET', `/v2/${js.id}/health`)).text.includes('"ready":1'),
  );
  t.same(textsOf(await whole(js, ids[0]!)), ['saying red', 'saying green', 'saying blue'], 'its machine keeps them');
});

t.test('a job without output has an empty log, though its worker has other lines', async (t) => {
  const { path, open } = await scratch(t);
  const silent = endpointJobs(
    system,
    await system.createEndpoint({ command: jsHandler('in-flight.js'), workersMax: 1 }),
  );
  const begin = (gate: string) => silent.run({ gate: path(gate), ms: 0, notes: path('notes'), number: 1 });
  const [busy, done] = [await begin('later'), await begin('now')];
  open('now');
  await silent.settled(done);
  const feed = await readEvents(t, system, `/v2/${silent.id}/logs/${done}`);
  t.match(await feed.rest(), [{ event: 'end' }]);
  t.match(await read(silent, busy), { status: 'IN_PROGRESS', lines: [], over: false });
  open('later');
  await silent.settled(busy);
});

t.test('invalid requests are rejected', async (t) => {
  t.match(await system.request('GET', `/v2/${js.id}/logs/none`), { status: 404, json: { code: 'job_not_found' } });
  const id = await js.run({ words: [] });
  t.match(await read(js, id), { status: 'IN_QUEUE', lines: [], over: false });
  for (const bad of ['?limit=0', '?limit=1001', '?cursor=x', '?cursor=1']) {
    t.match(
      await system.request('GET', `/v2/${js.id}/logs/${id}${bad}`),
      { status: 400, json: { code: 'invalid_request' } },
      bad,
    );
  }
  const other = await system.createEndpoint({
    command: jsHandler('talker.js'),
    fields: { workersMin: 0 },
    workersMax: 0,
  });
  const elsewhere = await system.newKey(KeyScope.ALL, system.accountId, [other]);
  t.equal(
    (await fetch(`${system.url}/v2/${js.id}/logs/${id}`, { headers: { authorization: `Bearer ${elsewhere}` } })).status,
    401,
  );
});

t.test(
  'Python workers: several jobs at once, and attempts that were lost',
  { skip: skipWithoutPython('new') },
  async (t) => {
    const { path, open } = await scratch(t);
    const command = pythonHandler('new', 'logs.py');
    const [many, lost] = (await Promise.all(
      [{ CONCURRENCY: '2' }, { CONCURRENCY: '1' }].map(async (env) =>
        endpointJobs(system, await system.createEndpoint({ command, env, workersMax: 1, fields: { retryLimit: 1 } })),
      ),
    )) as [EndpointJobs, EndpointJobs];
    const [a, b] = [await many.run({ say: 'a', until: path('go') }), await many.run({ say: 'b', until: path('go') })];
    await waitFor('both to write', async () =>
      (await Promise.all([a, b].map((id) => read(many, id)))).every(({ lines }) =>
        lines.some(({ line }) => line.includes('logger')),
      ),
    );
    open('go');
    await Promise.all([a, b].map((id) => many.settled(id)));
    const log = await whole(many, a);
    t.ok(
      log.lines.some(({ line, shared }) => line.includes('"logger a"') && !shared),
      'a line that names its job is its own',
    );
    t.notOk(
      log.lines.some(({ line }) => line.includes('"logger b"')),
      'and nobody else has it',
    );
    t.ok(
      log.lines.some(({ line, shared }) => /^(print|bye) b$/.test(line) && shared),
      'what names none is told of both',
    );
    const crashed = await lost.run({ say: 'c', crash: true });
    t.equal((await lost.settled(crashed)).status, 'FAILED');
    const attempts = await whole(lost, crashed);
    t.same(
      attempts.lines.filter(({ line }) => line === 'print c').map(({ attempt }) => attempt),
      [1, 2],
    );
    t.equal(new Set(attempts.lines.map(({ workerId }) => workerId)).size, 2);
  },
);
