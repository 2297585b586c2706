/**
 * Pages of the console in a real Chromium, for tests on a system of their own: opened, signed in, inspected, and kept
 * as pictures where one asks for that.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { openProfile, startChromium } from '../../../helpers/console/chromium.ts';
import type { System } from '../../../helpers/system/system.ts';
import { PATIENCE_MS } from '../../../helpers/time/wait-for.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * Rules of axe-core about colours. They find the same at any width, and all others find the same in the dark theme as
 * in the light one. They take most of the time of a check.
 */
export const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
/** Value of axe-core's option `rules` that leaves the rules about colours out. */
export const NO_COLOR_RULES = Object.fromEntries(COLOR_RULES.map((rule) => [rule, { enabled: false }]));
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 800 };
/** Checks of one page. Each is made once, in a look at which it may find something new. */
const CHECKS = [
  { look: 'desk, light', viewport: DESK, colorScheme: 'light', options: {} },
  { look: 'desk, dark', viewport: DESK, colorScheme: 'dark', options: { runOnly: COLOR_RULES } },
  { look: 'phone, light', viewport: PHONE, colorScheme: 'light', options: { rules: NO_COLOR_RULES } },
] as const;
/** Where pictures of the pages go. Empty: none are made. */
const PICTURES = process.env.SLIPWAY_TEST_SCREENSHOTS ?? '';

/** Narrowest window of a desktop in which every table shows all of its columns. */
const NARROW = 1024;

/** Finds tables with columns out of sight: their names and widths. */
const SIDEWAYS = `[...document.querySelectorAll('main .scroll, dialog .scroll')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.getAttribute('aria-label') + ': ' + element.scrollWidth + ' > ' + element.clientWidth)`;

/** Finds texts that are cut off and whose whole text is nowhere. On a phone the pages above scroll sideways. */
const CUT = `[...document.querySelectorAll('body *')]
  .filter((element) => element.scrollWidth > element.clientWidth && element.closest('[title]') === null)
  .filter((element) => getComputedStyle(element).textOverflow === 'ellipsis' ||
    (innerWidth >= ${NARROW} && element.matches('.top nav'))).map(({ textContent }) => textContent)`;

/** By how much the page is wider than the window. */
const BESIDE = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;

/**
 * Checks that no text is cut off without its whole text in a title, and in a desktop's window that tables show all of
 * their columns, also in a narrow one.
 */
export async function checkSight(t: Test, page: Page, name: string): Promise<void> {
  const viewport = page.viewportSize()!;
  const widths = viewport.width > PHONE.width ? [NARROW, viewport.width] : [viewport.width];
  for (const width of widths) {
    await page.setViewportSize({ ...viewport, width });
    t.same(await page.evaluate(CUT), [], `${name}, ${width} px: no text is cut off without a title`);
    t.equal(await page.evaluate(BESIDE), 0, `${name}, ${width} px: nothing is beside the window`);
    if (width >= NARROW)
      t.same(await page.evaluate(SIDEWAYS), [], `${name}, ${width} px: all columns of its tables are in sight`);
  }
}

/** Widths of pictures of a page in a desktop's window. */
const PICTURE_WIDTHS = [1440, 1024] as const;

/**
 * Writes all of the page as NAME.png to the folder of SLIPWAY_TEST_SCREENSHOTS, where that is set. In a desktop's
 * window it is taken at each of the widths, as NAME-1440.png.
 */
export async function keepPicture(page: Page, name: string, folder = PICTURES): Promise<void> {
  if (folder === '') return;
  mkdirSync(folder, { recursive: true });
  const file = name.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-|-$/g, '');
  const viewport = page.viewportSize();
  // The width of the check itself, and the others that are looked at.
  const widths = viewport && folder === PICTURES && viewport.width > PHONE.width ? PICTURE_WIDTHS : [undefined];
  for (const width of widths) {
    if (width !== undefined) await page.setViewportSize({ width, height: viewport!.height });
    await page.screenshot({ path: join(folder, `${file}${width ? `-${width}` : ''}.png`), fullPage: true });
  }
  if (viewport) await page.setViewportSize(viewport);
}

/** Adds variables in the form that is open. */
export async function addVariables(page: Page, variables: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(variables)) {
    await page.getByRole('button', { name: 'Add a variable' }).click();
    await page.getByLabel('Name of the new variable').fill(name);
    await page.getByLabel(`Value of ${name}`, { exact: true }).fill(value);
  }
}

/**
 * Signs in at a path below /console/, whose page is shown then. '': the overview. To sign in there and load another
 * page afterwards costs a third of a second of processor time more.
 */
export async function signInAt(page: Page, url: string, key: string, path: string): Promise<void> {
  await page.goto(`${url}/console${path === '' ? '' : `/${path}`}`);
  const field = page.getByLabel('API key');
  await field.fill(key);
  await page.keyboard.press('Enter');
  if (path === '') await page.getByRole('heading', { name: 'Overview' }).waitFor();
  else await field.waitFor({ state: 'detached' });
}

/** Returns a browser that ends with the test. */
export async function consolePages(t: Test, { url, key: own }: Pick<System, 'url' | 'key'>) {
  const browser = await startChromium(t);
  return {
    browser,
    /** Opens a page in its own browser profile, signed in at a path (see signInAt). Any error in it fails the test. */
    open: async (
      t: Test,
      { key = own, at = '', ...options }: BrowserContextOptions & { key?: string; at?: string } = {},
    ): Promise<Page> => {
      const context = await openProfile(browser, { viewport: DESK, ...options });
      t.teardown(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
      await signInAt(page, url, key, at);
      return page;
    },
    /**
     * No page may be wider than its window, desk or phone, nor have anything that axe-core finds, in the light or in
     * the dark.
     */
    inspect: async (t: Test, page: Page, name: string): Promise<void> => {
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
      for (const { look, viewport, colorScheme, options } of CHECKS) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        const { violations } = (await page.evaluate(
          `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...options })})`,
        )) as { violations: { id: string; nodes: { html: string }[] }[] };
        const found = violations.map(
          ({ id: rule, nodes }) =>
            `${rule}: ${nodes
              .map(({ html }) => html)
              .join(' ')
              .slice(0, 400)}`,
        );
        t.same(found, [], `${name}, ${look}: axe-core finds nothing`);
        if (look !== 'desk, dark') await checkSight(t, page, `${name}, ${look}`);
        await keepPicture(page, `${name}, ${look}`);
        // Charts take the width of the window a moment after it has changed.
        t.ok(
          await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'),
          `${name}, ${look}: no wider than its window`,
        );
      }
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(DESK);
    },
  };
}
