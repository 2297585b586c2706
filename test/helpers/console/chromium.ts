/** A real browser: Debian's Chromium, driven by playwright-core, which has no browser itself. */
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { Test } from 'tap';

const PROGRAM = process.env.SLIPWAY_TEST_CHROMIUM ?? '/usr/bin/chromium';

/** For tap's `skip` option: false if Chromium is installed, else one line that says what to install. */
export function whyNoChromium(): false | string {
  return existsSync(PROGRAM) ? false : 'needs Chromium: apt-get install chromium';
}

/** Starts Chromium; it ends with the test. As root it runs without a sandbox: it opens the test's own pages only. */
export async function startChromium(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: PROGRAM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  t.teardown(() => browser.close());
  return browser;
}
