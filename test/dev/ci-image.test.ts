/** The image of CI and .ci/run: one has what the other installs, and the workflow runs the one in the other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Packages of every `apt-get install` of a script; a line may go on behind a backslash. */
function packagesOf(script: string): Set<string> {
  const installs = [...script.replace(/\\\n/g, ' ').matchAll(/apt-get install ([^&\n]*)/g)];
  return new Set(installs.flatMap(([, words]) => words!.trim().split(/\s+/)).filter((word) => !word.startsWith('-')));
}

t.test('every package that .ci/run installs is in the image', async (t) => {
  const installed = packagesOf(read('.ci/run'));
  const inImage = packagesOf(read('deploy/images/ci/Containerfile'));
  t.ok(installed.size > 10, 'packages were found');
  t.same(
    [...installed].filter((name) => !inImage.has(name)),
    [],
    'none is missing',
  );
});

t.test('the workflow builds that image and mounts the project where it runs .ci/run', async (t) => {
  const workflow = read('.github/workflows/ci.yml');
  const image = read('deploy/images/ci/Containerfile');
  t.match(workflow, 'deploy/images/ci');
  t.match(image, 'CMD ["bash", ".ci/run"]');
  t.match(workflow, `:${/^WORKDIR (.*)$/m.exec(image)![1]}"`);
});

t.test('.nvmrc names the Node that comes with the packages', async (t) => {
  t.equal(
    read('.nvmrc').trim(),
    (JSON.parse(read('package.json')) as { dependencies: { node: string } }).dependencies.node,
  );
});
