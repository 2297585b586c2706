// test: postgres, python, 10 s
/**
 * An agent that runs as root gives each account its own user: everything works, and no account sees files of another.
 */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACCOUNT_UID_BASE, tryAs } from '@slipway/kit/host/host-user';
import { KeyScope } from '@slipway/proto/gen/slipway/v1/access_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import t from 'tap';
import { call } from '../helpers/grpc/grpc-clients.ts';
import { podCalls } from '../helpers/pods/pod-calls.ts';
import { endpointJobs } from '../helpers/system/endpoint-jobs.ts';
import { jsHandler, PYTHONS, pythonHandler, skipWithoutPython } from '../helpers/system/handlers.ts';
import { publicRequest } from '../helpers/system/public-api.ts';
import { startSystem } from '../helpers/system/system.ts';
import { waitFor } from '../helpers/time/wait-for.ts';

interface Snooped {
  seen: Record<string, string>;
  uid: number;
  gid: number;
  groups: number[];
  pid: number;
  cwd: string;
  env: Record<string, string>;
}

const asRoot = process.platform === 'linux' && process.getuid!() === 0;
t.setTimeout(600_000);

/** Returns why the test is skipped: only root can start a Python below /root. */
async function skipWithoutOpenPython(which: keyof typeof PYTHONS): Promise<false | string> {
  const missing = skipWithoutPython(which);
  if (missing) return missing;
  const why = await tryAs({ uid: ACCOUNT_UID_BASE, gid: ACCOUNT_UID_BASE }, '"$1" -c ""', PYTHONS[which]);
  return why === undefined
    ? false
    : `needs a Python that all users reach: apt-get install python3-venv, then npm run test:python (${why})`;
}

