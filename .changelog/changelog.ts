/**
 * Fragments of the changelog: reads their format, and writes the section of a release from them.
 * As a program: `node .changelog/changelog.ts 0.3.0 2030-01-02`, version and date.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Headings of a release, in their order. */
export const SECTIONS = ['Security', 'Added', 'Changed', 'Fixed', 'Migration'] as const;
type Section = (typeof SECTIONS)[number];

/** Entries of a fragment by section; an entry is a list item with its further lines. */
type Fragment = Partial<Record<Section, string[]>>;

const COLUMNS_MAX = 160;

/** Returns the entries of a fragment's text. Throws an error that names the line if it is not of the format. */
export function readFragment(text: string): Fragment {
  const fragment: Fragment = {};
  let entries: string[] | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const fail = (why: string): never => {
      throw new Error(`line ${index + 1}: ${why}`);
    };
    if (line.length > COLUMNS_MAX) fail(`at most ${COLUMNS_MAX} columns`);
    if (line.startsWith('#')) {
      const section =
        SECTIONS.find((name) => line === `### ${name}`) ?? fail(`a heading is one of ### ${SECTIONS.join(', ### ')}`);
      entries = fragment[section] ??= [];
    } else if (/^- \S.*$/.test(line)) {
      (entries ?? fail('an entry stands below a heading')).push(line);
    } else if (/^ {2}\S/.test(line) && entries?.length) {
      entries.push(`${entries.pop()}\n${line}`);
    } else if (line !== '') {
      fail('begin an entry with "- ", and its further lines with two spaces');
    }
  }
  for (const [section, list] of Object.entries(fragment))
    if (list.length === 0) throw new Error(`### ${section} has no entry`);
  if (Object.keys(fragment).length === 0) throw new Error('it has no entry');
  return fragment;
}

/** Returns the section of a release: entries of all fragments, by heading. `date`: YYYY-MM-DD. */
export function releaseSection(version: string, date: string, fragments: readonly Fragment[]): string {
  const parts = SECTIONS.map((section) => ({
    section,
    entries: fragments.flatMap((fragment) => fragment[section] ?? []),
  }));
  const written = parts
    .filter(({ entries }) => entries.length > 0)
    .map(({ section, entries }) => `### ${section}\n\n${entries.join('\n')}\n`);
  return `## [${version}] - ${date}\n\n${written.join('\n')}`;
}

/** Returns the changelog with a release's section before all earlier ones. */
export function withRelease(changelog: string, section: string): string {
  const first = changelog.indexOf('\n## [');
  return first < 0
    ? `${changelog.trimEnd()}\n\n${section}`
    : `${changelog.slice(0, first)}\n${section}${changelog.slice(first)}`;
}

/** Returns the files of fragments in a folder, by name. */
export function fragmentFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => join(folder, name));
}

if (import.meta.main) {
  const [version = '', date = ''] = process.argv.slice(2);
  if (!/^\d+\.\d+\.\d+$/.test(version) || !/^\d{4}-\d\d-\d\d$/.test(date)) {
    throw new Error('name version and date: node .changelog/changelog.ts 0.3.0 2030-01-02');
  }
  const files = fragmentFiles(import.meta.dirname);
  if (files.length === 0) throw new Error('there are no fragments');
  const section = releaseSection(
    version,
    date,
    files.map((file) => readFragment(readFileSync(file, 'utf8'))),
  );
  const changelog = join(import.meta.dirname, '../CHANGELOG.md');
  writeFileSync(changelog, withRelease(readFileSync(changelog, 'utf8'), section));
  for (const file of files) rmSync(file);
}
