/**
 * Opens every page at the widths of a desktop and a phone, in the light and the dark theme, as each kind of key sees
 * it.
 */

import { KeyScope, Permission } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';
import { COLOR_RULES, NO_COLOR_RULES } from './console-pages.ts';
import type { BrowserParts } from './list-pages.ts';

const WIDTHS = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 800 } };

/**
 * Finds texts of the page in which a line may break between a number and its unit. Output of users' programs is left
 * out.
 */
const BREAKABLE = `[...document.querySelectorAll('main, main *')].filter((element) => !element.closest('pre, code, textarea'))
  .map((element) => [...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data).join(''))
  .filter((text) => /\\d (ms|s|min|h|d|GB|GiB|MiB|%)(?![\\p{L}\\d])/u.test(text))`;

/** Adds the tests. */
export function everyPage(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test('every page, at both widths, in both colours', async (t) => {
    const jobs = endpointJobs(system, id);
    const { id: done } = await jobs.runSync({ mode: 'value', value: 1 });
    const failed = await jobs.run({ mode: 'throw', message: 'as asked' });
    await jobs.settled(failed);
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'empty' }, system.rootKey);
    const permissions = { management: Permission.UNSPECIFIED, jobs: Permission.READ_WRITE };
    const ofJobs = { name: 'jobs', scope: KeyScope.RESTRICTED, endpointIds: [], accountId: '', permissions };
    const { secret: jobsKey } = await call(system.clients.keys, 'createKey', ofJobs, system.key);
    const tabs = ['activity', 'decisions', 'jobs', 'errors', 'try', 'settings', 'releases', 'code'].map(
      (tab) => `endpoints/${id}/${tab}`,
    );
    const aJob = `endpoints/${id}/jobs/${done}`;
    const lists = ['jobs', 'templates', 'pods', 'volumes', 'registries', 'secrets', 'keys', 'usage', 'alerts', 'audit'];
    const nowhere = ['endpoints/nosuch', `endpoints/${id}/jobs/nosuch`, 'nosuch', 'no/such/page'];
    const seen: [who: string, key: string, paths: string[]][] = [
      ['owner', system.key, ['', ...tabs, aJob, `endpoints/${id}/jobs/${failed}`, ...lists, ...nowhere]],
      [
        'operator',
        system.rootKey,
        [
          '',
          'jobs',
          'machines',
          'machines/rack-1',
          'machines/nosuch',
          'accounts',
          'prices',
          'usage',
          'alerts',
          'keys',
          'audit',
          tabs[0]!,
        ],
      ],
      // Nothing is there.
      ['owner of nothing', await system.newKey(KeyScope.ALL, accountId), ['', ...lists]],
      // Pages that the key may not see.
      ['jobs alone', jobsKey, ['', 'jobs', 'keys', ...tabs.slice(2, 5), aJob]],
      ['reader', await system.newKey(KeyScope.READ_ONLY), ['', tabs[4]!, tabs[5]!, 'templates']],
    ];
    for (const [who, key, paths] of seen) {
      const page = await open(t);
      await signIn(page, key);
      for (const path of paths) {
        // Within the page, as its links go.
        await page.evaluate(`history.pushState(null, '', '/console/${path}')`);
        await page.locator('main h1').first().waitFor();
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
        t.same(await page.evaluate(BREAKABLE), [], `/${path}: no line ends between a number and its unit`);
        await page.setViewportSize(WIDTHS.desk);
        await page.emulateMedia({ colorScheme: 'light' });
        await inspect(t, page, `${who}, /${path}, desk, light`);
        // The same page in other colours, which do not depend on the width.
        await page.emulateMedia({ colorScheme: 'dark' });
        await inspect(t, page, `${who}, /${path}, desk, dark`, { runOnly: COLOR_RULES });
        await page.setViewportSize(WIDTHS.phone);
        await inspect(t, page, `${who}, /${path}, phone`, { rules: NO_COLOR_RULES });
      }
      await page.context().close();
    }
  });

  t.test('the current section stays visible in a narrow window', async (t) => {
    const page = await open(t, { viewport: WIDTHS.desk });
    await signIn(page, system.key, `endpoints/${id}/code`);
    const here = page.locator('.tabs [aria-current]');
    await here.waitFor();
    await page.setViewportSize(WIDTHS.phone);
    await waitFor('all of the tab to be in sight', async () => {
      const [tab, bar] = [(await here.boundingBox())!, (await page.locator('.tabs').boundingBox())!];
      return tab.x >= bar.x && tab.x + tab.width <= bar.x + bar.width;
    });
  });

  t.test('a key for jobs alone sees the jobs of an endpoint it names', async (t) => {
    const permissions = { management: Permission.UNSPECIFIED, jobs: Permission.READ_WRITE };
    const wanted = { name: 'jobs alone', scope: KeyScope.RESTRICTED, endpointIds: [], accountId: '', permissions };
    const { secret } = await call(system.clients.keys, 'createKey', wanted, system.key);
    const page = await open(t);
    await signIn(page, secret);
    await page.getByText('This key has no access.').waitFor();
    t.equal(
      await page.getByRole('link', { name: 'Templates' }).count(),
      0,
      'it is offered no page that it may not see',
    );
    await page.getByLabel('Endpoint').fill(id);
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader').first().waitFor();
    await page.getByRole('link', { name: 'Try it' }).click();
    await page.getByLabel(/as JSON/).fill('{"mode": "value", "value": "by a key for jobs"}');
    await page.keyboard.press('Control+Enter');
    await page.getByLabel('Output', { exact: true }).getByText('by a key for jobs').waitFor();
  });
}
