// test: postgres, 50 s
/**
 * Lists updated by the live feed, in a real Chromium: the jobs of an endpoint under the chosen filters, loaded once and
 * then updated as they change.
 */

import type { Page } from 'playwright-core';
import postgres from 'postgres';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

t.setTimeout(600_000);
t.test('lists that are live', { skip: whyNoChromium(), timeout: 240_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const { open, inspect } = await consolePages(t, system);
  const id = await system.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields: { workersMin: 0 } });
  const jobs = endpointJobs(system, id);
  const rows = (page: Page) => page.getByRole('rowheader').allTextContents();
  const lists = (page: Page, ...ids: string[]) =>
    waitFor(`the list to be ${ids.join(', ')}`, async () => (await rows(page)).join() === ids.join());

  await t.test('jobs appear and change live, by one feed per filter', async (t) => {
    const first = await jobs.run({ mode: 'value', value: 1 });
    const page = await open(t);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/api\//.test(request.url())) asked.push(request.url().replace(/^.*\/api/, ''));
    });
    await page.goto(`${system.url}/console/endpoints/${id}/jobs?status=IN_QUEUE`);
    await lists(page, first);
    const second = await jobs.run({ mode: 'value', value: 2 });
    await lists(page, second, first);
    await jobs.call('POST', `/cancel/${first}`);
    await lists(page, second);
    await inspect(t, page, 'jobs that come by themselves');
    t.equal(asked.filter((url) => url.includes('/requests')).length, 0, 'nothing is asked again and again');
    t.equal(asked.filter((url) => url.startsWith('/live') && url.includes('part=jobs')).length, 1, 'one feed');
    await page.getByLabel('State').selectOption('CANCELLED');
    await lists(page, first);
    await page.getByRole('button', { name: /^Submitted/ }).click();
    await page.getByRole('columnheader', { name: 'Submitted ↑' }).waitFor();
    t.match(page.url(), /\?status=CANCELLED&order=oldest$/);
  });

  await t.test('a page with a selection is paused, while others are live', async (t) => {
    const at = `endpoints/${id}/jobs?status=IN_QUEUE`;
    const [page, other] = [await open(t, { at }), await open(t, { at })];
    await page.getByRole('rowheader').first().waitFor();
    const before = await rows(page);
    await page.getByRole('checkbox', { name: `Select ${before[0]!}` }).check();
    const fresh = await jobs.run({ mode: 'value', value: 3 });
    await lists(other, fresh, ...before);
    // The other page shows the new job, so the event has been sent to all listeners.
    t.same(await rows(page), before, 'nothing moves below the hand');
    await page.getByRole('checkbox', { name: `Select ${before[0]!}` }).uncheck();
    await lists(page, fresh, ...before);
  });

  await t.test('further pages are live too, and requests are bounded', async (t) => {
    for (let place = 0; place < 52; place += 1) await jobs.run({ mode: 'value', value: place });
    const page = await open(t, { at: `endpoints/${id}/jobs?status=IN_QUEUE` });
    await waitFor('a page', async () => (await rows(page)).length === 50);
    await page.getByRole('button', { name: 'Older' }).click();
    await waitFor('the rest', async () => (await rows(page)).length === 4);
    const [oldest] = (await rows(page)).slice(-1);
    await jobs.call('POST', `/cancel/${oldest!}`);
    await waitFor('one less', async () => (await rows(page)).length === 3);
    await page.getByRole('button', { name: 'Newer' }).click();
    await waitFor('the first page', async () => (await rows(page)).length === 50);
    await page.getByRole('button', { name: 'Older' }).click();
    await waitFor('the rest', async () => (await rows(page)).length === 3);
    await page.getByLabel('State').selectOption('FAILED');
    await page.getByText('No job matches.').waitFor();
    await page.getByLabel('State').selectOption('IN_QUEUE');
    await waitFor('the first page, of what was shown before too', async () => (await rows(page)).length === 50);
    for (const wrong of ['status=DONE', 'order=best', 'from=yesterday', 'until=2026-13-01T00:00:00Z']) {
      await page.goto(`${system.url}/console/endpoints/${id}/jobs?${wrong}`);
      await page
        .getByRole('alert')
        .getByText(/must be one/)
        .waitFor();
    }
    const headers = "{ headers: { 'x-slipway-console': '1' } }";
    const statusOf = (query: string) =>
      page.evaluate(`fetch('/console/api/live?${query}', ${headers}).then(({ status }) => status)`);
    for (const query of [
      'endpoint=no such',
      `endpoint=${id}&job=no%2Fsuch`,
      'worker=a%20b&part=log',
      `endpoint=${id}&part=jobs&part=log`,
      'size=101',
    ]) {
      t.ok([400, 404].includes((await statusOf(query)) as number), query);
    }
  });

  await t.test('jobs of the previous filter are marked as such and cannot be selected', async (t) => {
    const page = await open(t);
    const held = Promise.withResolvers<void>();
    await page.route(/part=jobs&status=CANCELLED/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`${system.url}/console/endpoints/${id}/jobs?status=IN_QUEUE`);
    await waitFor('a page', async () => (await rows(page)).length === 50);
    const before = await rows(page);
    await page.getByRole('checkbox', { name: `Select ${before[0]!}` }).check();
    await page.getByLabel('State').selectOption('CANCELLED');
    const old = page.locator('[aria-busy="true"]');
    await old.getByRole('rowheader').first().waitFor();
    t.same(await rows(page), before);
    t.equal(await page.getByRole('checkbox', { disabled: false }).count(), 0, 'none can be chosen');
    t.equal(await page.getByRole('checkbox', { checked: true }).count(), 0, 'nor is any');
    await page.getByRole('button', { name: 'Older' }).focus();
    await page.keyboard.press('Enter');
    t.equal(await page.getByText('page 1', { exact: true }).count(), 1, 'nor does one go on from them');
    const filter = () => page.evaluate(`getComputedStyle(document.querySelector('[aria-busy="true"]')).filter`);
    await waitFor('grey rows', async () => (await filter()) === 'grayscale(1) opacity(0.75)');
    await page.locator('.panel .away').getByText('The service does not answer.').waitFor();
    await inspect(t, page, 'jobs of the choice before');
    held.resolve();
    await waitFor(
      'those that were chosen',
      async () => (await old.count()) === 0 && (await rows(page)).every((row) => !before.includes(row)),
    );
    await page.locator('.panel .away').waitFor({ state: 'detached' });
    await page.getByLabel('State').selectOption('IN_QUEUE');
    await lists(page, ...before);
    t.equal(await page.getByRole('checkbox', { checked: true }).count(), 0, 'what was chosen before is forgotten');
    const fresh = await jobs.run({ mode: 'value', value: 4 });
    await page.getByRole('rowheader', { name: fresh }).waitFor();
  });

  // Pods have a place on a machine that never says what became of them.
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  await sql`
    INSERT INTO machine (id, name, cpu_slots, cpu_count, memory_mib, session_id, lease_expires_at)
    VALUES ('silent123456', 'silent', 1000, 1000, 4000000, 'none', now() + interval '1 day')`;
  const fields = { dockerStartCmd: ['sleep', '1000'], computeType: 'CPU', vcpuCount: 1 };

  await t.test('pods appear and change live, as filtered; a dialog stays with its row', async (t) => {
    const make = async (name: string): Promise<string> => {
      const { json } = await system.request('POST', '/v1/pods', { ...fields, name });
      t.teardown(() => system.request('DELETE', `/v1/pods/${json.id}`));
      return json.id;
    };
    await make('first');
    const page = await open(t);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/api\//.test(request.url())) asked.push(request.url().replace(/^.*\/api/, ''));
    });
    const names = () => page.locator('tbody tr td:first-child .text').allTextContents();
    const shows = (...wanted: string[]) =>
      waitFor(`the pods to be ${wanted.join(', ')}`, async () => (await names()).join() === wanted.join());
    await page.goto(`${system.url}/console/pods`);
    await shows('first');
    const second = await make('second');
    await shows('second', 'first');
    await page.getByRole('button', { name: 'Delete first' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Delete first?').waitFor();
    await make('third');
    await shows('third', 'second', 'first');
    t.equal(
      await dialog.getByText('Delete first?').count(),
      1,
      'a row that comes before its own changes nothing in it',
    );
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Name/ }).click();
    await shows('first', 'second', 'third');
    await page.getByLabel('Search').fill('SECOND');
    await shows('second');
    await system.request('PATCH', `/v1/pods/${second}`, { name: 'second of all' });
    await shows('second of all');
    await inspect(t, page, 'pods that come by themselves');
    await page.getByLabel('Search').fill('');
    await shows('first', 'second of all', 'third');
    await page.getByLabel('State').selectOption('EXITED');
    await page.getByText('Nothing matches.').waitFor();
    await sql`UPDATE pod SET state = 'EXITED', state_changed_at = now() WHERE id = ${second}`;
    await shows('second of all');
    t.equal(asked.filter((url) => url.startsWith('/pods')).length, 0, 'nothing is asked again and again');
    const feeds = asked.filter((url) => url.startsWith('/live') && url.includes('part=pods'));
    t.equal(feeds.length, 5, `a feed for each choice: ${feeds.join(' ')}`);
    await page.goto(`${system.url}/console/pods?state=ASLEEP`);
    await page
      .getByRole('alert')
      .getByText(/must be one of/)
      .waitFor();
    await page.getByLabel('State').selectOption('EXITED');
    await shows('second of all');
  });

  await t.test('a page of pods stays until the next one has loaded', async (t) => {
    await Promise.all(
      Array.from({ length: 51 }, async (_, place) => {
        const { json } = await system.request('POST', '/v1/pods', {
          ...fields,
          name: `p${String(place).padStart(2, '0')}`,
        });
        t.teardown(() => system.request('DELETE', `/v1/pods/${json.id}`));
      }),
    );
    const page = await open(t, { at: 'pods' });
    const names = () => page.locator('tbody tr td:first-child .text').allTextContents();
    await page.getByRole('button', { name: /^Name/ }).click();
    await waitFor('the first page', async () => (await names()).length === 50 && (await names())[0] === 'p00');
    const held = Promise.withResolvers<void>();
    await page.route(/part=pods&.*page=./, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('page 2').waitFor();
    t.equal((await names()).length, 50, 'what was there stays until there is another');
    held.resolve();
    await waitFor('the second page', async () => (await names()).join() === 'p50');
    const { json: last } = await system.request('POST', '/v1/pods', { ...fields, name: 'p99' });
    await waitFor('what is new on it', async () => (await names()).join() === 'p50,p99');
    await system.request('DELETE', `/v1/pods/${last.id}`);
    await waitFor('what is gone', async () => (await names()).join() === 'p50');
    await page.getByLabel('Search').fill('P49');
    await waitFor('the one', async () => (await names()).join() === 'p49');
    await page.getByLabel('Search').fill('');
    await waitFor('the first page', async () => (await names()).length === 50 && (await names())[0] === 'p00');
    t.equal(
      await page.getByText('page 1', { exact: true }).count(),
      1,
      'another list begins at its first page, also one that was shown before',
    );
    for (const query of ['part=pods&size=101', 'part=pods&part=log']) {
      const status =
        `fetch('/console/api/live?${query}', { headers: { 'x-console-page': '1' } }).then(({ ` + 'status }) => status)';
      t.equal(await page.evaluate(status), 400, query);
    }
  });

  await t.test('typing is debounced, selections apply at once, each by one feed', async (t) => {
    const { json: pod } = await system.request('POST', '/v1/pods', { ...fields, name: 'second' });
    t.teardown(() => system.request('DELETE', `/v1/pods/${pod.id}`));
    const page = await open(t);
    let asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('part=pods')) asked.push(new URL(request.url()).search.replace(/&order=.*$/, ''));
    });
    // Only the clock of this page stands still.
    await page.clock.install();
    await page.goto(`${system.url}/console/pods`);
    await page.getByRole('cell', { name: 'second', exact: true }).waitFor();
    const feeds = async (...wanted: string[]): Promise<void> => {
      await waitFor(`feeds ${wanted.join(' ')}`, () => asked.length >= wanted.length);
      // Anything rendered afterwards would have sent its request by then.
      await page.evaluate(
        'new Promise((resolve) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = resolve; ' +
          'port2.postMessage(0); })',
      );
      t.same(
        asked,
        wanted.map((each) => `?part=pods&search=${each}`),
      );
      asked = [];
    };
    await feeds('');
    await page.clock.pauseAt(Number(await page.evaluate('Date.now()')) + 1_000);
    const search = page.getByLabel('Search');
    await search.pressSequentially('fir');
    await page.clock.runFor(200);
    await search.pressSequentially('st');
    await page.clock.runFor(200);
    await feeds();
    await page.clock.runFor(50);
    await feeds('first');
    await search.fill('');
    await feeds('');
    await page.getByLabel('State').selectOption('RUNNING');
    await feeds('&filter.state=RUNNING');
    await search.pressSequentially('sec');
    await page.getByLabel('State').selectOption('EXITED');
    await feeds('sec&filter.state=EXITED');
    await page.clock.runFor(1_000);
    await feeds();
    await page.getByLabel('State').selectOption('');
    await feeds('sec');
    await page.getByRole('cell', { name: 'second', exact: true }).waitFor();
    await search.pressSequentially('ond');
    await page.getByRole('button', { name: /^Name/ }).click();
    await feeds('second');
  });
});
