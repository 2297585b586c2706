/** A loaded system and a browser for the tests of the console, and what they do with a page. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { openProfile, startChromium } from '../../../helpers/console/chromium.ts';
import { endpointJobs } from '../../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../../helpers/system/handlers.ts';
import { startSystem } from '../../../helpers/system/system.ts';
import { PATIENCE_MS } from '../../../helpers/time/wait-for.ts';
import type { AxeResult } from './axe.ts';
import { AXE, openOf, toldOf } from './axe.ts';
import { checkSight, keepPicture, signInAt } from './console-pages.ts';

/** Starts both. They end with the test. The endpoint has run a job. */
export async function browserSystem(t: Test) {
  const system = await startSystem(t, {
    agentEnv: { SLIPWAY_AGENT_NAME: 'rack-1', SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x8' },
  });
  const id = await system.createEndpoint({ command: jsHandler('all.js') });
  const jobs = endpointJobs(system, id);
  const { id: firstJob } = (await jobs.runSync({ mode: 'value', value: 'made by the console’s test' })) as {
    id: string;
  };
  const browser = await startChromium(t);

  /** Opens a page in its own browser profile. Any error in it fails the test. */
  const open = async (t: Test, options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await openProfile(browser, { viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    t.teardown(async () => {
      if (!t.passing())
        t.comment(`shown at the end:\n${String(await page.evaluate('document.body.innerText').catch(String))}`);
      await context.close();
    });
    page.setDefaultTimeout(PATIENCE_MS);
    page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
    page.on('console', (message) => {
      if (/Content Security Policy|Trusted/i.test(message.text())) t.fail(message.text());
    });
    // A page without its style sheet fails in odd ways: says why it has none. Leaving a page aborts requests.
    const lost = (url: string, why: string): void => {
      if (url.includes('/console/assets/')) t.fail(`${url} was not loaded: ${why}`);
    };
    page.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? 'no reason';
      if (why !== 'net::ERR_ABORTED') lost(request.url(), why);
    });
    page.on('response', (response) => {
      if (!response.ok() && response.status() !== 304) lost(response.url(), String(response.status()));
    });
    // Says nothing of the good ones: a page may ask when its test has ended.
    page.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(system.url))
        t.fail(`asks another host: ${request.url()}`);
    });
    return page;
  };
  /** Signs in at a path below /console/, whose page is shown then. Default: the overview. */
  const signIn = (page: Page, key = system.key, path = ''): Promise<void> => signInAt(page, system.url, key, path);
  /**
   * Checks that a page is not wider than its window and has no findings of axe-core. `options`: of axe-core, such as
   * the rules to check. Default: all.
   */
  const inspect = async (t: Test, page: Page, name: string, options: object = {}): Promise<void> => {
    if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
    const asked = { resultTypes: ['violations', 'incomplete'], ...options };
    const run = async () =>
      (await page.evaluate(`axe.run(${JSON.stringify(asked)})`)) as Record<'violations' | 'incomplete', AxeResult[]>;
    const undecided = ({ incomplete }: Awaited<ReturnType<typeof run>>) =>
      incomplete.map(openOf).filter(({ nodes }) => nodes.length > 0);
    let found = await run();
    // axe reads the headings before it checks them: it cannot decide about one that came in between.
    if (undecided(found).length > 0) found = await run();
    t.same(found.violations.map(toldOf), [], `${name}: axe-core finds nothing`);
    t.same(undecided(found).map(toldOf), [], `${name}: nor anything that it cannot decide`);
    t.ok(
      await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'),
      `${name} is no wider than its window`,
    );
    await checkSight(t, page, name);
    await keepPicture(page, name);
  };
  return { system, id, jobs, firstJob, browser, open, signIn, inspect };
}
