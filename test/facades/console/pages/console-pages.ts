/**
 * Pages of the console in a real Chromium, for tests on a system of their own: opened, signed in, inspected, and kept
 * as pictures where one asks for that.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { startChromium } from '../../../helpers/console/chromium.ts';
import type { System } from '../../../helpers/system/system.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The rules about colours. All others find the same in the dark theme as in the light one. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const WAIT_MS = 30_000;
/** Where pictures of the pages go. Empty: none are made. */
const PICTURES = process.env.SLIPWAY_TEST_SCREENSHOTS ?? '';

/** Writes all of the page as NAME.png to the folder of SLIPWAY_TEST_SCREENSHOTS, where that is set. */
export async function keepPicture(page: Page, name: string, folder = PICTURES): Promise<void> {
  if (folder === '') return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({
    path: join(folder, `${name.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-|-$/g, '')}.png`),
    fullPage: true,
  });
}

/** A browser that ends with the test. */
export async function consolePages(t: Test, { url, key: own }: Pick<System, 'url' | 'key'>) {
  const browser = await startChromium(t);
  return {
    browser,
    /** Opens a page in its own browser profile, signed in. Any error in it fails the test. */
    open: async (t: Test, { key = own, ...options }: BrowserContextOptions & { key?: string } = {}): Promise<Page> => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      t.teardown(() => context.close());
      const page = await context.newPage();
      page.setDefaultTimeout(WAIT_MS);
      page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
      await page.goto(`${url}/console`);
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      return page;
    },
    /**
     * No page may be wider than its window, desk or phone, nor have anything that axe-core finds, in the light or in
     * the dark.
     */
    inspect: async (t: Test, page: Page, name: string): Promise<void> => {
      if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
      for (const [width, size] of Object.entries({
        desk: { width: 1280, height: 800 },
        phone: { width: 390, height: 800 },
      })) {
        await page.setViewportSize(size);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const asked = JSON.stringify({
            resultTypes: ['violations'],
            ...(colorScheme === 'dark' ? { runOnly: COLOR_RULES } : {}),
          });
          const { violations } = (await page.evaluate(`axe.run(${asked})`)) as {
            violations: { id: string; nodes: { html: string }[] }[];
          };
          const told = violations.map(
            ({ id: rule, nodes }) =>
              `${rule}: ${nodes
                .map(({ html }) => html)
                .join(' ')
                .slice(0, 400)}`,
          );
          t.same(told, [], `${name}, ${width}, ${colorScheme}: axe-core finds nothing`);
          await keepPicture(page, `${name}, ${width}, ${colorScheme}`);
        }
        // Charts take the width of the window a moment after it has changed.
        t.ok(
          await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'),
          `${name} is no wider than a ${width}`,
        );
      }
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 1280, height: 800 });
    },
  };
}
