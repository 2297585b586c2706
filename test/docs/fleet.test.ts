// test: envoy, 110 s
/**
 * Types the commands of docs/operate/fleet.md unchanged and in order on four hosts, each a network namespace with
 * folders of its own: a control node, and three machines that join by one line each. Then jobs come in by HTTPS while a
 * machine is drained and gets a new release, one is killed and replaced, and one leaves; the cable of each is pulled
 * once. No acknowledged job is lost, none has two outcomes, and no request fails.
 */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { commandLine } from '@slipway/cli/output/words';
import type { Test } from 'tap';
import t from 'tap';
import type { Host } from '../helpers/net/hosts.ts';
import { startHosts } from '../helpers/net/hosts.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { ENVOY, skipWithoutEnvoy } from '../helpers/system/edge.ts';
import { jsHandler } from '../helpers/system/handlers.ts';
import { waitFor } from '../helpers/time/wait-for.ts';
import { createCluster, skipWithoutDebian } from './debian-cluster.ts';
import { httpsClient, startLoad } from './fleet-load.ts';
import { directNpx, Shell } from './shell.ts';

t.setTimeout(600_000);

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/operate/fleet.md'), 'utf8');
const CONTROL = 'control';
const MACHINES = ['gpu-1', 'gpu-2', 'gpu-3'];
/** Line that each part logs when it is ready. */
const READY: Record<string, RegExp> = {
  core: /core is ready/,
  facade: /facade listens/,
  edge: /edge is listening/,
  agent: /session opened/,
};
/** A block of the page, and on which host it is typed. */
const BLOCK = /<!-- on: ([\w-]+)((?:, \w+: [^,>]+)*) -->\n```sh\n([\s\S]*?)```/g;
/** First user of accounts on a machine. All hosts of the test have the kernel's users in common. */
const USERS_BASE = 3_200_000;
const USERS = 100_000;

type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** Makes the hosts, the database of the control node, and what a block of the page becomes on a host. */
async function startFleet(t: Test) {
  const folder = await openFolder(t);
  const hosts = new Map((await startHosts(t, [CONTROL, ...MACHINES])).map((host) => [host.name, host]));
  const control = hosts.get(CONTROL)!;
  const { port, cluster } = await createCluster(t, folder, control.inside);
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const env = {
    HOME,
    NODE_COMPILE_CACHE,
    PGCLUSTER: cluster,
    PATH: `${directNpx(folder)}:${dirname(ENVOY)}:${PATH}`,
    SLIPWAY_EDGE_THREADS: '1',
    SLIPWAY_AGENT_CONTAINERS: 'none',
    SLIPWAY_VIRTUAL_GPUS: 'NVIDIA L4:24576x1',
  };
  const here = (name: string, text: string): string => {
    const users = USERS_BASE + USERS * MACHINES.indexOf(name);
    const names = {
      '/etc/slipway': join(folder, name, 'etc'),
      '/var/lib/slipway-agent': join(folder, name, 'agent'),
      '/var/lib/slipway-edge': join(folder, name, 'edge'),
      'per-account': `per-account:${users}`,
      ':5432/': `:${port}/`,
      '10.0.0.1': control.address,
    };
    return Object.entries(names).reduce((done, [from, to]) => done.replaceAll(from, to), text);
  };
  const open: [string, Shell][] = [];
  const shellOf = (host: Host, name: string): Shell => {
    const shell = new Shell(env, root, host.inside);
    open.push([`${host.name} ${name}`, shell]);
    return shell;
  };
  t.teardown(async () => {
    for (const [name, shell] of open.toReversed()) {
      await shell.end();
      if (!t.passing()) t.comment(`${name}: ${shell.text.slice(-3_000)}`);
    }
  });
  for (const name of hosts.keys()) {
    mkdirSync(join(folder, name));
    chmodSync(join(folder, name), 0o711);
  }
  const ask = async (sql: string): Promise<Record<string, unknown>[]> => {
    const args = ['-u', 'postgres', '--', 'psql', '-d', 'slipway', '-Atc', `SELECT json_agg(r) FROM (${sql}) r`];
    const { stdout } = await promisify(execFile)('runuser', args, { cwd: '/', env: { PATH, PGCLUSTER: cluster } });
    return stdout.trim() === '' ? [] : (JSON.parse(stdout) as Record<string, unknown>[]);
  };
  return { folder, hosts, control, here, shellOf, ask, commands: shellOf(control, 'commands') };
}

/** Returns names of the machines that have a session with core. */
async function connected({ ask }: Fleet): Promise<string[]> {
  const rows = await ask('SELECT name FROM machine WHERE lease_expires_at > now() ORDER BY name');
  return rows.map(({ name }) => String(name));
}