t.test(
  'one user for each account',
  { skip: asRoot ? false : 'needs root on Linux to run workers as other users' },
  async (t) => {
    const system = await startSystem(t, { agents: 0 });
    const dataDir = await mkdtemp(join(tmpdir(), 'slipway-agent-'));
    t.teardown(() => rm(dataDir, { recursive: true, force: true }));
    await system.startAgent(undefined, {
      SLIPWAY_WORKER_USER: 'per-account',
      SLIPWAY_AGENT_LOCATIONS: 'eu-1',
      SLIPWAY_AGENT_DATA_DIR: dataDir,
    });
    const { accountId } = await call(system.clients.access, 'createAccount', { name: 'other' }, system.rootKey);
    const otherKey = await system.newKey(KeyScope.ALL, accountId);
    const { networkVolume } = await call(
      system.clients.volumes,
      'createNetworkVolume',
      {
        networkVolume: NetworkVolume.fromPartial({ name: 'models', sizeGb: 1, dataCenterId: 'eu-1' }),
      },
      system.key,
    );
    const volume = join(dataDir, 'volumes', networkVolume!.id);

    const firstId = await system.createEndpoint({
      command: jsHandler('snoop.js'),
      fields: { networkVolumeIds: [networkVolume!.id], idleTimeoutSeconds: 1 },
    });
    const otherId = await system.createEndpoint({ command: jsHandler('snoop.js'), key: otherKey });
    const first = endpointJobs(system, firstId);
    const other = endpointJobs({ request: publicRequest(system.url, otherKey) }, otherId);
    const ask = async (jobs: typeof first, input: object) =>
      (await jobs.runSync(input, {}, 20_000)).output as unknown as Snooped;

    const mine = await ask(first, {});
    const theirs = await ask(other, {});

    await t.test('workers run as the user of their account', async (t) => {
      for (const { uid, gid, groups, env, cwd } of [mine, theirs]) {
        t.ok(uid > ACCOUNT_UID_BASE, `user ${uid}`);
        t.equal(gid, uid);
        t.same(
          groups.filter((group) => group !== gid),
          [],
          "none of the agent's groups",
        );
        t.match(env, {
          HOME: join(dataDir, 'users', String(uid), 'home'),
          TMPDIR: join(dataDir, 'users', String(uid), 'tmp'),
          USER: /^account-\d+$/,
        });
        t.equal(statSync(cwd).uid, uid, 'its folder is its own');
      }
      t.not(mine.uid, theirs.uid);
    });

    await t.test('workers write to their own folders only', async (t) => {
      const files = [
        join(mine.env.HOME!, 'a'),
        join(mine.env.TMPDIR!, 'b'),
        join(mine.env.RUNPOD_VOLUME_PATH!, 'c'),
        'd',
      ];
      const { seen } = await ask(first, {
        write: Object.fromEntries(files.map((file) => [file, 'text'])),
        paths: files,
      });
      t.same(
        Object.values(seen),
        files.map(() => 'read'),
      );
      t.not(mine.env.RUNPOD_VOLUME_PATH, volume, 'a view of it');
      t.ok(existsSync(join(volume, 'c')));
    });

    const pods = podCalls(system.clients, system.key);
    await t.test('pods run as the user of their account', async (t) => {
      const pod = await pods.create({
        name: 'box',
        startCommand: ['sh', '-c', 'id -u; pwd; echo kept > file; exec sleep 1000'],
        computeType: 'CPU',
      });
      await pods.reach(pod.id, 'RUNNING');
      const text = await waitFor('its lines', async () => /^\d+\n.+\n/.exec(await pods.log(pod.id))?.[0]);
      const [uid, folder] = text.split('\n');
      t.equal(uid, String(mine.uid));
      const { seen } = await ask(other, { paths: [folder, join(folder!, 'file')] });
      t.same(Object.values(seen), ['EACCES', 'EACCES'], 'another account sees nothing of its disk');
      t.same(Object.values((await ask(first, { paths: [folder] })).seen), ['read'], 'its own account does');
      await pods.remove(pod.id);
      await waitFor('its files to go', () => !existsSync(join(dataDir, 'pods', pod.id)));
    });

    await t.test('no worker reads files of the agent or of another account', async (t) => {
      const paths = [
        dataDir,
        join(dataDir, 'machine-id'),
        join(dataDir, 'spool'),
        join(dataDir, 'logs'),
        join(dataDir, 'users'),
        join(dataDir, 'scratch'),
        mine.env.HOME!,
        mine.env.TMPDIR!,
        mine.cwd,
        join(mine.env.HOME!, 'a'),
        volume,
        join(volume, 'c'),
        mine.env.RUNPOD_VOLUME_PATH!,
        join(mine.env.RUNPOD_VOLUME_PATH!, 'c'),
        `/proc/${mine.pid}/environ`,
        `/proc/${mine.pid}/cwd/d`,
        `/proc/${process.pid}/environ`,
        `/proc/${process.pid}/mem`,
      ];
      const { seen } = await ask(other, { paths });
      t.same(seen, Object.fromEntries(paths.map((path) => [path, 'EACCES'])));
    });

    await t.test('an unreachable working directory ends the worker with a reason', async (t) => {
      const closed = await mkdtemp(join(tmpdir(), 'slipway-closed-'));
      t.teardown(() => rm(closed, { recursive: true, force: true }));
      mkdirSync(join(closed, 'open'), { mode: 0o755 });
      const pod = await pods.create({
        name: 'closed',
        startCommand: ['sleep', '1000'],
        workingDirectory: join(closed, 'open'),
        computeType: 'CPU',
      });
      await pods.reach(pod.id, 'FAILED');
      t.match((await pods.get(pod.id)).statusText, /can't cd|Permission denied/);
      await pods.remove(pod.id);
    });

    await t.test("a worker's folder is deleted with its content and nothing else", async (t) => {
      const kept = await mkdtemp(join(tmpdir(), 'slipway-kept-'));
      t.teardown(() => rm(kept, { recursive: true, force: true }));
      writeFileSync(join(kept, 'file'), 'text');
      symlinkSync(kept, join(mine.cwd, 'link'));
      mkdirSync(join(mine.cwd, 'shut', 'inner'), { recursive: true });
      for (const name of ['shut/inner', 'shut']) {
        chownSync(join(mine.cwd, name), mine.uid, mine.gid);
        chmodSync(join(mine.cwd, name), 0);
      }
      const endpoint = Endpoint.fromPartial({ id: firstId, workersMin: 0, workersMax: 0 });
      await call(
        system.clients.endpoints,
        'updateEndpoint',
        { endpoint, updateMask: ['workers_min', 'workers_max'] },
        system.key,
      );
      await waitFor('its folder to go', () => !existsSync(mine.cwd));
      t.equal(readFileSync(join(kept, 'file'), 'utf8'), 'text');
      t.ok(readdirSync(volume).includes('c'), 'the volume stays');
      await waitFor(
        'its view to go',
        () => !readFileSync('/proc/self/mounts', 'utf8').includes(` ${mine.env.RUNPOD_VOLUME_PATH} `),
      );
    });

    for (const which of ['new', 'old'] as const) {
      await t.test(`Python, ${which}`, { skip: await skipWithoutOpenPython(which) }, async (t) => {
        const jobs = endpointJobs(
          system,
          await system.createEndpoint({ command: pythonHandler(which, 'all.py'), workersMax: 1 }),
        );
        t.match(await jobs.runSync({ text: 'hi' }, {}, 20_000), {
          status: 'COMPLETED',
          output: { echo: { text: 'hi' } },
        });
      });
    }
  },
);
