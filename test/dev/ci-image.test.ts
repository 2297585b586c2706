/** The image of CI and .ci/run: one has what the other installs, and the workflow runs the one in the other. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The parts of the nightly workflow that are checked. */
interface Nightly {
  on: { schedule: { cron: string }[]; push: { paths: string[] }; pull_request: { paths: string[] } };
  jobs: {
    search: {
      strategy: { matrix: { include: { name: string; command: string; nightly?: boolean }[] } };
      steps: { run?: string }[];
    };
  };
}

/** Commands that print the packages of a list and pass them to the installation, which names none itself. */
const INSTALL = /sed '([^']+)' (\S*packages) \| xargs (?:\$sudo )?apt-get install -qy --no-install-recommends( \w+)?/g;

t.test('.ci/run and the image install the packages of one list, in one step each', async (t) => {
  const lines = read('.ci/packages').split('\n');
  const names = lines.filter((line) => line !== '' && !line.startsWith('#'));
  t.ok(names.length > 10, 'packages were found');
  t.same(
    names.filter((name) => !/^[a-z0-9][a-z0-9.+-]+$/.test(name)),
    [],
    'one package a line',
  );
  for (const [file, list] of [
    ['.ci/run', '.ci/packages'],
    ['deploy/images/ci/Containerfile', '/tmp/packages'],
  ] as const) {
    const text = read(file);
    t.equal(text.match(/apt-get install/g)?.length, 1, file);
    const [[, script = '', from, more] = []] = [...text.matchAll(INSTALL)];
    t.equal(from, list, file);
    t.equal(more, undefined, `${file} names none besides`);
    t.same(execFileSync('sed', [script, join(root, '.ci/packages')], { encoding: 'utf8' }).match(/\S+/g), names, file);
  }
  t.match(read('deploy/images/ci/Containerfile'), 'COPY packages /tmp/packages', 'from the folder .ci');
});

t.test('the workflow builds that image and mounts the project where it runs .ci/run', async (t) => {
  const workflow = read('.github/workflows/ci.yml');
  const image = read('deploy/images/ci/Containerfile');
  t.match(workflow, '--file deploy/images/ci/Containerfile .ci\n');
  t.match(image, 'CMD ["bash", ".ci/run"]');
  t.match(workflow, `:${/^WORKDIR (.*)$/m.exec(image)![1]}"`);
});

t.test(
  'each night new seeds, planted bugs, chaos and a soak run in that image; a change of the simulation runs it',
  async (t) => {
    const workflow = parse(read('.github/workflows/nightly.yml')) as Nightly;
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    t.match(workflow.on.schedule, [{ cron: /^\d+ \d+ \* \* \*$/ }]);
    for (const event of [workflow.on.push, workflow.on.pull_request]) t.same(event.paths, ['test/sim/**']);
    const { strategy, steps } = workflow.jobs.search;
    const runs = strategy.matrix.include.map(({ command }) => /^npm run -s (\S+) --|^npx node (\S+)$/.exec(command)!);
    t.same(
      runs.map(([, script, file]) => script ?? file),
      ['sim', 'sim', 'test/sim/planted-main.ts', 'chaos', 'soak'],
    );
    for (const [, script, file] of runs) t.ok(script === undefined ? existsSync(join(root, file!)) : scripts[script]);
    t.same(
      strategy.matrix.include.filter(({ nightly }) => nightly).map(({ name }) => name),
      ['chaos', 'soak'],
      'these know nothing of the simulation',
    );
    const all = steps.map(({ run = '' }) => run).join('\n');
    t.match(all, '--file deploy/images/ci/Containerfile .ci');
    t.match(all, `:${/^WORKDIR (.*)$/m.exec(read('deploy/images/ci/Containerfile'))![1]}"`);
  },
);

t.test('.nvmrc names the Node that comes with the packages', async (t) => {
  t.equal(
    read('.nvmrc').trim(),
    (JSON.parse(read('package.json')) as { dependencies: { node: string } }).dependencies.node,
  );
});
