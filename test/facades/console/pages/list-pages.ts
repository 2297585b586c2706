/** Part of lists.test.ts, on its system: lists, forms, usage, pods, and the pages of the operator. */
import { readFileSync } from 'node:fs';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import type { System } from '../../../helpers/system/system.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { addVariables } from './console-pages.ts';

/** Parts that browser-system.ts provides. */
export interface BrowserParts {
  system: System;
  /** Its endpoint. */
  id: string;
  browser: Browser;
  open(t: Test, options?: BrowserContextOptions): Promise<Page>;
  signIn(page: Page, key?: string, path?: string): Promise<void>;
  inspect(t: Test, page: Page, name: string, options?: object): Promise<void>;
}

/** Adds the tests. */
export function listPages(t: Test, parts: BrowserParts): void {
  lists(t, parts);
  makes(t, parts);
}

function lists(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('lists: sorted, searched and paged by the service, empty', async (t) => {
    const fresh = { scope: KeyScope.READ_ONLY, endpointIds: [], accountId: '', permissions: undefined };
    await Promise.all(
      Array.from({ length: 52 }, (_, place) =>
        call(system.clients.keys, 'createKey', { ...fresh, name: `a-${String(place).padStart(2, '0')}` }, system.key),
      ),
    );
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('cell').first().waitFor();
    const names = async (): Promise<string[]> => await page.locator('tbody tr td:first-child .text').allTextContents();
    await page.getByRole('button', { name: /^Name/ }).click();
    await page.locator('th[aria-sort=ascending]').waitFor();
    await waitFor('the last page by name', async () => (await names())[0] === 'a-00');
    t.equal((await names()).length, 50, 'a page of what there is');
    await inspect(t, page, 'keys');
    await page.getByRole('button', { name: /^Name/ }).click();
    await waitFor('the other way round', async () => (await names())[0] !== 'a-00');
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('page 2').waitFor();
    await waitFor('the end of it', async () => (await names()).at(-1) === 'a-00');
    // The service searches, so a job is found whatever page of the list it is on.
    await page.getByLabel('Search').fill('A-4');
    await waitFor('what is looked for', async () => (await names()).length === 10);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    const saved = readFileSync(await (await download).path(), 'utf8').split('\r\n');
    t.equal(saved.length, 11, 'taken along as it is searched');
    await call(system.clients.keys, 'createKey', { ...fresh, name: ' =1+1' }, system.key);
    await page.getByLabel('Search').fill('=1+1');
    await waitFor('a name that is a formula', async () => (await names()).length === 1);
    const formula = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    t.match(
      readFileSync(await (await formula).path(), 'utf8'),
      `"' =1+1"`,
      'no spreadsheet computes it, also behind a blank',
    );
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('search=')) asked.push(request.url());
    });
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Search').pressSequentially('no such key as this', { delay: 40 });
    await page.getByText('Nothing matches.').waitFor();
    t.ok(asked.length < 10, `asked ${asked.length} times for 19 letters`);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByLabel('Search').fill('createendpoint');
    await page.getByRole('cell', { name: 'CreateEndpoint' }).first().waitFor();
    await inspect(t, page, 'audit');
    await page.getByRole('link', { name: 'Volumes' }).click();
    await page.getByText('No network volumes yet.').waitFor();
    await inspect(t, page, 'no volumes');
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('button', { name: 'Change' }).last().click();
    await page.getByLabel('Description').fill('how to use it');
    await page.getByText('No worker is replaced.').waitFor();
    await page.getByLabel('Disk of the container').fill('7');
    await page.getByText(/^What will happen: .*gets? a new version/).waitFor();
    await inspect(t, page, 'changing a template');
    await page.getByLabel('Disk of the container').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    t.equal(await page.locator('input:invalid').count(), 1, 'nothing is no size');
    await page.getByLabel('Disk of the container').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  t.test('usage: chart and sums, by the chosen filters', async (t) => {
    await call(
      system.clients.usage,
      'setPrices',
      {
        prices: [
          { item: 'CPU', usdPerHour: 36 },
          { item: 'NVIDIA L4', usdPerHour: 36 },
        ],
      },
      system.rootKey,
    );
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('img', { name: /^Time by day, .* in all/ }).waitFor();
    await page
      .getByRole('rowheader', { name: /^test-/ })
      .first()
      .waitFor();
    await inspect(t, page, 'usage');
    // Their times grow while workers run, and the old rows stay until the new ones arrive.
    const groups = (): Promise<string[]> => page.locator('[aria-busy="false"] tbody td.id').allTextContents();
    await page.getByRole('button', { name: 'Time', exact: true }).click();
    await page.locator('th[aria-sort=ascending]').filter({ hasText: 'Time ↑' }).waitFor();
    const shortestFirst = await waitFor('sums that are the shortest first', async () => {
      const ids = await groups();
      return ids.length > 0 && ids;
    });
    await page.getByRole('button', { name: 'Time ↑' }).click();
    await page.locator('th[aria-sort=descending]').waitFor();
    await waitFor('the other way round', async () => (await groups()).join() === shortestFirst.toReversed().join());
    await page.getByLabel('Period').selectOption('24');
    await page.getByRole('img', { name: /^Time by hour/ }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    t.match(readFileSync(await (await download).path(), 'utf8'), /^"time","group","name","amount","billedMs"\r\n"20/);
    await page.getByLabel('Usage of').selectOption('volumes');
    await page.getByText('Nothing ran in this period.').waitFor();
  });
}

function makes(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('a pod: created from its form, stopped, started, deleted', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Pods' }).click();
    await page.getByRole('button', { name: 'New pod' }).click();
    await page.getByLabel(/^Name/).fill('by-form');
    await page.getByLabel('Command').fill('sleep\n1000');
    await page.getByLabel('Runs on').selectOption('CPU');
    await inspect(t, page, 'a new pod');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'by-form' });
    await row.getByRole('button', { name: 'Stop' }).click();
    await row.getByRole('button', { name: 'Start by-form' }).click();
    await row.getByRole('button', { name: 'Restart' }).waitFor();
    await inspect(t, page, 'pods');
    await row.getByRole('button', { name: 'Change' }).click();
    await addVariables(page, { A: '1=2', B: '' });
    await page.getByText(/The pod is reset/).waitFor();
    await inspect(t, page, 'changing a pod');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { pods } = await call(
      system.clients.pods,
      'listPods',
      { includeWorkers: false, endpointId: '', endpointIds: [] },
      system.key,
    );
    t.match(
      pods,
      [{ name: 'by-form', env: { A: '1=2', B: '' }, startCommand: ['sleep', '1000'] }],
      'what was not touched is as it was',
    );
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await row.waitFor({ state: 'detached' });
  });

  t.test('a network volume: created and changed in its forms, never smaller', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Volumes' }).click();
    await page.getByRole('button', { name: 'New network volume' }).click();
    await page.getByLabel('Name *', { exact: true }).fill('models');
    await page.getByLabel('size *').fill('20');
    await page.getByLabel('Data centre *').fill('default');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'models' });
    await row.getByRole('button', { name: 'Change' }).click();
    await page.getByLabel(/^Name/).fill('weights');
    await page.getByText('It is renamed.').waitFor();
    await page.getByLabel('Size').fill('10');
    await page.getByText(/It can never be made smaller/).waitFor();
    await inspect(t, page, 'changing a network volume');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByLabel('Size').fill('30');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: 'weights' }).getByRole('cell', { name: '30', exact: true }).waitFor();
    const { networkVolumes } = await call(system.clients.volumes, 'listNetworkVolumes', {}, system.key);
    t.match(networkVolumes, [{ name: 'weights', sizeGb: 30, dataCenterId: 'default' }], 'the rest is as it was');
  });

  t.test('registry credentials: created in their form, never shown, deleted', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Registries' }).click();
    await page.getByRole('button', { name: 'New registry credentials' }).click();
    await page.getByLabel('Name *', { exact: true }).fill('hub');
    await page.getByLabel('User name *').fill('me');
    await page.getByLabel('Password or token *').fill('a secret of the registry');
    await inspect(t, page, 'new registry credentials');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'hub' });
    await row.waitFor();
    t.notMatch(await page.content(), 'a secret of the registry');
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await row.waitFor({ state: 'detached' });
  });

  t.test('secrets: created in their form, replaced, never shown, deleted after naming their users', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Secrets' }).click();
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByLabel('Name *', { exact: true }).fill('RUNPOD_x');
    await page.getByLabel('Value *').fill('a secret of the account');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('name must not begin with RUNPOD', { exact: false }).waitFor();
    await page.getByLabel('Name *', { exact: true }).fill('hf-token');
    await page.getByLabel('Description').fill('of the hub');
    await inspect(t, page, 'new secret');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'hf-token' });
    await row.waitFor();
    const template = Template.fromPartial({
      name: 'mentions it',
      startCommand: ['true'],
      env: { HF_TOKEN: '{{ RUNPOD_SECRET_hf-token }}' },
    });
    const { id } = (await call(system.clients.templates, 'createTemplate', { template }, system.key)).template!;
    t.teardown(() => call(system.clients.templates, 'deleteTemplate', { id }, system.key));
    await row.getByRole('button', { name: 'Set value' }).click();
    await page.getByLabel('Value', { exact: true }).fill('another secret of the account');
    await inspect(t, page, 'a new value of a secret');
    await page.getByRole('button', { name: 'Set it' }).click();
    await row.getByRole('cell', { name: 'template mentions it' }).waitFor();
    await inspect(t, page, 'secrets');
    t.notMatch(await page.content(), 'secret of the account');
    await row.getByRole('button', { name: 'Delete' }).click();
    await page
      .getByText('Without it no new worker or pod starts of: template mentions it.', { exact: false })
      .waitFor();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await row.waitFor({ state: 'detached' });
  });

  t.test('the operator: accounts with their quotas, prices, usage of all', async (t) => {
    const page = await open(t);
    await signIn(page, system.rootKey);
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Name', { exact: true }).fill('research');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'research' });
    await row.getByRole('button', { name: 'Quota' }).click();
    await page.getByLabel('Workers', { exact: true }).fill('7');
    await inspect(t, page, 'a quota');
    await page.getByRole('button', { name: 'Save' }).click();
    await row.getByRole('cell', { name: '7', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Prices' }).click();
    await page.getByRole('button', { name: 'Set a price' }).click();
    await page.getByLabel('Item').fill('VOLUME_GB');
    await page.getByLabel('US dollars an hour').fill('0.0001');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: 'VOLUME_GB' }).getByRole('cell', { name: '0.0001' }).waitFor();
    await page.getByRole('row').filter({ hasText: 'VOLUME_GB' }).getByRole('button', { name: 'Change' }).click();
    t.ok(await page.getByLabel('Item').isDisabled(), 'what has a price is not another thing');
    await page.getByLabel('US dollars an hour').fill('0.0002');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row').filter({ hasText: 'VOLUME_GB' }).getByRole('cell', { name: '0.0002' }).waitFor();
    const { prices } = await call(system.clients.usage, 'listPrices', {}, system.key);
    t.ok(prices.some(({ item, usdPerHour }) => item === 'VOLUME_GB' && usdPerHour === 0.0002));
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByLabel('Group by').waitFor();
    t.equal(await page.getByLabel('Group by').inputValue(), 'account');
  });
}
