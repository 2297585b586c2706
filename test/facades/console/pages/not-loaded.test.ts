// test: postgres, 10 s
/**
 * The console in a real Chromium when a part of it cannot be fetched: it is asked for again, and when that fails for
 * long, a reload is offered.
 */
import t from 'tap';
import { openProfile, startChromium, whyNoChromium } from '../../../helpers/console/chromium.ts';
import { startSystem } from '../../../helpers/system/system.ts';

const WAIT_MS = 60_000;
/** Pages other than the first are files of their own. */
const PART = /\/console\/assets\/list-[^/]+\.js/;

t.setTimeout(600_000);
t.test('parts that cannot be fetched', { skip: whyNoChromium(), timeout: 180_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const browser = await startChromium(t);
  const context = await openProfile(browser);
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.goto(`${system.url}/console`);
  await page.getByLabel('API key').fill(system.key);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Templates' }).waitFor();

  await t.test('for a moment: the page loads by itself', async (t) => {
    let failures = 0;
    await page.route(PART, (route) => {
      if (failures === 2) return route.continue();
      failures += 1;
      return route.abort();
    });
    await page.getByRole('link', { name: 'Templates' }).click();
    await page.getByRole('heading', { name: 'Templates' }).waitFor();
    t.equal(failures, 2);
    await page.unroute(PART);
  });

  await t.test('for long: a reload is offered, another page works meanwhile, and the reload helps', async (t) => {
    await page.goto(`${system.url}/console`);
    await page.route(PART, (route) => route.abort());
    await page.getByRole('link', { name: 'Templates' }).click();
    const reload = page.getByRole('button', { name: 'Reload the page' });
    await reload.waitFor();
    t.match(await page.getByRole('alert').textContent(), /This page could not be loaded/);
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Templates' }).click();
    await reload.waitFor();
    await page.unroute(PART);
    await reload.click();
    await page.getByRole('heading', { name: 'Templates' }).waitFor();
  });
});
