/** The files of the project, read once: for the tests of style. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import ts from 'typescript-api';

/** The project's folder. */
export const root = join(import.meta.dirname, '..');
/** Paths of all files, one a line. */
export const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
/** Paths of the source files, tests included. */
export const files = listed.split('\n').filter((file) => /\.(tsx?|mjs)$/.test(file) && !file.startsWith('proto/gen/'));
/** Benchmarks follow the rules of tests: they use the same helpers. */
export const isTest = (file: string): boolean => /^(test|tools\/bench)\//.test(file);
/** Source files without tests. */
export const sources = files.filter((file) => !isTest(file));
/** Contents by path. */
export const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
/** Returns the contents of a file. */
export const read = (file: string): string => text.get(file)!;

const trees = new Map<string, ts.SourceFile>();
/** Returns the syntax of a file, parsed once. */
export function treeOf(file: string): ts.SourceFile {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const tree = trees.get(file) ?? ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true, kind);
  trees.set(file, tree);
  return tree;
}

/** Returns the project's file that an import of `file` names. */
export function targetOf(file: string, path: string): string {
  if (path.startsWith('.')) return normalize(join(dirname(file), path));
  const inside = path.replace(/^@slipway\//, '').replace(/^slipway-worker/, 'worker');
  return /\.\w+$/.test(inside) ? inside : `${inside}.ts`;
}

/** Returns the project's files that a file imports. */
export function importsOf(file: string): string[] {
  const found = [...read(file).matchAll(/(?:from|import)\s*\(?\s*'((?:\.{1,2}|@slipway|slipway-worker)\/[^']+)'/g)];
  return found.map(([, path]) => targetOf(file, path!));
}
