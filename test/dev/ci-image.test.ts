/** The image of CI and .ci/run: one has what the other installs, and the workflow runs the one in the other. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

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

t.test('.nvmrc names the Node that comes with the packages', async (t) => {
  t.equal(
    read('.nvmrc').trim(),
    (JSON.parse(read('package.json')) as { dependencies: { node: string } }).dependencies.node,
  );
});
