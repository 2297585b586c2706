// test: postgres, 30 s
/**
 * Lists by their fields in a real Chromium: each kind with its filters, which stand in the address; what cannot be
 * asked says so and can be changed.
 */

import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { Page } from 'playwright-core';
import postgres from 'postgres';
import t from 'tap';
import { whyNoChromium } from '../../helpers/console/chromium.ts';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { jsHandler } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { consolePages } from './pages/console-pages.ts';

t.setTimeout(600_000);
t.test('lists by their fields', { skip: whyNoChromium(), timeout: 400_000 }, async (t) => {
  const system = await startSystem(t, {
    agentEnv: { SLIPWAY_AGENT_NAME: 'rack-1', SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x2' },
  });
  const { open, inspect } = await consolePages(t, system);
  const sql = postgres(system.database.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end());
  const newTemplate = async (name: string, serverless: boolean): Promise<string> => {
    const template = Template.fromPartial({ name, startCommand: jsHandler('all.js'), serverless });
    return (await call(system.clients.templates, 'createTemplate', { template }, system.key)).template!.id;
  };
  const templateId = await newTemplate('of workers', true);
  await newTemplate('of pods', false);
  const newEndpoint = async (fields: Partial<Endpoint>, workersMax = 1): Promise<string> =>
    (
      await call(
        system.clients.endpoints,
        'createEndpoint',
        {
          endpoint: Endpoint.fromPartial({ templateId, workersMin: 0, ...fields }),
          requestId: '',
          workersMax,
          retryLimit: undefined,
        },
        system.key,
      )
    ).endpoint!.id;
  const id = await newEndpoint({ name: 'queue', computeType: 'CPU' });
  await newEndpoint({ name: 'balanced', type: EndpointType.LB, gpuIds: ['NVIDIA L4'] });
  await newEndpoint({ name: 'paused', gpuIds: ['NVIDIA L4'] }, 0);
  const namesOf = async (page: Page) => (await page.locator('tbody tr > :first-child .text').allTextContents()).join();
  const lists = (page: Page, ...names: string[]) =>
    waitFor(`the list to be ${names.join(', ')}`, async () => (await namesOf(page)) === names.join());

  await t.test(
    'endpoints: what was chosen is in the address, of a link and of a page that is loaded again; a wrong ' +
      'address says so',
    async (t) => {
      const page = await open(t);
      await lists(page, 'queue', 'balanced', 'paused');
      await page.getByLabel('Type').selectOption({ label: 'load balancing' });
      await lists(page, 'balanced');
      t.match(page.url(), /\/console\/?\?type=LB$/);
      await page.getByLabel('Type').selectOption('');
      await page.getByLabel('Paused').selectOption('yes');
      await lists(page, 'paused');
      await page.reload();
      await lists(page, 'paused');
      t.equal(await page.getByLabel('Paused').inputValue(), 'yes', 'a link keeps it');
      await inspect(t, page, 'endpoints by their fields');
      await page.getByLabel('Runs on').selectOption('CPU');
      await page.getByText('No endpoint matches.').waitFor();
      await page.getByLabel('Paused').selectOption('no');
      await lists(page, 'queue');
      await page.goto(`${system.url}/console?trouble=no_place`);
      await waitFor('one without a place', async () => {
        // A reconcile pass may have recorded meanwhile that there is none.
        await sql`UPDATE scale_decision SET throttled = 1 WHERE endpoint_id = ${id}`;
        return (await namesOf(page)) === 'queue';
      });
      await sql`UPDATE scale_decision SET throttled = 0 WHERE endpoint_id = ${id}`;
      await page.getByText('No endpoint matches.').waitFor();
      await page.goto(`${system.url}/console?type=BOTH&other=1`);
      await page.getByRole('alert').getByText('filters has "BOTH" as type, but that must be one of QB, LB').waitFor();
      await inspect(t, page, 'endpoints by what there is not');
      await page.getByLabel('Type').selectOption('QB');
      await lists(page, 'queue', 'paused');
      t.match(page.url(), /\?type=QB&other=1$/);
    },
  );

  await t.test(
    'templates by what they are for, volumes by their data centre, registry credentials by search alone',
    async (t) => {
      await call(
        system.clients.volumes,
        'createNetworkVolume',
        {
          networkVolume: NetworkVolume.fromPartial({ name: 'models', sizeGb: 1, dataCenterId: 'EU-CZ-1' }),
        },
        system.key,
      );
      await call(
        system.clients.registryAuths,
        'createRegistryAuth',
        { name: 'hub', username: 'u', password: 'p' },
        system.key,
      );
      const page = await open(t);
      await page.getByRole('link', { name: 'Templates' }).click();
      await page.getByLabel('For', { exact: true }).selectOption({ label: 'pods' });
      await lists(page, 'of pods');
      await page.getByLabel('Public').selectOption('no');
      t.match(page.url(), /templates\?kind=pod&public=no$/);
      await inspect(t, page, 'templates by their fields');
      await page.getByLabel('Public').selectOption('yes');
      await page.getByText('Nothing matches.').waitFor();
      await page.getByRole('link', { name: 'Volumes' }).click();
      t.match(page.url(), /volumes$/, 'filters of another list are gone');
      await page.getByLabel('Data centre').fill('EU-CZ-2');
      await page.getByText('Nothing matches.').waitFor();
      await page.getByLabel('Data centre').fill('EU-CZ-1 ');
      await lists(page, 'models');
      await inspect(t, page, 'volumes by their fields');
      await page.goto(`${system.url}/console/volumes?data_center=${'x'.repeat(201)}`);
      await page
        .getByRole('alert')
        .getByText(/view.filters must be/)
        .waitFor();
      await page.getByLabel('Data centre').fill('');
      await lists(page, 'models');
      await page.getByRole('link', { name: 'Registries' }).click();
      await lists(page, 'hub');
      await inspect(t, page, 'registries');
    },
  );

  await t.test('a template that is changed: core tells which endpoints use it', async (t) => {
    const page = await open(t);
    const asked: string[] = [];
    page.on('request', (request) => {
      if (/\/api\/(v1\/)?endpoints/.test(request.url())) asked.push(request.url().replace(/^.*\/api/, ''));
    });
    await page.goto(`${system.url}/console/templates`);
    const change = async (name: string, outlook: string): Promise<void> => {
      await page.getByRole('button', { name: `Change ${name}` }).click();
      await page.getByLabel('Disk of the container').fill('7');
      await page.getByText(outlook).waitFor();
      await page.keyboard.press('Escape');
    };
    await change('of workers', '3 endpoints get a new version: “queue”, “balanced”, “paused”.');
    await change('of pods', 'No endpoint of this account uses it.');
    t.equal(asked.length, 2, asked.join(' '));
    t.ok(
      asked.every((url) => /^\/endpoints\?filter\.template=\w+&size=1000$/.test(url)),
      'no others are asked for',
    );
  });

  await t.test('usage of one endpoint and one type of GPU', async (t) => {
    await endpointJobs(system, id).runSync({ mode: 'value', value: 1 });
    const page = await open(t);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('rowheader', { name: 'queue' }).waitFor();
    await page.getByLabel('GPU type').fill('NVIDIA L4');
    await page.getByText('Nothing ran in this period.').waitFor();
    await page.getByLabel('GPU type').fill('');
    await page.getByLabel('Endpoint id').fill(id);
    await page.getByRole('rowheader', { name: 'queue' }).waitFor();
    t.match(page.url(), new RegExp(`usage\\?endpoint=${id}$`));
    await inspect(t, page, 'usage by its fields');
    await page.goto(`${system.url}/console/usage?endpoint=${'x'.repeat(201)}`);
    await page.getByRole('alert').getByText('"endpoint" must have at most 200 characters.').waitFor();
  });

  await t.test(
    'for the operator: machines by state and GPU, accounts by quota and endpoints, join keys by whether a ' +
      'machine joined',
    async (t) => {
      const { accountId } = await call(system.clients.access, 'createAccount', { name: 'idle' }, system.rootKey);
      await call(system.clients.access, 'setQuota', { accountId, quota: { workers: 2 } }, system.rootKey);
      await sql`INSERT INTO machine (id, name, gpus)
        VALUES ('gone12345678', 'gone', '[{"uuid":"u","name":"NVIDIA A30","memoryMib":24576,"migProfile":""}]')`;
      const page = await open(t, { key: system.rootKey });
      const squares = (...names: string[]) =>
        waitFor(
          `machines ${names.join()}`,
          async () => (await page.locator('.machine .name').allTextContents()).join() === names.join(),
        );
      await squares('gone', 'rack-1');
      await page.getByLabel('State').selectOption({ label: 'connected' });
      await squares('rack-1');
      await page.getByLabel('GPU type').fill('a30');
      await page.getByText('No machine matches.').waitFor();
      await inspect(t, page, 'an overview of machines that are none');
      await page.getByLabel('State').selectOption('');
      await squares('gone');
      t.match(page.url(), /\?gpu=a30$/);
      await inspect(t, page, 'an overview of machines by their fields');
      await page.getByRole('link', { name: 'Machines' }).first().click();
      await page.getByLabel('State').selectOption({ label: 'away' });
      await lists(page, 'gone');
      await inspect(t, page, 'machines by their fields');
      await page.goto(`${system.url}/console/machines?state=asleep`);
      await page
        .getByRole('alert')
        .getByText(/must be one of here, away, cordoned, revoked/)
        .waitFor();
      await page.getByRole('link', { name: 'Accounts' }).click();
      await page.getByLabel('Quota').first().selectOption('yes');
      await lists(page, 'idle');
      await inspect(t, page, 'accounts by their fields');
      await page.goto(`${system.url}/console/accounts?endpoints=yes`);
      await waitFor('those with endpoints', async () => !(await page.locator('tbody').textContent())!.includes('idle'));
      await page.getByRole('link', { name: 'Keys' }).click();
      await page.getByLabel('A machine joined').selectOption('yes');
      await waitFor('one key', async () => (await page.locator('tbody tr').count()) === 1);
      t.match(await page.locator('tbody tr').textContent(), /join a machine/);
      await inspect(t, page, 'join keys by their fields');
    },
  );

  await t.test('webhook calls of a job, by their state', async (t) => {
    const { id: job } = (await endpointJobs(system, id).runSync({ mode: 'value', value: 1 })) as { id: string };
    await sql`INSERT INTO webhook_result (endpoint_id, job_id, id, delivered, tries, last_error, redrives) VALUES
      (${id}, ${job}, 1, false, 3, 'the receiver answered 404', 0), (${id}, ${job}, 2, true, 1, '', 0)`;
    const page = await open(t, { at: `endpoints/${id}/jobs/${job}` });
    const calls = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Webhook calls' }) });
    await waitFor('both', async () => (await calls.locator('tbody tr').count()) === 2);
    await calls.getByLabel('State').selectOption({ label: 'given up' });
    await waitFor('one', async () => (await calls.locator('tbody tr').count()) === 1);
    await calls.getByRole('cell', { name: 'the receiver answered 404' }).waitFor();
    t.match(page.url(), /\?state=GIVEN_UP$/);
    await inspect(t, page, 'webhook calls by their state');
    await sql`UPDATE webhook_result SET delivered = true WHERE job_id = ${job}`;
    await calls.getByText('Nothing matches.').waitFor();
  });
});
