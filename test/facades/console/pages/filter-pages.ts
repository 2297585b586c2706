/** Part of lists.test.ts, on its system: lists by what is in their fields. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function filterPages(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test(
    'lists by their fields: pods by state, keys by what they may and whether they work, changes by what, ' +
      'by whom and when',
    async (t) => {
      const { json: pod } = await system.request('POST', '/v1/pods', {
        name: 'goes on',
        dockerStartCmd: ['sleep', '1000'],
        computeType: 'CPU',
      });
      const { json: stopped } = await system.request('POST', '/v1/pods', {
        name: 'stands',
        dockerStartCmd: ['sleep', '1000'],
        computeType: 'CPU',
      });
      t.teardown(() => Promise.all([pod.id, stopped.id].map((id) => system.request('DELETE', `/v1/pods/${id}`))));
      await system.request('POST', `/v1/pods/${stopped.id}/stop`);
      const fields = {
        name: 'filtered',
        scope: KeyScope.READ_ONLY,
        endpointIds: [],
        accountId: '',
        permissions: undefined,
      };
      const { key } = await call(system.clients.keys, 'createKey', fields, system.key);
      await call(system.clients.keys, 'revokeKey', { id: key!.id }, system.key);
      const page = await open(t);
      await signIn(page);
      const lists = (...rows: string[]) =>
        waitFor(
          `the list to be ${rows.join(', ')}`,
          async () => (await page.locator('tbody tr td:first-child .text').allTextContents()).join() === rows.join(),
        );
      await page.getByRole('link', { name: 'Pods' }).click();
      await page.getByLabel('State').selectOption('EXITED');
      await lists('stands');
      await page.getByLabel('State').selectOption('RUNNING');
      await lists('goes on');
      await inspect(t, page, 'pods by state');
      await page.getByLabel('State').selectOption('FAILED');
      await page.getByText('Nothing matches.').waitFor();
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByLabel('Search').fill('filtered');
      await page.getByLabel('May', { exact: true }).selectOption('READ_ONLY');
      await lists('filtered');
      await page.getByLabel('Revoked').selectOption('no');
      await page.getByText('Nothing matches.').waitFor();
      await page.getByLabel('Revoked').selectOption('yes');
      await lists('filtered');
      await page.getByLabel('May', { exact: true }).selectOption('ALL');
      await page.getByText('Nothing matches.').waitFor();
      await audit(t, page, { system, inspect, subject: key!.id });
      const operator = await open(t);
      await signIn(operator, system.rootKey);
      await operator.getByRole('link', { name: 'Audit' }).click();
      await operator.getByLabel('Subject').fill(key!.id);
      await operator.getByLabel('Account').fill(system.accountId);
      await operator.getByRole('cell', { name: 'RevokeKey' }).waitFor();
      await operator.getByLabel('Account').fill('user_nobody');
      await operator.getByText('Nothing matches.').waitFor();
    },
  );
}

async function audit(
  t: Test,
  page: Page,
  { system, inspect, subject }: Pick<BrowserParts, 'system' | 'inspect'> & { subject: string },
): Promise<void> {
  const actions = (...wanted: string[]) =>
    waitFor(
      `the changes to be ${wanted.join(', ')}`,
      async () => (await page.locator('tbody tr td:nth-child(2)').allTextContents()).join() === wanted.join(),
    );
  await page.getByRole('link', { name: 'Audit' }).click();
  await page.getByLabel('Subject').fill(subject);
  await actions('RevokeKey', 'CreateKey');
  t.equal(await page.getByLabel('Account').count(), 0, 'there is but one');
  await page.getByLabel('Action').fill('CreateKey');
  await actions('CreateKey');
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  await sql`UPDATE audit_event SET at = now() - interval '3 hours' WHERE subject_id = ${subject}
    AND action = 'CreateKey'`;
  await sql.end();
  await page.getByLabel('Action').fill('');
  await page.getByLabel('Made').selectOption({ label: 'in the last hour' });
  await actions('RevokeKey');
  await page.getByLabel('Made').selectOption({ label: 'in the last day' });
  await actions('RevokeKey', 'CreateKey');
  t.match(page.url(), new RegExp(`\\?subject=${subject}&from=now-1d$`), 'a link shows the same');
  await page.getByLabel('Made').selectOption({ label: 'from – until …' });
  await page.getByLabel('until', { exact: true }).fill(
    await page.evaluate(`new Date(Date.now() - 7200_000 - new Date().getTimezoneOffset() * 60_000)
    .toISOString().slice(0, 19)`),
  );
  await actions('CreateKey');
  await page.reload();
  await actions('CreateKey');
  await inspect(t, page, 'changes by subject and time');
  await page.getByLabel('from', { exact: true }).fill('2099-01-01T00:00:00');
  await page.getByRole('alert').getByText('until_time must be after since_time').waitFor();
  await page.getByLabel('from', { exact: true }).fill('');
  await actions('CreateKey');
}
