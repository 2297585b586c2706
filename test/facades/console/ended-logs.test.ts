// test: postgres, 50 s
/**
 * Logs of ended workers, read in a real Chromium: beside each worker on the time line, and where the console counts
 * crashes.
 */

import type { Locator } from 'playwright-core';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

/** More workers than the time line shows before it folds older ones. */
const ENDED_MIN = 5;
/** Each crash is followed by a longer pause. */
const CRASHES_MS_MAX = 120_000;

t.setTimeout(600_000);
t.test('logs of workers that have ended, in a browser', { skip: whyNoChromium(), timeout: 300_000 }, async (t) => {
  const system = await startSystem(t);
  const { open, inspect } = await consolePages(t, system);
  // One stream, because the order in which two are read is not defined.
  const command = [
    '/bin/sh',
    '-c',
    'exec 2>&1; echo "$RUNPOD_POD_ID" loads "<b>bold</b>"; echo no such model; head -c 200000 ' +
      '/dev/zero | tr "\\0" y; exit 7',
  ];
  const id = await system.createEndpoint({ command, ready: 0, workersMax: 1 });
  await waitFor(
    'workers that crashed',
    async () => {
      const { recent } = await call(system.clients.machines, 'listWorkers', { endpointId: id }, system.key);
      return recent.length >= ENDED_MIN;
    },
    CRASHES_MS_MAX,
  );
  await system.endWorkers(id);
  const page = await open(t, { at: `endpoints/${id}/activity` });
  await page.getByText(/^and \d+ before$/).waitFor();
  const log = page.getByRole('dialog').getByLabel('Log', { exact: true });
  const see = async (button: Locator): Promise<void> => {
    const worker = /of worker (\w+)$/.exec((await button.first().textContent())!)![1]!;
    await button.first().click();
    await log.getByText('yyy').first().waitFor();
    t.match(await log.textContent(), /^y{1000,}/, 'the end of it');
    t.match(
      await page
        .getByRole('dialog')
        .getByText(/have more$/)
        .textContent(),
      /slipway logs/,
    );
    const whole = (
      await call(system.clients.machines, 'getWorkerLog', { workerId: worker, tailBytes: 1_000_000 }, system.key)
    ).log.toString();
    t.match(whole, new RegExp(`^${worker} loads <b>bold</b>\nno such model\ny{200000}$`), 'its own');
    await page.keyboard.press('Escape');
    await log.waitFor({ state: 'detached' });
  };
  // The very last worker was stopped, perhaps before it wrote anything.
  await see(
    page
      .locator('.worker-lines li')
      .filter({ hasText: 'crashed' })
      .getByRole('button', { name: /^Log of worker/ }),
  );
  await see(page.getByRole('button', { name: /^Latest log of worker/ }));
  await page.getByText(/^and \d+ before$/).click();
  await inspect(t, page, 'workers that have ended');
  await page.locator('.earlier').getByRole('button').last().click();
  await log.getByText('yyy').first().waitFor();
  await inspect(t, page, 'the log of a worker that has ended');
});
