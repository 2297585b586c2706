// test: postgres, 20 s
/**
 * Forms that pick one of many, in a real Chromium: core finds what is looked for, few are offered at a time, what is
 * chosen stays.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import type { Test } from 'tap';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

/** More than are offered at a time. */
const MANY = 53;

t.setTimeout(600_000);
t.test('picking one of many', { skip: whyNoChromium(), timeout: 240_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const { open, inspect } = await consolePages(t, system);
  const { clients, key, rootKey } = system;
  const newAccount = async (name: string): Promise<string> =>
    (await call(clients.access, 'createAccount', { name }, rootKey)).accountId;
  const keyOf = async (accountId: string): Promise<string> => {
    const fields = { name: 'all', scope: KeyScope.ALL, endpointIds: [], accountId, permissions: undefined };
    return (await call(clients.keys, 'createKey', fields, rootKey)).secret;
  };
  const many = (name: string) =>
    Array.from({ length: MANY }, (_, place) => `${name} ${String(place).padStart(2, '0')}`);
  const newTemplate = async (name: string, serverless: boolean): Promise<string> =>
    (
      await call(
        clients.templates,
        'createTemplate',
        {
          template: Template.fromPartial({ name, startCommand: jsHandler('all.js'), serverless }),
        },
        key,
      )
    ).template!.id;
  const workers = new Map<string, string>();
  for (const name of many('worker')) workers.set(name, await newTemplate(name, true));
  const ofPods = await newTemplate('pod', false);
  const volumes = new Map<string, string>();
  for (const name of many('volume')) {
    const networkVolume = NetworkVolume.fromPartial({ name, sizeGb: 1, dataCenterId: 'EU-CZ-1' });
    volumes.set(name, (await call(clients.volumes, 'createNetworkVolume', { networkVolume }, key)).networkVolume!.id);
  }

  // Pods have a place on a machine that never says what became of them.
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  await sql`
    INSERT INTO machine (id, name, cpu_slots, cpu_count, memory_mib, session_id, lease_expires_at)
    VALUES ('silent123456', 'silent', 1000, 1000, 4000000, 'none', now() + interval '1 day')`;

  /** Returns a page on which a form is opened, and what that asks for besides the list. */
  const form = async (
    t: Test,
    path: string,
    button: string,
    options: { key?: string } = {},
  ): Promise<{ page: Page; asked: string[] }> => {
    const page = await open(t, { ...options, at: path.slice(1) });
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('button', { name: button }).click();
    return { page, asked };
  };
  const pick = (page: Page, name: RegExp) => page.getByRole('dialog').getByRole('group', { name });
  const create = (page: Page) => page.getByRole('button', { name: 'Create', exact: true });

  await t.test('a template of a new endpoint, with the keyboard', async (t) => {
    const { page, asked } = await form(t, '', 'New endpoint');
    await page.getByRole('radio', { name: 'a template' }).check();
    const templates = pick(page, /^Template/);
    await templates.getByText('There are more. Search to find them.').waitFor();
    t.equal(await templates.getByRole('radio').count(), 50);
    t.equal(await templates.getByRole('radio', { name: `pod ${ofPods}` }).count(), 0, 'none of pods');
    await page.getByRole('button', { name: 'Deploy' }).click();
    t.equal(await page.getByRole('dialog').count(), 1, 'one must be chosen');
    const search = page.getByLabel('Find a template');
    await search.focus();
    await page.keyboard.type('WORKER 00');
    await page.keyboard.press('Enter');
    await waitFor('the one', async () => (await templates.getByRole('radio').count()) === 1);
    t.equal(await page.getByRole('dialog').getByRole('alert').count(), 0, 'Enter sends nothing');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await templates.getByText('Chosen: worker 00').waitFor();
    await search.fill('no such');
    await templates.getByText('No template matches.').waitFor();
    t.ok(await templates.getByRole('radio', { name: /^worker 00/ }).isChecked(), 'it stays, whatever is looked for');
    await search.fill('worker 0');
    await waitFor('ten', async () => (await templates.getByRole('radio').count()) === 10);
    await inspect(t, page, 'picking a template');
    await templates.getByRole('radio', { name: /^worker 00/ }).focus();
    const names = () =>
      templates.getByRole('radio').evaluateAll('(all) => all.map(({ parentElement }) => parentElement.textContent)');
    const before = await names();
    await page.keyboard.press('ArrowDown');
    await templates.getByText('Chosen: worker 01').waitFor();
    t.same(await names(), before, 'nothing moves below the hand');
    await page.keyboard.press('ArrowUp');
    await templates.getByText('Chosen: worker 00').waitFor();
    await page.getByLabel(/^Name/).fill('by pick');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: /^by pick/ }).waitFor();
    const { endpoints } = await call(clients.endpoints, 'listEndpoints', {}, key);
    t.match(endpoints, [{ templateId: workers.get('worker 00') }]);
    t.equal(asked.filter((request) => request.includes('/api/v1/templates')).length, 0, 'all of them are asked for');
    t.ok(
      asked
        .filter((request) => request.includes('/api/templates'))
        .every((request) => request.includes('filter.kind=worker')),
      'core filters',
    );
  });

  await t.test('a template and a volume of a new pod, or none', async (t) => {
    const { page } = await form(t, '/pods', 'New pod');
    const [templates, disks] = [pick(page, /^Template/), pick(page, /^Network volume/)];
    await templates.getByRole('radio', { name: /^pod/ }).check();
    t.equal(await templates.getByRole('radio').count(), 2, 'none of workers');
    await page.getByLabel('Find a network volume').fill('volume 52');
    await disks.getByRole('radio', { name: /^volume 52/ }).check();
    await inspect(t, page, 'picking a volume');
    await disks.getByRole('radio', { name: 'none' }).check();
    await disks.getByText('Chosen:').waitFor({ state: 'detached' });
    await page.getByLabel(/^Name/).fill('by pick');
    await page.getByLabel('Runs on').selectOption('CPU');
    await create(page).click();
    await page.getByRole('row').filter({ hasText: 'by pick' }).waitFor();
    const { pods } = await call(
      clients.pods,
      'listPods',
      { includeWorkers: false, endpointId: '', endpointIds: [] },
      key,
    );
    t.match(pods, [{ templateId: ofPods, networkVolumeId: '' }]);
  });

  await t.test('an empty account sees what to do first', async (t) => {
    const own = await keyOf(await newAccount('new here'));
    const { page } = await form(t, '', 'New endpoint', { key: own });
    await page.getByRole('radio', { name: 'a template' }).check();
    await pick(page, /^Template/)
      .getByText('There is no template for workers yet.')
      .waitFor();
    await inspect(t, page, 'no template to pick');
    await page.getByRole('dialog').getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('button', { name: 'New template' }).waitFor();
    t.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('link', { name: 'Pods' }).click();
    await page.getByRole('button', { name: 'New pod' }).click();
    await pick(page, /^Template/)
      .getByText('There is no template for pods.')
      .waitFor();
    await pick(page, /^Network volume/)
      .getByText('There is no network volume.')
      .waitFor();
    await page.getByLabel(/^Name/).fill('without');
    await page.getByLabel('Command').fill('sleep\n1000');
    await page.getByLabel('Runs on').selectOption('CPU');
    await create(page).click();
    await page.getByRole('row').filter({ hasText: 'without' }).waitFor();
  });

  await t.test('for the operator: the account of a new key', async (t) => {
    const accounts = new Map<string, string>();
    for (const name of many('account')) accounts.set(name, await newAccount(name));
    const { page, asked } = await form(t, '/keys', 'New key', { key: rootKey });
    const group = pick(page, /^Account/);
    await group.getByText('There are more. Search to find them.').waitFor();
    t.equal(await group.getByRole('radio').count(), 50);
    await page.getByLabel('Name', { exact: true }).fill('of one');
    await page.getByLabel('Find an account').fill('account 52');
    await group.getByRole('radio', { name: /^account 52/ }).check();
    await group.getByText('Chosen: account 52').waitFor();
    await inspect(t, page, 'picking an account');
    await create(page).click();
    await page.getByLabel('The key', { exact: true }).waitFor();
    const { keys } = await call(clients.keys, 'listKeys', { accountId: accounts.get('account 52')! }, rootKey);
    t.match(keys, [{ name: 'of one' }]);
    t.ok(
      asked.filter((request) => request.includes('/api/accounts')).every((request) => request.includes('size=50')),
      'few at a time',
    );
  });
});
