/** A real browser: Debian's Chromium, driven by playwright-core, which brings none of its own. */
import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { Test } from 'tap';

const PROGRAM = process.env.SLIPWAY_TEST_CHROMIUM ?? '/usr/bin/chromium';

/** For tap's `skip` option: false when it is there, else one line that says what to install. */
export function whyNoChromium(): false | string {
  return existsSync(PROGRAM) ? false : 'needs Chromium: apt-get install chromium';
}

/** Starts it; it ends with the test. As root it has no sandbox of its own: it sees the test's own pages only. */
export async function startChromium(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: PROGRAM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  t.teardown(() => browser.close());
  return browser;
}