/** Types the page. `between` is called before the first block of a step. */
function typist(t: Test, fleet: Fleet) {
  const parts = new Map<string, Shell>();
  const times: [string, number][] = [];
  let token = '';
  const blocks = [...page.matchAll(BLOCK)].map(([, on, directives, block]) => ({
    on: on!,
    block: block!,
    said: new Map([...directives!.matchAll(/(\w+): ([^,]+)/g)].map(([, key, value]) => [key!, value!])),
  }));
  const type = async ({ on, said, block }: (typeof blocks)[number]): Promise<void> => {
    const host = fleet.hosts.get(on)!;
    const text = fleet.here(on, block).replace('sjt_…', token);
    const [run, stop, kill] = ['run', 'stop', 'kill'].map((key) => said.get(key));
    if (kill) await parts.get(`${kill} agent`)!.end('SIGKILL');
    if (stop) await parts.get(`${on} ${stop}`)!.end();
    if (run) {
      const part = fleet.shellOf(host, run);
      parts.set(`${on} ${run}`, part);
      await part.keep(text, READY[run]!);
      return;
    }
    const output = await fleet.commands.run(text);
    if (said.get('say') !== 'token') return;
    const line = `slipway agent --join ${fleet.control.address}:50051 --token `;
    t.ok(output.includes(line), 'the line for the machine');
    token = output.split(line)[1]!.split(/\s/)[0]!;
  };
  return {
    times,
    parts,
    /** Types the blocks up to, but excluding, the first of that step. Default: all that are left. */
    upTo: async (name: string, step?: string): Promise<void> => {
      const startedMs = performance.now();
      while (blocks.length > 0 && (step === undefined || blocks[0]!.said.get('step') !== step))
        await type(blocks.shift()!);
      times.push([name, performance.now() - startedMs]);
    },
  };
}

t.test('a fleet', { skip: skipWithoutDebian() || skipWithoutEnvoy() }, async (t) => {
  const fleet = await startFleet(t);
  const { folder, hosts, control, ask, commands, here } = fleet;
  const typed = typist(t, fleet);
  await typed.upTo('control node', 'three machines');
  await typed.upTo('three machines', 'first jobs');
  await typed.upTo('endpoint and first job', 'drain gpu-1');

  const etc = join(folder, CONTROL, 'etc');
  const edge = {
    url: `https://${control.address}`,
    ca: readFileSync(join(etc, 'tls/fullchain.pem'), 'utf8'),
    key: readFileSync(join(etc, 'acme.key'), 'utf8').trim(),
  };
  await t.test('each machine answers a job', async (t) => {
    const client = httpsClient(edge);
    t.teardown(() => client.close());
    const [ocr] = await ask("SELECT id FROM endpoint WHERE name = 'ocr'");
    const workers = new Set<string>();
    await waitFor('all three to answer', async () => {
      const body = { input: { image: 'sample.png' } };
      const answers = await Promise.all(
        Array.from({ length: 6 }, () => client.post(`/v2/${String(ocr!['id'])}/runsync`, body)),
      );
      for (const { status, text } of answers) {
        if (status !== 200) throw new Error(`${status} ${text}`);
        workers.add((JSON.parse(text) as { workerId: string }).workerId);
      }
      return workers.size === 3;
    });
    const ids = [...workers].map((id) => `'${id}'`).join();
    const rows = await ask(
      `SELECT DISTINCT machine.name FROM worker JOIN machine ON machine.id = machine_id WHERE worker.id IN (${ids})`,
    );
    t.same(rows.map(({ name }) => name).sort(), MACHINES);
  });

  const notes = join(folder, 'notes');
  writeFileSync(notes, '');
  chmodSync(notes, 0o666);
  await commands.run(
    here(CONTROL, `npx slipway templates create load -- ${commandLine(jsHandler('in-flight.js'))}\n`) +
      'npx slipway endpoints create --template load --compute cpu --workers-min 2 --workers-max 4 --retry-limit 5',
  );
  const [made] = await ask("SELECT id FROM endpoint WHERE name = 'load'");
  const load = startLoad({ ...edge, endpointId: String(made!['id']), gate: notes, notes, query: ask });
  await load.moreToEnd(20);

  await typed.upTo('gpu-1 drained', 'upgrade gpu-1');
  await typed.upTo('gpu-1 with a new release', 'remove gpu-2');
  await typed.upTo('gpu-2 removed', 'new gpu-2');
  await typed.upTo('gpu-2 replaced', 'remove gpu-3');

  for (const name of MACHINES) {
    const host = hosts.get(name)!;
    const startedMs = performance.now();
    host.pull();
    await waitFor(`core to miss ${name}`, async () => !(await connected(fleet)).includes(name));
    await load.moreToEnd(20);
    host.plug();
    await waitFor(`${name} to be back`, async () => (await connected(fleet)).includes(name));
    typed.times.push([`${name} cut off and back`, performance.now() - startedMs]);
  }
  await typed.upTo('gpu-3 drained and removed');
  t.same(await connected(fleet), ['gpu-1', 'gpu-2'], 'the machines that are left');
  await load.moreToEnd(20);
  await load.check(t);
  for (const [name, ms] of typed.times) t.comment(`${name}: ${(ms / 1_000).toFixed(1)} s`);
});
