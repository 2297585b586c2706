/** Part of lists.test.ts, on its system: names as long as they may be, in every direction. */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { checkSight, keepPicture } from './console-pages.ts';
import type { BrowserParts } from './list-pages.ts';

/** Adds the tests. */
export function namePages(t: Test, parts: BrowserParts): void {
  names(t, parts);
  longNames(t, parts);
}

function names(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test('the longest name, right to left: the text beside it is unchanged', async (t) => {
    const name = `\u202E${'W'.repeat(190)}`;
    const command = jsHandler('all.js');
    const id = await system.createEndpoint({ command, ready: 0, fields: { name, workersMin: 0 } });
    const page = await open(t);
    await signIn(page);
    const row = page.getByRole('row').filter({ hasText: id });
    const last = (await row.getByRole('cell').last().boundingBox())!;
    t.ok(last.x + last.width <= 1280, 'its row is no wider than the page');
    // Drawn from right to left, the first letter would stand last.
    const order = await page.evaluate(`(() => {
      const { firstChild } = [...document.querySelectorAll('code.id')].find(({ textContent }) => textContent === '${id}');
      const at = (place) => {
        const range = document.createRange();
        range.setStart(firstChild, place);
        range.setEnd(firstChild, place + 1);
        return range.getBoundingClientRect().x;
      };
      return at(0) < at(5);
    })()`);
    t.equal(order, true, 'its id reads from left to right');
    await page.goto(`${system.url}/console/endpoints/${id}/activity`);
    await page.getByText('No worker runs.').waitFor();
    await inspect(t, page, 'a long name');
  });
}

function longNames(t: Test, { system, open, signIn, inspect }: BrowserParts): void {
  t.test(
    'names as long as they may be and in one piece, on a phone: cut short where they stand among others, ' +
      'whole in their titles',
    async (t) => {
      const name = 'Wb'.repeat(95);
      const rest = async (path: string, body: object): Promise<void> => {
        const { status, json } = await system.request('POST', path, { name, ...body });
        t.ok(status < 300, path);
        t.teardown(() => system.request('DELETE', `${path}/${json.id}`));
      };
      await rest('/v1/networkvolumes', { size: 1, dataCenterId: 'default' });
      await rest('/v1/containerregistryauth', { username: 'me', password: 'x' });
      await rest('/v1/templates', { imageName: `localhost/${'i'.repeat(240)}:${'t'.repeat(120)}` });
      await rest('/v1/pods', { dockerStartCmd: ['sleep', '1000'], computeType: 'CPU' });
      const key = { name, scope: KeyScope.READ_ONLY, endpointIds: [], accountId: '', permissions: undefined };
      await call(system.clients.keys, 'createKey', key, system.key);
      const { accountId } = await call(system.clients.access, 'createAccount', { name }, system.rootKey);
      const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
      t.teardown(() => sql.end());
      const [machine] = await sql<{ name: string }[]>`SELECT name FROM machine`;
      await sql`UPDATE machine SET name = ${name}`;
      t.teardown(() => sql`UPDATE machine SET name = ${machine!.name}`);
      const phone = { viewport: { width: 390, height: 800 } };
      const look = async (page: Page, paths: string[]): Promise<void> => {
        for (const path of paths) {
          await page.goto(`${system.url}/console/${path}`);
          const place = page.getByTitle(name, { exact: true }).first();
          await place.waitFor();
          t.equal(await place.textContent(), name);
          const { width, height } = (await place.boundingBox())!;
          t.ok(width <= 390 * 0.95 && height < 90, `/${path}: ${Math.round(width)} by ${Math.round(height)}`);
          await inspect(t, page, `/${path} with a long name`);
          await page.setViewportSize({ width: 1280, height: 800 });
          await checkSight(t, page, `/${path} with a long name`);
          await keepPicture(page, `/${path} with a long name, desk`);
          await page.setViewportSize(phone.viewport);
        }
      };
      const page = await open(t, phone);
      await signIn(page);
      await look(page, ['volumes', 'registries', 'templates', 'pods', 'keys']);
      for (const [list, button] of [
        ['volumes', /^Delete/],
        ['pods', /^Change/],
      ] as const) {
        await page.goto(`${system.url}/console/${list}`);
        await page.getByRole('row').filter({ hasText: name }).getByRole('button', { name: button }).click();
        await page.getByRole('dialog').waitFor();
        const isWithin = 'document.querySelector("dialog").scrollWidth <= document.querySelector("dialog").clientWidth';
        t.ok(await page.evaluate(isWithin), `${list}: its dialog does not scroll sideways`);
        await inspect(t, page, `a dialog about a long name in ${list}`);
      }
      const ofOperator = await open(t, phone);
      await signIn(ofOperator, system.rootKey);
      await look(ofOperator, ['', 'machines', 'accounts']);
      const ofAccount = await open(t, phone);
      await signIn(ofAccount, await system.newKey(KeyScope.ALL, accountId));
      await inspect(t, ofAccount, 'an account with a long name');
    },
  );
}
