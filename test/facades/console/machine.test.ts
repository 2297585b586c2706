// test: alone, postgres, 100 s
/**
 * The page of one machine in a real Chromium: what is on it and whose, what it was at, and what draining and forgetting
 * it means.
 */

import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import postgres from 'postgres';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { recordedH200, withDriver } from '../../helpers/db/with-driver.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

const SECRET = 'a-secret-of-an-account';

t.setTimeout(600_000);
t.test('a machine', { skip: whyNoChromium(), timeout: 400_000 }, async (t) => {
  const system = await startSystem(t, { agents: 0 });
  const agent = await system.startAgent(undefined, {
    SLIPWAY_AGENT_NAME: 'rack-1',
    SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x3',
    SLIPWAY_AGENT_LOCATIONS: 'CZ',
  });
  const { clients, rootKey, accountId } = system;
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const { open, inspect } = await consolePages(t, system);
  const { id: machineId } = await waitFor(
    'the machine to be listed',
    async () => (await call(clients.machines, 'listMachines', {}, rootKey)).machines[0]?.machine,
  );
  const fields = { name: 'on a card', gpuIds: ['NVIDIA L4'], workersMin: 1, env: { TOKEN: SECRET } };
  const id = await system.createEndpoint({ command: jsHandler('all.js'), fields, workersMax: 1 });
  const jobs = endpointJobs(system, id);
  const pod = Pod.fromPartial({
    name: 'notebook',
    gpuIds: ['NVIDIA L4'],
    startCommand: ['/bin/sh', '-c', `sleep 600; ${SECRET}`],
    env: { TOKEN: SECRET },
  });
  const { id: podId } = (await call(clients.pods, 'createPod', { pod }, system.key)).pod!;
  const page = await open(t, { key: rootKey });

  await t.test('from the map, from the list and by its name', async () => {
    await page.locator('.machines').getByRole('link', { name: 'rack-1' }).click();
    await page.getByRole('heading', { name: 'rack-1' }).waitFor();
    await page.getByRole('link', { name: 'Machines' }).first().click();
    await page.getByRole('row').getByRole('link', { name: 'rack-1' }).click();
    await page.waitForURL(`**/console/machines/${machineId}`);
    await page.goto(`${system.url}/console/machines/rack-1`);
    await page.getByRole('heading', { name: 'rack-1' }).waitFor();
    await page.getByText(machineId, { exact: true }).waitFor();
  });

  await t.test('its GPUs with their holders, live; the time line of its workers; pods; facts', async (t) => {
    const gpus = page.getByRole('region', { name: /^GPUs/ });
    await gpus
      .getByRole('row')
      .filter({ hasText: 'on a card' })
      .filter({ hasText: 'idletest' })
      .filter({ has: page.getByTitle(accountId) })
      .waitFor();
    await gpus
      .getByRole('row')
      .filter({ hasText: `pod ${podId}, notebook` })
      .filter({ has: page.getByTitle(accountId) })
      .waitFor();
    await gpus.getByRole('row').filter({ hasText: 'free' }).waitFor();
    const job = await jobs.run({ mode: 'until', file: '/nonexistent/file' });
    await gpus
      .getByRole('row')
      .filter({ hasText: /100\s% busy/ })
      .waitFor();
    const lanes = page.getByRole('group', { name: `machine ${machineId}` });
    await lanes.getByText('machine rack-1').waitFor();
    const lane = lanes.locator('.lane').filter({ has: page.getByText(/^GPU \S+/) });
    await lane.getByRole('link', { name: 'on a card' }).waitFor();
    await lane.locator('.phases .busy').first().waitFor({ state: 'attached' });
    await jobs.call('POST', `/cancel/${job}`);
    await gpus.getByRole('row').filter({ hasText: /idle/ }).waitFor();
    await page
      .getByRole('region', { name: /^Pods/ })
      .getByRole('row')
      .filter({ hasText: 'notebook' })
      .filter({ hasText: 'running' })
      .waitFor();
    const facts = page.getByRole('table', { name: 'Details' });
    await facts.getByRole('row').filter({ hasText: 'Locations' }).filter({ hasText: 'CZ' }).waitFor();
    await inspect(t, page, 'a machine');
    await page.setViewportSize({ width: 390, height: 800 });
    const { x, width } = (await facts.boundingBox())!;
    t.ok(x + width <= 390, 'all of what it is fits a phone');
    await page.setViewportSize({ width: 1280, height: 800 });
    t.notMatch(await page.content(), new RegExp(SECRET), 'nothing that accounts gave');
  });

  await t.test('GPU utilization as the driver reports it, on the map too', async (t) => {
    const driver = withDriver(t, recordedH200());
    const real = await system.startAgent(undefined, { ...driver.env, SLIPWAY_AGENT_NAME: 'rack-2' });
    const ofCard = await open(t, { key: rootKey });
    const square = ofCard.locator('.gpu.loaded');
    await square
      .filter({ hasText: /98\s%, 883\sMiB/ })
      .and(ofCard.locator('.busy-4'))
      .waitFor();
    await inspect(t, ofCard, 'the map with a busy card');
    await ofCard.locator('.machines').getByRole('link', { name: 'rack-2' }).click();
    const row = ofCard.getByRole('region', { name: /^GPUs/ }).getByRole('row').filter({ hasText: 'GPU-2f777980' });
    await row
      .filter({ hasText: /883\sMiB/ })
      .filter({ hasText: /98\s%/ })
      .filter({ hasText: /58\s°C, 694\sW/ })
      .filter({ hasText: 'free' })
      .waitFor();
    await inspect(t, ofCard, 'a machine with a busy card');
    const onCard = await system.createEndpoint({
      command: jsHandler('all.js'),
      fields: { name: 'on the H200', gpuIds: ['NVIDIA H200'], workersMin: 1 },
      workersMax: 1,
    });
    await row.filter({ hasText: 'on the H200' }).waitFor();
    const owner = await open(t, { at: `endpoints/${onCard}/activity` });
    await owner.getByText(/GPU 98\s%, 883\sMiB/).waitFor();
    await inspect(t, owner, 'a worker with a busy card');
    await system.endWorkers(onCard);
    driver.say({ load: recordedH200().load.replace('98 %', '[N/A]') });
    await row
      .filter({ hasNotText: '%' })
      .filter({ hasText: /883\sMiB/ })
      .waitFor();
    await real.stop();
    await row.filter({ hasNotText: '883' }).waitFor();
    const { status } = await call(clients.machines, 'getMachine', { id: 'rack-2' }, rootKey);
    await waitFor('its lease to end', async () => {
      const [row] = await sql<
        { over: boolean }[]
      >`SELECT lease_expires_at < now() AS over FROM machine WHERE id = ${status!.machine!.id}`;
      return row!.over;
    });
    await call(clients.machines, 'forgetMachine', { id: status!.machine!.id }, rootKey);
  });

  await t.test('images, an unhealthy GPU, a crashed worker, and refused endpoints', async (t) => {
    await sql`
      INSERT INTO machine_image (machine_id, name, digest, size_bytes)
      SELECT ${machineId}, 'registry.example/team/model-' || n || ':latest', 'sha256:' || repeat('ab', 32),
        n * 1000000000::bigint
      FROM generate_series(1, 3) AS n`;
    await page
      .getByRole('region', { name: /^Images/ })
      .getByRole('row')
      .filter({ hasText: 'model-3' })
      .waitFor();
    await sql`
      INSERT INTO machine_model (machine_id, account_number, repository, revision, commit, state, size_bytes,
        downloaded_bytes, fault, error)
      VALUES (${machineId}, 0, 'org/big', 'main', ${'a'.repeat(40)}, 'DOWNLOADING', 4000000000, 1000000000, '', ''),
        (${machineId}, 7, 'org/gated', 'v1', '', 'FAILED', 0, 0, 'FORBIDDEN', 'the hub answers 403')`;
    const models = page.getByRole('region', { name: /^Models/ }).getByRole('row');
    await models.filter({ hasText: /org\/big.*downloading, 25.*4.GB.*all accounts/ }).waitFor();
    await models.filter({ hasText: /org\/gated.*v1.*the hub answers 403.*account 7/ }).waitFor();
    const bad = await system.createEndpoint({
      command: ['/bin/sh', '-c', 'echo no such model >&2; exit 7'],
      fields: { name: 'bad', computeType: 'CPU', workersMin: 1 },
      ready: 0,
    });
    await page.getByText('no such model').first().waitFor();
    await system.endWorkers(bad);
    const large = { name: 'three cards', gpuIds: ['NVIDIA L4'], gpuCount: 3, workersMin: 1 };
    const many = await system.createEndpoint({ command: jsHandler('all.js'), fields: large, ready: 0 });
    const refusals = page
      .locator('section')
      .filter({ has: page.getByRole('heading', { name: 'Endpoints that do not fit' }) });
    await refusals.getByRole('link', { name: 'three cards' }).waitFor();
    await refusals.getByText('account test').waitFor();
    await inspect(t, page, 'a machine with troubles');
    await system.endWorkers(many);
    await refusals.waitFor({ state: 'detached' });
  });

  await t.test('draining shows its consequences first, then its progress, and can be ended', async (t) => {
    const job = await jobs.run({ mode: 'until', file: '/nonexistent/file' });
    const busy = page
      .getByRole('region', { name: /^GPUs/ })
      .getByRole('row')
      .filter({ hasText: /100\s% busy/ });
    await busy.waitFor();
    await page.getByRole('button', { name: 'Drain rack-1', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^\d+ workers? there: (?:it takes|they take) no more jobs, /).waitFor();
    await dialog.getByText('1 pod there: it stays, with all files.').waitFor();
    await dialog.getByLabel('Deadline').fill('90');
    await dialog.getByLabel('Reason').fill('new GPUs');
    await inspect(t, page, 'draining a machine');
    await dialog.getByRole('button', { name: 'Drain it' }).click();
    await page.getByText(/^draining: \d+ workers?, 1 job left$/).waitFor();
    await page.getByText(/^until .*:.*, 1 pod stays, new GPUs$/).waitFor();
    await inspect(t, page, 'a machine that is drained');
    const postDrain = (body: object) =>
      page.evaluate(`fetch('/console/api/machines/${machineId}/drain', { method: 'POST', body: '${JSON.stringify(body)}',
        headers: { 'x-console-page': '1', 'content-type': 'application/json' } }).then(({ status }) => status)`);
    const wrong = [{ minutes: '5' }, { minutes: null }, { minutes: 1e300 }, { minutes: -1 }, { minutes: 10_081 }];
    for (const body of [...wrong, { reason: 5 }, { reason: 'x'.repeat(501) }])
      t.equal(await postDrain(body), 400, JSON.stringify(body).slice(0, 40));
    await page.goto(`${system.url}/console/machines`);
    const row = page.getByRole('row').filter({ hasText: 'rack-1' });
    await row.getByText(/^draining: \d+ workers?, 1 job left$/).waitFor();
    await row.getByRole('button', { name: 'Change drain rack-1' }).click();
    t.equal(await dialog.getByLabel('Reason').inputValue(), 'new GPUs');
    t.match(await dialog.getByLabel('Deadline').inputValue(), /^(?:90|8\d)$/);
    await dialog.getByLabel('Deadline').fill('0');
    await dialog.getByRole('button', { name: 'Change it' }).click();
    await row.getByText('drained', { exact: true }).waitFor();
    await row.getByText('1 pod stays, new GPUs', { exact: true }).waitFor();
    await page.locator('.machines').getByText('drained', { exact: true }).waitFor();
    await jobs.call('POST', `/cancel/${job}`);
    await inspect(t, page, 'a drained machine in the list');
    await page.goto(`${system.url}/console`);
    const problems = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Problems' }) });
    await problems.getByRole('link', { name: 'rack-1' }).first().click();
    await page.getByRole('button', { name: 'Undrain rack-1' }).click();
    await page.getByText('drained', { exact: true }).waitFor({ state: 'detached' });
    t.match(page.url(), new RegExp(`/machines/${machineId}$`), 'what is wrong leads there');
  });

  await t.test('an account’s key may not see it; an unknown name', async (t) => {
    const owner = await open(t, { at: `machines/${machineId}` });
    await owner.getByText('This key has no access.').waitFor();
    await inspect(t, owner, 'a machine, for an account');
    const reader = await open(t, { key: await system.newKey(KeyScope.READ_ONLY), at: 'machines/rack-1' });
    await reader.getByText('This key has no access.').waitFor();
    await page.goto(`${system.url}/console/machines/nosuch`);
    await page.getByText('There is no machine "nosuch".').waitFor();
    await inspect(t, page, 'no such machine');
    const statusOf = (machine: string) =>
      page.evaluate(`fetch('/console/api/live?machine=${machine}',
      { headers: { 'x-slipway-console': '1' } }).then(({ status }) => status)`);
    t.same([await statusOf('x'.repeat(300)), await statusOf('x&machine=y')], [404, 404]);
  });

  await t.test('away, and forgotten: the dialog lists what is removed with it', async (t) => {
    await page.goto(`${system.url}/console/machines/${machineId}`);
    await page.getByText('connected', { exact: true }).waitFor();
    t.equal(await page.getByRole('button', { name: /^Forget/ }).count(), 0, 'one that is here would join again');
    await agent.stop();
    await page.getByText(/^away, last seen /).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Forget rack-1' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^Deleted with all files: 1 pod, notebook\.$/).waitFor();
    await inspect(t, page, 'forgetting a machine');
    await waitFor('its lease to end', async () => {
      const [row] = await sql<
        { over: boolean }[]
      >`SELECT lease_expires_at < now() AS over FROM machine WHERE id = ${machineId}`;
      return row!.over;
    });
    await dialog.getByRole('button', { name: 'Forget it' }).click();
    await page.getByText('No machine has joined yet.').waitFor();
    t.match(page.url(), /\/machines$/);
  });
});
