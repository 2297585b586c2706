/** Part of lists.test.ts, on its system: without a hand on the mouse, and in the colours that one chooses. */

import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { call } from '../../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import type { BrowserParts } from './list-pages.ts';

/**
 * Script that returns the focused element, and whether a user can see its focus: its outline is drawn within the
 * window, and nothing covers it.
 */
const FOCUSED = `(() => {
  const element = document.activeElement;
  const { outlineStyle } = getComputedStyle(element);
  const { left, right, top, bottom } = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2];
  const above = document.elementFromPoint(x, y);
  const isSeen = outlineStyle !== 'none' && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight && element.contains(above);
  const name = (element.getAttribute('aria-label') ?? (element.textContent.trim() || element.labels?.[0]?.textContent || element.id)).trim();
  window.first ??= element;
  const isOver = element === document.body || window.stops > 0 && element === window.first;
  window.stops = (window.stops ?? 0) + 1;
  return { name, isSeen, isOver };
})()`;

/**
 * All that can be used on the page, and which of it the focus came to. Tab comes to one radio button of a group; arrow
 * keys go on from there.
 */
const WATCH = `(() => {
  window.reached = new WeakSet();
  document.addEventListener('focusin', ({ target }) => {
    const group = target.type === 'radio' ? document.getElementsByName(target.name) : [target];
    for (const each of group) window.reached.add(each);
  });
  window.missed = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((element) => !element.disabled && element.getClientRects().length > 0 && !window.reached.has(element))
    .map(({ outerHTML }) => outerHTML.slice(0, 120));
})()`;

const STOPS_MAX = 400;

interface Focus {
  name: string;
  isSeen: boolean;
  /** All of the page was passed. */
  isOver: boolean;
}

/** Adds the tests. */
export function keyboardPages(t: Test, parts: BrowserParts): void {
  alone(t, parts);
  eachPage(t, parts);
  colours(t, parts);
  tables(t, parts);
}

function alone(t: Test, { system, id, open }: BrowserParts): void {
  t.test('with the keyboard alone: from signing in to a job, the focus always visible', async (t) => {
    // Names are random, and other endpoints have jobs that never began. Those have no logs.
    const { endpoint } = await call(system.clients.endpoints, 'getEndpoint', { id }, system.key);
    const { id: job } = (await endpointJobs(system, id).runSync({ mode: 'value', value: 1 })) as { id: string };
    const [endpointName, jobName] = [endpoint!.name, job].map((text) => new RegExp(`^${text}$`)) as [RegExp, RegExp];
    const page = await open(t);
    const focused = () => page.evaluate(FOCUSED) as Promise<Focus>;
    /** Goes on with Tab to what has this name. */
    const tabTo = async (name: RegExp): Promise<void> => {
      const passed: string[] = [];
      for (let tabs = 0; tabs < 60; tabs += 1) {
        await page.keyboard.press('Tab');
        const here = await focused();
        if (!here.isSeen) t.fail(`one cannot see that the focus is on "${here.name}"`);
        if (name.test(here.name)) return;
        passed.push(here.name.slice(0, 30));
      }
      throw new Error(`Tab never came to ${String(name)}, but to ${passed.join(' | ')}`);
    };
    await page.goto(`${system.url}/console`);
    await page.getByLabel('API key').waitFor();
    await page.getByLabel('API key').focus();
    await page.keyboard.type(system.key);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: endpointName }).first().waitFor();
    await tabTo(/^New endpoint$/);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    t.equal((await focused()).name, 'New endpoint', 'the focus comes back');
    await tabTo(endpointName);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: endpointName }).waitFor();
    // The tab of the endpoint, not the page of all jobs in the bar above.
    await tabTo(/^Scaling$/);
    await tabTo(/^Jobs$/);
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader').first().waitFor();
    await tabTo(jobName);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: jobName }).waitFor();
    await page.getByLabel('Logs', { exact: true }).waitFor();
    await page.keyboard.press('/');
    await page.getByRole('dialog', { name: 'Find a job' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    t.pass('without a hand on the mouse');
  });
}

