/**
 * Part of browser.test.ts, on its system: how long jobs take, the list of jobs by when they were submitted, and many
 * cancelled at once.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import type { Test } from 'tap';
import { scratch } from '../../../helpers/scratch.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function jobPages(t: Test, parts: BrowserParts): void {
  times(t, parts);
  submittedWithin(t, parts);
  cancelled(t, parts);
  allJobs(t, parts);
}

function times(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('queue and execution times: percentiles of the last minutes to hours, live', async (t) => {
    const id = await system.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields: { workersMin: 0 } });
    const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/activity`);
    await page.getByText('No job ended in that time.').waitFor();
    await inspect(t, page, 'no job ended');
    /** Waits of 1 to 1.4 s, and executions that took no time. */
    const ended = (minutesAgo: number, jobs: number) => sql`
      INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, executed, execution_ms, executions, waits)
      VALUES (${id}, now() - ${minutesAgo}::int * interval '1 minute', 10000, 0, ${jobs}, 0, ARRAY[${jobs}::int],
        array_fill(0, ARRAY[21]) || ${jobs}::int)`;
    await ended(30, 100);
    const panel = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'How long jobs wait and run' }) });
    await panel.getByText('100 executions').waitFor();
    t.same(await panel.locator('.figure').allTextContents(), [
      'Waited, p501.2\u00A0s',
      'Waited, p951.4\u00A0s',
      'Waited, p991.4\u00A0s',
      'Ran, p500\u00A0ms',
      'Ran, p950\u00A0ms',
      'Ran, p990\u00A0ms',
    ]);
    await panel.getByRole('img', { name: 'How long jobs waited for a worker. Now: p50 –, p95 –, p99 –.' }).waitFor();
    await inspect(t, page, 'how long jobs take');
    await ended(0, 25);
    await panel.getByText('125 executions').waitFor();
    await panel.getByRole('img', { name: /^How long jobs waited for a worker. Now: p50 1.2\ss/ }).waitFor();
    await page.getByLabel('in the last').selectOption({ label: '15 minutes' });
    await panel.getByText('25 executions', { exact: true }).waitFor();
    const statusOf = (minutes: string) =>
      page.evaluate(`fetch('/console/api/endpoints/${id}/times?minutes=${minutes}',
      { headers: { 'x-slipway-console': '1' } }).then(({ status }) => status)`);
    for (const minutes of ['', '0', '721', '1.5', 'hour', '5&minutes=6'])
      t.equal(await statusOf(minutes), 400, minutes);
    t.equal(await statusOf('720'), 200);
  });
}

function submittedWithin(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test("jobs by time: the last hour, day or week, or a range, in the browser's zone and in the URL", async (t) => {
    const own = endpointJobs(
      system,
      await system.createEndpoint({
        command: jsHandler('all.js'),
        ready: 0,
        fields: { workersMin: 0 },
        workersMax: 0,
      }),
    );
    const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    const [fixed, week, day, now] = [
      await own.run({}),
      await own.run({}),
      await own.run({}),
      await own.run({}),
    ] as const;
    await sql`UPDATE job SET submitted_at = '2026-01-31 12:00:00+00' WHERE id = ${fixed}`;
    await sql`UPDATE job SET submitted_at = now() - interval '3 days' WHERE id = ${week}`;
    await sql`UPDATE job SET submitted_at = now() - interval '3 hours' WHERE id = ${day}`;
    const page = await open(t, { timezoneId: 'Asia/Tokyo' });
    await signIn(page, system.key, `endpoints/${own.id}/jobs`);
    const lists = async (...ids: string[]): Promise<void> => {
      await waitFor(`the list to be ${ids.join(', ')}`, async () => {
        const shown = await page.getByRole('rowheader').allTextContents();
        return shown.join() === ids.join();
      });
    };
    await lists(now, day, week, fixed);
    const when = page.getByLabel('Submitted');
    for (const [label, ids] of [
      ['in the last hour', [now]],
      ['in the last day', [now, day]],
      ['in the last 7 days', [now, day, week]],
    ] as const) {
      await when.selectOption({ label });
      await lists(...ids);
    }
    t.match(page.url(), /\?from=now-7d$/);
    await page.reload();
    await lists(now, day, week);
    t.equal(await when.inputValue(), 'now-7d', 'a link keeps it');
    await ownTimes(page, lists, { before: [now, day, week, fixed], fixed });
    await inspect(t, page, 'jobs from a time until another');
    await page.getByLabel('until', { exact: true }).fill('2026-01-31T20:00:00');
    await page.getByRole('alert').getByText('must be after').waitFor();
    await inspect(t, page, 'a time that cannot be');
    await page.goto(`${system.url}/console/endpoints/${own.id}/jobs?from=now-3d&order=oldest&status=IN_QUEUE`);
    await lists(day, now);
    await page.getByRole('columnheader', { name: 'Submitted ↑' }).waitFor();
    t.equal(await page.getByLabel('State').inputValue(), 'IN_QUEUE', 'what was chosen besides is in the address too');
    await page.goto(`${system.url}/console/endpoints/${own.id}/jobs?from=yesterday`);
    await page.getByRole('alert').getByText('"submittedFrom" must be one ISO 8601 time').waitFor();
  });
}

