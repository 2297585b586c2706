/** Deploying, changing, pausing, copying and rolling back an endpoint, in a real Chromium. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import type { System } from '../../../helpers/system/system.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { COLOR_RULES, NO_COLOR_RULES } from './console-pages.ts';

interface DeployParts {
  system: System;
  open: (t: Test, options?: BrowserContextOptions) => Promise<Page>;
  signIn: (page: Page, key?: string) => Promise<void>;
  inspect: (t: Test, page: Page, name: string, options?: object) => Promise<void>;
}

/** Widths and themes in which the pages are inspected, each for what it may find anew. */
const LOOKS = [
  { width: 1440, colorScheme: 'light', options: {} },
  { width: 1024, colorScheme: 'dark', options: { runOnly: COLOR_RULES } },
  { width: 390, colorScheme: 'light', options: { rules: NO_COLOR_RULES } },
] as const;

export function deployPages(t: Test, { system, open, signIn, inspect }: DeployParts): void {
  const everyLook = async (t: Test, page: Page, name: string): Promise<void> => {
    for (const { width, colorScheme, options } of LOOKS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await inspect(t, page, `${name} ${width} ${colorScheme}`, options);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  };

  t.test('an endpoint in one dialog, its first job, and all that its owner does with it', async (t) => {
    const { clients, key } = system;
    await call(clients.secrets, 'createSecret', { name: 'token', value: 'sealed-value', description: '' }, key);
    const page = await open(t);
    await signIn(page);
    await page.getByRole('button', { name: 'New endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Container image').fill('registry.example/me/echo:3');
    t.equal(await dialog.getByLabel('Name *').inputValue(), 'echo', 'the name of the image, until one is given');
    // Without an image, as this system has no container engine. The name stays.
    await dialog.getByLabel('Name *').fill('deployed');
    await dialog.getByLabel('Container image').fill('');
    await dialog.getByLabel('Command').fill(jsHandler('all.js').join('\n'));
    await dialog.getByText(/24\sGB, \d of 8 free now/).waitFor();
    await dialog.getByLabel('NVIDIA L4').check();
    await dialog.getByRole('button', { name: 'Add a variable' }).click();
    await dialog.getByLabel('Name of the new variable').fill('GREETING');
    await dialog.getByLabel('Value of GREETING').fill('hello\nworld');
    await dialog.getByRole('button', { name: 'Add a variable' }).click();
    await dialog.getByLabel('Name of the new variable').fill('HF_TOKEN');
    await dialog.getByLabel('Secret of HF_TOKEN').selectOption({ label: 'secret token' });
    await dialog.getByLabel('Example input').fill('{"mode": ');
    await dialog.getByRole('button', { name: 'Deploy' }).click();
    await dialog.getByText(/The input is not valid JSON/).waitFor();
    await dialog.getByLabel('Example input').fill('{"mode": "value", "value": "it works", "none": null}');
    await everyLook(t, page, 'deploying');
    await dialog.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'deployed', exact: true }).waitFor();
    await page.getByText('The first job has ended.').waitFor();
    await page.getByText('it works').first().waitFor();
    await page.getByText('A worker is ready.').waitFor();
    await page.getByText(/run_sync\(\{"mode": "value", "value": "it works", "none": None\}/).waitFor();
    await everyLook(t, page, 'deployed');
    const [, id = ''] = /endpoints\/(\w+)\//.exec(page.url()) ?? [];
    const read = async () =>
      (await call(clients.endpoints, 'getEndpoint', { id, includeTemplate: true }, key)).endpoint!;
    const env = { GREETING: 'hello\nworld', HF_TOKEN: '{{ RUNPOD_SECRET_token }}' };
    t.match(await read(), { gpuIds: ['NVIDIA L4'], template: { boundEndpointId: id, env } });

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Longest run of a job').fill('90');
    await page.getByLabel('Retries of a job').fill('0');
    await page.getByLabel('Retry errors of the handler too').check();
    t.notMatch(await page.locator('main').innerHTML(), 'hello', 'a value is hidden');
    await page.getByRole('button', { name: 'Show the value of GREETING' }).click();
    t.equal(await page.getByLabel('Value of GREETING').inputValue(), 'hello\nworld');
    t.equal(await page.getByLabel('Frozen workers keep').count(), 0, 'it has no effect without FlashBoot');
    await page.getByLabel('FlashBoot', { exact: true }).check();
    await page.getByLabel('Frozen workers keep').selectOption({ label: 'in host memory' });
    await everyLook(t, page, 'grouped settings');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('as saved').waitFor();
    t.match(await read(), { executionTimeoutMs: 90_000, retryLimit: 0, retryHandlerErrors: true, flashBootStandby: 3 });
    await page.getByLabel('Value of GREETING').or(page.getByText('••••••••')).first().waitFor();
    await page.getByRole('button', { name: 'Remove HF_TOKEN' }).click();
    await page.getByText('new version, for Environment variables').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('as saved').waitFor();
    t.same((await read()).template!.env, { GREETING: 'hello\nworld' });

    await page.getByRole('link', { name: 'Releases' }).click();
    await page.getByText(/Longest run of a job from 600 to 90\sseconds/).waitFor();
    await page.getByText('key “test”').first().waitFor();
    await waitFor('the new version to serve', async () => (await read()).servingVersion === 1);
    await page.reload();
    await page.getByRole('button', { name: 'Roll back to version 0' }).click();
    await everyLook(t, page, 'rolling back');
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back', exact: true }).click();
    await page.getByText('serves again, after a rollback').waitFor();
    t.equal((await read()).servingVersion, 0);
    await everyLook(t, page, 'releases');

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Pause it' }).click();
    await page.getByText('paused', { exact: true }).waitFor();
    t.match(await read(), { workersMin: 0, workersMax: 0 });
    await page.getByRole('button', { name: 'Resume' }).click();
    await waitFor('the number before', async () => (await page.getByLabel('Most workers').inputValue()) === '3');
    await page.getByRole('button', { name: 'Resume it' }).click();
    await page.getByText('paused', { exact: true }).waitFor({ state: 'detached' });
    t.match(await read(), { workersMax: 3 });
    await page.getByRole('button', { name: 'Restart', exact: true }).click();
    const { version } = await read();
    await page.getByRole('button', { name: 'Restart it' }).click();
    await waitFor('a new version', async () => (await read()).version > version);
    await page.getByRole('button', { name: 'Duplicate' }).click();
    await page.getByLabel('Name of the copy').fill('copied');
    await page.getByRole('button', { name: 'Duplicate it' }).click();
    await page.getByRole('heading', { name: 'copied', exact: true }).waitFor();
    const { endpoints } = await call(clients.endpoints, 'listEndpoints', { includeTemplate: true }, key);
    const copy = endpoints.find(({ name }) => name === 'copied')!;
    t.match(copy, {
      executionTimeoutMs: 90_000,
      template: { boundEndpointId: copy.id, env: { GREETING: 'hello\nworld' } },
    });
    for (const made of [id, copy.id])
      await call(clients.endpoints, 'deleteEndpoint', { id: made, stopWorkers: true }, key);
  });

  t.test('an endpoint that cannot start says why, at once', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('button', { name: 'New endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Container image').fill('registry.example/me/big:1');
    await dialog.getByLabel('Another GPU type or pool').fill('NVIDIA B300 SXM6 AC');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('on no connected machine').waitFor();
    await dialog.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: 'big', exact: true }).waitFor();
    await page.getByText(/B300/).first().waitFor();
    await everyLook(t, page, 'deployed nowhere');
    const [, id = ''] = /endpoints\/(\w+)\//.exec(page.url()) ?? [];
    const { endpoint } = await call(system.clients.endpoints, 'getEndpoint', { id }, system.key);
    t.match(endpoint, { name: 'big', gpuIds: ['NVIDIA B300 SXM6 AC'] });
    await call(system.clients.endpoints, 'deleteEndpoint', { id, stopWorkers: true }, system.key);
  });
}
