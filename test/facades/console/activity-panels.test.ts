// test: postgres, 20 s
/** The console in a real Chromium: cached models while they come and when they are there, and batches that run. */
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { openProfile, startChromium, whyNoChromium } from '../../helpers/console/chromium.ts';
import { startModelHub } from '../../helpers/net/model-hub.ts';
import { scratch } from '../../helpers/scratch.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { PATIENCE_MS, waitFor } from '../../helpers/time/wait-for.ts';

const WEIGHTS = 'model.safetensors';
const BYTES = 400_000;

t.setTimeout(600_000);
t.test('what an endpoint’s Activity shows besides workers', { skip: whyNoChromium(), timeout: 300_000 }, async (t) => {
  const hub = await startModelHub(t);
  const commit = hub.push('lab/tiny', { files: { [WEIGHTS]: Buffer.alloc(BYTES, 'w') }, large: [WEIGHTS] });
  // Nothing more comes until the connection is cut.
  hub.fail({ path: WEIGHTS, silentAfter: BYTES / 4, times: 1 });
  const system = await startSystem(t, {
    coreEnv: { SLIPWAY_MODEL_HUB: hub.address },
    agentEnv: { SLIPWAY_MODEL_DISK_GB: '1', SLIPWAY_AGENT_NAME: 'rack-1' },
  });
  const page = await (await openProfile(await startChromium(t))).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('pageerror', (error) => t.fail(`in the page: ${error.message}`));
  await page.goto(`${system.url}/console`);
  await page.getByLabel('API key').fill(system.key);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  const panel = (title: string) =>
    page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });

  await t.test('a model that is downloaded, and then is ready', async (t) => {
    const id = await system.createEndpoint({
      command: jsHandler('cached-model.js'),
      fields: { name: 'reader', modelReferences: ['lab/tiny'], workersMin: 1 },
      ready: 0,
    });
    await page.goto(`${system.url}/console/endpoints/${id}/activity`);
    const models = panel('Models');
    await models.getByText('downloading', { exact: true }).waitFor();
    await models.getByText(/lab\/tiny: 25.% of less than 0\.1.GB/).waitFor();
    hub.cut();
    await models.getByText('ready', { exact: true }).waitFor();
    t.match(await models.textContent(), /ready on one.machine/);

    const operator = await (await openProfile(page.context().browser()!)).newPage();
    operator.setDefaultTimeout(PATIENCE_MS);
    await operator.goto(`${system.url}/console`);
    await operator.getByLabel('API key').fill(system.rootKey);
    await operator.keyboard.press('Enter');
    await operator.getByRole('link', { name: 'Machines' }).first().click();
    await operator.getByRole('link', { name: 'rack-1' }).first().click();
    const row = operator.getByRole('row').filter({ hasText: 'lab/tiny' });
    await row.getByText('ready', { exact: true }).waitFor();
    t.match(await row.textContent(), new RegExp(`main.*${commit.slice(0, 12)}all accounts`));
  });

  await t.test('a batch: its progress, and why it does not advance', async (t) => {
    const files = await scratch(t);
    const id = await system.createEndpoint({
      command: jsHandler('openai.js'),
      fields: { name: 'echo', workersMin: 1 },
      workersMax: 1,
    });
    const ask = async (content: string) => ({
      input: { openai_route: '/v1/chat/completions', openai_input: { messages: [{ role: 'user', content }] } },
    });
    const requests = await Promise.all(['one', `wait ${files.path('gate')}`, 'three', 'four'].map(ask));
    const { json } = await system.request('POST', `/v2/${id}/batch`, requests);
    await system.request('POST', `/v2/${id}/batch/${json.id}/finalize`);
    await page.goto(`${system.url}/console/endpoints/${id}/activity`);
    const batches = panel('Batches');
    await batches.getByText(/1 of 4 requests have ended; here 2 wait at low priority and 1 run/).waitFor();
    t.match(await batches.textContent(), new RegExp(`${json.id}.*25.%`));
    writeFileSync(files.path('gate'), '');
    await batches.waitFor({ state: 'detached' });
    await waitFor('its end', async () => {
      const { json: ended } = await system.request('GET', `/v2/${id}/batch/${json.id}`);
      return ended['requestCompleted'] === 4;
    });
  });
});
