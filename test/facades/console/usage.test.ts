// test: postgres, 15 s
/**
 * Usage in a real Chromium: sums ordered and paged by core, a chart of a few groups of many, totals of all, all of it
 * as a file.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

/** Endpoints that had workers. */
const ENDPOINTS = 70;
const PAGE = 50;

t.setTimeout(600_000);
t.test('usage of many endpoints', { skip: whyNoChromium(), timeout: 240_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const { open, inspect } = await consolePages(t, system);
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  // The n-th has a worker for n minutes at noon of each of two days, at a price an hour that falls with n; the last one
  // goes on.
  await sql`
    INSERT INTO usage_span (account_id, kind, subject_id, endpoint_id, usd_per_hour, started_at, ended_at)
    SELECT (SELECT id FROM account WHERE name = 'test'), 'WORKER', 's' || n || '-' || day, 'e' || lpad(n::text, 4, '0'),
      60000.0 / (n * n), noon,
      noon + n * interval '1 min'
    FROM generate_series(1, ${ENDPOINTS}::int) n, (VALUES (3), (5)) d(day),
      LATERAL (SELECT date_trunc('day', now(), 'UTC') - day * interval '1 day' + interval '12 h' AS noon) at`;
  const minutes = ENDPOINTS * (ENDPOINTS + 1);
  const ids = (page: Page) => page.locator('tbody td.id').allTextContents();
  const numbers = async (page: Page) => (await ids(page)).map((id) => Number(id.slice(1)));
  const begins = (page: Page, ...first: number[]) =>
    waitFor(
      `the sums to begin with ${first.join()}`,
      async () => (await numbers(page)).slice(0, first.length).join() === first.join(),
    );

  await t.test("sorting and paging are core's; a chart draws a bounded number of groups", async (t) => {
    const page = await open(t);
    const answers: { path: string; records: number }[] = [];
    page.on('response', async (response) => {
      if (!response.url().includes('/api/usage')) return;
      const { rows, records = rows } = (await response.json()) as { rows: object[]; records?: object[] };
      answers.push({ path: response.url().replace(/^.*\/api/, ''), records: records.length });
    });
    await page.goto(`${system.url}/console/usage`);
    await begins(page, 70, 69, 68);
    t.equal((await ids(page)).length, PAGE);
    t.match(await page.locator('.figures').textContent(), new RegExp(`Groups${ENDPOINTS}$`), 'totals are of all pages');
    const legend = page.locator('figcaption').first();
    t.same(
      (await legend.locator('span').allTextContents()).map((text) => text.trim()),
      ['e0001', 'e0002', 'e0003', 'e0004', 'e0005', '65 others'],
    );
    await inspect(t, page, 'usage of many');
    await page.getByRole('button', { name: 'Next' }).click();
    await begins(page, 20, 19, 18);
    await page.getByRole('button', { name: 'Cost', exact: true }).click();
    await begins(page, 70, 70, 69, 69);
    t.equal(await page.getByText('page 1').count(), 1, 'another order begins at the first page');
    await page.getByRole('button', { name: 'Cost ↑' }).click();
    await begins(page, 1, 1, 2, 2);
    await page.getByRole('button', { name: 'Next' }).click();
    await begins(page, 26, 26, 27);
    await page.getByRole('button', { name: 'Next' }).click();
    await begins(page, 51, 51);
    t.same((await numbers(page)).slice(-2), [70, 70], 'to the end');
    t.ok(await page.getByRole('button', { name: 'Next' }).isDisabled());
    await page.getByRole('button', { name: /^Time/ }).click();
    await begins(page, 1, 1, 2, 2);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await page.getByRole('button', { name: 'Name ↑' }).click();
    await begins(page, 70, 70, 69, 69);
    await waitFor('all answers to have been read', async () =>
      answers.some(({ path }) => path.includes('order=name&descending=true')),
    );
    const [courses, sums] = [
      answers.filter(({ path }) => path.includes('/course')),
      answers.filter(({ path }) => !path.includes('/course')),
    ];
    t.equal(courses.length, 1, 'neither order nor page asks for the chart again');
    t.equal(courses[0]!.records, 2 * 6);
    t.ok(sums.length >= 8 && sums.every(({ records }) => records <= PAGE), JSON.stringify(sums));
  });

  await t.test('searched by core, with totals and chart of the matches; filters are in the URL', async (t) => {
    const page = await open(t, { at: 'usage' });
    await begins(page, 70);
    await page.getByRole('button', { name: 'Next' }).click();
    await begins(page, 20);
    await page.getByLabel('Search').fill('E001');
    await begins(page, 19, 18, 17, 16);
    t.equal((await ids(page)).length, 20, 'of the first page again');
    await page.locator('.figures').getByText('10', { exact: true }).waitFor();
    t.ok((await page.locator('figcaption').first().textContent())!.includes('5 others'));
    await page.getByLabel('Search').fill('no such endpoint');
    await page.getByText('Nothing ran in this period.').waitFor();
    t.ok(await page.getByLabel('Search').isVisible(), 'where it can be changed');
    await page.getByLabel('Search').fill('');
    await begins(page, 70);
    await page.getByLabel('Period').selectOption('168');
    await page.getByLabel('Group by').selectOption('gpu');
    await page.getByRole('rowheader', { name: 'without a GPU' }).first().waitFor();
    t.match(page.url(), /usage\?hours=168&by=gpu$/);
    await page.reload();
    await page.getByRole('rowheader', { name: 'without a GPU' }).first().waitFor();
    t.equal(await page.getByLabel('Group by').inputValue(), 'gpu', 'a link shows the same');
    await page.goto(`${system.url}/console/usage?kind=jobs&hours=0`);
    await page.getByRole('alert').getByText('"hours" must be from 1 to 8784.').waitFor();
    await page.getByLabel('Period').selectOption('720');
    await page.getByRole('alert').getByText('"kind" must be one of workers, pods, volumes.').waitFor();
    await page.getByLabel('Usage of').selectOption('workers');
    await begins(page, 70);
  });

  await t.test('all matches as a file, in order', async (t) => {
    const page = await open(t, { at: 'usage' });
    await page.getByRole('button', { name: /^Time/ }).click();
    await begins(page, 1, 1, 2, 2);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const [head, ...rows] = readFileSync(await (await download).path(), 'utf8')
      .split('\r\n')
      .map((line) => line.slice(1, -1).split('","'));
    t.same(head, ['time', 'group', 'name', 'amount', 'billedMs']);
    t.same(
      rows.map(([, group]) => Number(group!.slice(1))),
      Array.from({ length: 2 * ENDPOINTS }, (_, place) => Math.floor(place / 2) + 1),
    );
    t.equal(
      rows.reduce((sum, [, , , , ms]) => sum + Number(ms), 0),
      minutes * 60_000,
      'each once',
    );
  });

  await t.test('running spans are counted up to the same moment on every page', async (t) => {
    await sql`UPDATE usage_span SET ended_at = NULL WHERE started_at > now() - interval '4 days'`;
    t.teardown(() => sql`UPDATE usage_span SET ended_at = now() WHERE ended_at IS NULL`);
    const page = await open(t);
    const asked = 'hours=168&order=billed_ms&descending=true&size=20';
    const read = async (
      cursor: string,
    ): Promise<{ rows: { billedMs: number; time: string; group: string }[]; next: string }> =>
      page.evaluate(
        `fetch('/console/api/usage?${asked}&${new URLSearchParams({ page: cursor })}', { headers: { ` +
          "'x-console-page': '1' } }).then((answer) => answer.json())",
      );
    const found: { billedMs: number; time: string; group: string }[] = [];
    let next = '';
    do {
      const answer = await read(next);
      found.push(...answer.rows);
      next = answer.next;
    } while (next !== '');
    t.equal(new Set(found.map(({ time, group }) => `${time} ${group}`)).size, found.length, 'each once');
    const lastDay = found
      .map(({ time }) => time)
      .toSorted()
      .at(-1);
    const ofLastDay = found.filter(({ time }) => time === lastDay).map(({ billedMs }) => billedMs);
    t.equal(ofLastDay.length, ENDPOINTS, 'they are on several pages');
    t.equal(new Set(ofLastDay).size, 1, `all go on up to now: ${ofLastDay.join()}`);
    for (const wrong of ['1', 'x y', '99999999999999999 e', '1790000000000 e']) {
      const statusOf =
        `fetch('/console/api/usage?page=${encodeURIComponent(wrong)}', { headers: { 'x-console-page': '1' } ` +
        '}).then(({ status }) => status)';
      t.equal(await page.evaluate(statusOf), 400, wrong);
    }
  });
});
