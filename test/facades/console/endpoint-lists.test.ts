// test: postgres, 40 s
/**
 * Charts and lists of an endpoint's past, in a real Chromium: jobs per minute, older decisions, errors with the number
 * of their jobs.
 */

import type { Locator } from 'playwright-core';
import postgres from 'postgres';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

t.setTimeout(600_000);
t.test("an endpoint's past", { skip: whyNoChromium(), timeout: 240_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const { open, inspect } = await consolePages(t, system);
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const newEndpoint = () =>
    system.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields: { workersMin: 0 }, workersMax: 0 });

  t.test('jobs a minute: arrived and ended, in the chosen time range', async (t) => {
    const id = await newEndpoint();
    const page = await open(t, { at: `endpoints/${id}/activity` });
    await page.getByText('No job ended in that time.').waitFor();
    const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Jobs a minute' }) });
    t.equal(await panel.count(), 0, 'none came');
    const seen = (minutesAgo: number, [arrived, low, completed, failed]: [number, number, number, number]) => sql`
      INSERT INTO endpoint_traffic (endpoint_id, ended_at, span_ms, arrived, arrived_low, executed, execution_ms,
        executions, waits, completed, failed)
      VALUES (${id}, now() - ${minutesAgo}::int * interval '1 minute', 10000, ${arrived}, ${low}, 0, 0, '{}', '{}',
        ${completed}, ${failed})`;
    await seen(30, [100, 20, 90, 6]);
    await seen(5, [7, 0, 3, 2]);
    await panel.waitFor();
    const figures = () => panel.locator('.figure').allTextContents();
    t.same(await figures(), ['Arrived127', 'Completed93', 'Failed8']);
    await panel.getByRole('img', { name: /^Jobs a minute\. Now: arrived 0, completed 0, failed 0\.$/ }).waitFor();
    await panel.getByText('in the last hour').waitFor();
    const held = Promise.withResolvers<void>();
    await page.route(/times\?minutes=15$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByLabel('in the last').selectOption({ label: '15 minutes' });
    t.equal(await panel.getByText('in the last hour').count(), 1, 'what is shown is still of the hour');
    held.resolve();
    await panel.getByText('in the last 15 minutes').waitFor();
    await waitFor('what came in that time', async () => (await figures()).join() === 'Arrived7,Completed3,Failed2');
    t.match(page.url(), /[?&]minutes=15$/, 'a link shows the same time range');
    const crosses = page.locator('.chart .u-cursor-x');
    const hidden = page.locator('.chart .u-cursor-x.u-off');
    t.equal(await hidden.count(), await crosses.count());
    const plot = panel.locator('.u-over');
    const { width } = (await plot.boundingBox())!;
    let y = 10;
    await waitFor('the moment under the pointer on all charts', async () => {
      // Near the end, because the queue has been looked at for a few seconds alone.
      await plot.hover({ position: { x: width - 3, y: (y += 1) } });
      return (await hidden.count()) === 0;
    });
    t.ok((await crosses.count()) > 1);
    await inspect(t, page, 'jobs a minute');
    await page.getByLabel('in the last').selectOption({ label: '12 hours' });
    await panel.getByText('in the last 12 hours').waitFor();
  });

  t.test('decisions: the latest, and as far back as they are kept', async (t) => {
    const id = await newEndpoint();
    await waitFor(
      "the scaler's own",
      async () => (await sql`SELECT FROM scale_log WHERE endpoint_id = ${id}`).length > 0,
    );
    await sql`
      INSERT INTO scale_log (endpoint_id, decided_at, target, wished, throttled, reason, limits, numbers, actions,
        refusal, refusal_by_machine, sample_bytes)
      SELECT ${id}, now() - (231 - n) * interval '1 minute', n % 3, n % 3, 0, 'reason ' || n, '[]',
        '{"queued":0,"oldestWaitMs":0,"running":0,"workers":{"present":0}}', '[]', '', '', 0
          FROM generate_series(1, 230) AS n ORDER BY n`;
    const page = await open(t, { at: `endpoints/${id}/decisions` });
    const shown = page.getByRole('list', { name: 'Decisions, latest first' }).getByRole('listitem');
    await page.getByText('reason 230').waitFor();
    t.equal(await shown.count(), 100);
    await page.getByRole('button', { name: 'Show earlier decisions' }).click();
    await page.getByText('reason 31', { exact: true }).waitFor();
    t.equal(await shown.count(), 200);
    await sql`
      INSERT INTO scale_log (endpoint_id, target, wished, throttled, reason, limits, numbers, actions, refusal,
        refusal_by_machine, sample_bytes)
      VALUES (${id}, 1, 1, 0, 'reason 231', '[]', '{"queued":0,"oldestWaitMs":0,"running":0,"workers":{"present":0}}',
        '[]', '', '', 0)`;
    await page.getByText('reason 231').waitFor();
    t.equal(await shown.count(), 201, 'what is new pushes nothing out');
    await page.getByRole('button', { name: 'Show earlier decisions' }).click();
    await page.getByText('reason 1', { exact: true }).waitFor();
    // The first of all is the scaler's own.
    const reasons = (await shown.locator('p:first-of-type').allTextContents()).filter((text) =>
      text.startsWith('reason'),
    );
    const numbers = reasons.map((text) => Number(text.slice('reason '.length)));
    t.same(
      numbers,
      Array.from({ length: 231 }, (_, place) => 231 - place),
      'each once, in order',
    );
    t.equal(await page.getByRole('button', { name: 'Show earlier decisions' }).count(), 0, 'there are no earlier ones');
    await inspect(t, page, 'decisions, all of them');
    await sql`UPDATE scale_log SET actions = '[{"do":"DRAIN","workerId":"gone1"}]',
      limits = '[{"limit":"QUOTA","cut":1,"text":"the account has enough"}]'
      WHERE endpoint_id = ${id} AND reason = 'reason 7'`;
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/api\/.*decisions/.test(request.url())) asked.push(request.url().replace(/^.*\/api/, ''));
    });
    const decide = (reason: string) => sql`
      INSERT INTO scale_log (endpoint_id, target, wished, throttled, reason, limits, numbers, actions, refusal,
        refusal_by_machine, sample_bytes)
      VALUES (${id}, 1, 1, 0, ${reason}, '[]', '{"queued":0,"oldestWaitMs":0,"running":0,"workers":{"present":0}}',
        '[]', '', '', 0)`;
    await page.getByLabel('Search').fill('REASON 23');
    await waitFor('what is looked for in all of them', async () => (await shown.count()) === 3);
    await decide('another one');
    await decide('reason 232');
    await waitFor('one that is new', async () => (await shown.count()) === 4);
    t.equal(await shown.locator('p:first-of-type').first().textContent(), 'reason 232', 'it comes by itself');
    await page.getByLabel('Search').fill('reason');
    await page.getByText('reason 133', { exact: true }).waitFor();
    t.equal(await shown.count(), 100, 'the latest of many');
    await page.getByRole('button', { name: 'Show earlier decisions' }).click();
    await page.getByText('reason 33', { exact: true }).waitFor();
    await decide('reason 233');
    await page.getByText('reason 233', { exact: true }).waitFor();
    t.equal(await shown.count(), 201, 'what is new pushes nothing out of what is found');
    t.equal(
      asked.filter((url) => !url.startsWith('/live')).length,
      1,
      'only what was asked for by hand is asked for besides the feeds',
    );
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Limited by').selectOption('QUOTA');
    await waitFor(
      'what a quota cut',
      async () => (await shown.locator('p:first-of-type').allTextContents()).join() === 'reason 7',
    );
    t.equal(
      asked.filter((url) => url.startsWith('/live')).length,
      3,
      'a feed for each that was looked for, none for what was shown before',
    );
    t.match(page.url(), /\?limit=QUOTA$/, 'a link shows the same');
    await page.getByLabel('Starts or ends workers').selectOption('no');
    await page.getByText('Nothing matches.').waitFor();
    await page.getByLabel('Starts or ends workers').selectOption('yes');
    await page.reload();
    await waitFor(
      'the same',
      async () => (await shown.locator('p:first-of-type').allTextContents()).join() === 'reason 7',
    );
    await inspect(t, page, 'decisions that are looked for');
    const statusOf = (before: string) =>
      page.evaluate(`fetch('/console/api/endpoints/${id}/decisions?before=${before}',
      { headers: { 'x-slipway-console': '1' } }).then(({ status }) => status)`);
    const refused = [
      '',
      '-1',
      'x',
      '1&before=2',
      '0&filter.acts=maybe',
      '0&filter.limit=x',
      '0&order=reason',
      `0&search=${'x'.repeat(201)}`,
    ];
    for (const before of refused) t.equal(await statusOf(before), 400, before.slice(0, 40));
  });

  t.test('a live chart: zoom into a time range by dragging and by keyboard, and out again', async (t) => {
    const id = await newEndpoint();
    const decided = (reason: string, minutesAgo: number) => sql`
      INSERT INTO scale_log (endpoint_id, decided_at, target, wished, throttled, reason, limits, numbers, actions,
        refusal, refusal_by_machine, sample_bytes)
      VALUES (${id}, now() - ${minutesAgo}::int * interval '1 minute', 2, 2, 0, ${reason}, '[]',
        '{"queued":0,"oldestWaitMs":0,"running":0,"workers":{"present":0}}', '[]', '', '', 0)`;
    // Decisions of its own come before those, as they are listed.
    const own = () => sql`UPDATE scale_log SET decided_at = now() - interval '70 minutes' WHERE endpoint_id = ${id}`;
    await waitFor('its first decision', async () => (await own()).count > 0);
    for (let minutesAgo = 60; minutesAgo > 0; minutesAgo -= 10) await decided(`${minutesAgo} minutes ago`, minutesAgo);
    const page = await open(t, { at: `endpoints/${id}/decisions` });
    const panel = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Wanted, decided and present' }) });
    const all = panel.getByRole('button', { name: /^All/ });
    const part = panel.locator('.zoom .hint');
    // Elements that appear above the chart later move it.
    const plotNow = async () => (await panel.locator('.u-over').boundingBox())!;
    /** Returns the legend's text at the left end of the chart. */
    const begins = async (): Promise<string> => {
      const { x, y } = await plotNow();
      await page.mouse.move(x + 2, y + 40);
      return (await panel.locator('.u-value').first().textContent())!;
    };
    const whole = await begins();
    const drag = async (): Promise<boolean> => {
      const { x, y, width } = await plotNow();
      await page.mouse.move(x + width * 0.5, y + 60);
      await page.mouse.down();
      for (const share of [0.6, 0.9]) await page.mouse.move(x + width * share, y + 60);
      await page.mouse.up();
      return part.isVisible();
    };
    await waitFor('a part of it', drag);
    await waitFor('its later half', async () => (await begins()) !== whole);
    const shown = await part.textContent();
    await inspect(t, page, 'a part of a chart');
    await decided('one that is new', 0);
    await page.getByText('one that is new').waitFor();
    t.equal(await part.textContent(), shown, 'what comes changes nothing of it');
    await all.focus();
    await page.keyboard.press('Enter');
    await part.waitFor({ state: 'detached' });
    t.equal(
      await page.evaluate('document.activeElement.textContent'),
      'All of: Workers that the scaler wanted, decided on and had',
      'the focus stays',
    );
    await waitFor('all of it', async () => (await begins()) === whole);
    await panel.getByRole('button', { name: /^Zoom in/ }).focus();
    await page.keyboard.press('Enter');
    await waitFor('its later half', async () => (await begins()) !== whole);
    const [earlier, later] = [
      panel.getByRole('button', { name: /^Earlier/ }),
      panel.getByRole('button', { name: /^Later/ }),
    ];
    const isOver = async (step: Locator) => (await step.getAttribute('aria-disabled')) === 'true';
    t.equal(await isOver(later), true, 'it ends with the chart');
    await earlier.focus();
    const seen = [await part.textContent()];
    while (!(await isOver(earlier)) && seen.length < 10) {
      await page.keyboard.press('Enter');
      await waitFor('another part', async () => !seen.includes(await part.textContent()));
      seen.push(await part.textContent());
    }
    t.equal(seen.length, 3, `a half of it at a time: ${seen.join(', ')}`);
    await waitFor('its earlier half', async () => (await begins()) === whole);
    await page.keyboard.press('Enter');
    t.equal(await part.textContent(), seen.at(-1), 'there is nothing before');
    t.equal(
      await page.evaluate('document.activeElement.textContent'),
      'Earlier part of: Workers that the scaler wanted, decided on and had',
    );
    await inspect(t, page, 'the earlier half of a chart');
    t.equal(await isOver(later), false);
    await later.focus();
    await page.keyboard.press('Enter');
    await waitFor('the part before', async () => (await part.textContent()) === seen[1]);
    const { x, y } = await plotNow();
    await page.mouse.dblclick(x + 100, y + 60);
    await part.waitFor({ state: 'detached' });
    t.equal(await all.getAttribute('aria-disabled'), 'true');
    await later.waitFor({ state: 'detached' });
    await panel.getByRole('button', { name: /^Zoom in/ }).focus();
    await page.keyboard.press('Enter');
    await later.focus();
    // Any action that restores the whole range, as the passing of time does.
    await panel.locator('.u-over').dispatchEvent('dblclick');
    await part.waitFor({ state: 'detached' });
    t.match(
      await page.evaluate('document.activeElement.textContent'),
      /^Later part/,
      'the focus is not lost with the part',
    );
    await all.focus();
    await later.waitFor({ state: 'detached' });
  });

  t.test('errors: the number of their jobs', async (t) => {
    const id = await newEndpoint();
    const rest = '-0000-4000-8000-000000000000-u1';
    const failed = (from: number, to: number) =>
      sql.begin(async (one) => {
        await one`
        INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
          started_at, finished_at, ttl_deadline_at,
          expires_at, attempt)
        SELECT ${id}, lpad(n::text, 8, '0') || ${rest}, 'FAILED', false, 600000, 1800000, now(), now(), now(),
          now() + interval '1 day',
          now() + interval '1 day', 1
        FROM generate_series(${from}::int, ${to}::int) AS n`;
        await one`INSERT INTO job_output (endpoint_id, job_id, error) SELECT ${id}, lpad(n::text, 8, '0') || ${rest},
          'out of memory on card ' || n
        FROM generate_series(${from}::int, ${to}::int) AS n`;
      });
    await failed(1, 3);
    const page = await open(t, { at: `endpoints/${id}/errors` });
    await page.getByText('All 3 failed jobs of this time that are kept.').waitFor();
    await page.getByText('3 ×').waitFor();
    await failed(4, 130);
    await page.reload();
    await page.getByText('All 130 failed jobs of this time that are kept.').waitFor();
    await page.getByText('130 ×').waitFor();
    await page.getByText('The 9 before').click();
    await page.getByRole('link', { name: `00000129${rest}` }).waitFor();
    await inspect(t, page, 'errors of many');
    await sql`UPDATE job SET finished_at = now() - interval '2 hours' WHERE endpoint_id = ${id}
      AND id <> ${`00000007${rest}`}`;
    await page.getByLabel('of the last').selectOption({ label: 'hour' });
    await page.getByText('1 ×').waitFor();
    await page.getByLabel('of the last').selectOption({ label: 'day' });
    await page.getByText('130 ×').waitFor();
    // Only the decisions on display, not all that are stored.
    await page.getByLabel('of the last').selectOption({ label: 'hour' });
    await page.getByText('1 ×').waitFor();
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByText('1 queued again.').waitFor();
    const queued = async () =>
      (
        await sql<
          { id: string }[]
        >`SELECT id FROM job WHERE endpoint_id = ${id} AND state = 'IN_QUEUE' ORDER BY position`
      ).map((job) => job.id);
    t.same(await queued(), [`00000007${rest}`]);
    await failed(131, 2_501);
    await page.reload();
    await page.getByText('2,500 ×').waitFor();
    // The third call is held until it has been stopped.
    let calls = 0;
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route('**/jobs/retry*', async (route) => {
      calls += 1;
      if (calls === 3) await held;
      if (calls === 2)
        return route.fulfill({ status: 429, json: { error: 'Too many requests.', code: 'rate_limited' } });
      await route.continue();
    });
    await page.getByRole('button', { name: 'Run these again' }).click();
    await page.getByText(/^1,000 of 2,500 queued again … Too many requests/).waitFor();
    await waitFor('the third call', () => calls === 3);
    await inspect(t, page, 'errors that are run again');
    await page.getByRole('button', { name: 'Stop' }).click();
    letGo();
    const told = '2,000 queued again, then stopped: the others are left as they were.';
    await page.getByText(told).waitFor();
    t.equal(await page.evaluate('document.activeElement.textContent'), told, 'where the focus is, too');
    t.equal(calls, 3, 'nothing more was asked for');
    await page.unroute('**/jobs/retry*');
    t.same((await queued()).slice(0, 3), [`00000007${rest}`, `00000001${rest}`, `00000002${rest}`], 'the oldest first');
    await page.getByText('500 ×').waitFor();
    await page.getByRole('button', { name: 'Run these again' }).click();
    await page.getByText('500 queued again.', { exact: true }).waitFor();
    await page.getByText('No failed job is kept from this time.').waitFor();
    t.equal((await queued()).length, 2_501, 'all of the group, not only those that are shown');
    await inspect(t, page, 'errors, none left');
  });
});
