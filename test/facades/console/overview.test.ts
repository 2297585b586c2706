// test: postgres, 70 s
/**
 * The overview in a real Chromium: all problems, whatever page of a list they are on; what happened before the page was
 * opened; and the text where there is nothing.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { scratch } from '../../helpers/scratch.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

t.setTimeout(600_000);
t.test('the overview', { skip: whyNoChromium(), timeout: 400_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const { open, inspect } = await consolePages(t, system);
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const wrong = (page: Page) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name: 'Problems' }) });

  await t.test('no machine yet, and the way to add one', async (t) => {
    const page = await open(t, { key: system.rootKey });
    await page.getByText('No machine has joined yet.').waitFor();
    await inspect(t, page, 'an overview without machines');
    await page.getByRole('link', { name: 'Machines' }).first().click();
    await page.getByText('No machine has joined yet.').waitFor();
    t.equal(await page.getByLabel('Search').count(), 0, 'there is nothing to be looked for');
    await inspect(t, page, 'no machines');
  });

  await system.startAgent(undefined, { SLIPWAY_AGENT_NAME: 'rack-1', SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x4' });
  const { account, endpoint: newEndpoint } = await manyEndpoints();

  /** Returns an account with 60 endpoints that are well. */
  async function manyEndpoints() {
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'many' }, system.rootKey);
    const key = await system.newKey(KeyScope.ALL, accountId);
    const templateId = await template(key);
    const make = async (fields: Partial<Endpoint>, workersMax = 1): Promise<string> =>
      (
        await call(
          system.clients.endpoints,
          'createEndpoint',
          {
            endpoint: Endpoint.fromPartial({ templateId, computeType: 'CPU', workersMin: 0, ...fields }),
            requestId: '',
            workersMax,
            retryLimit: undefined,
          },
          key,
        )
      ).endpoint!.id;
    for (let place = 1; place <= 60; place += 1) await make({ name: `well ${String(place).padStart(2, '0')}` });
    return { account: { key, accountId }, endpoint: make };
  }

  async function template(key: string): Promise<string> {
    const made = Template.fromPartial({ name: 'all', startCommand: jsHandler('all.js'), serverless: true });
    return (await call(system.clients.templates, 'createTemplate', { template: made }, key)).template!.id;
  }

  await t.test('problems of other pages are shown here, also during a search', async (t) => {
    const page = await open(t, { key: account.key });
    await page.getByText('Nothing is wrong right now.').waitFor();
    // The oldest come first: the newest stands on the second page.
    const id = await newEndpoint({
      name: 'needs another GPU',
      computeType: 'GPU',
      gpuIds: ['NVIDIA H100 80GB HBM3'],
    });
    await wrong(page)
      .getByText(/^No machine can run it, as it needs .*NVIDIA H100/)
      .waitFor();
    t.equal(await page.getByText('Nothing is wrong right now.').count(), 0);
    t.equal(await page.getByRole('row').filter({ hasText: id }).count(), 0, 'its row is not on this page');
    await page.getByLabel('Search').fill('well 17');
    await page.getByRole('row').filter({ hasText: 'well 16' }).waitFor({ state: 'detached' });
    await wrong(page).getByRole('link', { name: 'needs another GPU' }).waitFor();
    await inspect(t, page, 'an overview with something wrong');
    await wrong(page).getByRole('link', { name: 'needs another GPU' }).click();
    await page.getByRole('heading', { name: 'needs another GPU' }).waitFor();
    await wrong(page)
      .getByText(/^No machine can run it, as it needs .*NVIDIA H100/)
      .waitFor();
    await page.getByRole('link', { name: 'Overview' }).first().click();
    const mended = { endpoint: Endpoint.fromPartial({ id, gpuIds: ['NVIDIA L4'] }), updateMask: ['gpu_ids'] };
    await call(system.clients.endpoints, 'updateEndpoint', mended, account.key);
    await page.getByText('Nothing is wrong right now.').waitFor();
  });

  await t.test('each kind with its reason and a link; the number of hidden ones', async (t) => {
    const page = await open(t, { key: account.key });
    const id = await newEndpoint({ name: 'waits long' }, 0);
    const key = { authorization: `Bearer ${account.key}` };
    await system.request('POST', `/v2/${id}/run`, { input: {} }, key);
    await sql`UPDATE job SET submitted_at = now() - interval '20 minutes' WHERE endpoint_id = ${id}`;
    await wrong(page)
      .getByText(/^A job has waited 20\smin/)
      .waitFor();
    await sql`INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives)
      SELECT ${id}, id, 1, false, 3, 'the receiver answered 500', 0 FROM job WHERE endpoint_id = ${id}`;
    await wrong(page)
      .getByText(/^One webhook call was given up .* because the receiver answered 500/)
      .waitFor();
    const own = sql`name LIKE 'well%' AND account_id = ${account.accountId}`;
    await sql`UPDATE endpoint SET compute_type = 'GPU', gpu_count = 1, gpu_ids = ARRAY['NVIDIA H100 80GB HBM3']
        WHERE ${own}`;
    await wrong(page).getByText('the worst 20 of 63').waitFor();
    await sql`UPDATE endpoint SET compute_type = 'CPU', gpu_count = 0, gpu_ids = '{}' WHERE ${own}`;
    await wrong(page).getByText('3', { exact: true }).waitFor();
    await wrong(page).getByRole('listitem').filter({ hasText: 'webhook call' }).getByRole('link').click();
    await page.getByRole('heading', { name: /-u1$/ }).waitFor();
    const operator = await open(t, { key: system.rootKey });
    await wrong(operator).getByRole('link', { name: 'waits long (account many)' }).first().click();
    await operator
      .getByText(/“Most workers” is 0/)
      .first()
      .waitFor();
    t.equal(
      await operator.getByRole('link', { name: 'Settings' }).count(),
      0,
      'what it does for its account is the account’s',
    );
    await inspect(t, operator, 'an endpoint, for the operator');
    await sql`DELETE FROM job WHERE endpoint_id = ${id}`;
    await sql`DELETE FROM webhook_result`;
    await sql`UPDATE endpoint_tally SET queued = 0 WHERE endpoint_id = ${id}`;
    await operator.getByRole('link', { name: 'Overview' }).first().click();
    await operator.getByText('Nothing is wrong right now.').waitFor();
  });

  await t.test('a search without a hit, of endpoints and of machines', async (t) => {
    const page = await open(t, { key: account.key });
    await page.getByLabel('Search').fill('no such endpoint');
    await page.getByText('No endpoint matches.').waitFor();
    await inspect(t, page, 'no endpoint found');
    await page.getByLabel('Search').fill('');
    await page.getByRole('row').filter({ hasText: 'well 01' }).waitFor();
    const operator = await open(t, { key: system.rootKey });
    await operator.getByRole('link', { name: 'Machines' }).first().click();
    await operator.getByLabel('Search').fill('rack-7');
    await operator.getByText('No machine matches.').waitFor();
    await inspect(t, operator, 'no machine found');
    await operator.getByLabel('Search').fill('rack-1');
    await operator.getByRole('row').filter({ hasText: 'rack-1' }).waitFor();
  });

  await t.test('a later visitor sees the earlier history', async (t) => {
    const id = await system.createEndpoint({
      command: jsHandler('all.js'),
      ready: 0,
      fields: { workersMin: 0, name: 'burst' },
      workersMax: 1,
    });
    const jobs = endpointJobs(system, id);
    const files = await scratch(t);
    const ids = await Promise.all(
      Array.from({ length: 12 }, () => jobs.run({ mode: 'until', file: files.path('gate') })),
    );
    await waitFor('a sample of the queue', async () => {
      const { samples } = await call(
        system.clients.endpoints,
        'getLoadHistory',
        { endpointId: id, spanMs: 0 },
        system.key,
      );
      return samples.some(({ queued }) => queued > 0);
    });
    files.open('gate');
    for (const job of ids) await jobs.settled(job, 60_000);
    await jobs.counted({ inQueue: 0, inProgress: 0 });
    const page = await open(t);
    const line = page
      .getByRole('row')
      .filter({ hasText: id })
      .getByRole('img', { name: /^In queue/ });
    await line.waitFor();
    const told = (await line.getAttribute('aria-label'))!;
    t.match(told, /^In queue: 0 now, [1-9]\d* at most in the last 10 minutes$/);
    t.ok(
      new Set((await line.locator('polyline').getAttribute('points'))!.split(' ').map((point) => point.split(',')[1]))
        .size > 1,
      'the line is not flat',
    );
  });

  await t.test('GPUs of the map are as dark as their workers are busy', async (t) => {
    const fields = { gpuIds: ['NVIDIA L4'], name: 'on a GPU', workersMin: 1 };
    const jobs = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), fields, workersMax: 1 }),
    );
    const page = await open(t, { key: system.rootKey });
    await page
      .locator('.gpu.busy-0')
      .filter({ hasText: /on a GPU, idle$/ })
      .waitFor();
    const job = await jobs.run({ mode: 'until', file: '/nonexistent/file' });
    await page
      .locator('.gpu.busy-4')
      .filter({ hasText: /on a GPU, 100\s% busy$/ })
      .waitFor();
    await inspect(t, page, 'GPUs that are busy');
    await jobs.call('POST', `/cancel/${job}`);
    await page.locator('.gpu.busy-4').waitFor({ state: 'detached' });
  });

  await loadBalancing(t);

  function loadBalancing(t: Test) {
    return t.test('a load-balancing endpoint: requests that wait, and pages without jobs', async (t) => {
      // Its worker never answers its health path.
      const id = await lbEndpoint(system, { name: 'balanced', workersMin: 0 }, { command: ['sleep', '1000'] });
      const page = await open(t);
      const row = page.getByRole('row').filter({ hasText: id });
      await row.getByRole('cell').first().waitFor();
      const away = new AbortController();
      t.teardown(() => away.abort());
      const asked = Promise.allSettled(
        [1, 2, 3].map((n) =>
          fetch(`${system.url}/v2/${id}/slow?ms=${n}`, {
            headers: { authorization: `Bearer ${system.key}` },
            signal: away.signal,
          }),
        ),
      );
      await row.getByRole('cell', { name: '3', exact: true }).waitFor();
      await row.getByText('1/1').waitFor();
      await inspect(t, page, 'an overview with a load-balancing endpoint');
      await row.getByRole('link').click();
      await page.locator('.figure', { hasText: 'Requests wait' }).getByText('3', { exact: true }).waitFor();
      await page.locator('.figure', { hasText: 'Workers' }).getByText('0 / 1').waitFor();
      await page.getByRole('img', { name: /^Requests that wait and run, and workers/ }).waitFor();
      await inspect(t, page, 'a load-balancing endpoint');
      away.abort();
      await asked;
      for (const tab of ['Scaling', 'Settings', 'Releases', 'Code']) {
        await page.getByRole('link', { name: tab, exact: true }).click();
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
        await inspect(t, page, `a load-balancing endpoint, ${tab}`);
      }
      t.equal(await page.locator('.tabs').getByRole('link', { name: 'Jobs', exact: true }).count(), 0);
      await waitFor(
        'nothing to wait any more',
        async () => (await call(system.clients.jobs, 'getHealth', { endpointId: id }, system.key)).jobs!.inQueue === 0,
      );
    });
  }
});
