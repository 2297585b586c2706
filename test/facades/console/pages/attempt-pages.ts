/**
 * Part of browser.test.ts, on its system: the page of a job whose attempts are lost or tried again, that waits, or
 * whose webhook calls fail.
 */
import postgres from 'postgres';
import type { Test } from 'tap';
import { webhookReceiver } from '../../../helpers/net/webhook-receiver.ts';
import { scratch } from '../../../helpers/scratch.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function attemptPages(t: Test, parts: BrowserParts): void {
  killed(t, parts);
  triedAgain(t, parts);
  waiting(t, parts);
  refusedCalls(t, parts);
}

function killed(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('a job whose worker is killed: a bar for each attempt, from its beginning to its end', async (t) => {
    const files = await scratch(t);
    const own = endpointJobs(system, await system.createEndpoint({ command: jsHandler('all.js') }));
    const id = await own.run({ mode: 'until', file: files.path('done'), note: files.path('pids') });
    process.kill(Number(await files.noted('pids')), 'SIGKILL');
    await files.notes('pids', 2, 60_000);
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${own.id}/jobs/${id}`);
    const lane = (attempt: number) => page.locator('.lane').filter({ hasText: `Attempt ${attempt}` });
    await lane(2)
      .getByText(/began .+ after the submission · runs for/)
      .waitFor();
    await lane(1)
      .getByText(/began .+ after the submission · ran .+ was ended by SIGKILL/)
      .waitFor();
    await lane(1).getByText('lost', { exact: true }).waitFor();
    await inspect(t, page, 'a job that is tried again');
    const bars = async () => {
      const [first, second, whole] = [lane(1).locator('.bar i'), lane(2).locator('.bar i'), lane(2).locator('.bar')];
      t.same([await first.getAttribute('class'), await first.count(), await second.count()], ['bad', 1, 1]);
      const [one, two, all] = [
        (await first.boundingBox())!,
        (await second.boundingBox())!,
        (await whole.boundingBox())!,
      ];
      return { colour: await second.getAttribute('class'), first: one, second: two, whole: all };
    };
    const { colour, ...now } = await bars();
    t.equal(colour, 'busy');
    t.ok(now.first.x + now.first.width <= now.second.x + 1, 'the second begins when the first has ended');
    t.ok(now.second.x + now.second.width >= now.whole.x + now.whole.width - 1, 'and goes on until now');
    t.equal(
      await page.locator('.lane').filter({ hasText: 'Job' }).first().locator('.bar i').count(),
      3,
      'the job waited besides',
    );
    files.open('done');
    await page.getByText('completed', { exact: true }).first().waitFor();
    await lane(2)
      .getByText(/after the submission · ran/)
      .waitFor();
    t.equal((await bars()).colour, '', 'done');
  });
}

function triedAgain(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('a failed job runs again and completes; its first attempt stays visible', async (t) => {
    const files = await scratch(t);
    const jobs = endpointJobs(system, id);
    const job = await jobs.run({ mode: 'fail-then', file: files.path('mended'), value: 'at the second try' });
    await jobs.reached(job, 'FAILED');
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/jobs/${job}`);
    await page.getByLabel('Error', { exact: true }).getByText('not yet').waitFor();
    files.open('mended');
    await page.getByRole('button', { name: 'Run it again' }).click();
    await page.getByText('completed', { exact: true }).first().waitFor();
    await page.getByLabel('Output', { exact: true }).getByText('at the second try').waitFor();
    await page
      .locator('.lane')
      .filter({ hasText: 'Attempt 1' })
      .getByText(/· ran .+ · .*not yet/)
      .waitFor();
    t.equal(await page.locator('.lane .bar i.bad').count(), 2, 'in its own lane and in the job’s');
    t.equal(await page.getByRole('button', { name: 'Run it again' }).count(), 0, 'what is done is not tried again');
  });
}

function waiting(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test(
    'why a job waits: its position, the limits of its endpoint, refusing machines, and the decision',
    async (t) => {
      const command = jsHandler('all.js');
      const closed = endpointJobs(
        system,
        await system.createEndpoint({ command, fields: { workersMin: 0 }, workersMax: 0 }),
      );
      await closed.run({});
      const second = await closed.run({});
      const page = await open(t);
      await signIn(page, system.key, `endpoints/${closed.id}/jobs/${second}`);
      await page
        .locator('.summary')
        .getByText(/^It waits in place 2\..*“Most workers” is 0: raise it to let workers start/)
        .waitFor();
      await page.locator('.figure').filter({ hasText: 'Queue position' }).getByText('2', { exact: true }).waitFor();
      const binds = page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: 'Limits of its endpoint' }) });
      await binds.getByText(/“Most workers”.* – .*“Most workers”/).waitFor();
      await inspect(t, page, 'a job that waits');
      const elsewhere = endpointJobs(
        system,
        await system.createEndpoint({ command, fields: { workersMin: 0, gpuIds: ['AMPERE_80'] } }),
      );
      const nowhere = await elsewhere.run({});
      await page.goto(`${system.url}/console/endpoints/${elsewhere.id}/jobs/${nowhere}`);
      const refusing = page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: 'Machines that cannot take another worker' }) });
      await refusing.getByText(/^One machine has other GPUs – .*add one of their types to “GPU types”/).waitFor();
      await binds.getByText(/has other GPUs/).waitFor();
      await inspect(t, page, 'a job that no machine can run');
      await page.goto(`${system.url}/console/endpoints/${elsewhere.id}/decisions`);
      const decision = page.getByRole('listitem').filter({ hasText: '1 not placed' }).first();
      await decision.getByText('a job waits and there is no worker', { exact: true }).waitFor();
      await decision.getByText(/has other GPUs/).waitFor();
    },
  );
}

function refusedCalls(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test('webhook calls that a receiver refuses: the reason, given up, and redriven by hand', async (t) => {
    const hooks = await webhookReceiver(t);
    const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
    t.teardown(() => sql.end());
    hooks.answer('refused', 500);
    const jobs = endpointJobs(system, id);
    const job = await jobs.run({ mode: 'value', value: 1 }, { webhook: hooks.url('refused') });
    await hooks.received('refused');
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/jobs/${job}`);
    const row = page.getByRole('row').filter({ hasText: /500/ });
    await row.getByText('waiting', { exact: true }).waitFor();
    t.equal(await page.getByRole('button', { name: 'Call again' }).count(), 0, 'it is tried again by itself');
    for (const tries of [2, 3]) {
      // Nobody waits for the pause between tries.
      await sql`UPDATE webhook_delivery SET due_at = now() WHERE job_id = ${job}`;
      await hooks.received('refused', tries);
    }
    await row.getByText('given up', { exact: true }).waitFor();
    t.match(await row.getByRole('cell').nth(2).textContent(), '3');
    await inspect(t, page, 'a webhook call that was given up');
    hooks.answer('refused', 204);
    await row.getByRole('button', { name: 'Call again' }).click();
    await hooks.received('refused', 4);
    await page.getByText('delivered', { exact: true }).waitFor();
    await waitFor(
      'it to be told as redriven once',
      async () => (await page.getByRole('cell').nth(3).textContent()) === '1',
    );
  });
}
