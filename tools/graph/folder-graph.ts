/**
 * `npm run graph -- [FOLDER]`: draws which folders import which, as a Mermaid diagram. Without a folder it draws the
 * packages. With one it draws the folders in it and the files directly in it. `--at COMMIT` draws an earlier state.
 */
import { execFileSync } from 'node:child_process';
import { dirname, join, normalize } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '../..');
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'((?:\.{1,2}|@slipway|slipway-worker)\/[^']+)'/g;

/** Imports between two nodes of the graph. */
interface Arrow {
  from: string;
  to: string;
  /** Number of import statements. */
  count: number;
}

/** Returns the project's file that a specifier of `file` names. */
function targetOf(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier));
  return `${specifier.replace(/^@slipway\//, '').replace(/^slipway-worker/, 'worker')}.ts`;
}

/** Returns the node of a path: the folder or file directly below `folder`; `undefined` outside of it. */
function roomOf(path: string, folder: string): string | undefined {
  if (!path.startsWith(folder)) return undefined;
  return path.slice(folder.length).split('/')[0];
}

/** Returns the arrows between the nodes directly below `folder`, which is '' or ends with '/'. */
export function folderArrows(files: ReadonlyMap<string, string>, folder: string): Arrow[] {
  const counts = new Map<string, number>();
  for (const [file, text] of files) {
    const from = roomOf(file, folder);
    if (from === undefined) continue;
    for (const [, specifier] of text.matchAll(IMPORT)) {
      const to = roomOf(targetOf(file, specifier!), folder);
      if (to === undefined || to === from) continue;
      counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
    }
  }
  return [...counts].sort().map(([key, count]) => {
    const [from, to] = key.split(' ') as [string, string];
    return { from, to, count };
  });
}

/** Returns nodes that lead back to the first of them, each by an arrow to the next; empty if there are none. */
export function circleOf(arrows: readonly Arrow[]): string[] {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return path.slice(path.indexOf(node));
    if (done.has(node)) return [];
    for (const { from, to } of arrows) {
      const circle = from === node ? visit(to, [...path, node]) : [];
      if (circle.length > 0) return circle;
    }
    done.add(node);
    return [];
  };
  for (const { from } of arrows) {
    const circle = visit(from, []);
    if (circle.length > 0) return circle;
  }
  return [];
}

/** Returns a Mermaid flowchart: an arrow for each pair, with its number of imports. */
export function mermaid(arrows: readonly Arrow[]): string {
  const names = [...new Set(arrows.flatMap(({ from, to }) => [from, to]))].sort();
  const id = (name: string): string => `n${names.indexOf(name)}`;
  return [
    'flowchart TD',
    ...names.map((name) => `  ${id(name)}["${name}"]`),
    ...arrows.map(({ from, to, count }) => `  ${id(from)} -->|${count}| ${id(to)}`),
  ].join('\n');
}

/**
 * Returns the lines with imports of each source file, by path. Tests and generated code are left out. `revision`: any
 * name of a commit. Default: the working tree.
 */
export function importLines(revision?: string): Map<string, string> {
  const args = ['grep', '-E', "(from|import)[ (]*'[.@s]", ...(revision ? [revision] : []), '--', '*.ts', '*.tsx'];
  const found = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  const texts = new Map<string, string>();
  for (const line of found.split('\n')) {
    const [, file, text] = /^(?:[^:]+:)??((?:[^:])+\.tsx?):(.*)$/.exec(line) ?? [];
    if (file === undefined || /^(test|tools|examples)\/|^proto\/gen\//.test(file)) continue;
    texts.set(file, `${texts.get(file) ?? ''}${text}\n`);
  }
  return texts;
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { at: { type: 'string' } } });
  const [folder = ''] = positionals;
  const arrows = folderArrows(importLines(values.at), folder === '' ? '' : `${folder.replace(/\/$/, '')}/`);
  process.stdout.write(`${mermaid(arrows)}\n`);
}
