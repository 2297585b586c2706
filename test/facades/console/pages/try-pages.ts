/** Part of browser.test.ts, on its system: an endpoint tried by JSON and by a form, and lists downloaded as files. */
import { readFileSync } from 'node:fs';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function tryPages(t: Test, parts: BrowserParts): void {
  byJson(t, parts);
  whileRejected(t, parts);
  withoutInternet(t, parts);
  streamIsGone(t, parts);
  byForm(t, parts);
  takenLists(t, parts);
}

function byJson(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('trying it with JSON: streamed output is shown live', async (t) => {
    const files = await scratch(t);
    files.makeFolder('gate');
    const { id: last } = await endpointJobs(system, id).runSync({ mode: 'value', value: 'i'.repeat(2_000) });
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/try`);
    const text = page.getByLabel(/as JSON/);
    await page.getByText('Its long texts are shortened here').waitFor();
    t.same(JSON.parse(await text.inputValue()), { mode: 'value', value: `${'i'.repeat(100)}…` });
    const ofJob = page.getByRole('link', { name: 'the last completed job' });
    t.match(await ofJob.getAttribute('href'), new RegExp(`${last}$`), 'it begins with the last input that worked');
    const input = { mode: 'stream', values: ['first ', { second: 2 }, 'third'], gate: files.path('gate'), end: true };
    await text.fill(JSON.stringify(input));
    t.equal(await ofJob.count(), 0, 'and says so no longer once it is changed');
    files.open('gate/1');
    await page.getByRole('button', { name: 'Send' }).click();
    const stream = page.getByLabel('Stream', { exact: true });
    const panel = page.locator('section').filter({ has: stream });
    await stream.getByText('first').waitFor();
    await panel.getByText('1 chunk', { exact: true }).waitFor();
    await panel.getByText('live', { exact: true }).waitFor();
    t.equal(await stream.textContent(), 'first ', 'the others are not there yet, and it goes on');
    files.open('gate/2');
    await stream.getByText('{"second":2}').waitFor();
    files.open('gate/3');
    await panel.getByText('3 chunks').waitFor();
    t.equal(await panel.getByText('completed').count(), 0, 'all of it is shown before the job ends');
    t.equal(await page.getByLabel('Output', { exact: true }).count(), 0);
    files.open('gate/end');
    await panel.getByText('completed').waitFor();
    t.equal(await stream.textContent(), 'first {"second":2}\nthird');
    await page.getByLabel('Output', { exact: true }).waitFor();
  });
}

function whileRejected(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('a stream that is rejected for a moment is asked for again, and takes no chunk from its reader', async (t) => {
    const files = await scratch(t);
    files.makeFolder('gate');
    const page = await open(t);
    await signIn(page);
    const asked: string[] = [];
    await page.route('**/console/api/v2/*/stream/*', async (route) => {
      asked.push(new URL(route.request().url()).pathname.split('/').at(-1)!);
      if (asked.length > 1) return route.continue();
      files.open('gate/1');
      await route.fulfill({ status: 503, json: { error: 'core cannot be reached right now', code: 'UNAVAILABLE' } });
    });
    await page.goto(`${system.url}/console/endpoints/${id}/try`);
    const input = { mode: 'stream', values: ['only'], gate: files.path('gate'), end: true };
    await page.getByLabel(/as JSON/).fill(JSON.stringify(input));
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Stream', { exact: true }).getByText('only').waitFor();
    t.equal(asked.length, 3, 'the stream, the reason of its rejection, the stream again');
    t.same((await system.request('GET', `/v2/${id}/stream/${asked[0]}`)).json, [{ output: 'only' }]);
    files.open('gate/end');
    await page.getByLabel('Output', { exact: true }).waitFor();
  });
}

function withoutInternet(t: Test, { id, open, signIn }: BrowserParts): void {
  t.test('a browser that reports no internet still reads from the service, and saves', async (t) => {
    const page = await open(t);
    await signIn(page);
    // As Chromium reports it when the last network interface is gone: loopback still works.
    await page.evaluate("window.dispatchEvent(new Event('offline'))");
    await page.evaluate(`history.pushState(null, '', '/console/endpoints/${id}/try')`);
    await page.getByLabel(/as JSON/).fill('{"mode": "value", "value": "without internet"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Output', { exact: true }).getByText('without internet').waitFor();
    t.equal(await page.getByText('The service cannot be reached').count(), 0);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Longest run of a job').fill('90');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('as saved').waitFor();
  });
}

function streamIsGone(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('a stream that is rejected for good: the reason is shown, and what else is known of the job', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.route('**/console/api/v2/*/stream/*', async (route) => {
      await endpointJobs(system, id).settled(new URL(route.request().url()).pathname.split('/').at(-1)!);
      await route.fulfill({ status: 404, json: { error: 'There is no such job.', code: 'JOB_NOT_FOUND' } });
    });
    await page.goto(`${system.url}/console/endpoints/${id}/try`);
    await page.getByLabel(/as JSON/).fill('{"mode": "value", "value": "nevertheless"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Stream', { exact: true }).getByText('There is no such job.').waitFor();
    await page.getByLabel('Output', { exact: true }).getByText('nevertheless').waitFor();
    await page.getByText('gone', { exact: true }).waitFor();
    const { id: job } = await endpointJobs(system, id).runSync({ mode: 'value', value: 'first' });
    await page.goto(`${system.url}/console/endpoints/${id}/start?job=${job}`);
    await page.getByText('The stream of the first job cannot be read.').waitFor();
  });
}

function byForm(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test('trying it with a form: a field for each member, sent with its type', async (t) => {
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/try`);
    await page.getByLabel(/as JSON/).fill('{"prompt": "goes", "seed": 12345678901234567890}');
    await page.getByLabel('as', { exact: true }).selectOption('form');
    await page.getByText('whose numbers it can write as they are').waitFor();
    await page.getByLabel('as', { exact: true }).selectOption('json');
    await page.getByLabel(/as JSON/).fill('{"prompt": "goes", "mode": "", "names": ["a"]}');
    await page.getByLabel('as', { exact: true }).selectOption('form');
    await page.getByText('a list, an object or null: change it as JSON').waitFor();
    await page.getByRole('button', { name: 'Remove prompt' }).click();
    await page.getByLabel('mode', { exact: true }).fill('value');
    const add = async (name: string, kind: string): Promise<void> => {
      await page.getByLabel('Name of a new field').fill(name);
      await page.getByLabel('Kind of a new field').selectOption(kind);
      await page.getByRole('button', { name: 'Add' }).click();
    };
    await add('value', 'text');
    await page.getByLabel('value', { exact: true }).fill('a "form",\nof two lines');
    await add('steps', 'number');
    await page.getByLabel('steps', { exact: true }).fill('2.5');
    await add('upscale', 'yes or no');
    await page.getByLabel('upscale', { exact: true }).check();
    await page.getByLabel('Name of a new field').fill('steps');
    t.ok(await page.getByRole('button', { name: 'Add' }).isDisabled(), 'no name twice');
    await inspect(t, page, 'a form for a job');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByLabel('Output', { exact: true }).getByText('of two lines').waitFor();
    await page.getByRole('link', { name: /-u1$/ }).click();
    await page.getByLabel('Input', { exact: true }).waitFor();
    const sent = JSON.parse((await page.getByLabel('Input', { exact: true }).textContent())!) as unknown;
    t.same(sent, { mode: 'value', names: ['a'], value: 'a "form",\nof two lines', steps: 2.5, upscale: true });
  });

  t.test('jobs ordered by execution time and by queue time', async (t) => {
    const jobs = endpointJobs(system, id);
    const { id: quick } = await jobs.runSync({ mode: 'value', value: 1 });
    const files = await scratch(t);
    const slow = await jobs.run({ mode: 'until', file: files.path('done') });
    await jobs.reached(slow, 'IN_PROGRESS');
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/jobs`);
    await page.getByLabel('State').selectOption('IN_PROGRESS');
    await page.getByRole('rowheader', { name: slow }).waitFor();
    await page.getByRole('button', { name: /^Ran/ }).click();
    await page.locator('th[aria-sort=descending]').filter({ hasText: 'Ran ↓' }).waitFor();
    await page.getByText('of the newest 1,000').waitFor();
    await page.getByRole('row').filter({ hasText: slow }).getByText('…').waitFor();
    files.open('done');
    await jobs.settled(slow);
    await page.getByLabel('State').selectOption('COMPLETED');
    await page.getByRole('rowheader', { name: quick }).waitFor();
    const asked = await system.request('GET', `/v2/${id}/requests?order=longest-execution&status=COMPLETED&limit=50`);
    const known = asked.json.requests as { id: string; executionTime: number }[];
    t.same(
      known.map(({ executionTime }) => executionTime),
      known.map(({ executionTime }) => executionTime).toSorted((one, other) => other - one),
    );
    t.same(
      await page.getByRole('rowheader').allTextContents(),
      known.map((job) => job.id),
      'in the order of the service',
    );
    await page.getByRole('button', { name: /^Waited/ }).click();
    await page.locator('th[aria-sort=descending]').filter({ hasText: 'Waited ↓' }).waitFor();
    t.match(await system.request('GET', `/v2/${id}/requests?order=shortest`), { status: 400 });
  });
}

/** Returns the rows of a file, its quotes taken away. */
async function taken(page: Page): Promise<string[][]> {
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const text = readFileSync(await (await download).path(), 'utf8');
  return text
    .split('\r\n')
    .map((line) => [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell]) => cell!.replaceAll('""', '"')));
}

/** Downloads each list and checks its columns and one of its rows. */
async function takeEach(
  t: Test,
  system: BrowserParts['system'],
  page: Page,
  lists: [path: string, columns: string, row: string[]][],
): Promise<void> {
  for (const [path, columns, row] of lists) {
    await page.goto(`${system.url}/console/${path}`);
    const [head, ...rows] = await taken(page);
    t.equal(head!.join(','), columns, path);
    t.ok(
      rows.every((cells) => cells.length === head!.length),
      `${path}: no row is broken`,
    );
    t.ok(
      rows.some((cells) => row.every((text) => cells.includes(text))),
      `${path}: ${row.join(', ')}`,
    );
    t.notMatch(JSON.stringify(rows), 'never in a file');
  }
}

function takenLists(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('each list as a file: its columns and all rows', async (t) => {
    const { json: volume } = await system.request('POST', '/v1/networkvolumes', {
      name: 'a "quoted", name',
      size: 3,
      dataCenterId: 'default',
    });
    const { json: auth } = await system.request('POST', '/v1/containerregistryauth', {
      name: 'taken',
      username: 'me',
      password: 'never in a file',
    });
    const { json: pod } = await system.request('POST', '/v1/pods', {
      name: 'taken',
      dockerStartCmd: ['sleep', '1000'],
      computeType: 'CPU',
    });
    t.teardown(async () => {
      await system.request('DELETE', `/v1/pods/${pod.id}`);
      await system.request('DELETE', `/v1/networkvolumes/${volume.id}`);
      await system.request('DELETE', `/v1/containerregistryauth/${auth.id}`);
    });
    const { endpoint = Endpoint.fromPartial({}) } = await call(
      system.clients.endpoints,
      'getEndpoint',
      { id },
      system.key,
    );
    const page = await open(t);
    await signIn(page);
    await takeEach(t, system, page, [
      [
        'templates',
        'name,imageName,isServerless,isPublic,containerDiskInGb,volumeInGb,id',
        [endpoint.templateId, jsHandler('all.js').join(' '), 'yes', 'no'],
      ],
      ['pods', 'name,state,image,gpuCount,costPerHr,lastStatusChange,id', ['taken', String(pod.id)]],
      ['volumes', 'name,size,dataCenterId,created,id', ['a "quoted", name', String(volume.id), '3', 'default']],
      ['registries', 'name,created,id', ['taken', String(auth.id)]],
      ['keys', 'name,may,endpoints,belongsTo,created,revoked,id', ['test']],
      [
        'audit',
        'time,action,subject,changes,key,address,account',
        ['CreateNetworkVolume', `a "quoted", name (${volume.id})`],
      ],
    ]);
    await call(
      system.clients.usage,
      'setPrices',
      { prices: [{ item: 'NVIDIA H100 PCIe', usdPerHour: 2.5 }] },
      system.rootKey,
    );
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'of a file' }, system.rootKey);
    await call(system.clients.access, 'setQuota', { accountId, quota: { workers: 7 } }, system.rootKey);
    const ofOperator = await open(t);
    await signIn(ofOperator, system.rootKey);
    await takeEach(t, system, ofOperator, [
      ['accounts', 'name,workers,gpus,queuedJobs,requests,gpuWeight,created,id', ['of a file', accountId, '7']],
      ['prices', 'item,usdPerHour', ['NVIDIA H100 PCIe', '2.5']],
    ]);
    await page.goto(`${system.url}/console/usage`);
    const [head, ...rows] = await taken(page);
    t.same(head, ['time', 'group', 'name', 'amount', 'billedMs']);
    const own = rows.filter(([, group]) => group === id);
    t.ok(
      own.length > 0 &&
        own.every(
          ([time, , name, amount, ms]) =>
            Date.parse(time!) > 0 && name === endpoint.name && Number(amount) >= 0 && Number(ms) > 0,
        ),
    );
  });
}
