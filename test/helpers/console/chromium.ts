/**
 * A real browser: Debian's Chromium, driven by playwright-core, which has no browser itself. The headless shell is the
 * same engine without the windows, tabs and profiles around it, and needs half the processor time of `chromium`.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core';
import { chromium } from 'playwright-core';
import type { Test } from 'tap';

/** Programs to use, best first. */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const PROGRAM = process.env.SLIPWAY_TEST_CHROMIUM ?? PROGRAMS.find((program) => existsSync(program)) ?? PROGRAMS[0]!;

/** Returns false for tap's `skip` option if Chromium is installed, else one line that says what to install. */
export function whyNoChromium(): false | string {
  return existsSync(PROGRAM) ? false : 'needs Chromium: apt-get install chromium-headless-shell';
}

/**
 * Starts Chromium, which ends with the test. It has no sandbox, because tests may run as root and open only their own
 * pages.
 */
export async function startChromium(t: Test): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: join(import.meta.dirname, 'without-netlink.py'),
    env: { ...process.env, SLIPWAY_TEST_PROGRAM: PROGRAM },
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
  t.teardown(() => browser.close());
  return browser;
}

/**
 * Opens a profile without animations. Animations change no text, and without a graphics card each frame costs processor
 * time that other tests need.
 */
export function openProfile(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  return browser.newContext({ reducedMotion: 'reduce', ...options });
}
