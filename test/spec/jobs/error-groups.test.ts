// test: postgres, 10 s
/** GET /errors and `slipway errors`: what jobs failed of, in groups, and running those of a group again. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import t from 'tap';
import { commandLine } from '../../cli/command-line.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

t.setTimeout(600_000);

interface Group {
  id: string;
  text: string;
  jobs: number;
  firstAt: string;
  lastAt: string;
  jobIds: string[];
  sample: string;
}
interface Errors {
  jobs: number;
  groupCount: number;
  hasMore: boolean;
  groups: Group[];
}

const system = await startSystem(t);
const jobs = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js'), workersMax: 1 }));
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: system.cores[0]!.address, SLIPWAY_API_KEY: system.key });
const get = (query = '') => system.request('GET', `/v2/${jobs.id}/errors${query}`);
const read = async (query = ''): Promise<Errors> => (await get(query)).json as unknown as Errors;
const fail = async (message: string): Promise<string> => {
  const id = await jobs.run({ mode: 'throw', message });
  await jobs.settled(id);
  return id;
};

t.test('an endpoint without failed jobs has no error groups', async (t) => {
  t.same(await read(), { jobs: 0, groupCount: 0, hasMore: false, groups: [] });
  t.match(await cli.run('errors', jobs.id), {
    code: 0,
    stdout: '',
    stderr: 'No job that failed in this time is kept.\n',
  });
});

t.test('errors are grouped by their text without numbers and ids, also on the command line', async (t) => {
  const cards = [await fail('card 3 is too small'), await fail('card 11 is too small')];
  const prompt = await fail('the prompt is too long');
  const late = await jobs.run({ mode: 'block' }, { policy: { executionTimeout: 5_000 } });
  t.equal((await jobs.settled(late, 30_000)).status, 'TIMED_OUT');
  const { groups, ...all } = await read();
  t.same(all, { jobs: 4, groupCount: 3, hasMore: false });
  t.match(groups[0], {
    text: /card # is too small/,
    jobs: 2,
    jobIds: cards.toReversed(),
    sample: /card 11 is too small/,
    id: /^[\da-f]{16}$/,
  });
  t.ok(groups[0]!.firstAt < groups[0]!.lastAt && Math.abs(Date.parse(groups[0]!.lastAt) - Date.now()) < 60_000);
  t.same(
    groups.slice(1).map(({ jobIds }) => jobIds),
    [[late], [prompt]],
    'of those with as many jobs the latest first',
  );
  t.same(await cli.json<Errors>('errors', jobs.id), { ...all, groups });
  const { stdout } = await cli.run('errors', jobs.id, '--since', '2h');
  const [head, first, ...more] = stdout.trim().split('\n');
  t.match(head, /^GROUP +JOBS +FIRST +LAST +NEWEST JOB +ERROR$/);
  t.match(first, new RegExp(`^${groups[0]!.id} +2 +.* ago +.*${cards[1]} +.*card # is too small`));
  t.equal(more.length, 2);
});

t.test('a group lists the ids of all its jobs, and is retried by them and by the command line', async (t) => {
  const { groups, ...all } = await read();
  const [cards] = groups;
  const prompt = groups.find(({ text }) => text.includes('prompt'))!;
  t.same(await read(`?group=${cards!.id}`), { ...all, groups: [cards] });
  t.same(await read(`?group=${'0'.repeat(16)}`), { ...all, groups: [] });
  t.match(await cli.run('errors', jobs.id, '--retry', prompt.id), { code: 0, stdout: '1 job queued again.\n' });
  t.equal((await jobs.settled(prompt.jobIds[0]!)).status, 'FAILED', 'it says so again');
  t.same(await cli.json('errors', jobs.id, '--retry', cards!.id), { group: cards!.id, queued: 2 });
  for (const id of cards!.jobIds) await jobs.settled(id);
  t.same(await cli.json('errors', jobs.id, '--retry', '0'.repeat(16)), { group: '0'.repeat(16), queued: 0 });
});

t.test('invalid requests are rejected', async (t) => {
  for (const bad of ['59s', '8d', '10', '-1h', 'x', '1h&since=2h']) {
    t.match(
      await get(`?since=${bad}`),
      { status: 400, json: { code: 'invalid_request', error: /from 60s to 7d/ } },
      bad,
    );
  }
  t.equal((await get('?since=')).status, 200);
  for (const bad of ['x', `${'0'.repeat(16)}&group=x`])
    t.match(await get(`?group=${bad}`), { status: 400, json: { code: 'invalid_request' } }, bad);
  t.equal((await system.request('POST', `/v2/${jobs.id}/errors`, {})).status, 405);
  t.equal((await system.request('GET', '/v2/nosuchendpoint/errors')).status, 404);
  t.match(await cli.run('errors', jobs.id, '--since', '8d'), { code: 2, stderr: /--since must be from 1m to 7d/ });
  const key = await system.newKey(KeyScope.READ_ONLY);
  const asked = await fetch(`${system.url}/v2/${jobs.id}/errors`, { headers: { authorization: `Bearer ${key}` } });
  t.equal(asked.status, 200);
});