/** Checks times in a zone nine hours before UTC. */
async function ownTimes(
  page: Page,
  lists: (...ids: string[]) => Promise<void>,
  { before, fixed }: { before: string[]; fixed: string },
): Promise<void> {
  await page.getByLabel('Submitted').selectOption({ label: 'from – until …' });
  await lists(...before);
  await page.getByText('times of Asia/Tokyo').waitFor();
  await page.getByLabel('until', { exact: true }).fill('2026-01-31T21:00:01');
  await lists(fixed);
  await page.getByLabel('from', { exact: true }).fill('2026-01-31T21:00:00');
  await page.waitForURL(/from=2026-01-31T12%3A00%3A00.000Z/);
  await page.reload();
  await lists(fixed);
  await page
    .locator('input[type=datetime-local]')
    .and(page.getByLabel('from', { exact: true }))
    .waitFor();
}

function cancelled(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test(
    'many jobs cancelled at once, with the keyboard: one confirmation, few requests at a time, and each result',
    async (t) => {
      const files = await scratch(t);
      const own = endpointJobs(
        system,
        await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 1 }, workersMax: 1 }),
      );
      const first = await own.run({ mode: 'until', file: files.path('done') });
      await own.reached(first, 'IN_PROGRESS');
      const waiting: string[] = [];
      for (let place = 0; place < 12; place += 1) waiting.push(await own.run({ mode: 'block' }));
      const page = await open(t);
      await signIn(page, system.key, `endpoints/${own.id}/jobs`);
      const all = page.getByRole('checkbox', { name: 'Select all on this page' });
      await all.focus();
      await page.keyboard.press('Space');
      await page.getByRole('button', { name: 'Cancel 13 jobs …' }).waitFor();
      await page.getByRole('checkbox', { name: waiting[5]! }).focus();
      await page.keyboard.press('Space');
      t.equal(await page.evaluate('document.querySelector("th.pick input").indeterminate'), true, 'not all of them');
      await inspect(t, page, 'jobs that are chosen');
      // It ends between the choice and the question's answer.
      files.open('done');
      await own.settled(first);
      let now = 0;
      let most = 0;
      page.on('request', (request) => {
        if (request.url().includes('/cancel/')) most = Math.max(most, (now += 1));
      });
      page.on('requestfinished', (request) => {
        if (request.url().includes('/cancel/')) now -= 1;
      });
      await page.getByRole('button', { name: 'Cancel 12 jobs …' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Cancel 12 jobs?' }).waitFor();
      await inspect(t, page, 'the question');
      await page.getByRole('button', { name: 'Keep them' }).focus();
      await page.keyboard.press('Enter');
      // By its element: one that is closed has no role before it is gone.
      await page.locator('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Cancel them' }).focus();
      await page.keyboard.press('Enter');
      await page.getByText('11 cancelled, 1 had ended.').waitFor();
      t.equal(
        await page.evaluate('document.activeElement.textContent'),
        '11 cancelled, 1 had ended.',
        'where the focus is, too',
      );
      t.ok(most > 1 && most <= 6, `${most} at a time`);
      t.equal(await page.getByRole('button', { name: /^Cancel \d/ }).count(), 0, 'nothing is chosen any more');
      for (const id of waiting)
        await (id === waiting[5] ? own.reached(id, 'IN_PROGRESS') : own.reached(id, 'CANCELLED'));
      await page.getByRole('cell', { name: 'cancelled' }).nth(10).waitFor();
      t.equal(
        await page.getByRole('checkbox', { name: /^Select .*-u1$/ }).count(),
        1,
        'what has ended cannot be chosen',
      );
      const reader = await open(t);
      await signIn(reader, await system.newKey(KeyScope.READ_ONLY), `endpoints/${own.id}/jobs`);
      await reader.getByRole('rowheader').first().waitFor();
      t.equal(await reader.getByRole('checkbox').count(), 0, 'nor by a key that may only read');
      await own.call('POST', `/cancel/${waiting[5]}`);
    },
  );
}

