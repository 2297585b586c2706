/**
 * Part of browser.test.ts, on its system: the time line of workers that crash and of standby workers, with their GPUs.
 */

import { FlashBootType } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function workerPages(t: Test, parts: BrowserParts): void {
  crashed(t, parts);
  crashLoop(t, parts);
  frozen(t, parts);
}

/** Returns the lanes of the only machine, each under the GPU that its workers had. */
async function lanesOf(page: Page) {
  const machine = page.getByRole('group', { name: /^machine / });
  await machine.locator('.lane').first().waitFor();
  return machine.locator('.lane').filter({ has: page.getByText(/^GPU \S+/) });
}

function crashed(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('a worker that crashes: where on the time line, on which GPU, with its exit code', async (t) => {
    const fields = { workersMin: 0, gpuIds: ['NVIDIA L4'] };
    const own = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), fields, ready: 0, retryLimit: 0, workersMax: 1 }),
    );
    await own.settled(await own.run({ mode: 'exit', code: 3 }));
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${own.id}/activity`);
    await page.getByLabel('of the last').selectOption({ label: '30 minutes' });
    const lane = (await lanesOf(page)).filter({ hasText: 'crashed' });
    await lane.locator('.badge').getByText('crashed', { exact: true }).waitFor();
    t.equal(await lane.locator('.phases .crashed').count(), 1, 'its end is marked');
    const [bar, mark] = [
      (await lane.locator('.phases').boundingBox())!,
      (await lane.locator('.phases .crashed').boundingBox())!,
    ];
    t.ok(mark.width >= 3 && mark.x >= bar.x && mark.x + mark.width <= bar.x + bar.width + 3, 'where it can be seen');
    await lane.getByText(/ready after .* · ended/).waitFor();
    const ended = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Workers that exited unexpectedly' }) });
    await ended
      .getByText(/exit code 3/)
      .first()
      .waitFor();
    await inspect(t, page, 'a worker that crashed');
    await system.endWorkers(own.id);
  });
}

/** Left and right edge, in percent of the time line, of the phases of the latest crashed worker. */
const EDGES = `(() => {
  const of = (kind) => [...document.querySelectorAll('.phases .' + kind)];
  const edges = ({ style }) => [parseFloat(style.left), parseFloat(style.left) + parseFloat(style.width)];
  const crashed = of('crashed').at(-1);
  const id = crashed.title.split(' ')[0];
  return { id, crashed: edges(crashed), starting: edges(of('starting').find(({ title }) => title.startsWith(id))) };
})()`;

interface Edges {
  id: string;
  crashed: [number, number];
  starting: [number, number];
}

function crashLoop(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('a crash loop: red from the exit until now, with the time of the next try', async (t) => {
    const command = ['/bin/sh', '-c', 'exit 5'];
    const id = await system.createEndpoint({ command, fields: { workersMin: 1 }, ready: 0, workersMax: 1 });
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/activity`);
    // Pauses double: this one is long enough to look at twice.
    await page.getByText(/crashed .*, next try at \d+:\d\d.*, in [5-9]\.\d\ss/).waitFor();
    await page
      .getByText(/never ready, ran for/)
      .first()
      .waitFor();
    const first = (await page.evaluate(EDGES)) as Edges;
    const later = await waitFor('the bar to grow', async () => {
      const seen = (await page.evaluate(EDGES)) as Edges;
      return seen.crashed[1] - seen.crashed[0] > first.crashed[1] - first.crashed[0] && seen;
    });
    for (const { crashed, starting } of [first, later]) {
      t.ok(Math.abs(crashed[0] - starting[1]) < 0.01, 'it stops to start when its process exits');
      t.ok(Math.abs(crashed[1] - 100) < 0.01, 'and waits from then until now');
    }
    await page.getByText('Workers that exited unexpectedly').waitFor();
    await page
      .getByText(/exit code 5/)
      .first()
      .waitFor();
    await inspect(t, page, 'a crash loop');
    await system.endWorkers(id);
  });
}

function frozen(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('a worker frozen and resumed: since when it is on standby, and its history', async (t) => {
    const fields = {
      workersMin: 0,
      gpuIds: ['NVIDIA L4'],
      idleTimeoutSeconds: 1,
      flashBootType: FlashBootType.FLASHBOOT,
    };
    const own = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), fields, ready: 0, workersMax: 1 }),
    );
    await own.runSync({ mode: 'value', value: 1 });
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${own.id}/activity`);
    await page.getByLabel('of the last').selectOption({ label: '5 minutes' });
    const lanes = await lanesOf(page);
    await lanes.locator('.phases .standby').waitFor({ state: 'attached' });
    await lanes.getByText('standby', { exact: true }).waitFor();
    await lanes.getByText(/ · standby \d/).waitFor();
    await inspect(t, page, 'a frozen worker');
    await own.runSync({ mode: 'value', value: 2 });
    // The current state passes. The bar of the worker keeps that it was in standby, was resumed and is in standby
    // again.
    await lanes.locator('.phases .standby').nth(1).waitFor({ state: 'attached' });
    t.equal(await lanes.count(), 1, 'no other was started');
    await system.endWorkers(own.id);
    await lanes.getByText('ended', { exact: true }).waitFor();
  });
}