function eachPage(t: Test, { system, id, open, signIn }: BrowserParts): void {
  t.test('each page: Tab reaches every link, button and input, with a visible focus', async (t) => {
    const { id: job } = (await endpointJobs(system, id).runSync({ mode: 'value', value: 1 })) as { id: string };
    const ofAccount = [
      '',
      ...['activity', 'decisions', 'jobs', 'errors', 'try', 'settings', 'releases', 'code'].map(
        (tab) => `endpoints/${id}/${tab}`,
      ),
      `endpoints/${id}/jobs/${job}`,
      'templates',
      'pods',
      'volumes',
      'registries',
      'secrets',
      'keys',
      'usage',
      'audit',
    ];
    const ofOperator = ['', 'machines', 'machines/rack-1', 'accounts', 'prices', 'usage', 'keys', 'audit'];
    for (const [key, paths] of [
      [system.key, ofAccount],
      [system.rootKey, ofOperator],
    ] as const) {
      const page = await open(t);
      await signIn(page, key);
      for (const path of paths) {
        await page.goto(`${system.url}/console/${path}`);
        await page.locator('main h1').first().waitFor();
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
        await page.evaluate(WATCH);
        const { stops, unseen } = await tabThrough(page);
        t.same(unseen, [], `/${path}: the focus is seen at each of ${stops} stops`);
        t.same(await page.evaluate('window.missed()'), [], `/${path}: Tab comes to all that can be used`);
        t.ok(stops > 5 && stops < STOPS_MAX, `/${path}: and out of the page again`);
      }
      await page.context().close();
    }
  });
}

/** Presses Tab from the top of the page to its end. */
async function tabThrough(page: Page): Promise<{ stops: number; unseen: string[] }> {
  const unseen: string[] = [];
  for (let stops = 0; stops < STOPS_MAX; stops += 1) {
    await page.keyboard.press('Tab');
    const { name, isSeen, isOver } = (await page.evaluate(FOCUSED)) as Focus;
    if (isOver) return { stops, unseen };
    if (!isSeen) unseen.push(name.slice(0, 80));
  }
  return { stops: STOPS_MAX, unseen };
}

function colours(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test("the chosen colour scheme overrides the system's, survives a reload, and applies to charts", async (t) => {
    const page = await open(t, { colorScheme: 'dark' });
    await signIn(page, system.key, `endpoints/${id}/activity`);
    await page.getByRole('img', { name: /Jobs that wait and run/ }).waitFor();
    const light = async (): Promise<boolean> =>
      (await page.evaluate(`(() => {
      const [red] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g);
      return Number(red) > 128;
    })()`)) as boolean;
    t.equal(await light(), false, 'as the system has it');
    const choice = page.getByLabel('Colours');
    for (const [theme, isLight] of [
      ['light', true],
      ['dark', false],
    ] as const) {
      await choice.selectOption(theme);
      t.equal(await light(), isLight, theme);
      await inspect(t, page, `${theme} by choice`, ['color-contrast']);
      await page.reload();
      await page.getByRole('img', { name: /Jobs that wait and run/ }).waitFor();
      t.equal(await light(), isLight, `${theme} is kept`);
      t.equal(await choice.inputValue(), theme);
      await page.emulateMedia({ colorScheme: isLight ? 'dark' : 'light' });
      t.equal(await light(), isLight, 'whatever the system has');
    }
    await choice.selectOption('');
    t.equal(await light(), true, 'as the system has it by now');
  });
}

function tables(t: Test, { system, id, open, signIn, inspect }: BrowserParts): void {
  t.test('a chart as a table: each value is read without a mouse', async (t) => {
    const page = await open(t);
    await signIn(page, system.key, `endpoints/${id}/decisions`);
    const panel = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Wanted, decided and present' }) });
    await panel.getByText('As a table').focus();
    await page.keyboard.press('Enter');
    await panel.getByRole('columnheader', { name: 'wanted' }).waitFor();
    const heads = await panel.getByRole('columnheader').allTextContents();
    t.same(heads, ['At', 'wanted', 'decided', 'present']);
    const first = panel.getByRole('row').last();
    t.same(
      await first.getByRole('cell').allTextContents(),
      ['1', '1', '0'],
      'the oldest decision: to start the first worker',
    );
    await inspect(t, page, 'a chart as a table');
    await page.goto(`${system.url}/console/endpoints/${id}/activity`);
    const times = page.locator('figure').filter({ hasText: 'Waited' });
    await times.getByText('As a table').click();
    await times
      .getByRole('cell', { name: /\d\s(ms|s)$/ })
      .first()
      .waitFor();
  });
}
