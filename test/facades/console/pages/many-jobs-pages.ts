/**
 * Part of lists.test.ts, on its system: all jobs of a filter cancelled or retried, stopped in between, and rejected.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import postgres from 'postgres';
import type { Test } from 'tap';
import { scratch } from '../../../helpers/scratch.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function manyJobsPages(t: Test, parts: BrowserParts): void {
  cancelled(t, parts);
  runAgain(t, parts);
}

function cancelled(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('all matching jobs are cancelled: one confirmation, progress, and a stop that leaves the rest', async (t) => {
    const own = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), ready: 0, fields: { workersMin: 0 }, workersMax: 0 }),
    );
    const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    const old = await own.run({});
    await sql`UPDATE job SET submitted_at = now() - interval '3 hours' WHERE id = ${old}`;
    await sql`
      INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
        ttl_deadline_at, expires_at)
      SELECT ${own.id}, 'j' || i, 'IN_QUEUE', false, 600000, 1800000, now(), now() + interval '1 day',
        now() + interval '1 day'
      FROM generate_series(1, 12000) AS i`;
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${own.id}/jobs?from=now-1h`);
    await page.getByText('10,000 and more kept').waitFor();
    await page.getByRole('button', { name: 'Run all that match again …' }).waitFor();
    await page.getByRole('button', { name: 'Cancel all that match …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel all jobs that match?' });
    await dialog.getByText('At least 10,000 jobs').waitFor();
    await dialog.getByText('that are in queue or in progress, submitted in the last hour.').waitFor();
    await inspect(t, page, 'whether all that match are to be cancelled');
    await dialog.getByRole('button', { name: 'Keep them' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    t.same(await sql`SELECT FROM job WHERE endpoint_id = ${own.id} AND state = 'CANCELLED'`, [], 'it has only asked');
    // The third call is held until it has been stopped.
    let calls = 0;
    let letGo = (): void => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route('**/jobs/cancel*', async (route) => {
      calls += 1;
      if (calls === 3) await held;
      if (calls === 2)
        return route.fulfill({ status: 429, json: { error: 'Too many requests.', code: 'rate_limited' } });
      await route.continue();
    });
    await page.getByRole('button', { name: 'Cancel all that match …' }).click();
    await dialog.getByRole('button', { name: 'Cancel them all' }).click();
    await dialog.getByText(/^1,000 of at least 10,000 jobs cancelled … Too many requests/).waitFor();
    await waitFor('the third call', () => calls === 3);
    await inspect(t, page, 'jobs that are being cancelled');
    await dialog.getByRole('button', { name: 'Stop' }).click();
    letGo();
    const told = '2,000 cancelled, then stopped: the others are left as they were.';
    await page.getByText(told).waitFor();
    t.equal(await page.evaluate('document.activeElement.textContent'), told, 'where the focus is, too');
    t.equal(calls, 3, 'nothing more was asked for');
    await inspect(t, page, 'what was cancelled before it was stopped');
    t.match(await sql`SELECT count(*)::int AS n FROM job WHERE endpoint_id = ${own.id} AND state = 'CANCELLED'`, [
      { n: 2_000 },
    ]);
    await page.unroute('**/jobs/cancel*');
    await page.getByRole('button', { name: 'Cancel all that match …' }).click();
    await dialog.getByRole('button', { name: 'Cancel them all' }).click();
    await page.getByText('10,000 cancelled.').waitFor();
    t.same(
      await sql`SELECT id FROM job WHERE endpoint_id = ${own.id} AND state = 'IN_QUEUE'`,
      [{ id: old }],
      'only the one that did not match still waits',
    );
    const reader = await open(t);
    await signIn(reader, await system.newKey(KeyScope.READ_ONLY), `endpoints/${own.id}/jobs`);
    await reader.getByRole('rowheader').first().waitFor();
    t.equal(await reader.getByRole('button', { name: /that match/ }).count(), 0, 'not by a key that may only read');
  });
}

function runAgain(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('all failed jobs run again, with the keyboard', async (t) => {
    const files = await scratch(t);
    const own = endpointJobs(
      system,
      await system.createEndpoint({ command: jsHandler('all.js'), fields: { workersMin: 1 }, workersMax: 1 }),
    );
    const failing = await Promise.all(
      Array.from({ length: 3 }, () => own.run({ mode: 'fail-then', file: files.path('works'), value: 'at last' })),
    );
    for (const id of failing) t.match(await own.settled(id), { status: 'FAILED' });
    const done = await own.run({ mode: 'value', value: 1 });
    await own.settled(done);
    const page = await open(t, { viewport: { width: 390, height: 800 } });
    await signIn(page, system.key, `endpoints/${own.id}/jobs?status=COMPLETED`);
    await page.getByRole('rowheader').first().waitFor();
    t.equal(
      await page.getByRole('button', { name: /that match/ }).count(),
      0,
      'nothing can be done to what is completed',
    );
    await page.goto(`${system.url}/console/endpoints/${own.id}/jobs?status=FAILED`);
    await page.getByRole('rowheader').nth(2).waitFor();
    t.equal(
      await page.getByRole('button', { name: 'Cancel all that match …' }).count(),
      0,
      'nor is what failed cancelled',
    );
    files.open('works');
    await page.getByRole('button', { name: 'Run all that match again …' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Run all jobs that match again?' });
    await dialog.getByText('3 jobs that failed. Each job is queued again').waitFor();
    await inspect(t, page, 'whether all that failed are to run again');
    await page.getByRole('button', { name: 'Run them all again' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('3 queued again.').waitFor();
    for (const id of failing) t.match(await own.settled(id), { status: 'COMPLETED', output: 'at last' });
    await inspect(t, page, 'no failed job is left');
  });
}
