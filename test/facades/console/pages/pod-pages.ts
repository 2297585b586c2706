/**
 * Part of lists.test.ts, on its system: what pods do and wrote, one that fails among them, and what a worker wrote.
 */
import type { Test } from 'tap';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function podPages(t: Test, parts: BrowserParts): void {
  pods(t, parts);
  workerLog(t, parts);
}

function pods(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('pods: their actual state; the page of one with its GPUs, ports and log', async (t) => {
    const make = async (name: string, script: string, more: object): Promise<string> => {
      const { json } = await system.request('POST', '/v1/pods', {
        name,
        dockerStartCmd: ['sh', '-c', script],
        ...more,
      });
      t.teardown(() => system.request('DELETE', `/v1/pods/${json.id}`));
      return json.id;
    };
    const gpus = { gpuTypeIds: ['NVIDIA L4'], gpuCount: 2, ports: ['8888/http', '22/tcp'] };
    const well = await make('goes on', 'echo hello from the pod; echo "\u001b[31mred\u001b[0m"; sleep 1000', gpus);
    await make('goes under', 'echo no weights here; exit 7', { computeType: 'CPU' });
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Pods' }).click();
    const failed = page.getByRole('row').filter({ hasText: 'goes under' });
    await failed.locator('.badge').getByText('failed', { exact: true }).waitFor();
    await failed.getByText(/exit code 7/).waitFor();
    await failed.getByRole('button', { name: 'Stop goes under' }).waitFor();
    const running = page.getByRole('row').filter({ hasText: 'goes on' });
    await running.locator('.badge').getByText('running', { exact: true }).waitFor();
    await inspect(t, page, 'pods of which one fails');
    await failed.getByRole('link', { name: 'goes under' }).click();
    await page.getByRole('heading', { name: 'goes under' }).waitFor();
    await page.locator('.title .badge').getByText('failed', { exact: true }).waitFor();
    await page
      .getByLabel('Last report of its machine', { exact: true })
      .getByText(/exit code 7[^]*no weights here/)
      .waitFor();
    await page.getByLabel('Log', { exact: true }).getByText('no weights here').first().waitFor();
    await inspect(t, page, 'a pod that fails');
    await page.getByRole('button', { name: 'Stop goes under' }).click();
    await page.locator('.title .badge').getByText('exited', { exact: true }).waitFor();
    await page.goto(`${system.url}/console/pods/${well}`);
    await page.locator('.figure').filter({ hasText: 'GPUs' }).getByText('2 × NVIDIA L4').waitFor();
    await page.getByText('8888/http, 22/tcp', { exact: true }).waitFor();
    const log = page.getByLabel('Log', { exact: true });
    await log.getByText('hello from the pod').waitFor();
    t.equal((await log.textContent())!.trim(), 'hello from the pod\nred', 'without a terminal’s colours');
    await page.goto(`${system.url}/console/pods/nosuchpod`);
    await page.getByRole('alert').waitFor();
    await inspect(t, page, 'a pod that is not there');
  });
}

function workerLog(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test("a worker's log, opened from the time line, live", async (t) => {
    const talker = endpointJobs(system, await system.createEndpoint({ command: jsHandler('talker.js') }));
    await talker.runSync({ words: ['one'] });
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${talker.id}/activity`);
    await page.getByRole('button', { name: /^Log of worker / }).click();
    const log = page.getByRole('dialog').getByLabel('Log', { exact: true });
    await log.getByText('saying one').waitFor();
    await inspect(t, page, 'the log of a worker');
    await talker.runSync({ words: ['two'] });
    await log.getByText('saying two').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await system.endWorkers(talker.id);
  });
}
