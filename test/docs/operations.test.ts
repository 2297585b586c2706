// test: 40 s
/**
 * Runs the commands of docs/operate/operations.md unchanged and in order, on the distribution's PostgreSQL. Only
 * folders and ports differ, so that nothing of this machine is touched; and npx, which costs a second and a half of
 * processor time per call, is used only for core. The page's tables are compared with the settings that
 * the processes read.
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { quietPort } from '../helpers/net/ports.ts';
import { openFolder } from '../helpers/open-folder.ts';
import { createCluster, skipWithoutDebian } from './debian-cluster.ts';
import { directNpx, Shell } from './shell.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/operate/operations.md'), 'utf8');
const kubernetesPage = readFileSync(join(root, 'docs/operate/kubernetes-nodes.md'), 'utf8');
/** Line that each part logs when it is ready. */
const READY: Record<string, RegExp> = { core: /core is ready/, facade: /facade listens/, agent: /session opened/ };
/** Row of a table of settings: the setting, and a mark if it is a secret that may come by file. */
const ROW = /^\| (SLIPWAY_[A-Z_]+)( ∗)? \|/gm;

t.setTimeout(600_000);

/** Returns the files beside config.ts that read settings of the agent. */
function agentReaders(): string[] {
  return readdirSync(join(root, 'gpu-agent'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('node_modules') && file !== 'config.ts')
    .map((file) => join('gpu-agent', file))
    .filter((file) => readFileSync(join(root, file), 'utf8').includes('reader: EnvReader'));
}

t.test('every setting is in the tables, and nothing else', async (t) => {
  const text = (...files: string[]): string => files.map((file) => readFileSync(join(root, file), 'utf8')).join('');
  const toCore = text('kit/net/core-tls.ts');
  const edgeKeys = text('kit/host/edge-keys.ts');
  const ofAgent = text(...agentReaders());
  for (const [heading, file, more] of [
    ['core', 'core/config.ts', edgeKeys],
    ['facade', 'facades/config.ts', toCore + edgeKeys],
    ['agent', 'gpu-agent/config.ts', toCore + ofAgent],
    ['command line', 'cli/config.ts', toCore],
  ] as const) {
    const source = text(file);
    const [from, to] =
      heading === 'command line' ? ['export function readCliConfig', 'export function agentEnv'] : ['', '\u0000'];
    const reads = source.slice(source.indexOf(from), source.includes(to) ? source.indexOf(to) : undefined);
    const names = [...(reads + more).matchAll(/'(SLIPWAY_[A-Z_]+)'/g)].map((match) => match[1]!);
    const secret = new Set([...(reads + more).matchAll(/secret\('(SLIPWAY_[A-Z_]+)'/g)].map((match) => match[1]!));
    if (heading === 'command line') secret.add('SLIPWAY_AGENT_KEY');
    // A secret's file is no setting of its own.
    const read = new Set(names.filter((name) => !(name.endsWith('_FILE') && secret.has(name.replace(/_FILE$/, '')))));
    const table = page.split(`### ${heading}\n`)[1]!.split('###')[0]!;
    const rows = [...(table + (heading === 'agent' ? kubernetesPage : '')).matchAll(ROW)];
    t.same([...new Set(rows.map((row) => row[1]))].sort(), [...read].sort(), file);
    t.same(
      rows
        .filter((row) => row[2])
        .map((row) => row[1])
        .sort(),
      [...secret].sort(),
      `${file}: those that come by file`,
    );
  }
});

t.test('the commands', { skip: skipWithoutDebian() }, async (t) => {
  const folder = await openFolder(t);
  const { port, cluster } = await createCluster(t, folder);
  const names: Record<string, string> = {
    '/etc/slipway': join(folder, 'etc'),
    '/var/lib/slipway-agent': join(folder, 'agent'),
    '/var/backups': join(folder, 'backups'),
    ':5432/': `:${port}/`,
    ':50051': `:${await quietPort()}`,
  };
  const http = String(await quietPort());
  Object.assign(names, { ':8080': `:${http}`, '--port 8080': `--port ${http}` });
  mkdirSync(join(folder, 'backups'), { mode: 0o700 });
  const here = (text: string): string =>
    Object.entries(names).reduce((done, [from, to]) => done.replaceAll(from, to), text);

  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME, NODE_COMPILE_CACHE, PGCLUSTER: cluster };
  const direct = { ...env, PATH: `${directNpx(folder)}:${env.PATH}` };
  const shell = new Shell(direct, root);
  const parts = new Map<string, Shell>();
  t.teardown(async () => {
    for (const [name, part] of [...parts, ['commands', shell] as const].toReversed()) {
      await part.end();
      if (!t.passing()) t.comment(`${name}: ${part.text.slice(-3_000)}`);
    }
  });
  const said: string[] = [];
  for (const [, directive = '', name = '', block = ''] of page.matchAll(
    /(?:<!-- (run|stop): (\w+) -->\n)?```sh\n([\s\S]*?)```/g,
  )) {
    if (directive === 'stop') await parts.get(name)!.end();
    if (directive !== 'run') {
      said.push(await shell.run(here(block)));
      continue;
    }
    const part = new Shell(name === 'core' ? env : direct, root);
    parts.set(name, part);
    await part.keep(here(block), READY[name]!);
  }
  const results = said.filter((text) => text.includes('SLIPWAY HARBOUR'));
  t.equal(results.length, 3, 'a job by the command line, one by HTTP, one on the restored database');
  const restored = said.at(-1)!;
  t.equal(restored.match(/-u1 +COMPLETED /g)?.length, 2, 'where the jobs of before are still listed');
  for (const name of readdirSync(join(folder, 'etc')))
    t.equal(statSync(join(folder, 'etc', name)).mode & 0o077, 0, `${name} is for its owner only`);
});
