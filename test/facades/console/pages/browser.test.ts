// test: postgres, python, 200 s
/**
 * The console in a real Chromium on a real loaded system: endpoints and jobs, what people see and do there, and what
 * axe-core finds.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { BrowserContextOptions } from 'playwright-core';
import t from 'tap';
import { whyNoChromium } from '../../../helpers/console/chromium.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { webhookReceiver } from '../../../helpers/net/webhook-receiver.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { attemptPages } from './attempt-pages.ts';
import { browserSystem } from './browser-system.ts';
import { codePages } from './code-pages.ts';
import { jobPages } from './job-pages.ts';
import { playgroundPages } from './playground-pages.ts';
import { tryPages } from './try-pages.ts';
import { workerPages } from './worker-pages.ts';

const FIRST_LOAD_BYTES_MAX = 300 * 1024;
const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 800 } };

t.setTimeout(900_000);
t.test('endpoints and jobs in a browser', { skip: whyNoChromium(), timeout: 900_000 }, async (t) => {
  const parts = await browserSystem(t);
  const { system, id, jobs, firstJob, open, signIn, inspect } = parts;

  t.test('signing in, the overview, signing out', async (t) => {
    const page = await open(t);
    const packed: Promise<number>[] = [];
    page.on('response', (response) => {
      if (/\/console(\/assets\/.*)?$/.test(response.url()))
        packed.push(response.body().then((body) => gzipSync(body).length));
    });
    await page.goto(`${system.url}/console`);
    // Chromium discards the responses that it has loaded when it leaves the page.
    const bytes = (await Promise.all(packed.splice(0))).reduce((sum, each) => sum + each, 0);
    page.removeAllListeners('response');
    await page.getByLabel('API key').fill('not-a-key');
    await inspect(t, page, 'signing in');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await signIn(page);
    const row = page.getByRole('row').filter({ hasText: id });
    await row.getByRole('link').waitFor();
    t.match(await row.textContent(), /1\/3/, 'its worker is there');
    t.ok(bytes > 10_000 && bytes < FIRST_LOAD_BYTES_MAX, `the first load is ${bytes} bytes packed`);
    const cookies = await page.context().cookies();
    t.match(cookies, [{ httpOnly: true, sameSite: 'Strict', path: '/console' }]);
    t.equal(await page.evaluate('document.cookie'), '', 'no script reads the session');
    await inspect(t, page, 'overview');
    await page.getByText(/^Slipway \d+\.\d+\.\d+/).waitFor();
    const reference = await page.getByRole('link', { name: 'API reference' }).getAttribute('href');
    t.equal((await fetch(new URL(reference!, system.url))).status, 200);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  });

  t.test('what is typed to sign in stays when the page asks for its session again', async (t) => {
    const page = await open(t);
    await page.goto(`${system.url}/console`);
    const key = page.getByLabel('API key');
    await key.fill('typed so far');
    await page.route('**/console/session', async (route) => {
      // The page has an answer to wait for.
      await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
      await route.continue();
    });
    const again = page.waitForResponse('**/console/session');
    // As on the return from another window.
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    t.equal((await again).status(), 401);
    t.equal(await key.inputValue(), 'typed so far');

    await page.unroute('**/console/session');
    await page.route('**/console/session', (route) =>
      route.fulfill({ status: 500, json: { error: 'The service failed.' } }),
    );
    const failed = page.waitForResponse('**/console/session');
    await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
    t.equal((await failed).status(), 500);
    await (await failed).finished();
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    t.equal(await key.inputValue(), 'typed so far', 'a service that fails does not take it away');
  });

  t.test('an endpoint: what it does and why, its jobs, trying it, its settings', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page
      .getByRole('link', { name: /^test-/ })
      .first()
      .click();
    await page.getByText('in queue').first().waitFor();
    await page.getByRole('img', { name: /Jobs that wait and run/ }).waitFor();
    const machine = page.getByRole('group', { name: /^machine / });
    await machine.getByText(/ready after/).waitFor();
    await page.getByLabel('of the last').selectOption({ label: '2 hours' });
    t.equal(await machine.locator('.phases .starting').count(), 1, 'its cold start is drawn');
    t.ok((await machine.locator('.phases .busy').count()) > 0, 'and when it was busy');
    await inspect(t, page, 'activity');
    await page.getByRole('link', { name: 'Scaling' }).click();
    const first = page.getByRole('listitem').filter({ hasText: '0 → 1 worker' }).first();
    await first
      .getByText(/“Workers kept warm” is 1/)
      .first()
      .waitFor();
    await inspect(t, page, 'scaling');
    await page.getByRole('link', { name: 'Try it' }).click();
    await page.getByLabel(/as JSON/).fill('{"mode": ');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel(/as JSON/).fill('{"mode": "stream", "values": ["once ", "upon ", "a time"]}');
    await page.keyboard.press('Control+Enter');
    await page.getByText('once upon a time').waitFor();
    await page.getByText('completed').first().waitFor();
    await inspect(t, page, 'try it');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('GPUs of each worker').fill('2');
    const outlook = page.getByRole('status').filter({ hasText: 'What will happen:' });
    await outlook
      .getByText(/The endpoint gets a new version, for GPUs of each worker: its workers finish their jobs/)
      .waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await outlook.waitFor({ state: 'detached' });
    await page.getByLabel('Most workers').fill('2');
    await outlook.getByText(/No worker is replaced. It applies from the next scaling pass/).waitFor();
    await page.getByRole('button', { name: 'What would happen?' }).click();
    await page.getByText('What would have happened').waitFor();
    await inspect(t, page, 'settings');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('as saved').waitFor();
    const { endpoint } = await call(system.clients.endpoints, 'getEndpoint', { id }, system.key);
    t.equal(endpoint!.workersMax, 2, 'saved');
    await page.getByRole('link', { name: 'Releases' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Most workers' }).first().waitFor();
    await page.getByText('created', { exact: false }).first().waitFor();
    await inspect(t, page, 'releases');
    await page.getByRole('link', { name: 'Code' }).click();
    await page.getByText(`runpod.Endpoint("${id}")`).waitFor();
    await inspect(t, page, 'code');
  });

  t.test('jobs: the list, one that failed, a large output, one that waits', async (t) => {
    const failed = await jobs.run({ mode: 'throw', message: 'out of memory on card 3' });
    await jobs.reached(failed, 'FAILED');
    const page = await open(t, PHONE);
    await signIn(page, system.key, `endpoints/${id}/jobs`);
    await page.getByLabel('State').selectOption('FAILED');
    await page.getByRole('row').filter({ hasText: 'out of memory on card 3' }).waitFor();
    await page.getByRole('cell', { name: 'completed' }).first().waitFor({ state: 'detached' });
    await inspect(t, page, 'jobs');
    await page.setViewportSize({ width: 1024, height: 800 });
    const error = (await page.getByRole('cell', { name: 'out of memory on card 3' }).first().boundingBox())!;
    t.ok(error.x + error.width <= 1024, `the error is in sight at 1024 pixels: ${JSON.stringify(error)}`);
    await page.setViewportSize({ width: 390, height: 800 });
    const first = page.getByRole('table').getByRole('rowheader').first();
    t.equal(await first.textContent(), failed, 'the newest first');
    await page.getByRole('button', { name: /^Submitted/ }).click();
    await page.getByRole('columnheader', { name: 'Submitted ↑' }).waitFor();
    await page.getByLabel('State').selectOption('');
    await page.getByRole('rowheader', { name: firstJob }).waitFor();
    t.equal(await first.textContent(), firstJob, 'the oldest first');
    await page.getByLabel('Job', { exact: true }).fill(` ${failed} `);
    await page.keyboard.press('Enter');
    await page.getByLabel('Error', { exact: true }).waitFor();
    await inspect(t, page, 'a failed job');
    await page.goto(`${system.url}/console/endpoints/${id}/errors`);
    await page.getByText('out of memory on card 3').first().waitFor();
    const waiting = await jobs.run({ mode: 'block' });
    await page.goto(`${system.url}/console/endpoints/${id}/jobs/${waiting}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('cancelled', { exact: true }).waitFor();
  });

  t.test('a job with 20 MB in and out: a page shows the first part of each and has all of it', async (t) => {
    const text = 'täglich '.repeat(2_100_000);
    const { id: large } = await jobs.runSync({ mode: 'echo', text });
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/jobs/${large}`);
    await page.getByLabel('Output', { exact: true }).waitFor();
    for (const title of ['Output', 'Input']) {
      const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
      const viewer = panel.getByLabel(title, { exact: true });
      await viewer.waitFor();
      t.equal((await viewer.textContent())!.length < 100_001, true, `${title}: a part of it`);
      await panel.getByRole('button', { name: 'Show more' }).click();
      await panel.getByText(/^the first 195/).waitFor();
      const download = page.waitForEvent('download');
      await panel.getByRole('button', { name: 'Download' }).click();
      const saved = readFileSync(await (await download).path());
      t.ok(saved.length > 18_000_000, `${saved.length} bytes`);
      t.equal((JSON.parse(saved.toString()) as { text: string }).text === text, true, `${title}: all of it, as it was`);
    }
    await inspect(t, page, 'a large job');
  });

  t.test('a job: what its workers write, live, and its webhook calls', async (t) => {
    const files = await scratch(t);
    const hooks = await webhookReceiver(t);
    const talker = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('talker.js'), fields: { name: 'talker' } }),
    );
    files.makeFolder('gate');
    const said = await talker.run(
      { words: ['one', 'two'], gate: files.path('gate') },
      { webhook: hooks.url('console') },
    );
    const page = await open(t, { ...PHONE, colorScheme: 'dark' });
    await signIn(page, system.key, `endpoints/${talker.id}/jobs/${said}`);
    const log = page.getByLabel('Logs', { exact: true });
    files.open('gate/1');
    await log.getByText('saying one').waitFor();
    t.notMatch(await log.textContent(), /saying two/);
    files.open('gate/2');
    await log.getByText('saying two').waitFor();
    await page.getByText('completed', { exact: true }).first().waitFor();
    await hooks.received('console', 1);
    await page.getByText('delivered', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Call again' }).click();
    await hooks.received('console', 2);
    await page.getByText('delivered', { exact: true }).waitFor();
    await page.getByText('Redriven').waitFor();
    await inspect(t, page, 'a job with logs and webhook calls');
  });

  attemptPages(t, parts);
  workerPages(t, parts);
  codePages(t, parts);
  tryPages(t, parts);
  playgroundPages(t, parts);
  jobPages(t, parts);
});