function allJobs(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test(
    'jobs of all endpoints: found by state, endpoint, metadata and id, and run again with another input',
    async (t) => {
      const fields = { name: 'lantern', workersMin: 0 };
      const own = endpointJobs(
        system,
        await system.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields, workersMax: 0 }),
      );
      const kept = await own.run({ mode: 'value', value: 1 }, { metadata: { order: '1042', user: 'ann' } });
      const other = await own.run({ mode: 'value', value: 2 });
      await own.call('POST', `/cancel/${other}`);
      const page = await open(t);
      await signIn(page);
      await page.getByRole('link', { name: 'Jobs', exact: true }).click();
      await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
      const lists = (...ids: string[]) =>
        waitFor(`the list to be ${ids.join(', ')}`, async () => {
          const shown = await page.getByRole('rowheader').allTextContents();
          return shown.join() === ids.join();
        });
      await page.getByLabel('Endpoint').fill('LANTERN');
      await lists(other, kept);
      await page.getByRole('button', { name: /^cancelled 1$/ }).click();
      await lists(other);
      t.match(page.url(), /\?endpoint=LANTERN&status=CANCELLED$/, 'a link shows the same');
      await page.getByRole('button', { name: /^all/ }).click();
      await page.getByLabel('Metadata').fill('order=1042 user=ann');
      await lists(kept);
      await inspect(t, page, 'jobs of all endpoints');
      await page.getByRole('heading', { name: 'Jobs', exact: true }).click();
      await page.keyboard.press('/');
      await page.getByLabel('Job id').fill('nowhere');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').getByText('No endpoint has a job with this id').waitFor();
      await page.getByLabel('Job id').fill(` ${kept} `);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: kept }).waitFor();
      await page.getByRole('link', { name: 'lantern', exact: true }).waitFor();
      await page.getByRole('rowheader', { name: 'order' }).waitFor();
      t.equal(await page.title(), `${kept} · Slipway`);
      await page.getByLabel('Input', { exact: true }).getByText('"value": 1').waitFor();
      await page.getByRole('button', { name: 'Edit and run again' }).click();
      await page.getByLabel(/as JSON/).fill('{"mode": "value", "value": 3}');
      await inspect(t, page, 'edit and run again');
      await page.getByRole('button', { name: 'Run it as a new job' }).click();
      await page.getByLabel('Input', { exact: true }).getByText('"value": 3').waitFor();
      await page.getByRole('rowheader', { name: 'order' }).waitFor();
      t.not(page.url().split('/').at(-1), kept, 'it is another job');
    },
  );
}
