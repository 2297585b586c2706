// test: postgres, python, envoy, 70 s
/** The clients of the Python package `runpod`, unmodified, against a system (docs/reference/api.md#clients). */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import t from 'tap';
import { gateway } from '../../helpers/grpc/gateway.ts';
import { scratch } from '../../helpers/scratch.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge } from '../../helpers/system/edge.ts';
import { PYTHONS, pythonHandler, skipWithoutPython } from '../../helpers/system/handlers.ts';
import { startSystem } from '../../helpers/system/system.ts';

const run = promisify(execFile);
const uuid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const values = ['a', { b: 1 }, null, 4];

t.setTimeout(600_000);
t.test('Python clients', { skip: skipWithoutPython('new', 'old') }, async (t) => {
  const system = await startSystem(t);
  const { path } = await scratch(t);
  const [all, generator] = await Promise.all(
    ['all.py', 'generator.py'].map((file) =>
      system.createEndpoint({ command: pythonHandler('new', file), workersMax: 1 }),
    ),
  );
  const base = `${system.url}/v2`;
  // The Python client never sends `wait`; a gateway makes it as short as it may be.
  const impatient = await gateway(t, system.url, (path) => path.replace(/\/runsync$/, '/runsync?wait=1000'));
  const given = { base, slow: `${impatient.url}/v2`, key: system.key, all, generator, never: path('never') };
  const drive = async (
    version: keyof typeof PYTHONS,
    script: string,
    at = given,
    env: Record<string, string> = {},
  ): Promise<Record<string, unknown>> => {
    const { stdout } = await run(PYTHONS[version], [join(import.meta.dirname, script), JSON.stringify(at)], {
      env: { ...process.env, RUNPOD_ENDPOINT_BASE_URL: at.base, ...env },
      timeout: 90_000,
    });
    return JSON.parse(stdout.trim().split('\n').at(-1)!);
  };
  for (const version of Object.keys(PYTHONS) as (keyof typeof PYTHONS)[]) {
    await t.test(`synchronous client, ${version} SDK`, async (t) => {
      checkSync(t, await drive(version, 'client_sync.py'));
      t.ok(
        impatient.paths.splice(0).some((path) => path.includes('/status/')),
        'run_sync outlasted the wait and went on with /status',
      );
    });
  }
  // The asyncio client of the 1.7 line cannot ask for health nor purge at all: it leaves the host out of these
  // addresses.
  await t.test('asyncio client, new SDK', async (t) => checkAsyncio(t, await drive('new', 'client_asyncio.py')));

  await t.test('both through the edge, with TLS', { skip: skipWithoutEnvoy() }, async (t) => {
    const certificates = await makeCertificates(t);
    const edge = await startEdge(t, {
      SLIPWAY_EDGE_FACADES: new URL(system.url).host,
      SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
      ...certificates.env,
    });
    const behind = `https://localhost:${edge.addresses['public']!.split(':')[1]}/v2`;
    const [at, ca] = [{ ...given, base: behind, slow: behind }, certificates.file('ca.pem')];
    const trust = { REQUESTS_CA_BUNDLE: ca, SSL_CERT_FILE: ca };
    checkSync(t, await drive('new', 'client_sync.py', at, trust));
    checkAsyncio(t, await drive('new', 'client_asyncio.py', at, trust));
  });
});

function checkSync(t: Test, seen: Record<string, unknown>): void {
  t.match(seen.run, { id: new RegExp(`^${uuid}-u1$`), output: { answer: 42 }, status: 'COMPLETED' });
  t.equal(seen.wrapped, 'wrapped');
  t.same(seen.empty, { echo: {} });
  t.same(seen.run_sync, [1, 2, 3]);
  t.equal(seen.run_sync_failed, null);
  t.same(seen.failed, { output: null, status: 'FAILED' });
  t.equal(seen.run_sync_long, 'late');
  t.same(seen.stream, values);
  checkQueue(t, seen);
  t.same(seen.purge, { removed: 2, status: 'completed' });
  t.equal(seen.purged_status, 404);
  t.equal(seen.unknown_endpoint, 404);
  t.match(seen.wrong_key, /401 Unauthorized/);
}

function checkAsyncio(t: Test, seen: Record<string, unknown>): void {
  t.match(seen.run, { id: new RegExp(`^${uuid}-u1$`), output: { answer: 42 }, status: 'COMPLETED' });
  t.same(seen.stream, values);
  t.same(seen.failed, { output: null, status: 'FAILED' });
  checkQueue(t, seen);
  t.same(seen.purge, { removed: 2, status: 'completed' });
}

/**
 * Checks what both scripts saw while one job blocked the only worker and three waited, before and after two of the four
 * were cancelled.
 */
function checkQueue(t: Test, seen: Record<string, unknown>): void {
  const ids = seen.ids as Record<'cancel' | 'cancel_running', string>;
  const jobs = { completed: Number, failed: Number, inProgress: 1, inQueue: 3, retried: 0 };
  t.match(seen.health, { jobs, workers: { running: 1, unhealthy: 0 } });
  t.match(seen.cancel, { id: ids.cancel, status: 'CANCELLED' });
  t.match(seen.cancel_running, { id: ids.cancel_running, status: 'CANCELLED' });
  t.equal(seen.cancelled_status, 'CANCELLED');
}
