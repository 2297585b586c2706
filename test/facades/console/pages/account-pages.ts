/**
 * Part of lists.test.ts, on its system: keys, the forms of a template and an endpoint, and what the operator sees.
 */

import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import type { BrowserContextOptions } from 'playwright-core';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { webhookReceiver } from '../../../helpers/net/webhook-receiver.ts';
import { addVariables } from './console-pages.ts';
import type { BrowserParts } from './list-pages.ts';

const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 800 } };

/** Adds the tests. */
export function accountPages(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test('a key: made, shown once, usable, revoked', async (t) => {
    const page = await open(t, PHONE);
    await signIn(page, system.key, 'keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('dashboard');
    await page.getByLabel('It may').selectOption('RESTRICTED');
    await page.getByLabel('With jobs').selectOption('NONE');
    await page.getByRole('checkbox', { name: id }).check();
    await inspect(t, page, 'a new key');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = (await page.getByLabel('The key', { exact: true }).textContent())!;
    await inspect(t, page, 'a key that is shown');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const { keys } = await call(system.clients.keys, 'listKeys', { accountId: '' }, system.key);
    t.match(
      keys.find(({ name }) => name === 'dashboard'),
      {
        scope: KeyScope.RESTRICTED,
        endpointIds: [id],
        permissions: { management: Permission.READ, jobs: Permission.UNSPECIFIED },
      },
    );
    const asked = await fetch(`${system.url}/v1/endpoints/${id}`, { headers: { authorization: `Bearer ${secret}` } });
    t.equal(asked.status, 200, 'it works');
    const row = page.getByRole('row').filter({ hasText: 'dashboard' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await row.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' });
    const after = await call(system.clients.keys, 'listKeys', { accountId: '' }, system.key);
    t.ok(after.keys.find(({ name }) => name === 'dashboard')!.revokeTime);
    t.notMatch(await page.content(), secret);
  });

  t.test('a template and an endpoint: created from their forms, deleted', async (t) => {
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('button', { name: 'New template' }).click();
    await page.getByLabel('Name *', { exact: true }).fill('by-form');
    await page.getByLabel('Command').fill('node\nworker.js');
    await addVariables(page, { MODEL: 'tiny=1', DEBUG: '' });
    await inspect(t, page, 'a new template');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('cell', { name: 'by-form', exact: true }).waitFor();
    const { templates } = await call(system.clients.templates, 'listTemplates', { includePublic: false }, system.key);
    const made = templates.find(({ name }) => name === 'by-form')!;
    t.match(made, { startCommand: ['node', 'worker.js'], env: { MODEL: 'tiny=1', DEBUG: '' } });
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('button', { name: 'New endpoint' }).click();
    await page.getByRole('radio', { name: 'a template' }).check();
    await page.getByLabel('Name', { exact: true }).fill('made-by-form');
    await page.getByRole('group', { name: 'Template' }).getByRole('radio', { name: made.id }).check();
    await page.getByLabel('Most workers').fill('-1');
    await page.getByRole('button', { name: 'Deploy' }).click();
    t.equal(await page.getByRole('dialog').count(), 1, 'what is out of range is not sent');
    await page.getByLabel('Most workers').fill('1');
    await inspect(t, page, 'a new endpoint');
    await page.getByRole('button', { name: 'Deploy' }).click();
    await page.getByRole('heading', { name: /^made-by-form/ }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: /^Delete/ }).click();
    await inspect(t, page, 'deleting an endpoint');
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const { endpoints } = await call(system.clients.endpoints, 'listEndpoints', {}, system.key);
    t.notOk(endpoints.some(({ name }) => name.startsWith('made-by-form')));
    await page.getByRole('link', { name: 'Templates' }).click();
    await page
      .getByRole('row')
      .filter({ hasText: 'by-form' })
      .getByRole('button', { name: /^Delete/ })
      .click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('cell', { name: 'by-form', exact: true }).waitFor({ state: 'detached' });
    // A template that is in use says so, in its dialog.
    await page
      .getByRole('row')
      .filter({ hasText: 'test-' })
      .first()
      .getByRole('button', { name: /^Delete/ })
      .click();
    await page.getByRole('button', { name: 'Delete it' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
  });

  t.test('addresses for alerts: added, tested, silenced, deleted', async (t) => {
    const hooks = await webhookReceiver(t);
    const page = await open(t);
    await signIn(page);
    await page.getByRole('link', { name: 'Alerts' }).click();
    const add = async (name: string, kind: string, url: string): Promise<void> => {
      await page.getByRole('button', { name: 'New address' }).click();
      await page.getByLabel('Name', { exact: true }).fill(name);
      await page.getByLabel('Format').selectOption(kind);
      await page.getByLabel('URL').fill(url);
      await page.getByRole('button', { name: 'Create', exact: true }).click();
    };
    await add('pager', 'slack', hooks.url('console-alerts'));
    const row = page.getByRole('row').filter({ hasText: 'pager' });
    await row.getByText(/Slack at http:\/\/127\.0\.0\.1/).waitFor();
    t.notMatch(await page.content(), 'console-alerts', 'the path of a URL is a secret');
    await row.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('button', { name: 'Send a test message' }).click();
    await page.getByText('pager has accepted the test message.').waitFor();
    await hooks.received('console-alerts', 1);
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Silence' }).click();
    await page.getByLabel('For', { exact: true }).selectOption({ label: 'a day' });
    await page.getByRole('button', { name: 'Silence it' }).click();
    await row.getByText(/^silent until/).waitFor();
    await inspect(t, page, 'alerts');
    await row.getByRole('button', { name: 'End silence' }).click();
    await page.getByRole('button', { name: 'End it' }).click();
    await row.getByText('on', { exact: true }).waitFor();
    await add('nowhere', 'webhook', 'http://127.0.0.1:9/');
    const lost = page.getByRole('row').filter({ hasText: 'nowhere' });
    await lost.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('button', { name: 'Send a test message' }).click();
    await page
      .getByRole('alert')
      .getByText(/^The test message was not accepted: /)
      .waitFor();
    await page.keyboard.press('Escape');
    for (const each of [row, lost]) {
      await each.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('button', { name: 'Delete it' }).click();
      await each.waitFor({ state: 'detached' });
    }
    await page.getByText('Nowhere yet.').waitFor();
  });

  t.test('a read-only key is offered no actions', async (t) => {
    const page = await open(t);
    await signIn(page, await system.newKey(KeyScope.READ_ONLY));
    await page.getByText('read only').waitFor();
    await page.goto(`${system.url}/console/endpoints/${id}/try`);
    await page.getByText('This key may not send jobs.').waitFor();
    await page.goto(`${system.url}/console/endpoints/${id}/settings`);
    t.ok(await page.getByLabel('Most workers').isDisabled());
    await page.goto(`${system.url}/console/keys`);
    await page.getByRole('cell').first().waitFor();
    t.equal(await page.getByRole('button', { name: /^(New key|Revoke )/ }).count(), 0);
    await page.goto(`${system.url}/console/endpoints/nosuchendpoint`);
    await page.getByRole('alert').waitFor();
    await inspect(t, page, 'an endpoint that is not there');
  });

  t.test('the overview of the operator, dark, and on a phone', async (t) => {
    const page = await open(t, { ...PHONE, colorScheme: 'dark' });
    await signIn(page, system.rootKey);
    await page.getByText('rack-1', { exact: true }).waitFor();
    await page
      .getByText(/L4, 24\sGiB/)
      .first()
      .waitFor({ state: 'attached' });
    const wanted = {
      name: 'by the operator’s test',
      dockerStartCmd: ['sleep', '1000'],
      gpuTypeIds: ['NVIDIA L4'],
      gpuCount: 2,
    };
    const { json: pod } = await system.request('POST', '/v1/pods', wanted);
    await page
      .getByText(/L4, 24\sGiB: a pod/)
      .nth(1)
      .waitFor({ state: 'attached' });
    await system.request('DELETE', `/v1/pods/${pod.id}`);
    await page
      .getByText(/L4, 24\sGiB: a pod/)
      .first()
      .waitFor({ state: 'detached' });
    await inspect(t, page, 'overview of the operator');
    await page.getByRole('link', { name: 'Machines' }).first().click();
    await page.getByRole('button', { name: 'Join a machine' }).click();
    await page.getByLabel('Name', { exact: true }).fill('rack-2');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const secret = (await page.getByLabel('The key', { exact: true }).textContent())!;
    t.match(secret, /^\S{20,}$/);
    await inspect(t, page, 'a machine that is to join');
    await page.keyboard.press('Escape');
    const machine = page.getByRole('row').filter({ hasText: 'rack-1' });
    await machine.getByRole('button', { name: 'Cordon rack-1', exact: true }).click();
    await machine.getByText('cordoned', { exact: true }).waitFor();
    await inspect(t, page, 'machines');
    await machine.getByRole('button', { name: 'Uncordon rack-1' }).click();
    await machine.getByRole('button', { name: 'Cordon rack-1', exact: true }).waitFor();
    await system.startAgent(undefined, { SLIPWAY_AGENT_KEY: secret, SLIPWAY_AGENT_NAME: 'rack-2' });
    const joined = page.getByRole('row').filter({ hasText: 'rack-2' });
    await joined.getByText('connected', { exact: true }).waitFor();
  });
}
