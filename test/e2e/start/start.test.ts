// test: postgres, 20 s
/** `npm start` without its installation: ready, usable, hard to kill, tidy, and going on where it ended. */
import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { call, grpcClients } from '../../helpers/grpc/grpc-clients.ts';
import { quietPort } from '../../helpers/net/ports.ts';
import { openFolder } from '../../helpers/open-folder.ts';
import type { EndpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { endpointJobs } from '../../helpers/system/endpoint-jobs.ts';
import { Launcher, readFacts } from '../../helpers/system/launcher.ts';
import { processTable } from '../../helpers/system/process-table.ts';
import { publicRequest } from '../../helpers/system/public-api.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

const run = promisify(execFile);

type Facts = ReturnType<typeof readFacts>;

t.setTimeout(600_000);

t.test('npm start', async (t) => {
  const folder = await openFolder(t);
  const port = String(await quietPort());
  const args = ['--port', port, '--data-dir', folder];
  const localEnv = join(folder, 'local.env');

  const first = new Launcher(t, ...args);
  const seconds = await first.ready();
  t.comment(`ready after ${seconds} s`);
  const facts = readFacts(localEnv);
  await t.test('the printed facts are true', (t) => checkFacts(t, first, localEnv, port, facts));
  const jobs = jobsOf(facts);
  const { input } = JSON.parse(facts.SLIPWAY_EXAMPLE_INPUT!) as { input: unknown };
  const id = await jobs.run(input);
  const { output } = await jobs.settled(id);
  const short = id.slice(-15, -3);
  await waitFor('a line about the job', () =>
    new RegExp(`^ *[\\d.]+ s  job ${short} COMPLETED in \\d+ ms after waiting \\d+ ms$`, 'm').test(first.text),
  );
  await Promise.all(Array.from({ length: 12 }, () => jobs.run({ image: 'nothing.png' })));
  await waitFor('sums of many jobs', () =>
    /… \d+ jobs in the last (second|\d+ seconds), \d+ failed$/m.test(first.text),
  );
  await t.test('clear errors', (t) => checkErrors(t, port, folder));
  await t.test('kill -9 of each process', (t) => killEach(t, first, jobs, input));
  await first.end('SIGKILL');
  const second = new Launcher(t, ...args);
  await second.ready();
  t.same(readFacts(localEnv), facts, 'a start after kill -9 has the same address, key and endpoint');
  t.match(await jobs.look(id), { status: 'COMPLETED', output }, 'and the same jobs');
  await t.test('SIGTERM', (t) => stop(t, second, localEnv));
});

const jobsOf = (facts: Record<string, string>): EndpointJobs =>
  endpointJobs({ request: publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!) }, facts.SLIPWAY_ENDPOINT_ID!);

async function checkFacts(
  t: Test,
  launcher: Launcher,
  localEnv: string,
  port: string,
  facts: Record<string, string>,
): Promise<void> {
  t.equal(statSync(localEnv).mode & 0o777, 0o600, 'only the owner may read the key');
  t.match(facts, {
    SLIPWAY_URL: `http://127.0.0.1:${port}`,
    SLIPWAY_API_KEY: /^\S{20,}$/,
    SLIPWAY_ENDPOINT_ID: /^[a-z0-9]{14}$/,
    SLIPWAY_CORE_ADDRESS: /^127\.0\.0\.1:\d+$/,
    SLIPWAY_EXAMPLE_INPUT: /^\{"input":/,
  });
  const answer = await publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!)(
    'POST',
    `/v2/${facts.SLIPWAY_ENDPOINT_ID}/runsync`,
    facts.SLIPWAY_EXAMPLE_INPUT,
  );
  t.match(answer, { status: 200, json: { status: 'COMPLETED' } }, 'the body of the example works');
  const line = /^\s*(curl .*)$/m.exec(launcher.text)?.[1];
  t.ok(line?.includes(facts.SLIPWAY_API_KEY!), 'a curl line is shown');
  const hasCurl = await run('/bin/sh', ['-c', 'command -v curl']).then(
    () => true,
    () => false,
  );
  if (hasCurl)
    t.match(
      JSON.parse((await run('/bin/sh', ['-c', line!])).stdout),
      { status: 'COMPLETED' },
      'and works as it stands',
    );
  const clients = grpcClients(facts.SLIPWAY_CORE_ADDRESS!);
  t.teardown(() => clients.close());
  const { dataCenters } = await call(clients.catalog, 'listDataCenters', {}, facts.SLIPWAY_API_KEY!);
  t.match(dataCenters, [{ id: 'local' }], 'where a network volume can be');
  await checkVolume(t, dirname(localEnv), facts);
  t.match(await publicRequest(facts.SLIPWAY_URL!, '')('GET', '/v1/openapi.json'), {
    status: 200,
    json: { openapi: '3.0.3' },
  });
}

