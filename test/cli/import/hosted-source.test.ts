// test: postgres
/** `slipway import` from an account of the hosted service, by recorded answers, into an account here. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';
import { commandLine } from '../command-line.ts';
import { HOSTED } from './hosted-account.ts';
import { answersOf, changesIn, startSource } from './source-server.ts';

interface Report {
  applied: boolean;
  resources: {
    kind: string;
    name: string;
    result: string;
    id: string | null;
    reason: string | null;
    notes: string[];
    differences: string[];
  }[];
  secrets: { name: string; usedBy: string[]; command: string }[];
  notCarriedOver: { what: string }[];
  unread: string[];
}

const core = await startReplicas(t);
const source = await startSource(t, answersOf(HOSTED));
const cli = commandLine(t, { SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address, SLIPWAY_API_KEY: core.key });
const keyFile = join(cli.cwd, 'source-key');
const loginFile = join(cli.cwd, 'login');
writeFileSync(keyFile, 'rpa_SOURCEKEY\n');
writeFileSync(loginFile, 'hub password\n');
const ARGS = ['import', '--from', `${source.url}/v2`, '--key-file', keyFile];
const LOGIN = ['--registry', `hub=me:${loginFile}`];
const plan = (...more: string[]) => cli.json<Report>(...ARGS, ...more);
const apply = async (...more: string[]) => {
  const { code, stdout } = await cli.run('--json', ...ARGS, '--apply', ...more);
  return { code, report: JSON.parse(stdout) as Report };
};
const of = ({ resources }: Report, kind: string, name: string) =>
  resources.find((one) => one.kind === kind && one.name === name)!;
const endpoints = async () =>
  (await call(core.clients.endpoints, 'listEndpoints', { includeTemplate: true } as never, core.key)).endpoints;
const templates = async () =>
  (await call(core.clients.templates, 'listTemplates', { includePublic: false } as never, core.key)).templates;

t.test('the plan says what comes, what waits and why, and changes nothing', async (t) => {
  const report = await plan();
  t.equal(report.applied, false);
  t.match(of(report, 'endpoints', 'ocr'), { result: 'create' });
  t.match(of(report, 'endpoints', 'ocr').notes.join('; '), /start once these secrets are set: hf/);
  t.match(of(report, 'registries', 'hub'), { result: 'waits', reason: /--registry hub=USER:FILE/ });
  t.match(of(report, 'volumes', 'models'), { result: 'waits', reason: /--map US-KS-2=PLACE/ });
  t.match(of(report, 'endpoints', 'llm'), { result: 'waits', reason: /needs the registry credentials hub/ });
  t.match(of(report, 'endpoints', 'newest'), { result: 'waits', reason: /RUBIN_288; name others with --map/ });
  t.match(of(report, 'endpoints', 'broken'), { result: 'waits', reason: /workers.m\w+: must be/ });
  t.match(of(report, 'endpoints', 'vision').notes.join('; '), /another host name.*quantumEntanglement/);
  t.match(of(report, 'templates', 'lab').notes, [/public at the source, and private here/]);
  t.match(report.secrets, [
    { name: 'hf', usedBy: ['ocr'], command: 'slipway secrets set hf < FILE' },
    { name: 'unused', usedBy: [] },
    { name: 'pods', usedBy: ['trainer'] },
  ]);
  t.match(report.notCarriedOver.map(({ what }) => what).join('; '), /volume models.*jobs/);
  t.match(of(report, 'pods', 'notebook'), { result: 'waits', reason: 'the source names neither its GPU nor its size' });
  t.match(of(report, 'pods', 'trainer'), { result: 'waits', reason: /needs the network volume models/ });
  t.match(report.unread, ['endpoints: 1 without a usable id or name']);
  t.same(await endpoints(), []);
  t.same(await templates(), []);
});

t.test('the output for people says the same', async (t) => {
  const { code, stdout, stderr } = await cli.run(...ARGS);
  t.equal(code, 0, stderr);
  t.match(stdout, /endpoints +ocr +hostedocr00001 +create\n/);
  t.match(stdout, /Nothing was changed; --apply creates them\.\n$/);
  t.notMatch(stdout + stderr, /SOURCEKEY|OLDKEY|hunter2|hub password/, 'no key and no value is shown');
});

t.test('blocked resources wait; the rest is created', async (t) => {
  const { code, report } = await apply('--only', 'endpoints/ocr', '--only', 'endpoints/llm');
  t.equal(code, 1, 'something that was wanted is not here');
  t.match(of(report, 'endpoints', 'ocr'), { result: 'created', id: 'hostedocr00001' });
  t.match(of(report, 'endpoints', 'llm'), { result: 'waits' });
  t.same(
    (await endpoints()).map(({ id }) => id),
    ['hostedocr00001'],
    'clients find it under its id',
  );
});

t.test('a run that was killed between two creations is continued', async (t) => {
  const all = [...ARGS, ...LOGIN, '--map', 'US-KS-2=home', '--map', 'RUBIN_288=ADA_80_PRO', '--apply', '--json'];
  const lock = await core.sql.reserve();
  await lock`BEGIN`;
  // Endpoints of the killed run cannot be inserted until it is gone: its response is lost, not its request.
  await lock`LOCK TABLE endpoint IN EXCLUSIVE MODE`;
  const killed = cli.start(...all);
  await waitFor('the templates to be there', async () => (await templates()).length === 2);
  await waitFor('a creation to wait', async () => {
    const [row] = await core.sql<{ n: number }[]>`
      SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND relation = 'endpoint'::regclass`;
    return row!.n > 0;
  });
  killed.child.kill('SIGKILL');
  t.equal((await killed.ended).code, 'SIGKILL');
  await lock`COMMIT`;
  lock.release();
  const { code, report } = await apply(...LOGIN, '--map', 'US-KS-2=home', '--map', 'RUBIN_288=ADA_80_PRO');
  t.equal(code, 1);
  t.same(
    report.resources.filter(({ result }) => !/created|exists/.test(result)).map(({ name }) => name),
    ['broken', 'notebook', 'trainer'],
  );
  t.match(of(report, 'pods', 'trainer'), { result: 'failed', reason: /No machine/i });
  const here = await endpoints();
  t.same(here.map(({ name }) => name).sort(), ['llm', 'newest', 'ocr', 'vision'], 'nothing is there twice');
  t.ok(
    here.every(({ id }) => id.startsWith('hosted')),
    'all have their ids',
  );
  const volumes = await call(core.clients.volumes, 'listNetworkVolumes', {} as never, core.key);
  t.match(volumes.networkVolumes, [{ name: 'models', sizeGb: 4_096, dataCenterId: 'home' }]);
  t.equal((await templates()).length, 2);
});

t.test('settings are imported unchanged', async (t) => {
  const here = new Map((await endpoints()).map((endpoint) => [endpoint.name, endpoint]));
  const [volume] = (await call(core.clients.volumes, 'listNetworkVolumes', {} as never, core.key)).networkVolumes;
  t.match(here.get('llm'), {
    gpuIds: ['ADA_80_PRO'],
    gpuCount: 2,
    workersMax: 2,
    scalerValue: 1,
    executionTimeoutMs: 600_000,
    priorityFlashBoot: true,
    locations: ['home'],
    networkVolumeIds: [volume!.id],
    template: { imageName: 'registry.example/llm:1', startCommand: ['python', '-u', 'handler.py'] },
  });
  t.ok(here.get('llm')!.template!.registryAuthId, 'with its login');
  t.match(here.get('vision'), { computeType: 'CPU', instanceIds: ['cpu3c-2-4'] });
  t.same(here.get('newest')!.gpuIds, ['ADA_80_PRO'], 'mapped');
  t.equal(here.get('ocr')!.executionTimeoutUnset, true);
  const { account } = await call(core.clients.access, 'getAccount', {}, core.key);
  t.equal(account!.publicKey, 'ssh-ed25519 AAAAC3Nz me@laptop');
});

t.test('another run changes nothing, even without options that are no longer needed', async (t) => {
  const before = [await endpoints(), await templates()];
  const { report } = await apply('--exclude', 'endpoints/broken', '--exclude', 'pods', '--map', 'RUBIN_288=ADA_80_PRO');
  t.same([...new Set(report.resources.map(({ result }) => result))], ['exists']);
  t.same(
    report.resources.flatMap(({ differences }) => differences),
    [],
  );
  t.same([await endpoints(), await templates()], before);
});

t.test('nothing was changed at the source, and the key went nowhere else', async (t) => {
  t.ok(source.seen.length > 20);
  t.same(changesIn(source.seen), []);
  t.ok(source.seen.every(({ authorization }) => authorization === 'Bearer rpa_SOURCEKEY'));
  t.ok(
    source.seen.every(({ path }) => !path.includes('SOURCEKEY')),
    'never in an address',
  );
});

t.test('wrong usage is explained', async (t) => {
  for (const [args, text] of [
    [['--only', 'machines'], /"machines" names no kind/],
    [['--only', 'endpoints/nosuch'], /none of endpoints with the name or id "nosuch"/],
    [['--registry', 'hub'], /must be NAME=USER:FILE/],
    [['--registry', 'hub=me:/nosuch'], /\/nosuch cannot be read/],
  ] as const) {
    t.match(await cli.run(...ARGS, ...args), { code: 2, stderr: text });
  }
  t.match(await cli.run('import', '--from', 'ftp://x', '--key-file', keyFile), { code: 2, stderr: /--from is "ftp:/ });
  t.match(await cli.run('import', '--from', source.url, '--key-file', '/nosuch'), {
    code: 2,
    stderr: /cannot be read/,
  });
});
