/** Files and headings that the code, the tests and the pages cite exist. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { anchorsOf } from './page.ts';

const root = join(import.meta.dirname, '../..');
const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const files = listed
  .split('\n')
  .filter(
    (file) =>
      /\.(ts|mjs|js|py|proto|graphql|md|sh|ya?ml)$/.test(file) &&
      existsSync(join(root, file)) &&
      !file.startsWith('proto/gen/'),
  );
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** Returns why a citation leads nowhere. `undefined` if it leads somewhere. */
function faultOf(file: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(root, file))) return `there is no ${file}`;
  if (anchor !== undefined && !anchorsOf(read(file)).has(anchor)) return `${file} has no heading for #${anchor}`;
  return undefined;
}

t.test('pages that are cited, with their headings', async (t) => {
  let count = 0;
  for (const file of files) {
    // From the root as comments write it, not as a part of a longer path.
    for (const [, page, anchor] of read(file).matchAll(/(?<![\w./-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)) {
      count += 1;
      t.equal(faultOf(page!, anchor), undefined, file);
    }
  }
  t.ok(count > 150, `${count} citations`);
});

t.test('every page of docs stands in a room, and docs/README.md lists it', async (t) => {
  const index = read('docs/README.md');
  for (const page of files.filter((name) => /^docs\/.*\.md$/.test(name) && name !== 'docs/README.md')) {
    t.match(page, /^docs\/(start|guides|reference|operate|contribute)\//, page);
    if (/^docs\/[\w-]+\/[\w-]+\.md$/.test(page))
      t.ok(index.includes(`](${page.slice('docs/'.length)})`), `docs/README.md links ${page}`);
  }
});

t.test('links between pages', async (t) => {
  for (const file of files.filter((name) => name.endsWith('.md'))) {
    for (const [, path, anchor] of read(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([\w-]+))?\)/g)) {
      t.equal(faultOf(path === '' ? file : join(dirname(file), path!), anchor), undefined, file);
    }
  }
});

t.test('files and folders of the source that a page names in backticks', async (t) => {
  let count = 0;
  for (const file of files.filter((name) => name.endsWith('.md'))) {
    for (const [, path] of read(file).matchAll(
      /`((?:core|facades|gpu-agent|proto|drizzle|deploy|test|docs|examples)\/[\w./-]+)`/g,
    )) {
      count += 1;
      t.ok(existsSync(join(root, path!)), `${file} names ${path}`);
    }
  }
  t.ok(count > 100, `${count} are named`);
});

t.test('tests that a page names, in quotes behind the link to their file', async (t) => {
  let count = 0;
  for (const file of files.filter((name) => name.endsWith('.md'))) {
    for (const [, path, behind] of read(file).matchAll(/\]\(([^)\s]+\.test\.ts)\)((?:(?!\]\(|\n).)*)/g)) {
      for (const [, name] of behind!.matchAll(/"([^"]+)"/g)) {
        count += 1;
        t.ok(read(join(dirname(file), path!)).includes(name!), `${file}: ${path} has a test "${name}"`);
      }
    }
  }
  t.ok(count > 30, `${count} tests are named`);
});

t.test('nothing is cited that is not part of the project', async (t) => {
  const foreign = /(?<!contribute\/)\b(spec|design|compat|compat-v2)\.md\b/;
  const own = 'test/docs/citations.test.ts';
  for (const file of files.filter((name) => name !== own && name !== 'CHANGELOG.md')) {
    const line = read(file)
      .split('\n')
      .findIndex((content) => foreign.test(content));
    t.equal(line, -1, `${file}:${line + 1} cites a file that nobody has: cite docs/ or say it`);
  }
});