/** A pod of this machine finds its network volume, and what another one left there. */
async function checkVolume(t: Test, folder: string, facts: Facts): Promise<void> {
  const rest = publicRequest(facts.SLIPWAY_URL!, facts.SLIPWAY_API_KEY!);
  const volume = await rest('POST', '/v1/networkvolumes', { name: 'data', size: 1, dataCenterId: 'local' });
  t.ok(volume.status < 300, JSON.stringify(volume.json));
  const { id: networkVolumeId } = volume.json as { id: string };
  const scripts = ['echo kept > note', 'until [ -s note ]; do sleep 1; done; cp note copy'];
  for (const script of scripts) {
    const dockerStartCmd = ['sh', '-c', `cd "$RUNPOD_VOLUME_PATH"; ${script}; exec sleep 1000`];
    const fields = { name: script, imageName: '', computeType: 'CPU', networkVolumeId, dockerStartCmd };
    const pod = await rest('POST', '/v1/pods', fields);
    t.ok(pod.status < 300, JSON.stringify(pod.json));
  }
  const hosted = { name: 'hosted', imageName: '', computeType: 'CPU', dataCenterIds: ['US-CA-2'] };
  const anywhere = await rest('POST', '/v1/pods', { ...hosted, dockerStartCmd: ['sleep', '1000'] });
  t.ok(anywhere.status < 300, 'clients that name a hosted data centre mean this machine');
  const copy = join(folder, 'agent/volumes', networkVolumeId, 'copy');
  await waitFor('the second pod to see the file of the first', () => existsSync(copy) && statSync(copy).size === 5);
}

async function checkErrors(t: Test, port: string, folder: string): Promise<void> {
  const other = await openFolder(t);
  const taken = new Launcher(t, '--port', port, '--data-dir', other);
  t.equal(await taken.exit(), 2);
  t.match(taken.text, new RegExp(`Port ${port} is taken`));
  const twice = new Launcher(t, '--port', String(await quietPort()), '--data-dir', folder);
  t.equal(await twice.exit(), 2);
  t.match(twice.text, /already runs/);
  const nonsense = new Launcher(t, '--prot', port);
  t.equal(await nonsense.exit(), 2);
  t.match(nonsense.text, /Usage: npm start/);
}

async function killEach(t: Test, launcher: Launcher, jobs: EndpointJobs, input: unknown): Promise<void> {
  for (const [name, pattern] of Object.entries({
    agent: /gpu-agent\/main\.ts/,
    facade: /facades\/main\.ts/,
    core: /core\/main\.ts/,
    PostgreSQL: /bin\/postgres -D/,
  })) {
    const victim = launcher.processes().find((entry) => pattern.test(entry.command));
    if (!t.ok(victim, `${name} runs`)) continue;
    process.kill(victim!.pid, 'SIGKILL');
    const atMs = Date.now();
    await waitFor(`${name} to be missed`, () => launcher.text.includes(`${name} ended (SIGKILL); starting it again`));
    await waitFor(`${name} to be started again`, () =>
      launcher.processes().some((entry) => pattern.test(entry.command) && entry.pid !== victim!.pid),
    );
    await waitFor('a job to be completed', async () => (await jobs.runSync(input, {}, 5_000)).status === 'COMPLETED');
    t.comment(`${name}: a job was completed ${Date.now() - atMs} ms after the kill`);
  }
}

async function stop(t: Test, launcher: Launcher, localEnv: string): Promise<void> {
  const groups = new Set(
    launcher
      .processes()
      .filter((entry) => entry.pid !== launcher.pid)
      .map((entry) => entry.group),
  );
  t.equal(await launcher.end('SIGTERM'), 0);
  t.same(
    processTable().filter((entry) => groups.has(entry.group)),
    [],
    'no process is left',
  );
  t.notOk(existsSync(localEnv), 'local.env is there only while everything is ready');
}
