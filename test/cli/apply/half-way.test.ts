// test: postgres
/** Commands that cannot be read any more, or fail, in the middle of a change. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { call } from '../../helpers/grpc/grpc-clients.ts';
import { startReplicas } from '../../helpers/system/core-replicas.ts';
import { commandLine } from '../command-line.ts';

t.setTimeout(300_000);

t.test('in the middle of a change', async (t) => {
  const core = await startReplicas(t, 1);
  const cli = commandLine(t, {
    SLIPWAY_CORE_ADDRESS: core.replicas[0]!.address,
    SLIPWAY_API_KEY: core.key,
    VALUE: 'v',
  });
  const names = Array.from({ length: 12 }, (_, index) => `secret-${String(index).padStart(2, '0')}`);
  const secrets = async () =>
    (await call(core.clients.secrets, 'listSecrets', {}, core.key)).secrets.map(({ name }) => name).toSorted();
  const secretLines = names.map((name) => `  ${name}: { valueFromEnv: VALUE }\n`).join('');

  await t.test('apply ends what it began, although nobody reads its output any more', async (t) => {
    writeFileSync(join(cli.cwd, 'many.yaml'), `secrets:\n${secretLines}`);
    const run = cli.start('apply', '-f', 'many.yaml', '--yes');
    // As `grep -q` does with the first line that it looks for.
    run.child.stdout!.destroy();
    run.child.stderr!.destroy();
    t.match(await run.ended, { code: 0 });
    t.same(await secrets(), names);
  });

  await t.test('a failure keeps its exit code, although its reason cannot be read', async (t) => {
    const run = cli.start('jobs', 'get', 'nosuch', '--endpoint', 'nosuch');
    run.child.stderr!.destroy();
    t.match(await run.ended, { code: 1, stdout: '' });
  });

  await t.test('a list that is shown again and again ends with its reader', async (t) => {
    const run = cli.start('secrets', 'list', '--watch');
    await run.wrote('stdout', /secret-11/);
    run.child.stdout!.destroy();
    t.match(await run.ended, { code: 0, stderr: '' });
  });

  await t.test('apply says how far it came, and continues there', async (t) => {
    const endpoint = (least: number): void =>
      writeFileSync(
        join(cli.cwd, 'half.yaml'),
        `templates:\n  half: { dockerStartCmd: [sleep, "9"] }\nendpoints:\n` +
          `  half: { template: half, workersMin: ${least}, workersMax: 1 }\n`,
      );
    endpoint(2);
    const { code, stdout, stderr } = await cli.run('apply', '-f', 'half.yaml', '--yes');
    t.match({ code, stdout }, { code: 1, stdout: '' });
    t.match(stderr, /1 of 2 changes made\. The same command continues with the others\.\n/);
    t.match(stderr, /error: [A-Z_]+: endpoint half: /);
    endpoint(0);
    const again = await cli.json<{ resources: object[] }>('apply', '-f', 'half.yaml', '--yes');
    t.match(again.resources, [
      { name: 'half', section: 'templates', action: 'keep' },
      { name: 'half', section: 'endpoints', action: 'create' },
    ]);
  });
});
