// test: 140 s
/**
 * The console in a real Chromium while parts of a real system are away: what its open pages say, and that they go on by
 * themselves.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import t from 'tap';
import { openProfile, startChromium, whyNoChromium } from '../../../helpers/console/chromium.ts';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { startProcesses } from '../../../helpers/system/processes.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { signInAt } from './console-pages.ts';

const WAIT_MS = 60_000;

t.setTimeout(600_000);
t.test('while parts are down', { skip: whyNoChromium(), timeout: 300_000 }, async (t) => {
  // Sessions outlive the facade's process.
  const slipway = await startProcesses(t, { env: { SLIPWAY_EDGE_KEY: 'an edge key of this test' } });
  const id = await slipway.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields: { workersMin: 0 } });
  const browser = await startChromium(t);
  const signIn = async (t: Test, path: string, key = slipway.key): Promise<Page> => {
    const context = await openProfile(browser);
    t.teardown(() => context.close());
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
    await signInAt(page, slipway.url, key, path);
    return page;
  };
  /** Waits until the endpoint's page shows so many waiting jobs. */
  const waiting = (page: Page, count: number) =>
    page.locator('.figure').filter({ hasText: 'In queue' }).getByText(String(count), { exact: true }).waitFor();
  const parked = async (): Promise<void> => {
    await slipway.request('POST', `/v2/${id}/run`, { input: {} });
  };
  /** Waits for a heartbeat of its feed. */
  const beat = async (page: Page): Promise<void> => {
    const browserOf = await page.context().newCDPSession(page);
    const heard = new Promise<void>((resolve) => {
      browserOf.on('Network.eventSourceMessageReceived', ({ eventName }) => {
        if (eventName === 'beat') resolve();
      });
    });
    await browserOf.send('Network.enable');
    await heard;
    await browserOf.detach();
  };
  const closed = Endpoint.fromPartial({ id, workersMax: 0 });
  await call(
    slipway.clients.endpoints,
    'updateEndpoint',
    { endpoint: closed, updateMask: ['workers_max'] },
    slipway.key,
  );

  t.test('the facade: the page says so, keeps what it knew, and goes on', async (t) => {
    const page = await signIn(t, `endpoints/${id}/activity`);
    await waiting(page, 0);
    await slipway.facade.kill();
    await page.getByText('Reconnecting …').waitFor();
    await waiting(page, 0);
    await slipway.facade.start();
    await page.getByText('Reconnecting …').waitFor({ state: 'detached' });
    await parked();
    await waiting(page, 1);
  });

  t.test(
    'core: a page that is open says so and goes on, one that is opened then says so within seconds and goes on too',
    async (t) => {
      const page = await signIn(t, `endpoints/${id}/activity`);
      await waiting(page, 1);
      const old = await signIn(t, 'usage');
      await old.getByText('Nothing ran in this period.').waitFor();
      const list = await signIn(t, `endpoints/${id}/jobs?status=IN_QUEUE`);
      await list.getByRole('rowheader').first().waitFor();
      await slipway.cores[0]!.kill();
      await old.getByLabel('Period').selectOption('168');
      await old.locator('.away').waitFor();
      await page.locator('.away').waitFor();
      t.match(await page.locator('.away').textContent(), /\w+ \w+/, 'in words');
      await waiting(page, 1);
      await page.getByRole('link', { name: 'Templates' }).click();
      const late = page.getByRole('status').getByText('The service does not answer. This page keeps trying.');
      await late.waitFor();
      // Longer than any of its requests is waited for.
      const refused = await page.waitForResponse(
        (response) => response.url().includes('/api/templates') && response.status() === 503,
      );
      t.equal(await late.count(), 1, `it goes on after ${refused.status()}`);
      const unheard = list.waitForResponse(
        (response) => response.url().includes('status=FAILED') && response.status() === 503,
      );
      await list.getByLabel('State').selectOption('FAILED');
      await list.locator('.panel .away').waitFor();
      // By now no part knows whether its key is valid, so that the feed itself is rejected.
      await unheard;
      t.equal(await list.locator('.panel .away').count(), 1, 'it goes on too');
      await slipway.cores[0]!.start();
      await page
        .getByRole('cell', { name: /^test-/ })
        .first()
        .waitFor();
      await old.locator('.away').waitFor({ state: 'detached' });
      await list.getByText('No job matches.').waitFor();
      t.equal(await list.locator('.panel .away').count(), 0);
      t.equal(await late.count(), 0);
      await page.goto(`${slipway.url}/console/endpoints/${id}/activity`);
      await parked();
      await waiting(page, 2);
      t.equal(await page.locator('.away').count(), 0);
    },
  );

  t.test(
    'core stands still: open pages say so within seconds, also a log that does not grow, and a list of which ' +
      'something else is chosen',
    async (t) => {
      const worked = await slipway.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 1 } });
      const page = await signIn(t, `endpoints/${worked}/activity`);
      await page.getByRole('button', { name: /^Log/ }).first().click();
      const log = page.getByRole('dialog');
      await log.getByRole('group', { name: /^Log/ }).waitFor();
      const list = await signIn(t, `endpoints/${id}/jobs?status=IN_QUEUE`);
      await list.getByRole('rowheader').first().waitFor();
      const core = slipway.cores[0]!;
      t.teardown(() => process.kill(core.pid, 'SIGCONT'));
      process.kill(core.pid, 'SIGSTOP');
      await list.getByLabel('State').selectOption('CANCELLED');
      const open = [
        log.locator('.away'),
        page.locator('main > .away'),
        list.locator('main > .away'),
        list.locator('.panel .away'),
      ];
      for (const notice of open) {
        await notice.waitFor();
      }
      await beat(log.page());
      for (const notice of open)
        t.equal(await notice.count(), 1, 'that the feed itself is there takes nothing of that away');
      process.kill(core.pid, 'SIGCONT');
      for (const notice of open) await notice.waitFor({ state: 'detached' });
      await list.getByText('No job matches.').waitFor();
    },
  );

  t.test(
    'the facade stands still: a page says so, keeps what it knew and goes on, by another feed where the one that ' +
      'it had stays silent',
    async (t) => {
      const page = await signIn(t, '');
      let feeds = 0;
      page.on('request', (request) => {
        if (request.url().includes('/api/live?endpoint=')) feeds += 1;
      });
      await page.goto(`${slipway.url}/console/endpoints/${id}/activity`);
      await waiting(page, 2);
      const notice = page.locator('main > .away').getByText('The service does not answer. This page keeps trying.');
      const { pid } = slipway.facade;
      t.teardown(() => process.kill(pid, 'SIGCONT'));
      const stop = async (): Promise<void> => {
        process.kill(pid, 'SIGSTOP');
        await notice.waitFor();
        await waiting(page, 2);
      };
      const goOn = async (): Promise<void> => {
        process.kill(pid, 'SIGCONT');
        await notice.waitFor({ state: 'detached' });
        await waiting(page, 2);
      };
      await stop();
      await goOn();
      t.equal(feeds, 1, 'by the same feed');
      await beat(page);
      t.equal(await notice.count(), 0, 'a page with nothing new is not called silent');
      await stop();
      await waitFor('another feed', () => feeds === 2);
      t.equal(await notice.count(), 1);
      await waiting(page, 2);
      await goOn();
      await slipway.request('POST', `/v2/${id}/purge-queue`);
      await waiting(page, 0);
      await parked();
      await parked();
      await waiting(page, 2);
      t.equal(feeds, 2);
    },
  );

  t.test('a key that is revoked while its page is open: one is asked to sign in again', async (t) => {
    const fields = { name: 'for a while', scope: KeyScope.ALL, endpointIds: [], accountId: '', permissions: undefined };
    const { key, secret } = await call(slipway.clients.keys, 'createKey', fields, slipway.key);
    const page = await signIn(t, `endpoints/${id}/activity`, secret);
    await waiting(page, 2);
    await call(slipway.clients.keys, 'revokeKey', { id: key!.id }, slipway.key);
    await page.getByText('The session has ended: sign in again.').waitFor();
    t.equal(await page.getByText(id).count(), 0, 'nothing of the endpoint stays in sight');
    await page.getByLabel('API key').fill(slipway.key);
    await page.keyboard.press('Enter');
    await waiting(page, 2);
  });
});
