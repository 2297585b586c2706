/** CHANGELOG.md and its fragments: their format, and the section of a release that is made of them. */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { fragmentFiles, readFragment, releaseSection, SECTIONS, withRelease } from '../../.changelog/changelog.ts';

const root = join(import.meta.dirname, '../..');
const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');

t.test('every fragment has the format, and a name of words', async (t) => {
  for (const file of fragmentFiles(join(root, '.changelog'))) {
    t.match(basename(file), /^[a-z0-9]+(-[a-z0-9]+)*\.md$/, file);
    t.doesNotThrow(() => readFragment(readFileSync(file, 'utf8')), file);
  }
});

t.test('a malformed fragment is rejected with its line', async (t) => {
  for (const [text, why] of [
    ['', /no entry/],
    ['### Added\n', /Added has no entry/],
    ['### New\n\n- x\n', /line 1: a heading/],
    ['- x\n', /line 1: .*below a heading/],
    ['### Added\n\nx\n', /line 3: begin/],
    [`### Added\n\n- ${'x'.repeat(200)}\n`, /line 3: at most/],
  ] as const)
    t.throws(() => readFragment(text), { message: why }, JSON.stringify(text.slice(0, 30)));
});

t.test('a release has all entries, in the order of the headings, before the earlier releases', async (t) => {
  const fragments = ['### Fixed\n\n- b\n  more\n', '### Added\n\n- a\n\n### Fixed\n\n- c\n'].map(readFragment);
  const section = releaseSection('9.9.9', '2030-01-02', fragments);
  t.equal(section, '## [9.9.9] - 2030-01-02\n\n### Added\n\n- a\n\n### Fixed\n\n- b\n  more\n- c\n');
  t.equal(
    withRelease('# Changelog\n\nText.\n\n## [1.0.0] - 2029-01-01\n', section),
    `# Changelog\n\nText.\n\n${section}\n## [1.0.0] - 2029-01-01\n`,
  );
});

t.test('every release of CHANGELOG.md has the same format', async (t) => {
  const releases = changelog.split(/^## /m).slice(1);
  t.ok(releases.length > 0);
  for (const release of releases) {
    const [heading = '', ...lines] = release.split('\n');
    t.match(heading, /^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$/);
    const sections = Object.keys(readFragment(lines.join('\n')));
    t.same(
      sections,
      SECTIONS.filter((name) => sections.includes(name)),
      `${heading}: order of headings`,
    );
    t.ok(lines.length <= 60, `${heading} has ${lines.length} lines: say what users need`);
  }
});
